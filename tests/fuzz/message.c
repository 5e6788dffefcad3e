/* message: our own with bits turned, or a stranger's. See the header. */
#include "tests/fuzz/message.h"

#include <string.h>

bool message_which(const uint8_t *data, size_t size, size_t count, size_t *which)
{
    if (size == 0 || data[0] == 0)
        return false;
    *which = (data[0] - 1U) % count;
    return true;
}

bool message_turn(uint8_t *bytes, size_t count, const uint8_t *data, size_t size)
{
    bool same = true;
    for (size_t i = 1; i + 1 < size; i += 2) {
        bytes[data[i] % count] ^= data[i + 1];
        same = same && data[i + 1] == 0;
    }
    return same;
}

void message_copy(uint8_t *bytes, size_t count, const uint8_t *data, size_t size)
{
    size_t length = size > 0 ? size - 1 : 0;
    memset(bytes, 0, count);
    if (length > 0)
        memcpy(bytes, data + 1, length < count ? length : count);
}
