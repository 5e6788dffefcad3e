/* pairs: greedy covering. Each row begins with a pair that has not been met yet; every other factor
 * takes the value that meets most new values of those chosen before. See the header. */
#include "tests/pairs.h"

#include <assert.h>
#include <string.h>

enum { FREE = PAIRS_VALUES_MOST };

/* met[f][i][g][j], f < g: value i of factor f and value j of factor g were in one row. */
struct cover {
    const struct pairs_table *table;
    bool met[PAIRS_FACTORS_MOST][PAIRS_VALUES_MOST][PAIRS_FACTORS_MOST][PAIRS_VALUES_MOST];
};

static const char *value(const struct pairs_table *table, size_t factor, size_t index)
{
    return table->factors[factor].values[index];
}

static bool *met(struct cover *cover, size_t f, size_t i, size_t g, size_t j)
{
    return f < g ? &cover->met[f][i][g][j] : &cover->met[g][j][f][i];
}

bool pairs_refused(const struct pairs_table *table, const char *one, const char *other)
{
    for (size_t i = 0; i < table->refusal_count; i++) {
        const struct pairs_refusal *refusal = &table->refusals[i];
        if ((strcmp(refusal->one, one) == 0 && strcmp(refusal->other, other) == 0) ||
            (strcmp(refusal->one, other) == 0 && strcmp(refusal->other, one) == 0))
            return true;
    }
    return false;
}

/* How many pairs a value would meet for the first time; -1: one of its pairs is refused. */
static int gain(struct cover *cover, const size_t *row, size_t factor, size_t index)
{
    int count = 0;
    for (size_t other = 0; other < cover->table->factor_count; other++) {
        if (other == factor || row[other] == FREE)
            continue;
        if (pairs_refused(cover->table, value(cover->table, factor, index),
                          value(cover->table, other, row[other])))
            return -1;
        count += !*met(cover, factor, index, other, row[other]);
    }
    return count;
}

static void choose(struct cover *cover, size_t *row, size_t factor, size_t turn)
{
    size_t count = 0, best = FREE;
    int most = -1;
    while (value(cover->table, factor, count))
        count++;
    for (size_t k = 0; k < count; k++) {
        size_t index = (k + turn) % count; // of equals the first, and not always the same one
        int gained = gain(cover, row, factor, index);
        if (gained > most) {
            most = gained;
            best = index;
        }
    }
    assert(best != FREE); // else a refusal leaves a factor nothing
    row[factor] = best;
}

/* The first pair that is neither met nor refused; false if there is none. */
static bool begin_row(struct cover *cover, size_t *row)
{
    const struct pairs_table *table = cover->table;
    for (size_t f = 0; f < table->factor_count; f++)
        for (size_t g = f + 1; g < table->factor_count; g++)
            for (size_t i = 0; value(table, f, i); i++)
                for (size_t j = 0; value(table, g, j); j++)
                    if (!cover->met[f][i][g][j] &&
                        !pairs_refused(table, value(table, f, i), value(table, g, j))) {
                        row[f] = i;
                        row[g] = j;
                        return true;
                    }
    return false;
}

static void mark(struct cover *cover, const size_t *row)
{
    for (size_t f = 0; f < cover->table->factor_count; f++)
        for (size_t g = f + 1; g < cover->table->factor_count; g++)
            cover->met[f][row[f]][g][row[g]] = true;
}

size_t pairs_rows(const struct pairs_table *table, size_t turn,
                  size_t rows[PAIRS_ROWS_MOST][PAIRS_FACTORS_MOST])
{
    struct cover cover = {.table = table};
    size_t count = 0;
    assert(table->factor_count <= PAIRS_FACTORS_MOST);
    for (;; count++) {
        size_t row[PAIRS_FACTORS_MOST];
        for (size_t f = 0; f < PAIRS_FACTORS_MOST; f++)
            row[f] = FREE;
        if (!begin_row(&cover, row))
            return count;
        assert(count < PAIRS_ROWS_MOST);
        for (size_t k = 0; k < table->factor_count; k++) {
            size_t factor = (k + turn + count) % table->factor_count;
            if (row[factor] == FREE)
                choose(&cover, row, factor, turn + count);
        }
        mark(&cover, row);
        memcpy(rows[count], row, sizeof row);
    }
}
