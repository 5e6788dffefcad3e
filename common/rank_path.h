/*
 * rank_path: the file each rank writes when all are given one name.
 *
 *     m.jsonl -> m.rank-3.jsonl      a.b/m -> a.b/m.rank-3      .m -> .m.rank-3
 *     /dev/null -> /dev/null         a device is no name for files beside it
 */
#ifndef COMMON_RANK_PATH_H
#define COMMON_RANK_PATH_H

enum { RANK_PATH_BYTES = 4096 };

/* `given`, with a world above 1 with ".rank-R" before its extension. 0 or -ENAMETOOLONG. */
int rank_path(char path[RANK_PATH_BYTES], const char *given, int rank, int world);

#endif
