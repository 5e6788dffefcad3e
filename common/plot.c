/* plot: the loss as a curve of letters. See the header. */
#include "common/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A letter is 2 x 4 dots in braille, one in ASCII; the canvas has room for the finer. */
enum { DOTS_ACROSS = 2 * PLOT_COLUMNS, DOTS_DOWN = 4 * PLOT_ROWS, LABEL_EVERY = 5 };

static const double log_from = 20; // a span by which a straight axis would show only its upper end

struct canvas {
    const struct plot *plot;
    bool braille, logarithmic, any; // any: is there a finite loss?
    int across, down;               // dots
    size_t used;                    // cells
    double least, most;             // of the axis: losses, or their logarithms
    bool dots[DOTS_DOWN][DOTS_ACROSS];
    char marks[PLOT_ROWS][PLOT_COLUMNS]; // in place of a letter; 0: none
};

static void add(struct plot_cell *cell, const struct plot_cell *other)
{
    cell->train += other->train;
    cell->test += other->test;
    cell->trains += other->trains;
    cell->tests += other->tests;
    cell->not_finite = cell->not_finite || other->not_finite;
}

/* Pairs become one. */
static void fold(struct plot *plot)
{
    for (size_t i = 0; i < PLOT_CELLS; i++) {
        struct plot_cell cell = plot->cells[i];
        plot->cells[i] = (struct plot_cell){0};
        add(&plot->cells[i / 2], &cell);
    }
    plot->each *= 2;
}

/* Sums of these are finite too. */
static bool counts(double loss)
{
    return fabs(loss) < 1e300;
}

void plot_train(struct plot *plot, size_t step, double loss)
{
    if (plot->count == 0)
        *plot = (struct plot){.first = step, .each = 1};
    while ((step - plot->first) / plot->each >= PLOT_CELLS)
        fold(plot);
    plot->count = step - plot->first + 1;
    bool finite = counts(loss);
    struct plot_cell one = {
        .train = finite ? loss : 0, .trains = finite ? 1 : 0, .not_finite = !finite};
    add(&plot->cells[(step - plot->first) / plot->each], &one);
}

void plot_test(struct plot *plot, size_t step, double loss)
{
    struct plot_cell one = {.test = loss, .tests = 1};
    if (counts(loss) && plot->count > 0)
        add(&plot->cells[(step - plot->first) / plot->each], &one);
}

static double train_of(const struct plot_cell *cell)
{
    return cell->train / (double)cell->trains; // NaN of a cell without any
}

static double test_of(const struct plot_cell *cell)
{
    return cell->test / (double)cell->tests;
}

static void widen(struct canvas *canvas, double loss)
{
    if (!isfinite(loss))
        return;
    canvas->least = canvas->any ? fmin(canvas->least, loss) : loss;
    canvas->most = canvas->any ? fmax(canvas->most, loss) : loss;
    canvas->any = true;
}

static double on_axis(const struct canvas *canvas, double loss)
{
    return canvas->logarithmic ? log10(loss) : loss;
}

/* The axis: from the least to the most, or around the only value there is. */
static void measure(struct canvas *canvas)
{
    canvas->used = (canvas->plot->count + canvas->plot->each - 1) / canvas->plot->each;
    for (size_t i = 0; i < canvas->used; i++) {
        widen(canvas, train_of(&canvas->plot->cells[i]));
        widen(canvas, test_of(&canvas->plot->cells[i]));
    }
    canvas->logarithmic = canvas->least > 0 && canvas->most / canvas->least > log_from;
    canvas->least = on_axis(canvas, canvas->least);
    canvas->most = on_axis(canvas, canvas->most);
    if (canvas->most - canvas->least <= 1e-9 * fabs(canvas->most)) {
        double room = canvas->most != 0 ? 0.1 * fabs(canvas->most) : 1;
        canvas->least -= room;
        canvas->most += room;
    }
}

/* A row of dots, 0 being the uppermost. */
static int down_of(const struct canvas *canvas, double loss)
{
    double share = (canvas->most - on_axis(canvas, loss)) / (canvas->most - canvas->least);
    return (int)lround(share * (canvas->down - 1));
}

/* A column of dots. The first and the last cell lie on the edges; a single one in the middle. */
static int across_of(const struct canvas *canvas, size_t cell)
{
    double share = canvas->used > 1 ? (double)cell / (double)(canvas->used - 1) : 0.5;
    return (int)lround(share * (canvas->across - 1));
}

/* A straight line of dots. */
static void join(struct canvas *canvas, const int from[2], const int to[2])
{
    int across = to[0] - from[0], down = to[1] - from[1];
    int dots = abs(across) > abs(down) ? abs(across) : abs(down);
    for (int i = 0; i <= dots; i++) {
        double share = dots > 0 ? (double)i / dots : 0;
        int x = from[0] + (int)lround(share * across), y = from[1] + (int)lround(share * down);
        canvas->dots[y][x] = true;
    }
}

static void mark(struct canvas *canvas, size_t cell, int down, char letter)
{
    int dots_across = canvas->across / PLOT_COLUMNS, dots_down = canvas->down / PLOT_ROWS;
    canvas->marks[down / dots_down][across_of(canvas, cell) / dots_across] = letter;
}

