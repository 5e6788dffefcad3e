/* clock: seconds on a clock that never runs backwards. Only differences mean anything. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

double clock_seconds(void);

#endif
