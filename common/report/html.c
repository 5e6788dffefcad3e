/* html: text and pictures of a page. See the header. */
#include "common/report/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

void html_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default: // control characters are not allowed on a page
            fputc((unsigned char)*text < ' ' && *text != '\n' && *text != '\t' ? ' ' : *text, out);
        }
}

void html_format(FILE *out, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    html_text(out, text);
}

/* Pictures of one page must not share ids: gpPt7 becomes NAME-gpPt7 where it is defined and used. */
static void put_line(FILE *out, const char *line, const char *name)
{
    static const char *const before[] = {"id='", "id=\"", "href='#", "href=\"#", "url(#", "url('#"};
    while (*line) {
        size_t length = 1;
        bool found = false;
        for (size_t i = 0; i < sizeof before / sizeof *before && !found; i++) {
            found = strncmp(line, before[i], strlen(before[i])) == 0;
            length = found ? strlen(before[i]) : 1;
        }
        fwrite(line, 1, length, out);
        if (found)
            fprintf(out, "%s-", name);
        line += length;
    }
}

/* Its title would pop up under the mouse, and says less than the text it is given here. */
static bool is_left_out(const char *line)
{
    return strncmp(line, "<title>", 7) == 0 || strncmp(line, "<desc>", 6) == 0;
}

static FILE *open_in(const char *folder, const char *name, const char *kind)
{
    char path[TEXT_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s%s", folder, name, kind);
    return length < TEXT_BYTES ? fopen(path, "re") : NULL;
}

void html_file(FILE *out, const char *folder, const char *name)
{
    FILE *file = open_in(folder, name, "");
    for (int letter = file ? fgetc(file) : EOF; letter != EOF; letter = fgetc(file))
        fputc(letter, out);
    if (file)
        fclose(file);
}

bool html_figure(FILE *out, const char *folder, const char *name, const char *says)
{
    char *line = NULL;
    size_t room = 0;
    bool inside = false;
    FILE *file = open_in(folder, name, ".svg");
    if (!file)
        return false;
    while (getline(&line, &room, file) > 0) {
        if (!inside && strncmp(line, "<svg", 4) == 0) {
            fprintf(out, "<figure>\n<svg id=\"picture-%s\" role=\"img\" aria-label=\"", name);
            html_text(out, says);
            fputc('"', out);
            put_line(out, line + 4, name);
            inside = true;
        } else if (inside && !is_left_out(line)) {
            put_line(out, line, name);
        }
    }
    free(line);
    fclose(file);
    return inside;
}
