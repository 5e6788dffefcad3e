/* progress: how far a training run is. See the header. */
#include "common/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 20, LINE_BYTES = 80 }; // a bar that wraps could not be drawn over itself

static const double redraw_seconds = 0.1;

static bool is_terminal(FILE *out)
{
    const char *kind = getenv("TERM");
    int descriptor = fileno(out);
    return descriptor >= 0 && isatty(descriptor) && kind && strcmp(kind, "dumb") != 0;
}

void progress_begin(struct progress *progress, FILE *out, enum progress_kind kind)
{
    *progress = (struct progress){.out = out};
    if (out)
        progress->bar = kind == PROGRESS_ALWAYS || (kind == PROGRESS_AUTO && is_terminal(out));
}

void progress_plan(struct progress *progress, size_t first, size_t steps, size_t epochs,
                   double now_seconds)
{
    progress->first = first;
    progress->steps = steps;
    progress->epochs = epochs;
    progress->samples = 0;
    progress->began_seconds = now_seconds;
    progress->drawn_seconds = now_seconds - redraw_seconds;
}

void progress_clear(struct progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", progress->out); // back to the margin, erase to the right
    fflush(progress->out);
    progress->drawn = false;
}

static void draw_cells(char cells[CELLS + 1], size_t done, size_t steps)
{
    size_t full = (size_t)(CELLS * ((double)done / (double)steps));
    memset(cells, '-', CELLS);
    memset(cells, '#', full < CELLS ? full : CELLS);
    cells[CELLS] = '\0';
}

static void draw(struct progress *progress, const struct progress_step *step)
{
    size_t steps = step->done < progress->steps ? progress->steps : step->done;
    double seconds = step->now_seconds - progress->began_seconds;
    double since = (double)(step->done - progress->first), left = (double)(steps - step->done);
    double rate = seconds > 0 ? (double)progress->samples / seconds : 0;
    double left_seconds = since > 0 ? seconds / since * left : 0;
    char cells[CELLS + 1], line[LINE_BYTES];
    draw_cells(cells, step->done, steps);
    int length = snprintf(
        line, sizeof line,
        "[%s] %3.0f %%  epoch %zu/%zu  loss %.4g  lr %.3g  %.0f/s  %.0f:%02.0f left", cells,
        floor(100 * (double)step->done / (double)steps), step->epoch + 1, progress->epochs,
        step->loss, step->lr, rate, floor(left_seconds / 60), floor(fmod(left_seconds, 60)));
    if (length < 0)
        return;
    fprintf(progress->out, "\r%s\033[K", line);
    fflush(progress->out);
    progress->drawn = true;
    progress->drawn_seconds = step->now_seconds;
}

void progress_step(struct progress *progress, const struct progress_step *step)
{
    progress->samples += step->samples;
    if (progress->bar && step->now_seconds - progress->drawn_seconds >= redraw_seconds)
        draw(progress, step);
}

void progress_loss(char text[PROGRESS_LOSS_BYTES], double loss)
{
    snprintf(text, PROGRESS_LOSS_BYTES, fabs(loss) < 1e6 ? "%.4f" : "%.4g", loss);
}

void progress_epoch(struct progress *progress, const struct progress_epoch *epoch)
{
    char loss[PROGRESS_LOSS_BYTES], test_loss[PROGRESS_LOSS_BYTES], accuracy[32] = "";
    if (!progress->out)
        return;
    progress_clear(progress);
    if (isfinite(epoch->test_accuracy))
        snprintf(accuracy, sizeof accuracy, "  accuracy %.2f %%", 100 * epoch->test_accuracy);
    progress_loss(loss, epoch->loss);
    progress_loss(test_loss, epoch->test_loss);
    int width = snprintf(NULL, 0, "%zu", progress->epochs); // the columns stay below each other
    fprintf(progress->out, "epoch %*zu/%zu  loss %s  %s%s%s  lr %.3g", width, epoch->epoch + 1,
            progress->epochs, loss, isnan(epoch->test_loss) ? "no test samples" : "test loss ",
            isnan(epoch->test_loss) ? "" : test_loss, accuracy, epoch->lr);
    if (isfinite(epoch->samples_per_second))
        fprintf(progress->out, "  %.0f samples/s", epoch->samples_per_second);
    fputc('\n', progress->out);
    fflush(progress->out);
}
