/* settings: what of a run there is to draw, and the ranges of axes, as gnuplot's variables: settings.gp. */
#ifndef REPORT_SETTINGS_H
#define REPORT_SETTINGS_H

#include "common/report/survey.h"

#include <stdio.h>

struct settings {
    const struct survey *survey;
    const struct casebook *reference; // or NULL
    long traced;                      // the step drawn from --trace; -1: none is
    double time_most;                 // milliseconds, of the step that is drawn
    double memory_most;               // MiB
};

void settings_write(const struct settings *settings, FILE *out);

#endif
