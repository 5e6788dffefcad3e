/* unwelcome: what strangers and liars need. See the header. */
#include "tests/unwelcome.h"
#include "tests/sums.h"

#include <string.h>
#include <sys/resource.h>

enum { COUNT = 5003 };

long unwelcome_peak_kb(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

int unwelcome_sums(struct ranks_self *self)
{
    for (int one = 0; one < ALGORITHM_AUTO; one++) {
        size_t where;
        int wrong = sums_allreduce(self->comm, (enum algorithm)one, COUNT, &where);
        if (wrong < 0)
            return 1;
        if (ranks_expect(self, !wrong, "%s: [%zu] differs", algorithm_name((enum algorithm)one),
                         where))
            return 1;
    }
    return 0;
}

struct wire_hello unwelcome_hello(const struct ranks_self *self, enum wire_purpose purpose,
                                  int rank)
{
    struct wire_hello hello = {
        .purpose = purpose, .rank = (uint32_t)rank, .world = UNWELCOME_WORLD, .port = 1};
    memcpy(hello.token, self->environment.token, sizeof hello.token);
    return hello;
}
