/*
 * launch_signals: what ends a job from outside: Ctrl-C, SIGTERM, SIGHUP.
 *
 * A job that is started again has a new loop, and between the two nobody hears a signal: what came
 * then was lost, and the job went on for ever. So signals are held until somebody listens.
 */
#ifndef COMMON_LAUNCH_SIGNALS_H
#define COMMON_LAUNCH_SIGNALS_H

#include <stdbool.h>

/* Signals wait, and come when they are let. What is started meanwhile must not inherit that. */
void launch_signals_hold(void);
void launch_signals_let(void);
bool launch_signals_wait(void); // has one come that waits?

/* nohup: started so that it outlives its terminal? */
bool launch_signals_outlives_terminal(void);

/* "it was interrupted (SIGINT)" */
const char *launch_signals_reason(int number);

#endif
