/*
 * verify: the program that holds one dump against another and names the first divergence.
 *
 *     verify A B                     bit for bit
 *     verify A B --tolerance 1e-5    relative to the largest value of each tensor of A
 *
 * What is found goes to the standard output, why nothing was found to the standard error.
 */
#include "common/decimal.h"
#include "common/dumpdiff.h"
#include "common/standard_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EQUAL = 0, FAILED = 1, USAGE = 2, DIFFERENT = 3 };

struct request {
    const char *a, *b;
    bool bounded, help, version;
    double tolerance;
};

struct verdict {
    size_t steps, floats, different;
    double largest, largest_share;
    struct dumpdiff first; // when different > 0
};

static const char usage[] =
    "usage: verify A B [--tolerance REL]\n"
    "\n"
    "Compares two directories written with --dump, step by step, tensor by tensor, and names the\n"
    "first divergence and its likely cause. A is the reference. Each rank of B is compared with\n"
    "the same rank of A, or with rank 0 where A has fewer; a part of a tensor with the same\n"
    "elements of the whole.\n"
    "\n"
    "  --tolerance REL  0 to 1: values may differ by REL times the largest absolute value of\n"
    "                   their tensor (default: bit for bit, where -0 is not 0)\n"
    "  --help           this text\n"
    "  --version        the version\n"
    "\n"
    "Exit code: 0 equal, 3 different, 1 something is missing or cannot be read, 2 wrong usage.\n"
    "A value that is not finite is equal to nothing.\n";

/* --- the command line ------------------------------------------------------------------------ */

static int take_tolerance(struct request *request, const char *text, struct fail *fail)
{
    if (!text)
        return fail_set(fail, -EINVAL, "--tolerance lacks its value, a number from 0 to 1");
    request->bounded = true;
    if (!decimal_read(text, strlen(text), &request->tolerance) || request->tolerance < 0 ||
        request->tolerance > 1)
        return fail_set(fail, -EINVAL, "--tolerance %s: must be a number from 0 to 1", text);
    return 0;
}

static int take_folder(struct request *request, const char *text, struct fail *fail)
{
    if (text[0] == '-')
        return fail_set(fail, -EINVAL, "unknown flag %s; there are --tolerance, --help, --version",
                        text);
    if (request->b)
        return fail_set(fail, -EINVAL, "two directories are compared, '%s' is a third", text);
    *(request->a ? &request->b : &request->a) = text;
    return 0;
}

static int parse(struct request *request, int argc, char **argv, struct fail *fail)
{
    int status = 0;
    for (int i = 1; !status && i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            request->help = true;
        else if (strcmp(argv[i], "--version") == 0)
            request->version = true;
        else if (strcmp(argv[i], "--tolerance") == 0)
            status = take_tolerance(request, argv[++i], fail); // argv ends in NULL
        else if (strncmp(argv[i], "--tolerance=", 12) == 0)
            status = take_tolerance(request, argv[i] + 12, fail);
        else
            status = take_folder(request, argv[i], fail);
    }
    if (!status && !request->b && !request->help && !request->version)
        status = fail_set(fail, -EINVAL, "two directories are needed: verify A B (see --help)");
    return status;
}

/* --- what is printed ------------------------------------------------------------------------- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_sides(const struct request *request, const struct dumpset *a,
                        const struct dumpset *b)
{
    printf("A  %s: %zu rank%s, %zu step%s\n", a->folder, a->world, plural(a->world), a->count,
           plural(a->count));
    printf("B  %s: %zu rank%s, %zu step%s\n", b->folder, b->world, plural(b->world), b->count,
           plural(b->count));
    if (request->bounded)
        printf("compared within %g of the largest value of each tensor\n", request->tolerance);
    else
        printf("compared bit for bit\n");
}

static void print_kind(const struct request *request, size_t step, const struct dumpdiff *diff)
{
    const struct compare *total = &diff->total;
    printf("step %zu  %-8s  %zu floats: %zu tensor%s%s, %zu rank%s  ", step, diff->kind,
           total->count, diff->tensors, plural(diff->tensors), diff->sharded ? " in parts" : "",
           diff->ranks, plural(diff->ranks));
    if (total->different && request->bounded)
        printf("DIFFERENT: %zu floats, largest difference %g, %.3g times its bound\n",
               total->different, total->largest, total->largest_share);
    else if (total->different)
        printf("DIFFERENT: %zu floats, largest difference %g\n", total->different, total->largest);
    else if (request->bounded)
        printf("ok: largest difference %g, %.3g times its bound\n", total->largest,
               total->largest_share);
    else
        printf("ok: bit for bit\n");
}

static void print_divergence(const struct request *request, const struct dumpdiff *first)
{
    printf("first divergence: step %zu, %s, element %zu, rank %zu\n", first->step, first->tensor,
           first->element, first->rank);
    printf("  A %.9g  (%s)\n  B %.9g  (%s)\n", (double)first->a_value, request->a,
           (double)first->b_value, request->b);
    printf("  likely cause, over all of %s: %s\n",
           first->cause_of_tensor ? first->tensor : first->kind, first->cause);
}

static int print_verdict(const struct request *request, const struct verdict *verdict)
{
    if (verdict->different) {
        print_divergence(request, &verdict->first);
        printf("different: %zu of %zu floats\n", verdict->different, verdict->floats);
        return DIFFERENT;
    }
    if (request->bounded)
        printf("equal within %g: %zu step%s, %zu floats, largest difference %g, %.3g times its "
               "bound\n",
               request->tolerance, verdict->steps, plural(verdict->steps), verdict->floats,
               verdict->largest, verdict->largest_share);
    else
        printf("equal bit for bit: %zu step%s, %zu floats\n", verdict->steps,
               plural(verdict->steps), verdict->floats);
    return EQUAL;
}

/* --- comparing ------------------------------------------------------------------------------- */

