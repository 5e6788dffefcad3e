/*
 * lesson01: the checks of lesson 1, task by task. Each is a function of grade.h.
 */
#ifndef TESTS_GRADE_LESSON01_H
#define TESTS_GRADE_LESSON01_H

#include "tests/grade/grade.h"

/* 01.1, check_loss.c */
int loss_gradient(struct grade *grade);
int loss_value(struct grade *grade);
int loss_large(struct grade *grade);
int loss_nan(struct grade *grade);

/* 01.2, check_layer.c */
int layer_weight(struct grade *grade);
int layer_bias(struct grade *grade);
int layer_input(struct grade *grade);
int layer_adds(struct grade *grade);
int layer_relu(struct grade *grade);
int layer_none(struct grade *grade);

/* 01.3 and 01.4, check_optimizer.c */
int sgd_plain(struct grade *grade);
int sgd_momentum(struct grade *grade);
int sgd_decay(struct grade *grade);
int sgd_slices(struct grade *grade);
int adam_first(struct grade *grade);
int adam_steps(struct grade *grade);
int adam_decay(struct grade *grade);
int adamw_decay(struct grade *grade);
int adam_epsilon(struct grade *grade);
int adam_skipped(struct grade *grade);

/* 01.5, check_sampler.c */
int slices_tile(struct grade *grade);
int slices_huge(struct grade *grade);
int sampler_windows(struct grade *grade);
int sampler_shares(struct grade *grade);
int sampler_epochs(struct grade *grade);
int sampler_permutes(struct grade *grade);
int sampler_planted(struct grade *grade);

#endif
