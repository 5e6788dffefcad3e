/*
 * standard_files: no file or socket of ours is taken for a standard one that its owner has closed.
 */
#ifndef COMMON_STANDARD_FILES_H
#define COMMON_STANDARD_FILES_H

/* Occupies those of descriptors 0, 1 and 2 that are closed, so that what is opened later gets another
 * number. To read or write them stays an error, as if they were closed: what is lost is noticed. The
 * first thing a program does. */
void standard_files_occupy(void);

#endif
