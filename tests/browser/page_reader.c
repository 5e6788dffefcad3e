/*
 * page_reader: the page as its readers meet it: on a phone and a desk, with a keyboard alone, by a link,
 * in the dark, without motion, on paper. It asks for nothing and complains of nothing.
 */
#include "tests/browser/page.h"
#include "tests/browser/page_suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABS_MOST = 60 };

static const int widths[] = {PAGE_PHONE, PAGE_DESK};

static void press(const char *key)
{
    browser_press(page_browser(), key);
}

/* Tab by tab, as one without a mouse gets there. */
static void tab_to(const char *id)
{
    char *now = NULL;
    for (int i = 0; i < TABS_MOST && (!now || strcmp(now, id) != 0); i++) {
        free(now);
        press("Tab");
        now = browser_evaluate(page_browser(), "document.activeElement.id");
    }
    ck_assert_str_eq(now, id);
    free(now);
}

static void emulate(const char *media, const char *feature, const char *value)
{
    json_decref(browser_call(page_browser(), "Emulation.setEmulatedMedia",
                             json_pack("{s:s, s:[{s:s, s:s}]}", "media", media, "features", "name",
                                       feature, "value", value)));
}

#define STEP "document.getElementById('step').value"
#define TOLD "document.getElementById('told').textContent"

/* --- widths ----------------------------------------------------------------------------------- */

/* Whatever is wider than the window, but for text within a box that scrolls by itself. The window's width
 * is not asked of the page: a phone's grows with what is too wide for it. */
static const char too_wide[] =
    "(() => { const width = %d, wide = [...document.body.querySelectorAll('*')].filter(e =>"
    "  e.getClientRects().length && !e.closest('pre') && !e.closest('.scrap') &&"
    "  (e.getBoundingClientRect().right > width + 0.5 || e.getBoundingClientRect().left < -0.5));"
    "  const page = document.documentElement.scrollWidth > width ? ['the page'] : [];"
    "  return [...page, ...wide.map(e => e.tagName + '#' + e.id + '.' + e.className)].join(' '); "
    "})()";

/* Text that is cut off or runs over its cell. */
static const char cut_off[] =
    "[...document.querySelectorAll('td, th, button, .bars > div')].filter(e => "
    "e.getClientRects().length &&"
    "  e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + ':' + e.textContent).join(' ')";

static const char *const states[] = {
    "",
    "#world=1&count=1&model=1&ranks=1",
    "#world=2&count=3&step=1&stage=3",
    "#world=8&count=61&step=9&model=7.5B&ranks=64&stage=2",
    "#world=16&count=64&step=30&model=9.9T&ranks=1024&stage=1&optimizer=sgd",
    "#world=16&count=64&step=14&op=all-gather&model=64-512-512-512-512-512-512-512-512-10",
    "#op=root&world=16&count=64&step=1&stage=0",
};
enum { STATES = sizeof states / sizeof *states };

START_TEST(nothing_is_wider_than_the_window)
{
    char expression[1024];
    page_open(states[_i % STATES], widths[_i / STATES]);
    snprintf(expression, sizeof expression, too_wide, widths[_i / STATES]);
    page_says(expression, "");
    page_says(cut_off, "");
}
END_TEST

/* --- keyboard --------------------------------------------------------------------------------- */

/* A name for each, in order; and of the one that has the focus, if it is to be seen. */
static const char stops[] =
    "[...document.querySelectorAll('a, button:enabled, select, input, [tabindex]')]"
    ".filter(e => e.getClientRects().length).map(e => e.id || e.href)";
static const char stop[] =
    "(e => { const style = getComputedStyle(e), seen = style.outlineStyle !== 'none' && "
    "style.outlineWidth !== '0px';"
    "  return (seen ? '' : 'unseen: ') + (e.id || e.href); })(document.activeElement)";

START_TEST(every_control_is_reached_by_tab_in_order_and_shows_it)
{
    char expression[512];
    page_open("#step=2", widths[_i]);
    snprintf(expression, sizeof expression, "%s.length + ''", stops);
    char *text = browser_evaluate(page_browser(), expression);
    int count = atoi(text);
    free(text);
    ck_assert_int_gt(count, 20);
    for (int i = 0; i < count; i++) {
        snprintf(expression, sizeof expression, "%s[%d]", stops, i);
        text = browser_evaluate(page_browser(), expression);
        press("Tab");
        page_says(stop, text);
        free(text);
    }
}
END_TEST

START_TEST(arrows_space_home_and_end_work_without_a_focus)
{
    page_open("", widths[_i]);
    browser_evaluate(page_browser(), "document.getElementById('stage').scrollIntoView(), ''");
    press("ArrowRight");
    press("ArrowRight");
    page_says(STEP, "2");
    press("ArrowLeft");
    page_says(STEP, "1");
    press("End");
    page_says(STEP, "6");
    press("ArrowRight");
    page_says(STEP, "6");
    press("Home");
    page_says(STEP, "0");
    press("ArrowLeft");
    page_says(STEP, "0");
    press(" ");
    page_says("document.getElementById('play').textContent", "Pause");
    press(" ");
    page_says("document.getElementById('play').textContent", "Play");
}
END_TEST

