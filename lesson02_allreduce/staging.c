/* staging: what a link has received, until it is consumed. See link.h; no socket here. */
#include "lesson02_allreduce/link.h"

#include <string.h>

/* Moves what is staged to the front once more than half of the buffer lies behind it. */
static void make_room(struct link *link)
{
    if (link->begin == link->end) {
        link->begin = link->end = 0;
    } else if (link->begin > link->capacity_bytes / 2) {
        memmove(link->staging, link->staging + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
}

uint8_t *link_space(struct link *link, size_t *bytes)
{
    if (link->divert_bytes > 0) {
        *bytes = link->divert_bytes;
        return link->divert;
    }
    make_room(link);
    *bytes = link->capacity_bytes - link->end;
    return link->staging + link->end;
}

void link_took(struct link *link, size_t bytes)
{
    if (link->divert_bytes > 0) {
        link->divert += bytes;
        link->divert_bytes -= bytes;
    } else {
        link->end += bytes;
    }
    link->on_bytes(link);
}

size_t link_staged(const struct link *link, const uint8_t **bytes)
{
    *bytes = link->staging + link->begin;
    return link->end - link->begin;
}

void link_consume(struct link *link, size_t bytes)
{
    link->begin += bytes;
    link_resume(link);
}

void link_divert(struct link *link, void *memory, size_t bytes)
{
    link->divert = memory;
    link->divert_bytes = bytes;
}

size_t link_room(struct link *link)
{
    make_room(link);
    return link->divert_bytes + link->capacity_bytes - link->end;
}

void link_show(struct link *link, const uint8_t *bytes, size_t size_bytes)
{
    link_resume(link); // who shows has room for more
    while (size_bytes > 0) {
        size_t room;
        uint8_t *space = link_space(link, &room);
        size_t part = size_bytes < room ? size_bytes : room;
        memcpy(space, bytes, part);
        bytes += part;
        size_bytes -= part;
        link_took(link, part);
    }
}

void link_show_end(struct link *link, int error)
{
    link->error = error;
    link->on_bytes(link);
}
