/* jsonl: a file of JSON lines. See the header. */
#include "common/jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a line ------------------------------------------------------------------------------------ */

void jsonl_add(struct jsonl_line *line, const char *format, ...)
{
    va_list arguments;
    if (line->full)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, line->room - line->length, format, arguments);
    va_end(arguments);
    line->full = length < 0 || (size_t)length >= line->room - line->length;
    line->length += line->full ? 0 : (size_t)length;
}

void jsonl_begin(struct jsonl_line *line, const char *event)
{
    line->length = 0;
    line->full = false;
    jsonl_add(line, "{\"event\":\"%s\"", event);
}

void jsonl_whole(struct jsonl_line *line, const char *key, size_t value)
{
    jsonl_add(line, ",\"%s\":%zu", key, value);
}

/* Whatever the locale puts between the digits becomes a point. */
static void plain_point(char *number)
{
    char *to = number;
    for (const char *from = number; *from; from++) {
        if (strchr("0123456789+-e", *from))
            *to++ = *from;
        else if (to == number || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
}

void jsonl_number(struct jsonl_line *line, double value)
{
    char number[48] = "null";
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    if (isfinite(value))
        plain_point(number);
    jsonl_add(line, "%s", number);
}

void jsonl_real(struct jsonl_line *line, const char *key, double value)
{
    jsonl_add(line, ",\"%s\":", key);
    jsonl_number(line, value);
}

/* Bytes of the UTF-8 character at `text`: 2 to 4; 1 for plain ASCII; 0: it is none. */
static size_t character_bytes(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : 4;
    uint32_t code = bytes == 1 ? *text : *text & (0x7Fu >> bytes);
    if (*text >> 3 > 30 || (*text >= 0x80 && *text < 0xC0))
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < least[bytes] || code > 0x10FFFF || surrogate ? 0 : bytes;
}

void jsonl_string(struct jsonl_line *line, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    jsonl_add(line, text ? "\"" : "null");
    while (text && *at) {
        size_t bytes = character_bytes(at);
        if (bytes == 0 || *at < ' ' || *at == 0x7F)
            jsonl_add(line, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            jsonl_add(line, "\\%c", *at);
        else
            jsonl_add(line, "%.*s", (int)bytes, (const char *)at);
        at += bytes > 0 ? bytes : 1;
    }
    jsonl_add(line, text ? "\"" : "");
}

/* --- a file ------------------------------------------------------------------------------------ */

/* Cuts the file where the run goes on. Pipes and devices keep nothing. */
static int keep_before(const struct jsonl *file, size_t step, jsonl_over over,
                       struct jsonl_line *line)
{
    struct stat status;
    long kept = 0;
    if (fstat(file->file, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    FILE *reader = fopen(file->path, "re");
    if (!reader)
        return -errno;
    while (fgets(line->text, (int)line->room, reader) && strchr(line->text, '\n') &&
           !over(line->text, step))
        kept = ftell(reader);
    fclose(reader);
    return ftruncate(file->file, kept) == 0 ? 0 : -errno;
}

int jsonl_open(struct jsonl *file, size_t step, jsonl_over over, struct jsonl_line *line)
{
    int how = O_WRONLY | O_CREAT | O_CLOEXEC | (step > 0 ? O_APPEND : O_TRUNC);
    file->file = open(file->path, how, 0666);
    file->open = file->file >= 0;
    if (!file->open)
        return -errno;
    int error = step > 0 ? keep_before(file, step, over, line) : 0;
    if (error)
        jsonl_close(file);
    return error;
}

/* The rest after an interruption, or what tells why there is no room for it. Half a line does not stay. */
static int write_all(int file, const char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(file, text + done, length - done);
        int error = written < 0 && errno != EINTR ? -errno : 0;
        if (error && done > 0 && ftruncate(file, lseek(file, 0, SEEK_CUR) - (off_t)done) != 0)
            return error; // of a pipe nothing can be taken back
        if (error)
            return error;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int jsonl_write(const struct jsonl *file, struct jsonl_line *line)
{
    jsonl_add(line, "}\n");
    return line->full ? -EMSGSIZE : write_all(file->file, line->text, line->length);
}

int jsonl_close(struct jsonl *file)
{
    int closed = file->open ? close(file->file) : 0;
    file->open = false;
    return closed == 0 ? 0 : -errno;
}
