/*
 * fuzz_casebook: any bytes as the record of a run.
 *
 * Up to an empty line they are rank 0's, behind it rank 1's. Promises: what is accepted can be diagnosed, and the verdict, for
 * people or for programs, is fit to print.
 */
#include "common/doctor/doctor.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Lines of text, and nothing that commands a terminal. */
static bool is_fit_to_print(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < ' ' && *text != '\n') || *text == 127)
            return false;
    return true;
}

static const char *printed_broken(const struct diagnosis *diagnosis, bool as_json)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL; // no memory: nothing is learned
    if (as_json)
        diagnosis_json(diagnosis, out);
    else
        diagnosis_print(diagnosis, out);
    fclose(out);
    json_t *root = as_json ? json_loads(text, 0, NULL) : NULL;
    const char *broken = !is_fit_to_print(text)    ? "a verdict is fit to print"
                         : as_json && root == NULL ? "a verdict for programs is JSON"
                                                   : NULL;
    json_decref(root);
    free(text);
    return broken;
}

static const char *diagnosis_broken(const struct casebook *book)
{
    struct fail fail = {0};
    struct diagnosis *diagnosis = calloc(1, sizeof *diagnosis);
    struct doctor doctor = {.book = book, .diagnosis = diagnosis};
    if (!diagnosis)
        return NULL;
    const char *broken = NULL;
    if (doctor_diagnose(&doctor, &fail) != 0)
        broken = "what is accepted can be diagnosed";
    if (!broken)
        broken = printed_broken(diagnosis, false);
    if (!broken)
        broken = printed_broken(diagnosis, true);
    free(diagnosis);
    return broken;
}

/* Where rank 0's lines end; `size`: there is no other rank. */
static size_t end_of_first(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (data[i] == '\n' && data[i + 1] == '\n')
            return i + 1;
    return size;
}

struct verdict fuzz_casebook(const uint8_t *data, size_t size)
{
    struct scratch scratch;
    char path[SCRATCH_PATH_BYTES];
    struct casebook book;
    struct fail fail = {0};
    size_t first = end_of_first(data, size);
    scratch_open(&scratch);
    scratch_write(&scratch, "rank-0.jsonl", data, first, path);
    if (first < size)
        scratch_write(&scratch, "rank-1.jsonl", data + first + 1, size - first - 1, path);
    int code = casebook_open(&book, scratch.path, &fail);
    struct verdict verdict = {.accepted = code == 0};
    if (code == -ENOENT)
        verdict.broken = strstr(fail.text, "is missing") ? NULL : "only a rank can be missing";
    else if (code != 0)
        verdict = target_refused(code, &fail, scratch.path);
    else
        verdict.broken = diagnosis_broken(&book);
    casebook_close(&book);
    if (scratch_close(&scratch) != 0 && !verdict.broken)
        verdict.broken = "the reader leaves no file behind";
    return verdict;
}
