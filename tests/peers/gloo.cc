/*
 * gloo: what an all-reduce of floats costs with gloo's C++ library, by size. TCP on loopback.
 *
 *   gloo WORLD FOLDER BYTES...      the ranks meet through files in FOLDER, an empty one
 *
 * Measured as lesson02_allreduce/bench.c measures: a barrier before each call, a call takes as long as its
 * slowest rank, 3 calls to warm up, the median of the rest. Prints: bytes, microseconds.
 */
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Reduce = void (*)(void *, const void *, const void *, size_t);

enum { WARM_UP = 3 };

static int calls_for(size_t bytes)
{
    if (bytes <= 64 << 10)
        return 200;
    return bytes <= 4 << 20 ? 30 : 8;
}

template <typename T>
static gloo::AllreduceOptions in_place(const Context &context, std::vector<T> &data, Reduce reduce)
{
    gloo::AllreduceOptions options(context);
    options.setOutput(data.data(), data.size());
    options.setReduceFunction(reduce);
    return options;
}

/* The sum of R vectors of ones is R everywhere: what is measured is an all-reduce. */
static void check(const Context &context, size_t count)
{
    std::vector<float> ones(count, 1);
    gloo::allreduce(in_place<float>(context, ones, gloo::sum<float>));
    if (std::count(ones.begin(), ones.end(), (float)context->size) != (long)count)
        throw std::runtime_error("gloo's sum is wrong");
}

static double median_seconds(const Context &context, size_t bytes)
{
    int calls = calls_for(bytes);
    std::vector<float> data(bytes / sizeof(float));
    std::vector<double> seconds(calls);
    auto options = in_place<float>(context, data, gloo::sum<float>); // made once: gloo at its best
    for (int call = -WARM_UP; call < calls; call++) {
        gloo::BarrierOptions together(context);
        gloo::barrier(together);
        auto began = std::chrono::steady_clock::now();
        gloo::allreduce(options);
        std::chrono::duration<double> mine = std::chrono::steady_clock::now() - began;
        seconds[std::max(call, 0)] = mine.count();
    }
    gloo::allreduce(in_place<double>(context, seconds, gloo::max<double>)); // the slowest rank's
    std::sort(seconds.begin(), seconds.end());
    return seconds[calls / 2];
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int world = atoi(argv[1]), rank = 0, bad = 0;
    while (rank < world - 1 && fork() != 0) // the last rank is the parent of all others
        rank++;
    gloo::transport::tcp::attr loopback;
    loopback.iface = "lo";
    gloo::rendezvous::FileStore store(argv[2]);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, world);
    auto device = gloo::transport::tcp::CreateDevice(loopback);
    context->connectFullMesh(store, device);
    for (int i = 3; i < argc; i++) {
        size_t bytes = strtoul(argv[i], nullptr, 10);
        check(context, bytes / sizeof(float));
        double seconds = median_seconds(context, bytes);
        if (rank == 0)
            printf("%zu %.1f\n", bytes, 1e6 * seconds);
    }
    for (int code; rank == world - 1 && wait(&code) > 0;)
        bad |= code;
    return bad != 0;
}
