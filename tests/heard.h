/* heard: what a model's backward announces, in its order. */
#ifndef TESTS_HEARD_H
#define TESTS_HEARD_H

#include "lesson01_single/model.h"

struct heard {
    size_t count, tensors[MODEL_TENSORS_MOST];
    bool unused[MODEL_TENSORS_MOST]; // announced as one that got no gradient
};

struct model_listener heard_listener(struct heard *heard);

#endif
