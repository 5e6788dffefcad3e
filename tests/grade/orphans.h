/*
 * orphans: what a check has left behind, in whatever group or session, found and ended.
 *
 * On Linux a process may ask to be given its descendants' orphans, who else go to init. So whoever is a child of
 * the grader between two checks is one. Elsewhere a process that has left its group lives on.
 */
#ifndef TESTS_GRADE_ORPHANS_H
#define TESTS_GRADE_ORPHANS_H

/* Before a check is forked: its orphans come to this process. */
void orphans_adopt(void);

/* Kills and reaps all children of this process, and theirs, that are not of its own group: those it may have had
 * before it was the grader. */
void orphans_end(void);

#endif
