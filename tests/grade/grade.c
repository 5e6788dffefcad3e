/* grade: what checks are made of. See the header. */
#include "tests/grade/grade.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t grade_draw(struct grade *grade, size_t least, size_t most)
{
    return least + rng_bits(&grade->rng, grade->drawn++) % (most - least + 1);
}

int grade_world(struct grade *grade)
{
    return grade_draw(grade, 0, 1) ? 5 : 3;
}

size_t grade_odd(struct grade *grade, size_t least)
{
    size_t count = least + grade_draw(grade, 0, 15);
    while (count % 2 == 0 || count % 3 == 0 || count % 5 == 0)
        count++;
    return count;
}

float grade_value(const struct grade *grade, size_t which, size_t i)
{
    struct rng values = grade->rng;
    values.sub ^= (uint32_t)which + 1;
    return 2 * rng_uniform(&values, i) - 1;
}

int grade_expect(struct grade *grade, bool condition, const char *format, ...)
{
    if (condition)
        return 0;
    va_list arguments;
    va_start(arguments, format);
    if (grade->text[0] == '\0')
        vsnprintf(grade->text, GRADE_TEXT_BYTES, format, arguments);
    va_end(arguments);
    return 1;
}

int grade_near(struct grade *grade, const char *what, size_t i, double found, double expected,
               double slack)
{
    return grade_expect(grade, fabs(found - expected) <= slack,
                        "%s[%zu]: expected %.7g, found %.7g", what, i, expected, found);
}

/* What a rank knows: 2 what it expected and found (ranks_expect), 1 that another one is gone, 0 nothing. */
static int knows(const struct ranks_result *result, int rank)
{
    char own[RANKS_TEXT_BYTES];
    int length = snprintf(own, sizeof own, "rank %d: ", rank);
    const char *text = result->text[rank];
    return strncmp(text, own, (size_t)length) == 0 ? 2 : text[0] != '\0';
}

/* A rank that ended without a sentence. */
static int expect_end(struct grade *grade, const struct ranks_result *result, int rank)
{
    int code = result->code[rank];
    return grade_expect(
        grade, false, "%d ranks: rank %d: expected it to end in good order, found %s",
        result->world, rank, code > 128 ? strsignal(code - 128) : "that it did not");
}

/* The rank that knows most tells. */
int grade_result(struct grade *grade, const struct ranks_result *result)
{
    int wrong = 0;
    for (int said = 2; said >= 0; said--)
        for (int rank = 0; rank < result->world && !wrong; rank++)
            if ((result->code[rank] || result->left[rank]) && knows(result, rank) >= said)
                wrong = said ? grade_expect(grade, false, "%d ranks: %s", result->world,
                                            result->text[rank])
                             : expect_end(grade, result, rank);
    return wrong;
}

int grade_ranks(struct grade *grade, int world, ranks_body *body, void *context)
{
    struct ranks_plan plan = {.world = world,
                              .body = body,
                              .context = context,
                              .unmet = true,
                              .timeout_seconds = GRADE_TIMEOUT_SECONDS};
    struct ranks_result result;
    ranks_run_plan(&plan, &result);
    return grade_result(grade, &result);
}

int grade_killed(struct grade *grade, const struct ranks_plan *plan, int victim)
{
    struct ranks_result result;
    ranks_run_plan(plan, &result);
    if (result.code[victim] == 128 + SIGKILL)
        result.code[victim] = 0;
    return grade_result(grade, &result);
}

int grade_lesson(struct grade *grade, struct program *program, const struct folder *folder,
                 struct lesson lesson, const char *arguments, int code)
{
    lesson_run(program, folder, lesson, arguments);
    return grade_expect(grade, program->code == code,
                        "lesson 0%d, %d ranks, %s: expected exit code %d, found %d: %.400s",
                        lesson.number, lesson.world, arguments, code, program->code, program->err);
}
