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

static void put(struct jsonl_line *line, const char *text, size_t length)
{
    line->full = line->full || length >= line->room - line->length;
    if (line->full)
        return;
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

void jsonl_text(struct jsonl_line *line, const char *text)
{
    put(line, text, strlen(text));
}

void jsonl_begin(struct jsonl_line *line, const char *event)
{
    line->begun = line->length;
    line->full = false;
    jsonl_add(line, "{\"event\":\"%s\"", event);
}

static void put_key(struct jsonl_line *line, const char *key)
{
    put(line, ",\"", 2);
    jsonl_text(line, key);
    put(line, "\":", 2);
}

/* The last `count` digits of a number. */
static void put_digits(struct jsonl_line *line, uint64_t value, size_t count)
{
    char digits[24];
    for (size_t i = count; i-- > 0; value /= 10)
        digits[i] = (char)('0' + value % 10);
    put(line, digits, count);
}

void jsonl_whole(struct jsonl_line *line, const char *key, size_t value)
{
    size_t count = 1;
    for (size_t rest = value; rest > 9; rest /= 10)
        count++;
    put_key(line, key);
    put_digits(line, value, count);
}

void jsonl_hash(struct jsonl_line *line, const char *key, uint64_t value)
{
    char digits[18] = {[0] = '"', [17] = '"'};
    for (size_t i = 16; i > 0; i--, value >>= 4)
        digits[i] = "0123456789abcdef"[value & 15];
    put_key(line, key);
    put(line, digits, sizeof digits);
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
    put_key(line, key);
    jsonl_number(line, value);
}

enum { ROUNDED_DIGITS = 12 };

/* digits: 12 of them, of which the first stands for 10^exponent; zeros at the end say nothing. */
static void put_rounded(struct jsonl_line *line, uint64_t digits, int exponent)
{
    static const char zeros[] = "0.000000000";
    char text[ROUNDED_DIGITS + 1];
    int count = ROUNDED_DIGITS, before = exponent < 0 ? 0 : exponent + 1;
    for (; digits % 10 == 0 && count > before && count > 1; count--)
        digits /= 10;
    for (int i = count; i-- > 0; digits /= 10) // the point comes in between
        text[i + (i >= before && before > 0)] = (char)('0' + digits % 10);
    if (before == 0)
        put(line, zeros, (size_t)(1 - exponent));
    else
        text[before] = '.';
    put(line, text, (size_t)count + (before > 0 && count > before));
}

/* Powers of ten up to 10^22 are exact: what is rounded twice is off in the sixteenth digit at most. */
void jsonl_rounded_number(struct jsonl_line *line, double value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9, 1e10,
                                  1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20};
    double size = fabs(value);
    if (value == 0) {
        put(line, "0", 1);
        return;
    }
    if (!(size >= 1e-8 && size < 0x1p39)) { // or it is not finite; above, `exponent` may be 12
        jsonl_number(line, value);
        return;
    }
    int exponent = ((ilogb(size) + 1) * 1233) >> 12; // the decimal logarithm, or one more
    exponent -= size * tens[ROUNDED_DIGITS - 1 - exponent] < tens[ROUNDED_DIGITS - 1] - 0.5;
    if (value < 0)
        put(line, "-", 1);
    uint64_t digits = (uint64_t)(size * tens[ROUNDED_DIGITS - 1 - exponent] + 0.5);
    put_rounded(line, digits, exponent);
}

void jsonl_rounded(struct jsonl_line *line, const char *key, double value)
{
    put_key(line, key);
    jsonl_rounded_number(line, value);
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

/* Bytes of a line that has no end, at the end of a text. */
static off_t half_of(const char *text, size_t length)
{
    size_t whole = length;
    while (whole > 0 && text[whole - 1] != '\n')
        whole--;
    return (off_t)(length - whole);
}

/* The rest after an interruption, or what tells why there is no room for it. Half a line does not stay. */
static int write_all(int file, const char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(file, text + done, length - done);
        int error = written < 0 && errno != EINTR ? -errno : 0;
        if (error && done > 0 &&
            ftruncate(file, lseek(file, 0, SEEK_CUR) - half_of(text, done)) != 0)
            return error; // of a pipe nothing can be taken back
        if (error)
            return error;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int jsonl_end(struct jsonl_line *line)
{
    put(line, "}\n", 2);
    if (line->full)
        line->length = line->begun;
    return line->full ? -EMSGSIZE : 0;
}

int jsonl_write(const struct jsonl *file, struct jsonl_line *line)
{
    size_t length = line->length;
    line->length = 0;
    return write_all(file->file, line->text, length);
}

int jsonl_close(struct jsonl *file)
{
    int closed = file->open ? close(file->file) : 0;
    file->open = false;
    return closed == 0 ? 0 : -errno;
}
