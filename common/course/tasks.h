/*
 * tasks: what a student writes, one row each. From here come the starters' sentences, the hints, the
 * grader's order and points, and the lists in the lessons' texts.
 *
 * In the tree a task is a marked region, so that one tree is solution and starter:
 *
 *     // task 02.4 {
 *     the solution
 *     // } 02.4
 *
 * common/course/starter.sh puts `todo("02.4");` there, or what stands after `instead:`, and includes todo.h.
 * A task may have several regions and files; a file holds tasks of one lesson only, so
 * that a student's file goes into another tree as it is.
 */
#ifndef COMMON_COURSE_TASKS_H
#define COMMON_COURSE_TASKS_H

#include <stddef.h>

enum { TASKS = 20, TASK_HINTS_MOST = 4 };

struct task {
    const char *id; // "02.4": lesson 2, the fourth
    int lesson;
    const char *title;                  // a few words
    const char *files;                  // from the root: "lesson02_allreduce/ring.c"
    const char *suites;                 // of tests, that show whether it is right: "ring reduce"
    const char *hints[TASK_HINTS_MOST]; // from a nudge to almost the answer; NULL: no more
};

extern const struct task tasks[TASKS]; // lesson by lesson, in the order in which they are best done

/* The row of an id, or NULL. */
const struct task *task_find(const char *id);

#endif
