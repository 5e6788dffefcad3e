/*
 * unwritten: a test that comes to a body nobody has written yet is neither passed nor failed.
 *
 * In a test's process, and in one that it has forked, common/todo.h's todo() tells Check which task it was, as
 * the place where the process has ended. So verdict.h finds it, whichever of the test's processes came
 * to it. The process ends with EXIT_TODO, as everywhere.
 */
#ifndef TESTS_UNWRITTEN_H
#define TESTS_UNWRITTEN_H

/* Stands for a task where a program has left with EXIT_TODO but could not say which. */
#define UNWRITTEN_UNNAMED "??"

/* For the test itself: one of its forked processes has ended with EXIT_TODO. So does the test. */
_Noreturn void unwritten_in_child(void);

/* Ends the test if this, which a program has printed, says that a task is not yet written. */
void unwritten_if_said(const char *text);

#endif
