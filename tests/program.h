/*
 * program: a shell command run by a test: its output, its exit code, and whether anything of it is
 * still alive.
 *
 * Every process that comes from the command inherits one end of a pipe, the lifeline. When the
 * other end reads as finished, none of them is left, whatever has become of the first one.
 *
 * In the command, $LAUNCH is the launcher that was built with this test.
 */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct program {
    pid_t pid; // of the shell, or of what the command has exec'd
    int lifeline;
    FILE *files[2];
    int code;        // its exit code, or 128 + signal
    double seconds;  // how long it ran
    char *out, *err; // all it printed, once it has ended
};

/* Starts the command in `folder`. */
void program_start(struct program *program, const char *folder, const char *command);

/* Waits for its end and collects what it printed. After five minutes, ten for watched ones, which only a hang
 * takes, it is killed, and the test fails. */
void program_wait(struct program *program);

/* For a test that waits for what a program is to do: ends the test if the program has said that a task is
 * not yet written (unwritten.h). */
void program_heed_unwritten(const struct program *program);

/* Both. */
void program_run(struct program *program, const char *folder, const char *command);

/* Runs the command in a folder of its own; it must leave nothing behind, return `code`, and say `said`
 * on its standard error. */
void program_expect(const char *command, int code, const char *said);

/* Within a minute, nothing of it is left. */
bool program_gone(const struct program *program);

/* A TCP port that nobody has on 127.0.0.1 and that the system gives nobody who asks for any. */
int program_port(void);

/* Frees what program_wait collected. */
void program_close(struct program *program);

#endif
