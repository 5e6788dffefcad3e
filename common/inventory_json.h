/* inventory_json: the manifest's own checksum, for inventory_read.c and inventory_write.c. */
#ifndef COMMON_INVENTORY_JSON_H
#define COMMON_INVENTORY_JSON_H

#include <jansson.h>
#include <stddef.h>

/* CRC-32 of the object without its member "crc32". 0 or -ENOMEM. */
int inventory_json_crc(const json_t *root, size_t *crc);

#endif
