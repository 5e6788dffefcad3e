/*
 * html: text and pictures of a page. Whatever a record says is written by html_text and html_format, which leave no
 * character that means something to a browser.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdbool.h>
#include <stdio.h>

void html_text(FILE *out, const char *text);

/* printf, its result as text. Up to 4 KiB. */
__attribute__((format(printf, 2, 3))) void html_format(FILE *out, const char *format, ...);

/* All of FOLDER/NAME as it is; nothing, where there is none. For what comes with this course, not for a record's. */
void html_file(FILE *out, const char *folder, const char *name);

/* Begins a figure with the picture FOLDER/NAME.svg of gnuplot's, inline, its ids made the picture's own; `says` is its text for
 * those who do not see it. The caller ends it. False: there is no such picture, and nothing was written. */
bool html_figure(FILE *out, const char *folder, const char *name, const char *says);

#endif
