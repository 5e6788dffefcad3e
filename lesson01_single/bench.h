/*
 * bench: how much of the machine's matrix multiply does training reach?
 *
 * Trains three networks on made-up data, alternating with OpenBLAS's own sgemm on 1024 x 1024
 * matrices, and prints samples per second and the share. Rates drift; a share of one run does not.
 */
#ifndef LESSON01_BENCH_H
#define LESSON01_BENCH_H

#include "common/fail.h"

#include <stdio.h>

/* 0 or -ENOMEM. Takes about ten seconds. */
int bench_training(FILE *out, struct fail *fail);

#endif