static void add(struct verdict *verdict, const struct dumpdiff *diff)
{
    if (verdict->different == 0 && diff->total.different)
        verdict->first = *diff;
    verdict->floats += diff->total.count;
    verdict->different += diff->total.different;
    if (diff->total.largest > verdict->largest)
        verdict->largest = diff->total.largest;
    if (diff->total.largest_share > verdict->largest_share)
        verdict->largest_share = diff->total.largest_share;
}

static int compare_step(const struct request *request, const struct dumpdiff_sides *sides,
                        struct verdict *verdict, struct fail *fail)
{
    struct dumpdiff diff;
    int status = dumpdiff_match(sides, fail);
    for (size_t i = 0; !status && i < sides->a->count;) {
        status = dumpdiff_kind(sides, i, &i, &diff, fail);
        if (status)
            return status;
        print_kind(request, sides->a->step, &diff);
        add(verdict, &diff);
    }
    verdict->steps += !status;
    return status;
}

/* The steps that both have. What only one has is named afterwards, by check_steps(). */
static int compare_steps(const struct request *request, const struct dumpset *a,
                         const struct dumpset *b, struct verdict *verdict, struct fail *fail)
{
    struct dumpstep before = {0}, left = {0}, right = {0};
    int status = 0;
    for (size_t i = 0, j = 0; !status && i < a->count && j < b->count;) {
        if (a->steps[i] != b->steps[j]) {
            *(a->steps[i] < b->steps[j] ? &i : &j) += 1;
            continue;
        }
        status = dumpstep_open(&left, a, a->steps[i++], fail);
        if (!status)
            status = dumpstep_open(&right, b, b->steps[j++], fail);
        struct dumpdiff_sides sides = {.a = &left,
                                       .b = &right,
                                       .before = before.readers ? &before : NULL,
                                       .bounded = request->bounded,
                                       .tolerance = request->tolerance};
        if (!status)
            status = compare_step(request, &sides, verdict, fail);
        dumpstep_release(&right);
        dumpstep_release(&before);
        before = left;
        left = (struct dumpstep){0};
    }
    dumpstep_release(&before);
    return status;
}

static int check_steps(const struct dumpset *a, const struct dumpset *b, struct fail *fail)
{
    for (size_t i = 0; i < a->count || i < b->count; i++) {
        if (i < a->count && i < b->count && a->steps[i] == b->steps[i])
            continue;
        bool in_a = i >= b->count || (i < a->count && a->steps[i] < b->steps[i]);
        return fail_set(fail, -ENOENT, "step %zu is in %s, but not in %s",
                        in_a ? a->steps[i] : b->steps[i], in_a ? a->folder : b->folder,
                        in_a ? b->folder : a->folder);
    }
    return 0;
}

static int verify(const struct request *request, struct fail *fail)
{
    struct dumpset a = {0}, b = {0};
    struct verdict verdict = {0};
    int code = FAILED, status = dumpset_open(&a, request->a, fail);
    if (!status)
        status = dumpset_open(&b, request->b, fail);
    if (!status) {
        print_sides(request, &a, &b);
        status = compare_steps(request, &a, &b, &verdict, fail);
    }
    if (!status)
        status = check_steps(&a, &b, fail);
    if (!status && verdict.floats == 0)
        status = fail_set(fail, -EINVAL, "%s and %s hold no floats to compare", a.folder, b.folder);
    if (!status || verdict.different)
        code = print_verdict(request, &verdict);
    dumpset_release(&a);
    dumpset_release(&b);
    return code;
}

int main(int argc, char **argv)
{
    struct request request = {0};
    struct fail fail = {0};
    int code = EQUAL;
    standard_files_occupy();
    if (parse(&request, argc, argv, &fail))
        code = USAGE;
    else if (request.help)
        fputs(usage, stdout);
    else if (request.version)
        puts("verify 0.1.0");
    else
        code = verify(&request, &fail);
    if (fflush(stdout) || ferror(stdout))
        fail_set(&fail, -EIO, "cannot write to the standard output: %s", strerror(errno));
    if (fail.code)
        fprintf(stderr, "verify: %s\n", fail.text);
    return fail.code && code == EQUAL ? FAILED : code;
}
