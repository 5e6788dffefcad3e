/*
 * entry: where libFuzzer hands over the bytes it made up. Compiled once for each target, with
 * fuzz_target defined as its name: -Dfuzz_target=fuzz_csv.
 */
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>

struct verdict fuzz_target(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct verdict verdict = fuzz_target(data, size);
    if (verdict.broken) {
        fprintf(stderr, "a promise was broken: %s\n", verdict.broken);
        abort();
    }
    return 0;
}
