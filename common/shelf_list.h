/* shelf_list: which updates a shelf holds, by their folders' names. For shelf*.c. */
#ifndef COMMON_SHELF_LIST_H
#define COMMON_SHELF_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct shelf_list {
    size_t *updates; // (count), ascending, each once
    size_t count;
};

/* Of plain and replaced ones. 0, or the negative error of looking. Release after success. */
int shelf_list_read(struct shelf_list *list, const char *directory);
void shelf_list_release(struct shelf_list *list);

#endif