/* The curve is broken where a mean is missing. */
static void draw_curves(struct canvas *canvas)
{
    bool follows = false;
    int last[2] = {0, 0};
    for (size_t i = 0; i < canvas->used; i++) {
        const struct plot_cell *cell = &canvas->plot->cells[i];
        if (cell->trains > 0) {
            int here[2] = {across_of(canvas, i), down_of(canvas, train_of(cell))};
            join(canvas, follows ? last : here, here);
            memcpy(last, here, sizeof last);
        }
        follows = cell->trains > 0;
        if (cell->tests > 0)
            mark(canvas, i, down_of(canvas, test_of(cell)), 'o');
        if (cell->not_finite)
            mark(canvas, i, 0, 'x');
    }
}

/* The eight dots of a braille letter, U+2800 and up, have these bits. */
static void print_braille(const struct canvas *canvas, int row, int column, FILE *out)
{
    static const unsigned bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned letter = 0;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 2; x++)
            letter |= canvas->dots[4 * row + y][2 * column + x] ? bits[y][x] : 0;
    if (letter == 0)
        fputc(' ', out);
    else
        fprintf(out, "\xe2%c%c", (int)(0xa0 + (letter >> 6)), (int)(0x80 + (letter & 0x3f)));
}

static void print_letter(const struct canvas *canvas, int row, int column, FILE *out)
{
    char letter = canvas->marks[row][column];
    if (letter)
        fputc(letter, out);
    else if (canvas->braille)
        print_braille(canvas, row, column, out);
    else
        fputc(canvas->dots[row][column] ? '*' : ' ', out);
}

/* The loss in the middle of a row's dots. */
static double loss_of(const struct canvas *canvas, int row)
{
    double share = (double)row / (PLOT_ROWS - 1);
    double value = canvas->most - share * (canvas->most - canvas->least);
    return canvas->logarithmic ? pow(10, value) : value;
}

static void print_row(const struct canvas *canvas, int row, FILE *out)
{
    char label[16] = "";
    int end = PLOT_COLUMNS;
    if (canvas->any && row % LABEL_EVERY == 0)
        snprintf(label, sizeof label, "%.3g", loss_of(canvas, row));
    fprintf(out, "%9s %s", label, canvas->braille ? "\xe2\x94\x82" : "|");
    for (int dots = canvas->across / PLOT_COLUMNS; end > 0 && !canvas->marks[row][end - 1]; end--) {
        bool empty = true; // blanks at a line's end are not printed
        for (int i = 0; i < dots * (canvas->down / PLOT_ROWS); i++)
            empty = empty && !canvas->dots[row * (canvas->down / PLOT_ROWS) + i / dots]
                                          [(end - 1) * dots + i % dots];
        if (!empty)
            break;
    }
    for (int column = 0; column < end; column++)
        print_letter(canvas, row, column, out);
    fputc('\n', out);
}

static void print_axis(const struct canvas *canvas, FILE *out)
{
    const struct plot *plot = canvas->plot;
    char text[PLOT_COLUMNS + 1];
    fprintf(out, "%9s %s", "", canvas->braille ? "\xe2\x94\x94" : "+");
    for (int i = 0; i < PLOT_COLUMNS; i++)
        fputs(canvas->braille ? "\xe2\x94\x80" : "-", out);
    size_t last = plot->first + plot->count - 1;
    int left = snprintf(text, sizeof text, "update %zu", plot->first);
    if (plot->count > 1)
        fprintf(out, "\n%11s%s%*zu\n", "", text, PLOT_COLUMNS - left, last);
    else
        fprintf(out, "\n%*s%s\n", 11 + (PLOT_COLUMNS - left) / 2, "", text);
}

static void print_title(const struct canvas *canvas, FILE *out)
{
    bool tests = false, not_finite = false;
    for (size_t i = 0; i < canvas->used; i++) {
        tests = tests || canvas->plot->cells[i].tests > 0;
        not_finite = not_finite || canvas->plot->cells[i].not_finite;
    }
    fprintf(out, "loss by updates%s", canvas->logarithmic ? ", logarithmic" : "");
    if (canvas->plot->each > 1)
        fprintf(out, ", means of %zu", canvas->plot->each);
    fprintf(out, "%s%s\n", tests ? "; o: on the test set" : "",
            not_finite ? "; x: not finite" : "");
}

void plot_draw(const struct plot *plot, enum plot_letters letters, FILE *out)
{
    bool braille = letters == PLOT_UTF8;
    struct canvas canvas = {
        .plot = plot,
        .braille = braille,
        .across = PLOT_COLUMNS * (braille ? 2 : 1),
        .down = PLOT_ROWS * (braille ? 4 : 1),
    };
    if (plot->count == 0)
        return;
    measure(&canvas);
    draw_curves(&canvas);
    print_title(&canvas, out);
    for (int row = 0; row < PLOT_ROWS; row++)
        print_row(&canvas, row, out);
    print_axis(&canvas, out);
}

enum plot_letters plot_letters(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    static const char *const utf8[] = {"UTF-8", "utf-8", "UTF8", "utf8"};
    const char *locale = NULL;
    for (size_t i = 0; i < 3 && !(locale && *locale); i++)
        locale = getenv(names[i]);
    for (size_t i = 0; i < 4 && locale; i++)
        if (strstr(locale, utf8[i]))
            return PLOT_UTF8;
    return PLOT_ASCII;
}