START_TEST(buttons_and_fields_work_by_keyboard)
{
    page_open("", widths[_i]);
    tab_to("op");
    press("ArrowDown");
    page_says("document.getElementById('op').value + ' ' + document.getElementById('step').max",
              "reduce-scatter 3");
    tab_to("world");
    press("ArrowUp");
    page_says("document.querySelectorAll('#cells tbody tr').length + ''", "5");
    tab_to("count");
    press("ArrowDown");
    page_comes_to_say("location.hash.includes('count=9') + ''", "true");
    tab_to("next");
    press("Enter");
    page_says(STEP, "1");
    press(" ");
    page_says(STEP, "2");
    tab_to("step");
    press("ArrowRight");
    page_says(STEP, "3");
    page_open("#step=3", widths[_i]);
    tab_to("back");
    press(" ");
    page_says(STEP, "2");
    page_open("#step=3", widths[_i]);
    tab_to("reset");
    press("Enter");
    page_says(STEP, "0");
    page_says("document.activeElement.id",
              "stage"); // reset is disabled now, and the keyboard not lost
}
END_TEST

START_TEST(memory_is_asked_for_by_keyboard)
{
    page_open("", widths[_i]);
    tab_to("model");
    press("Backspace"); // by tab all of it is selected
    browser_type(page_browser(), "1e6");
    page_says("document.getElementById('zero-told').textContent.slice(0, 20)",
              "1,000,000 parameters");
    browser_type(page_browser(), "x");
    page_says("document.getElementById('model').getAttribute('aria-invalid')", "true");
    page_says("document.getElementById('zero-told').textContent.slice(0, 15)", "\"1e6x\" is neith");
    tab_to("optimizer");
    page_says("document.getElementById('model').value", "1e6");
    press("ArrowUp");
    tab_to("ranks");
    press("ArrowUp");
    tab_to("stage-of-zero");
    press("ArrowDown");
    page_comes_to_say("location.hash.split('model=')[1] + ''",
                      "1e6&optimizer=momentum&ranks=5&stage=2");
}
END_TEST

/* --- what happens by itself --------------------------------------------------------------------- */

/* Asserts nothing about how fast; it gets there. */
START_TEST(play_steps_to_the_end_and_stops)
{
    page_open("#speed=4&world=3", PAGE_DESK);
    tab_to("play");
    press("Enter");
    page_comes_to_say(STEP " + document.getElementById('play').textContent", "4Play");
    page_says(TOLD, "Step 4 of 4, all-gather: rank 0 sends chunk 2 to rank 1, which stores it; "
                    "rank 1 sends chunk 0 "
                    "to rank 2, which stores it; and so on. Done: every rank has the whole sum.");
}
END_TEST

START_TEST(every_step_is_told_to_who_listens)
{
    page_open("", PAGE_DESK);
    page_says("(e => e.getAttribute('role') + "
              "e.getAttribute('aria-live'))(document.getElementById('told'))",
              "statuspolite");
    page_says("(() => { const told = new Set(), next = document.getElementById('next');"
              "  for (let i = 0; i < 7; i++) { "
              "told.add(document.getElementById('told').textContent); next.click(); }"
              "  return told.size + ''; })()",
              "7");
    page_says(
        "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length + ''",
        "0");
    page_says("document.getElementById('ring-picture').getAttribute('aria-label')",
              "4 ranks in a ring; 0 sends chunk 2 to 1, 1 sends chunk 3 to 2, 2 sends chunk 0 to "
              "3, 3 sends chunk 1 to 0");
}
END_TEST

START_TEST(nothing_moves_for_who_wants_no_motion)
{
    static const char moving[] =
        "(document.getElementById('next').click(), document.getAnimations().length > 0) + ''";
    emulate("", "prefers-reduced-motion", "reduce");
    page_open("", PAGE_DESK);
    page_says(moving, "false");
    emulate("", "prefers-reduced-motion", "no-preference");
    page_says(moving, "true");
}
END_TEST

/* Contrast of the text with what is behind it, WCAG: at least 4.5. */
static const char contrast[] =
    "(() => { const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v "
    "/ 255)"
    "    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)"
    "    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);"
    "  const behind = e => { const colour = getComputedStyle(e).backgroundColor;"
    "    return !/, 0\\)$/.test(colour) || !e.parentElement ? colour : behind(e.parentElement); };"
    "  const ratio = e => { const [a, b] = [light(getComputedStyle(e).color), "
    "light(behind(e))].sort((x, y) => y - x);"
    "    return (a + 0.05) / (b + 0.05); };"
    "  return [...document.querySelectorAll('p, td, th, a, li, label, caption, h1, h2, h3, button, "
    "pre')]"
    "    .filter(e => e.getClientRects().length && ratio(e) < 4.5).map(e => e.tagName + "
    "e.className + ratio(e)).join(' '); })()";

static const char *const schemes[] = {"light", "dark"};

START_TEST(text_is_readable_in_light_and_dark)
{
    emulate("", "prefers-color-scheme", schemes[_i]);
    page_open("#step=5", PAGE_DESK);
    page_says(contrast, "");
    page_says("(getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)') + ''",
              _i == 0 ? "true" : "false");
    emulate("", "prefers-color-scheme", "light");
}
END_TEST

