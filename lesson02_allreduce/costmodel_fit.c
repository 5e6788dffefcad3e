/*
 * costmodel_fit: the straight line through ping-pong times.
 *
 * A 64 MiB message takes 10,000 times as long as one of 4 bytes. Plain least squares would look at
 * the large ones alone, and alpha, the whole cost of the small ones, would be their noise. So each
 * error counts in relation to its time: minimise E = sum of w (alpha + beta x - t)^2 over samples
 * of x bytes and t seconds, with w = 1 / t^2. With X and T the means of x and t weighted by w, both
 * derivatives of E are 0 where
 *
 *     beta = sum of w (x - X) (t - T) / sum of w (x - X)^2        alpha = T - beta X
 *
 * Example: 0, 1, 2 bytes take 1, 2, 4 s. Weights 1, 1/4, 1/16; X = 6/21, T = 28/21;
 * beta = 14/11, alpha = 32/33. (Without weights: beta = 3/2, alpha = 5/6: further from the first.)
 *
 * Neither may be negative. E is convex, so where its minimum has alpha < 0, the best of what is
 * allowed lies on the edge alpha = 0, where beta = sum of w x t / sum of w x^2; likewise for beta.
 */
#include "lesson02_allreduce/costmodel.h"

#include <errno.h>

struct weighted {
    double weight, bytes, seconds; // the sum of weights; means
    double squares, products;      // sums of w (x - X)^2 and w (x - X) (t - T)
};

static double weight_of(const struct cost_sample *sample)
{
    return 1 / (sample->seconds * sample->seconds);
}

static struct weighted sum_up(const struct cost_sample *samples, size_t count)
{
    struct weighted sum = {0};
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(&samples[i]);
        sum.weight += weight;
        sum.bytes += weight * (double)samples[i].bytes;
        sum.seconds += weight * samples[i].seconds;
    }
    sum.bytes /= sum.weight;
    sum.seconds /= sum.weight;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(&samples[i]), x = (double)samples[i].bytes - sum.bytes;
        sum.squares += weight * x * x;
        sum.products += weight * x * (samples[i].seconds - sum.seconds);
    }
    return sum;
}

/* The best line through the origin. */
static double slope_alone(const struct cost_sample *samples, size_t count)
{
    double products = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(&samples[i]), x = (double)samples[i].bytes;
        products += weight * x * samples[i].seconds;
        squares += weight * x * x;
    }
    return products / squares;
}

static int check(const struct cost_sample *samples, size_t count)
{
    size_t least = count > 0 ? samples[0].bytes : 0, most = least;
    for (size_t i = 0; i < count; i++) {
        if (!(samples[i].seconds > 0))
            return -EINVAL;
        least = samples[i].bytes < least ? samples[i].bytes : least;
        most = samples[i].bytes > most ? samples[i].bytes : most;
    }
    return most > least ? 0 : -EINVAL;
}

int costmodel_fit(struct cost_link *link, const struct cost_sample *samples, size_t count)
{
    int error = check(samples, count);
    if (error)
        return error;
    struct weighted sum = sum_up(samples, count);
    link->beta_seconds = sum.products / sum.squares;
    link->alpha_seconds = sum.seconds - link->beta_seconds * sum.bytes;
    if (link->beta_seconds < 0) {
        link->beta_seconds = 0;
        link->alpha_seconds = sum.seconds;
    } else if (link->alpha_seconds < 0) {
        link->alpha_seconds = 0;
        link->beta_seconds = slope_alone(samples, count);
    }
    return 0;
}
