/*
 * idx: a folder of images and labels, as MNIST and Fashion-MNIST are published.
 *
 *     train-images-idx3-ubyte   magic 2051, count, rows, columns; then a byte a pixel
 *     train-labels-idx1-ubyte   magic 2049, count; then a byte a label
 *     t10k-images-..., t10k-labels-...   the same, for testing
 *
 * Numbers are 32 bits, the highest byte first. Each file may be gzip, with or without the ending
 * .gz. Pixels are scaled from 0..255 to 0..1. There are ten classes: the format does not say how
 * many, the data sets published under these names have ten, and a stray label must not add one.
 * A file takes no more memory than its header promises, whatever it would unpack to.
 *
 * The format: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits".
 */
#ifndef COMMON_IDX_H
#define COMMON_IDX_H

#include "common/table.h"

/* The folder's part for training, or the one for testing. A folder without t10k files has one part,
 * which is returned for either (table->has_test is false then). 0; -EINVAL or -ENOENT with the
 * file, what was expected and what was found; -ENOMEM; or what the system said. table_release is
 * due whatever the outcome. */
int idx_read(struct table *table, const char *folder, bool test, struct memory *memory,
             struct fail *fail);

#endif
