/* diagnosis: the doctor's verdict as a part of the page. See the header. */
#include "common/report/diagnosis.h"
#include "common/report/html.h"

#include <jansson.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void put(FILE *out, const char *term, const char *text)
{
    if (*text)
        fprintf(out, "<dt>%s</dt><dd>", term);
    if (*text)
        html_text(out, text);
    fputs(*text ? "</dd>\n" : "", out);
}

static void put_finding(FILE *out, const json_t *finding)
{
    const json_t *evidence = json_object_get(finding, "evidence");
    fputs("<div class=\"box bad\">\n<p><strong>", out);
    html_text(out, text_of(finding, "member"));
    fputs("</strong>: ", out);
    html_text(out, text_of(finding, "what"));
    fputs("</p>\n<dl>\n", out);
    for (size_t i = 0; i < json_array_size(evidence); i++) {
        const char *text = json_string_value(json_array_get(evidence, i));
        put(out, "evidence", text ? text : "");
    }
    put(out, "decided by", text_of(finding, "deciding"));
    put(out, "confidence", text_of(finding, "confidence"));
    put(out, "cure", text_of(finding, "cure"));
    put(out, "read", text_of(finding, "section"));
    fputs("</dl>\n</div>\n", out);
}

static void put_notes(FILE *out, const char *title, const json_t *notes)
{
    if (json_array_size(notes) == 0)
        return;
    fprintf(out, "<h3>%s</h3>\n<dl>\n", title);
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        fputs("<dt>", out);
        html_text(out, text_of(note, "name"));
        fputs("</dt><dd>", out);
        html_text(out, text_of(note, "text"));
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

bool diagnosis_write(FILE *out, const char *folder)
{
    char path[PATH_BYTES];
    json_error_t wrong;
    int length = snprintf(path, sizeof path, "%s/verdict.json", folder);
    json_t *verdict = length < PATH_BYTES ? json_load_file(path, 0, &wrong) : NULL;
    const json_t *findings = json_object_get(verdict, "findings");
    size_t count = json_array_size(findings);
    if (!json_is_array(findings)) {
        json_decref(verdict);
        return false;
    }
    fputs("<section id=\"doctor\">\n<h2>What the doctor says</h2>\n", out);
    if (count == 0)
        fputs("<div class=\"box good\"><p><strong>Nothing wrong found.</strong></p></div>\n", out);
    for (size_t i = 0; i < count; i++)
        put_finding(out, json_array_get(findings, i));
    put_notes(out, "Notes", json_object_get(verdict, "notes"));
    put_notes(out, "Looked at", json_object_get(verdict, "looked_at"));
    fputs("</section>\n", out);
    json_decref(verdict);
    return true;
}
