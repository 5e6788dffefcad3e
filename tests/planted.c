/* planted: runs with a mistake in them. See the header. */
#include "tests/planted.h"

#include <check.h>
#include <math.h>
#include <string.h>

const struct place places[PLACES] = {
    {2, ""}, {3, ""}, {4, "--stage 1 "}, {4, "--stage 2 "}, {4, "--stage 3 "}};

const char BY_HAND[] = "--data x.csv --test-data x.csv --task regress --hidden none "
                       "--no-bias --init const:0.5 --no-shuffle --momentum 0 ";
const char STANDSTILL[] = "--hidden 9 --lr 0 --momentum 0 --metrics m.jsonl --batch 480 ";

void planted_run(const struct folder *folder, int place, int world, const char *flags,
                 const char *more)
{
    char line[2 * PLANTED_LINE_BYTES];
    snprintf(line, sizeof line, "%s--no-verify %s%s", places[place].stage, flags, more);
    lesson_ok(folder, (struct lesson){places[place].lesson, world}, line);
}

void planted_near(double found, double expected, const char *what)
{
    ck_assert_msg(fabs(found - expected) <= 1e-5 * (1 + fabs(expected)), "%s: %.9g, expected %.9g",
                  what, found, expected);
}

void planted_dump(const struct folder *folder, const char *dump, int rank, size_t step,
                  float param[COUNT])
{
    static const char *const names[] = {"param.fc1.weight", "param.fc1.bias", "param.fc2.weight",
                                        "param.fc2.bias"};
    static const size_t counts[] = {FC1, B1, FC2, B2};
    char path[64];
    snprintf(path, sizeof path, "%s/rank-%d/step-%06zu.safetensors", dump, rank, step);
    for (size_t i = 0; i < 4; i++) {
        lesson_read(folder, path, names[i], param, counts[i]);
        param += counts[i];
    }
}

bool planted_equal(const float *a, const float *b, size_t count)
{
    size_t same = 0;
    while (same < count && a[same] == b[same])
        same++;
    return same == count;
}

void planted_metrics(const struct folder *folder, int rank, const char *key, double *values,
                     size_t count)
{
    char name[32];
    double all[PLANTED_STEPS_MOST];
    snprintf(name, sizeof name, "m.rank-%d.jsonl", rank);
    ck_assert_uint_ge(lesson_values(folder, name, key, all, PLANTED_STEPS_MOST), count);
    memcpy(values, all, count * sizeof *values);
}
