/* heading: how the page begins: its style, what the run was, and how it ended. Part of sections.h. */
#ifndef REPORT_HEADING_H
#define REPORT_HEADING_H

#include "common/report/survey.h"

#include <stdio.h>

struct page {
    const struct survey *survey;
    const struct casebook *reference; // or NULL
    const char *folder;               // of pictures, style and verdict
    FILE *out;
};

void heading_write(const struct page *page);

const char *heading_plural(size_t count); // "s", unless it is 1

#endif
