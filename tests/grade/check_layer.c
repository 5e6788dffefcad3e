/* check_layer: a dense layer's gradients against sums in double. See lesson01.h. */
#include "lesson01_single/layer.h"
#include "tests/grade/lesson01.h"

#include <math.h>

enum { SIDE_MOST = 23, AREA_MOST = SIDE_MOST * SIDE_MOST };

/* The roundings of a sum of at most SIDE_MOST products below 1. */
static const double SLACK = 2 * SIDE_MOST * SIDE_MOST * 0x1p-24;

struct layer {
    struct dense_shape shape;
    float x[AREA_MOST], w[AREA_MOST], dy[AREA_MOST]; // (rows, in), (out, in), (rows, out)
};

/* Three sides of different lengths: a transposed matrix is another one. */
static void draw_layer(struct grade *grade, struct layer *layer)
{
    layer->shape.rows = grade_draw(grade, 3, 9);
    layer->shape.in = grade_draw(grade, 10, 16);
    layer->shape.out = grade_draw(grade, 17, SIDE_MOST);
    layer->shape.profile = NULL;
    for (size_t i = 0; i < AREA_MOST; i++) {
        layer->x[i] = grade_value(grade, 0, i);
        layer->w[i] = grade_value(grade, 1, i);
        layer->dy[i] = grade_value(grade, 2, i);
    }
}

/* dw[o][i] = sum over rows of dy[row][o] x[row][i] */
static int compare_weight(struct grade *grade, const struct layer *layer, const float *dw,
                          double before)
{
    size_t in = layer->shape.in, out = layer->shape.out;
    int wrong = 0;
    for (size_t at = 0; at < out * in && !wrong; at++) {
        double sum = before;
        for (size_t row = 0; row < layer->shape.rows; row++)
            sum += (double)layer->dy[row * out + at / in] * (double)layer->x[row * in + at % in];
        wrong = grade_near(grade, "dw", at, (double)dw[at], sum, SLACK);
    }
    return wrong;
}

static int compare_bias(struct grade *grade, const struct layer *layer, const float *db,
                        double before)
{
    int wrong = 0;
    for (size_t o = 0; o < layer->shape.out && !wrong; o++) {
        double sum = before;
        for (size_t row = 0; row < layer->shape.rows; row++)
            sum += (double)layer->dy[row * layer->shape.out + o];
        wrong = grade_near(grade, "db", o, (double)db[o], sum, SLACK);
    }
    return wrong;
}

int layer_weight(struct grade *grade)
{
    struct layer layer;
    float dw[AREA_MOST] = {0};
    draw_layer(grade, &layer);
    dense_backward_weight(dw, layer.dy, layer.x, layer.shape);
    return compare_weight(grade, &layer, dw, 0);
}

int layer_bias(struct grade *grade)
{
    struct layer layer;
    float db[SIDE_MOST] = {0};
    draw_layer(grade, &layer);
    dense_backward_bias(db, layer.dy, layer.shape);
    return compare_bias(grade, &layer, db, 0);
}

/* dx[row][i] = sum over o of dy[row][o] w[o][i] */
int layer_input(struct grade *grade)
{
    struct layer layer;
    float dx[AREA_MOST];
    int wrong = 0;
    draw_layer(grade, &layer);
    size_t in = layer.shape.in, out = layer.shape.out;
    for (size_t i = 0; i < AREA_MOST; i++)
        dx[i] = 5; // of the micro-batch before
    dense_backward_input(dx, layer.dy, layer.w, layer.shape);
    for (size_t at = 0; at < layer.shape.rows * in && !wrong; at++) {
        double sum = 0;
        for (size_t o = 0; o < out; o++)
            sum += (double)layer.dy[at / in * out + o] * (double)layer.w[o * in + at % in];
        wrong = grade_near(grade, "dx", at, (double)dx[at], sum, SLACK);
    }
    return wrong;
}

int layer_adds(struct grade *grade)
{
    struct layer layer;
    float dw[AREA_MOST], db[SIDE_MOST];
    draw_layer(grade, &layer);
    for (size_t i = 0; i < AREA_MOST; i++)
        dw[i] = db[i % SIDE_MOST] = 3;
    dense_backward_weight(dw, layer.dy, layer.x, layer.shape);
    dense_backward_bias(db, layer.dy, layer.shape);
    return compare_weight(grade, &layer, dw, 3) || compare_bias(grade, &layer, db, 3);
}

int layer_relu(struct grade *grade)
{
    static const float y[6] = {0, 1e-30f, 2, 0, 3e38f, 0};
    float dy[6];
    int wrong = 0;
    for (size_t i = 0; i < 6; i++)
        dy[i] = grade_value(grade, 0, i);
    dy[3] = INFINITY; // where y is 0: nothing of it passes
    relu_backward(dy, y, 6);
    for (size_t i = 0; i < 6; i++) {
        double expected = y[i] > 0 ? (double)grade_value(grade, 0, i) : 0;
        wrong |= grade_near(grade, "dy", i, (double)dy[i], expected, 0);
    }
    return wrong;
}

int layer_none(struct grade *grade)
{
    struct layer layer;
    float dw[AREA_MOST], db[SIDE_MOST];
    int wrong = 0;
    draw_layer(grade, &layer);
    for (size_t i = 0; i < AREA_MOST; i++)
        dw[i] = db[i % SIDE_MOST] = 3;
    layer.shape.rows = 0;
    dense_backward_weight(dw, layer.dy, layer.x, layer.shape);
    dense_backward_bias(db, layer.dy, layer.shape);
    for (size_t i = 0; i < AREA_MOST && !wrong; i++)
        wrong = grade_near(grade, "no row: dw", i, (double)dw[i], 3, 0) ||
                grade_near(grade, "no row: db", i % SIDE_MOST, (double)db[i % SIDE_MOST], 3, 0);
    return wrong;
}
