/* progress: how far a training run is. See the header. */
#include "common/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CELLS_LEAST = 5, CELLS_MOST = 20, PART_BYTES = 64 };
enum { LINE_BYTES = 80 }; // a bar that wraps could not be drawn over itself

enum part { SHARE, EPOCH, LOSS, RATE, SPEED, LEFT, PARTS };

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

/* As many columns as a line may have: one less than the terminal, of 80 at most. */
static int columns_of(FILE *out)
{
    struct winsize size = {0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_col >= LINE_BYTES)
        return LINE_BYTES - 1;
    return size.ws_col - 1;
}

/* All parts, or where there is no room for them those that are missed most. */
static int choose(char parts[PARTS][PART_BYTES], int columns)
{
    static const enum part least_first[] = {RATE, EPOCH, SPEED, LEFT, LOSS};
    size_t length = 0;
    for (int i = 0; i < PARTS; i++)
        length += strlen(parts[i]);
    for (size_t i = 0; i < PARTS - 1 && length > (size_t)columns; i++) {
        length -= strlen(parts[least_first[i]]);
        parts[least_first[i]][0] = '\0';
    }
    return (int)length;
}

/* What the other parts leave is the bar's. */
static void draw_cells(char bar[CELLS_MOST + 4], int room, double share)
{
    int cells = room - 3 < CELLS_MOST ? room - 3 : CELLS_MOST; // without the walls and a blank
    bar[0] = '\0';
    if (cells < CELLS_LEAST)
        return;
    int full = (int)(cells * share);
    memset(bar, '-', (size_t)cells + 1);
    memset(bar + 1, '#', (size_t)full);
    bar[0] = '[';
    memcpy(bar + cells + 1, "] ", sizeof "] ");
}

static void draw(struct progress *progress, const struct progress_step *step)
{
    size_t steps = step->done < progress->steps ? progress->steps : step->done;
    double seconds = step->now_seconds - progress->began_seconds;
    double since = (double)(step->done - progress->first), left = (double)(steps - step->done);
    double speed = seconds > 0 ? (double)progress->samples / seconds : 0;
    double left_seconds = since > 0 ? seconds / since * left : 0;
    double share = (double)step->done / (double)steps;
    char parts[PARTS][PART_BYTES], bar[CELLS_MOST + 4];
    snprintf(parts[SHARE], PART_BYTES, "%3.0f %%", floor(100 * share));
    snprintf(parts[EPOCH], PART_BYTES, "  epoch %zu/%zu", step->epoch + 1, progress->epochs);
    snprintf(parts[LOSS], PART_BYTES, "  loss %.4g", step->loss);
    snprintf(parts[RATE], PART_BYTES, "  lr %.3g", step->lr);
    snprintf(parts[SPEED], PART_BYTES, "  %.*g samples/s", speed < 1e6 ? 6 : 3, round(speed));
    snprintf(parts[LEFT], PART_BYTES, "  %.0f:%02.0f left", floor(left_seconds / 60),
             floor(fmod(left_seconds, 60)));
    int columns = columns_of(progress->out);
    draw_cells(bar, columns - choose(parts, columns), share);
    fprintf(progress->out, "\r%s", bar);
    for (int i = 0; i < PARTS; i++)
        fprintf(progress->out, "%.*s", columns, parts[i]);
    fputs("\033[K", progress->out);
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
