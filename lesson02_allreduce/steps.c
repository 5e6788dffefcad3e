/* steps: who sends what to whom in which step. See the header. */
#include "lesson02_allreduce/steps.h"

struct list {
    int world;
    struct slice whole;
    struct transfer *transfers;
    size_t most, count;
    int step;          // of what is added next
    int rank;          // whose floats are counted,
    size_t sent_count; // and how many it has sent
};

static void add(struct list *list, int from, int to, struct slice part, bool adds)
{
    if (list->count < list->most)
        list->transfers[list->count] = (struct transfer){list->step, from, to, part, adds};
    list->count++;
    list->sent_count += from == list->rank ? part.count : 0;
}

static struct slice chunk_of(const struct list *list, int number)
{
    int index = (number % list->world + list->world) % list->world;
    return slice_of(list->whole.count, (size_t)list->world, (size_t)index);
}

static void ring(struct list *list)
{
    int rounds = list->world - 1;
    for (; list->step < 2 * rounds; list->step++)
        for (int rank = 0; rank < list->world; rank++)
            add(list, rank, (rank + 1) % list->world, chunk_of(list, rank - 1 - list->step),
                list->step < rounds);
}

static void root(struct list *list)
{
    for (int rank = 1; rank < list->world; rank++)
        add(list, rank, 0, list->whole, true);
    list->step++;
    for (int rank = 1; rank < list->world; rank++)
        add(list, 0, rank, list->whole, false);
}

/* Each rank talks once to its parent: that is where its lowest set bit is cleared. */
static void tree_level(struct list *list, int bit, bool up)
{
    for (int child = bit; child < list->world; child += 2 * bit)
        add(list, up ? child : child - bit, up ? child - bit : child, list->whole, up);
    list->step++;
}

static void tree(struct list *list)
{
    int bit = 1;
    for (; bit < list->world; bit *= 2)
        tree_level(list, bit, true);
    while ((bit /= 2) > 0)
        tree_level(list, bit, false);
}

/* What player `player` is left with after `levels` halvings: the lower half where its bit is 0. */
static struct slice kept(const struct list *list, int player, int levels)
{
    struct slice part = list->whole;
    for (int level = 0; level < levels; level++) {
        struct slice half = slice_of(part.count, 2, (size_t)(player >> level) & 1);
        part = (struct slice){part.begin + half.begin, half.count};
    }
    return part;
}

/* Every player and the one 2^level away: on the way down each gives the half the other keeps, on
 * the way up the one it has kept. The first `folded` players stand in for two ranks. */
static void halving_level(struct list *list, int level, int folded, bool down)
{
    int players = list->world - folded;
    for (int player = 0; player < players; player++) {
        int other = player ^ (1 << level);
        add(list, player < folded ? 2 * player : player + folded,
            other < folded ? 2 * other : other + folded,
            kept(list, down ? other : player, level + 1), down);
    }
    list->step++;
}

static void halving_fold(struct list *list, int folded, bool before)
{
    for (int pair = 0; pair < folded; pair++)
        add(list, 2 * pair + before, 2 * pair + !before, list->whole, before);
    list->step += folded > 0;
}

static void halving(struct list *list)
{
    int levels = 0;
    while (2 << levels <= list->world)
        levels++;
    int folded = list->world - (1 << levels);
    halving_fold(list, folded, true);
    for (int level = 0; level < levels; level++)
        halving_level(list, level, folded, true);
    for (int level = levels - 1; level >= 0; level--)
        halving_level(list, level, folded, false);
    halving_fold(list, folded, false);
}

enum what { WHOLE, CHUNK_OF_RECEIVER, CHUNK_OF_SENDER };

static void all_to_all(struct list *list, enum what what)
{
    for (int from = 0; from < list->world; from++)
        for (int to = 0; to < list->world; to++)
            if (from != to)
                add(list, from, to,
                    what == WHOLE ? list->whole
                                  : chunk_of(list, what == CHUNK_OF_RECEIVER ? to : from),
                    what != CHUNK_OF_SENDER);
    list->step++;
}

static void direct(struct list *list)
{
    if (list->whole.count * sizeof(float) <= algorithm_direct_whole_bytes(list->world)) {
        all_to_all(list, WHOLE);
        return;
    }
    all_to_all(list, CHUNK_OF_RECEIVER);
    all_to_all(list, CHUNK_OF_SENDER);
}

static void make(struct list *list, enum algorithm algorithm)
{
    static void (*const makers[])(struct list *) = {
        [ALGORITHM_RING] = ring,       [ALGORITHM_ROOT] = root,     [ALGORITHM_TREE] = tree,
        [ALGORITHM_HALVING] = halving, [ALGORITHM_DIRECT] = direct,
    };
    if (algorithm != ALGORITHM_AUTO)
        makers[algorithm](list);
}

size_t steps_of(enum algorithm algorithm, int world, size_t count, struct transfer *transfers,
                size_t most)
{
    struct list list = {.world = world, .transfers = transfers, .most = most, .rank = -1};
    list.whole.count = count;
    make(&list, algorithm);
    return list.count;
}

size_t steps_sent(enum algorithm algorithm, int world, size_t count, int rank)
{
    struct list list = {.world = world, .rank = rank};
    list.whole.count = count;
    make(&list, algorithm);
    return list.sent_count;
}
