/* browser: Chromium over two pipes. See the header. */
#include "tests/browser/browser.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, READ_BYTES = 65536, HEIGHT = 844, PHONE_MOST = 500, PATH_BYTES = 512 };

/* --- the process ------------------------------------------------------------------------------ */

/* Its ends of the pipes become 3 and 4; copies above them first, as they may be 3 or 4 themselves. */
static void take_pipes(int reads, int writes)
{
    int in = fcntl(reads, F_DUPFD, 10), out = fcntl(writes, F_DUPFD, 10);
    dup2(in, 3);
    dup2(out, 4);
    for (int i = 5; i < 64; i++)
        close(i);
}

static void run_chromium(const char *program, const char *folder)
{
    char profile[PATH_BYTES], log[PATH_BYTES];
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", folder);
    snprintf(log, sizeof log, "%s/chromium.log", folder);
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setpgid(0, 0); // it has helpers
    execlp(program, program, "--headless", "--remote-debugging-pipe", "--disable-gpu",
           "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-ipc-flooding-protection",
           "--disable-extensions", profile, geteuid() == 0 ? "--no-sandbox" : "--mute-audio",
           "about:blank", (char *)NULL);
    _exit(127);
}

static void start(struct browser *browser, const char *program, const char *folder)
{
    int to[2], from[2];
    ck_assert_int_eq(pipe(to), 0);
    ck_assert_int_eq(pipe(from), 0);
    signal(SIGPIPE, SIG_IGN); // a browser that has ended is told by what is not read
    browser->pid = fork();
    ck_assert_int_ge(browser->pid, 0);
    if (browser->pid == 0) {
        take_pipes(to[0], from[1]);
        run_chromium(program, folder);
    }
    close(to[0]);
    close(from[1]);
    browser->to = to[1];
    browser->from = from[0];
}

/* --- messages --------------------------------------------------------------------------------- */

static void send_message(const struct browser *browser, const json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    size_t left = strlen(text) + 1; // with the zero byte that ends it
    const char *rest = text;
    while (left > 0) {
        ssize_t sent = write(browser->to, rest, left);
        if (sent < 0 && errno == EINTR)
            continue;
        ck_assert_msg(sent > 0, "the browser takes no more messages: %s", strerror(errno));
        rest += sent;
        left -= (size_t)sent;
    }
    free(text);
}

static void read_more(struct browser *browser)
{
    struct pollfd pipe = {.fd = browser->from, .events = POLLIN};
    if (browser->heard_room - browser->heard_bytes < READ_BYTES) {
        browser->heard_room = 2 * browser->heard_room + READ_BYTES;
        browser->heard = realloc(browser->heard, browser->heard_room);
        ck_assert_ptr_nonnull(browser->heard);
    }
    ck_assert_msg(poll(&pipe, 1, PATIENCE_MS) != 0, "the browser has said nothing for a minute");
    ssize_t bytes = read(browser->from, browser->heard + browser->heard_bytes, READ_BYTES);
    ck_assert_msg(bytes > 0 || (bytes < 0 && errno == EINTR), "the browser has ended");
    browser->heard_bytes += bytes > 0 ? (size_t)bytes : 0;
}

static json_t *receive_message(struct browser *browser)
{
    char *end;
    while (!(end = browser->heard_bytes ? memchr(browser->heard, 0, browser->heard_bytes) : NULL))
        read_more(browser);
    json_t *message = json_loads(browser->heard, 0, NULL);
    ck_assert_ptr_nonnull(message);
    browser->heard_bytes -= (size_t)(end + 1 - browser->heard);
    memmove(browser->heard, end + 1, browser->heard_bytes);
    return message;
}

/* --- what the page does by itself --------------------------------------------------------------- */

static void note(char lines[BROWSER_TEXT_BYTES], const char *what, const char *text)
{
    size_t length = strlen(lines);
    snprintf(lines + length, BROWSER_TEXT_BYTES - length, "%s%.400s\n", what, text);
}

static bool is_own(const char *address)
{
    return strncmp(address, "file:", 5) == 0 || strncmp(address, "data:", 5) == 0 ||
           strncmp(address, "about:", 6) == 0;
}

static void on_event(struct browser *browser, const char *method, const json_t *event)
{
    const json_t *params = json_object_get(event, "params");
    const char *address = NULL;
    if (strcmp(method, "Page.loadEventFired") == 0)
        browser->loaded = true;
    if (strcmp(method, "Network.requestWillBeSent") == 0)
        address = json_string_value(json_object_get(json_object_get(params, "request"), "url"));
    if (address && !is_own(address))
        note(browser->requests, "", address);
    if (strcmp(method, "Runtime.consoleAPICalled") == 0 ||
        strcmp(method, "Runtime.exceptionThrown") == 0 || strcmp(method, "Log.entryAdded") == 0) {
        char *text = json_dumps(params, JSON_COMPACT);
        note(browser->complaints, method, text);
        free(text);
    }
}

