/* diagnosis: what the doctor says, for people and for programs. See the header. */
#include "common/doctor/diagnosis.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TITLE_COLUMNS = 12, COLUMNS = 100 };
static const char *const confidences[] = {"likely", "strong", "certain"};

static struct finding *add(struct diagnosis *diagnosis)
{
    size_t last = DIAGNOSIS_FINDINGS_MOST - 1;
    struct finding *finding = &diagnosis->findings[diagnosis->finding_count];
    diagnosis->finding_count += diagnosis->finding_count < last;
    *finding = (struct finding){0};
    return finding;
}

struct finding *diagnosis_member(struct diagnosis *diagnosis, enum zoo_member member,
                                 enum confidence confidence)
{
    struct finding *finding = add(diagnosis);
    const struct zoo_row *row = &zoo_table[member];
    finding->name = row->name;
    finding->row = row;
    finding->wrong = row->wrong;
    finding->cure = row->cure;
    finding->confidence = confidence;
    return finding;
}

struct finding *diagnosis_other(struct diagnosis *diagnosis, const char *name, const char *wrong,
                                const char *cure)
{
    struct finding *finding = add(diagnosis);
    finding->name = name;
    finding->wrong = wrong;
    finding->cure = cure;
    finding->confidence = STRONG;
    return finding;
}

void finding_evidence(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    if (finding->evidence_count == DIAGNOSIS_EVIDENCE_MOST)
        return;
    va_start(arguments, format);
    vsnprintf(finding->evidence[finding->evidence_count++], DIAGNOSIS_TEXT_BYTES, format,
              arguments);
    va_end(arguments);
}

void finding_deciding(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->deciding, DIAGNOSIS_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

void diagnosis_note(struct diagnosis *diagnosis, const char *name, const char *format, ...)
{
    va_list arguments;
    if (diagnosis->note_count == DIAGNOSIS_NOTES_MOST)
        return;
    struct note *note = &diagnosis->notes[diagnosis->note_count++];
    note->name = name;
    va_start(arguments, format);
    vsnprintf(note->text, DIAGNOSIS_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

void diagnosis_looked(struct diagnosis *diagnosis, const char *name, const char *format, ...)
{
    va_list arguments;
    if (diagnosis->looked_count == DIAGNOSIS_NOTES_MOST)
        return;
    struct note *looked = &diagnosis->looked[diagnosis->looked_count++];
    looked->name = name;
    va_start(arguments, format);
    vsnprintf(looked->text, DIAGNOSIS_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

bool diagnosis_has(const struct diagnosis *diagnosis, enum zoo_member member)
{
    for (size_t i = 0; i < diagnosis->finding_count; i++)
        if (diagnosis->findings[i].row == &zoo_table[member])
            return true;
    return false;
}

/* --- for people ------------------------------------------------------------------------------ */

/* A title, and a text beside it that is broken between words. */
static void print_beside(FILE *out, const char *title, const char *text)
{
    int column = fprintf(out, "  %-*s", TITLE_COLUMNS - 2, title);
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column + 1 + (int)length > COLUMNS)
            column = fprintf(out, "\n%*s", TITLE_COLUMNS, "") - 1;
        column += fprintf(out, " %.*s", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

static void print_finding(FILE *out, const struct finding *finding)
{
    fprintf(out, "\n%s (%s)\n", finding->name, confidences[finding->confidence]);
    print_beside(out, "what", finding->wrong);
    for (size_t i = 0; i < finding->evidence_count; i++)
        print_beside(out, i == 0 ? "evidence" : "", finding->evidence[i]);
    print_beside(out, "decided by", finding->deciding);
    print_beside(out, "cure", finding->cure);
    if (finding->row)
        fprintf(out, "  %-*s docs/odd-curves.md#%s\n", TITLE_COLUMNS - 2, "read", finding->name);
}

static void print_notes(FILE *out, const char *title, const struct note *notes, size_t count)
{
    if (count > 0)
        fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < count; i++)
        print_beside(out, notes[i].name, notes[i].text);
}

void diagnosis_print(const struct diagnosis *diagnosis, FILE *out)
{
    size_t count = diagnosis->finding_count;
    fprintf(out, "%s\n", diagnosis->run);
    if (count == 0)
        fputs("nothing wrong found\n", out);
    else
        fprintf(out, "%zu thing%s wrong:", count, count == 1 ? " is" : "s are");
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s %s%s", i > 0 ? "," : "", diagnosis->findings[i].name,
                i + 1 == count ? "\n" : "");
    for (size_t i = 0; i < count; i++)
        print_finding(out, &diagnosis->findings[i]);
    print_notes(out, "no mistake, but good to know:", diagnosis->notes, diagnosis->note_count);
    print_notes(out, "looked at:", diagnosis->looked, diagnosis->looked_count);
}

/* --- for programs ---------------------------------------------------------------------------- */

static json_t *finding_json(const struct finding *finding)
{
    char section[64] = "";
    json_t *evidence = json_array();
    for (size_t i = 0; i < finding->evidence_count; i++)
        json_array_append_new(evidence, json_string(finding->evidence[i]));
    if (finding->row)
        snprintf(section, sizeof section, "docs/odd-curves.md#%s", finding->name);
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:s*}", "member", finding->name, "confidence",
                     confidences[finding->confidence], "what", finding->wrong, "evidence", evidence,
                     "deciding", finding->deciding, "cure", finding->cure, "section",
                     finding->row ? section : NULL);
}

static json_t *notes_json(const struct note *notes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", notes[i].name, "text", notes[i].text));
    return list;
}

int diagnosis_json(const struct diagnosis *diagnosis, FILE *out)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < diagnosis->finding_count; i++)
        json_array_append_new(findings, finding_json(&diagnosis->findings[i]));
    json_t *root = json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o}", "format", "sgd-to-zero-doctor",
                             "version", 1, "run", diagnosis->run, "verdict",
                             diagnosis->finding_count > 0 ? "findings" : "healthy", "findings",
                             findings, "notes", notes_json(diagnosis->notes, diagnosis->note_count),
                             "looked_at", notes_json(diagnosis->looked, diagnosis->looked_count));
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    if (text)
        fprintf(out, "%s\n", text);
    int error = text ? 0 : -ENOMEM;
    free(text);
    json_decref(root);
    return error;
}
