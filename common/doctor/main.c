/*
 * doctor: the program that reads what a run recorded and says what is wrong with it.
 *
 *     doctor RUN                one run by itself
 *     doctor RUN REFERENCE      beside a healthy one of the same network, data and batch
 *
 * The verdict goes to the standard output, why there is none to the standard error.
 */
#include "common/doctor/doctor.h"
#include "common/standard_files.h"

#include <errno.h>
#include <string.h>

enum { HEALTHY = 0, FAILED = 1, USAGE = 2, FINDINGS = 4 };

struct request {
    const char *run, *reference;
    bool json, help, version;
};

static const char usage[] = "usage: doctor RUN [REFERENCE] [--json]\n"
                            "\n"
                            "Reads what a lesson recorded with --record RUN and says what is "
                            "wrong: the mistake, the evidence, the\n"
                            "measurement that decided, the cure, and where the handbook explains "
                            "it. REFERENCE is the record of a\n"
                            "healthy run of the same network and data, of lesson 1 for instance: "
                            "some mistakes show only beside one.\n"
                            "\n"
                            "  --json       the same for programs\n"
                            "  --help       this text\n"
                            "  --version    the version\n"
                            "\n"
                            "How sure it is: certain, by arithmetic; strong, hardly anything else "
                            "looks like this; likely.\n"
                            "Exit code: 0 nothing wrong found, 4 something was, 1 a record cannot "
                            "be read, 2 wrong usage.\n";

static int take_folder(struct request *request, const char *text, struct fail *fail)
{
    if (text[0] == '-')
        return fail_set(fail, -EINVAL, "unknown flag %s; there are --json, --help, --version",
                        text);
    if (request->reference)
        return fail_set(fail, -EINVAL, "one run and one reference are read, '%s' is a third", text);
    *(request->run ? &request->reference : &request->run) = text;
    return 0;
}

static int parse(struct request *request, int argc, char **argv, struct fail *fail)
{
    int status = 0;
    for (int i = 1; !status && i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            request->help = true;
        else if (strcmp(argv[i], "--version") == 0)
            request->version = true;
        else if (strcmp(argv[i], "--json") == 0)
            request->json = true;
        else
            status = take_folder(request, argv[i], fail);
    }
    if (!status && !request->run && !request->help && !request->version)
        status = fail_set(fail, -EINVAL, "a record is needed: doctor RUN (see --help)");
    return status;
}

/* Of another network or other data nothing can be compared. */
static int check_reference(const struct casebook *book, const struct casebook *reference,
                           struct fail *fail)
{
    bool same = book->parameters == reference->parameters &&
                book->tensor_count == reference->tensor_count &&
                book->train_samples == reference->train_samples;
    for (size_t i = 0; i < book->tensor_count && same; i++)
        same = book->tensors[i].count == reference->tensors[i].count;
    return same ? 0
                : fail_set(fail, -EINVAL,
                           "%s is no reference for %s: it has %zu parameters and %zu training "
                           "samples, not %zu and "
                           "%zu; record one with the same --data and --hidden",
                           reference->folder, book->folder, reference->parameters,
                           reference->train_samples, book->parameters, book->train_samples);
}

/* Beside a run that is wrong itself, one that is right looks wrong. */
static int diagnose_reference(struct doctor *doctor, const struct casebook *reference,
                              struct fail *fail)
{
    struct diagnosis diagnosis;
    struct doctor its = {.book = reference, .diagnosis = &diagnosis};
    int error = doctor_diagnose(&its, fail);
    if (error)
        return error;
    doctor->reference = diagnosis.finding_count == 0 ? reference : NULL;
    error = doctor_diagnose(doctor, fail);
    if (!error && diagnosis.finding_count > 0)
        diagnosis_note(doctor->diagnosis, "reference",
                       "%.300s is wrong itself (%s): nothing was compared with it",
                       reference->folder, diagnosis.findings[0].name);
    return error;
}

static int print(const struct request *request, const struct diagnosis *diagnosis,
                 struct fail *fail)
{
    if (!request->json)
        diagnosis_print(diagnosis, stdout);
    else if (diagnosis_json(diagnosis, stdout) != 0)
        return fail_set(fail, -ENOMEM, "no memory to print the verdict");
    return 0;
}

static int diagnose(const struct request *request, struct fail *fail)
{
    struct casebook book = {0}, reference = {0};
    struct diagnosis diagnosis;
    struct doctor doctor = {.book = &book, .diagnosis = &diagnosis};
    int error = casebook_open(&book, request->run, fail);
    if (!error && request->reference)
        error = casebook_open(&reference, request->reference, fail);
    if (!error && request->reference)
        error = check_reference(&book, &reference, fail);
    if (!error)
        error = request->reference ? diagnose_reference(&doctor, &reference, fail)
                                   : doctor_diagnose(&doctor, fail);
    if (!error)
        error = print(request, &diagnosis, fail);
    casebook_close(&book);
    casebook_close(&reference);
    if (error)
        return FAILED;
    return diagnosis.finding_count > 0 ? FINDINGS : HEALTHY;
}

int main(int argc, char **argv)
{
    struct request request = {0};
    struct fail fail = {0};
    int code = HEALTHY;
    standard_files_occupy();
    if (parse(&request, argc, argv, &fail))
        code = USAGE;
    else if (request.help)
        fputs(usage, stdout);
    else if (request.version)
        puts("doctor 0.1.0");
    else
        code = diagnose(&request, &fail);
    if (fflush(stdout) || ferror(stdout))
        fail_set(&fail, -EIO, "cannot write to the standard output: %s", strerror(errno));
    if (fail.code)
        fprintf(stderr, "doctor: %s\n", fail.text);
    return fail.code && code == HEALTHY ? FAILED : code;
}