/* --- addresses ---------------------------------------------------------------------------------- */

START_TEST(an_address_brings_back_what_was_shown)
{
    page_open("#op=all-gather&world=5&count=7&speed=2&model=64-9-10&optimizer=sgd&ranks=3&stage=2",
              PAGE_DESK);
    browser_evaluate(page_browser(), "document.getElementById('next').click(), ''");
    char *text = browser_evaluate(page_browser(), "document.querySelector('main').innerText");
    page_comes_to_say("location.hash.includes('step=1') + ''", "true");
    char *fragment = browser_evaluate(page_browser(), "location.hash");
    page_open(fragment, PAGE_DESK);
    page_says("document.querySelector('main').innerText", text);
    free(text);
    free(fragment);
}
END_TEST

static const struct {
    const char *fragment, *shown;
} strange[] = {
    {"#world=99&count=0&step=77", "16 1 30 64-64-10"},
    {"#world=&count=-1&step=x", "4 10 0 64-64-10"},
    {"#op=__proto__&model=<img src=x onerror=alert(1)>", "4 10 0 64-64-10"},
    {"#model=0&ranks=1e3&stage=4&optimizer=toString", "4 10 0 64-64-10"},
    {"#%E0%A4%A", "4 10 0 64-64-10"},
    {"#model=12,345&world=2", "2 10 0 12,345"},
};

START_TEST(a_strange_address_shows_something_sensible)
{
    page_open(strange[_i].fragment, PAGE_DESK);
    page_says("['world', 'count', 'step', 'model'].map(id => "
              "document.getElementById(id).value).join(' ')",
              strange[_i].shown);
    page_says("document.querySelectorAll('img').length + ''", "0");
}
END_TEST

START_TEST(every_file_it_links_to_is_there)
{
    page_open("", PAGE_DESK);
    char *files = browser_evaluate(
             page_browser(), "[...document.links].map(a => decodeURI(a.pathname)).join('\\n')"),
         *rest = files;
    ck_assert_str_ne(files, "");
    for (char *path = strtok_r(rest, "\n", &rest); path; path = strtok_r(NULL, "\n", &rest)) {
        FILE *file = fopen(path, "r");
        ck_assert_msg(file != NULL, "%s", path);
        fclose(file);
    }
    free(files);
}
END_TEST

/* --- paper -------------------------------------------------------------------------------------- */

START_TEST(printed_it_has_all_steps_and_no_buttons)
{
    page_open("#world=8&count=61&step=3", widths[_i]);
    emulate("print", "prefers-color-scheme", "dark");
    page_says("['#ring-controls', '#player', '#zero-controls', '#explained'].map(id => "
              "document.querySelector(id)."
              "getClientRects().length).join(' ')",
              "0 0 0 1");
    page_says("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)");
    json_t *pdf = browser_call(page_browser(), "Page.printToPDF", NULL);
    const char *data = json_string_value(json_object_get(pdf, "data"));
    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(strncmp(data, "JVBERi", 6), 0); // "%PDF-", in base 64
    json_decref(pdf);
    emulate("", "prefers-color-scheme", "light");
}
END_TEST

/* The last of all: over everything that was done before. */
START_TEST(it_has_asked_for_nothing_and_complained_of_nothing)
{
    ck_assert_str_eq(page_browser()->complaints, "");
    ck_assert_str_eq(page_browser()->requests, "");
}
END_TEST

Suite *page_reader_suite(void)
{
    Suite *suite = suite_create("page_reader");
    TCase *reader = tcase_create("reader");
    tcase_set_timeout(reader, 0); // the browser has its own
    tcase_add_loop_test(reader, nothing_is_wider_than_the_window, 0, 2 * STATES);
    tcase_add_loop_test(reader, every_control_is_reached_by_tab_in_order_and_shows_it, 0, 2);
    tcase_add_loop_test(reader, arrows_space_home_and_end_work_without_a_focus, 0, 2);
    tcase_add_loop_test(reader, buttons_and_fields_work_by_keyboard, 0, 2);
    tcase_add_loop_test(reader, memory_is_asked_for_by_keyboard, 0, 2);
    tcase_add_test(reader, play_steps_to_the_end_and_stops);
    tcase_add_test(reader, every_step_is_told_to_who_listens);
    tcase_add_test(reader, nothing_moves_for_who_wants_no_motion);
    tcase_add_loop_test(reader, text_is_readable_in_light_and_dark, 0, 2);
    tcase_add_test(reader, an_address_brings_back_what_was_shown);
    tcase_add_loop_test(reader, a_strange_address_shows_something_sensible, 0,
                        sizeof strange / sizeof *strange);
    tcase_add_test(reader, every_file_it_links_to_is_there);
    tcase_add_loop_test(reader, printed_it_has_all_steps_and_no_buttons, 0, 2);
    tcase_add_test(reader, it_has_asked_for_nothing_and_complained_of_nothing);
    suite_add_tcase(suite, reader);
    return suite;
}
