/*
 * tables: a record's numbers as tab-separated files, for gnuplot and for whoever wants them.
 *
 *     loss.tsv       update  samples  mean  least  most         of the reported loss
 *     reference.tsv  the same, of the reference
 *     epochs.tsv     update  samples  train  test  accuracy
 *     lost.tsv       update  samples                            where a loss is not finite
 *     local.tsv      update  reported  least  most  rank 0 ...  of the ranks' own losses
 *     norms.tsv      update  mean  least  most                  of the reduced gradient, where it was measured
 *     looks.tsv      update  reduced  least  most               the last two of the ranks' own
 *     step.tsv       rank  compute  wait  other  communication  milliseconds of one step
 *     spans.tsv      rank  lane  kind  begin  end               milliseconds, of --trace
 *     memory.tsv     rank  parameters ... other  peak           MiB
 *     settings.gp    what of this there is, and the ranges of axes
 */
#ifndef REPORT_TABLES_H
#define REPORT_TABLES_H

#include "common/fail.h"
#include "common/report/survey.h"

/* Writes them into `folder`, which is there. reference may be NULL. 0, or a negative error naming the file. */
int tables_write(const struct survey *survey, const struct casebook *reference, const char *folder,
                 struct fail *fail);

#endif