json_t *browser_call(struct browser *browser, const char *method, json_t *params)
{
    json_int_t number = ++browser->calls;
    json_t *call = json_pack("{s:I, s:s, s:o}", "id", number, "method", method, "params",
                             params ? params : json_object());
    if (browser->session[0])
        json_object_set_new(call, "sessionId", json_string(browser->session));
    send_message(browser, call);
    json_decref(call);
    for (;;) {
        json_t *message = receive_message(browser);
        const char *event = json_string_value(json_object_get(message, "method"));
        if (event)
            on_event(browser, event, message);
        if (!event && json_integer_value(json_object_get(message, "id")) == number) {
            json_t *result = json_incref(json_object_get(message, "result"));
            const json_t *error = json_object_get(message, "error");
            ck_assert_msg(result != NULL, "%s: %s", method,
                          json_string_value(json_object_get(error, "message")));
            json_decref(message);
            return result;
        }
        json_decref(message);
    }
}

static void call(struct browser *browser, const char *method, json_t *params)
{
    json_decref(browser_call(browser, method, params));
}

/* --- what a test asks for ------------------------------------------------------------------------ */

void browser_open(struct browser *browser, const char *program, const char *folder)
{
    *browser = (struct browser){0};
    start(browser, program, folder);
    json_t *made =
        browser_call(browser, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
    json_t *id = json_incref(json_object_get(made, "targetId"));
    json_decref(made);
    made = browser_call(browser, "Target.attachToTarget",
                        json_pack("{s:o, s:b}", "targetId", id, "flatten", 1));
    snprintf(browser->session, sizeof browser->session, "%s",
             json_string_value(json_object_get(made, "sessionId")));
    json_decref(made);
    static const char *const domains[] = {"Page", "Runtime", "Log", "Network"};
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        char method[32];
        snprintf(method, sizeof method, "%s.enable", domains[i]);
        call(browser, method, NULL);
    }
}

void browser_close(struct browser *browser)
{
    if (browser->pid <= 0)
        return;
    close(browser->to);
    close(browser->from);
    kill(-browser->pid, SIGTERM);
    waitpid(browser->pid, NULL, 0);
    free(browser->heard);
    *browser = (struct browser){0};
}

static void navigate(struct browser *browser, const char *address)
{
    browser->loaded = false;
    call(browser, "Page.navigate", json_pack("{s:s}", "url", address));
    while (!browser->loaded) {
        json_t *event = receive_message(browser);
        const char *method = json_string_value(json_object_get(event, "method"));
        if (method)
            on_event(browser, method, event);
        json_decref(event);
    }
}

void browser_load(struct browser *browser, const char *address, int width)
{
    call(browser, "Emulation.setDeviceMetricsOverride",
         json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", HEIGHT, "deviceScaleFactor", 1,
                   "mobile", width < PHONE_MOST));
    navigate(browser, "about:blank"); // else another fragment would not load the page anew
    navigate(browser, address);
}

char *browser_evaluate(struct browser *browser, const char *expression)
{
    json_t *result =
        browser_call(browser, "Runtime.evaluate",
                     json_pack("{s:s, s:b, s:b, s:b}", "expression", expression, "returnByValue", 1,
                               "awaitPromise", 1, "userGesture", 1));
    const json_t *value = json_object_get(json_object_get(result, "result"), "value");
    if (!json_is_string(value)) {
        char *what = json_dumps(result, JSON_COMPACT);
        ck_abort_msg("no string: %s", what);
    }
    char *text = strdup(json_string_value(value));
    json_decref(result);
    return text;
}

static const struct key {
    const char *name;
    int number;
    const char *text; // what it writes
} keys[] = {
    {"Tab", 9, NULL},       {"Enter", 13, "\r"},      {" ", 32, " "},
    {"End", 35, NULL},      {"Home", 36, NULL},       {"ArrowLeft", 37, NULL},
    {"ArrowUp", 38, NULL},  {"ArrowRight", 39, NULL}, {"ArrowDown", 40, NULL},
    {"Backspace", 8, NULL},
};

void browser_press(struct browser *browser, const char *name)
{
    const struct key *key = keys;
    while (strcmp(key->name, name) != 0)
        ck_assert_ptr_ne(++key, keys + sizeof keys / sizeof *keys);
    const char *code = strcmp(name, " ") == 0 ? "Space" : name;
    json_t *down = json_pack("{s:s, s:s, s:s, s:i}", "type", key->text ? "keyDown" : "rawKeyDown",
                             "key", name, "code", code, "windowsVirtualKeyCode", key->number);
    if (key->text)
        json_object_set_new(down, "text", json_string(key->text));
    call(browser, "Input.dispatchKeyEvent", down);
    call(browser, "Input.dispatchKeyEvent",
         json_pack("{s:s, s:s, s:s, s:i}", "type", "keyUp", "key", name, "code", code,
                   "windowsVirtualKeyCode", key->number));
}

void browser_type(struct browser *browser, const char *text)
{
    call(browser, "Input.insertText", json_pack("{s:s}", "text", text));
}
