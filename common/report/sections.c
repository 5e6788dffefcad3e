/* sections: the page of a run. See the header. */
#include "common/report/sections.h"
#include "common/report/diagnosis.h"
#include "common/report/heading.h"
#include "common/report/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAYS_BYTES = 512 };

/* --- pictures ----------------------------------------------------------------------------------- */

/* With what is to be seen below it; what it shows in a sentence for those who see it not. */
static void put_picture(const struct page *page, const char *name, const char *says,
                        const char *caption)
{
    if (html_figure(page->out, page->folder, name, says)) {
        fputs("<figcaption>", page->out);
        html_text(page->out, caption);
        fputs("</figcaption>\n</figure>\n", page->out);
    }
}

static void say_loss(const struct page *page, char says[SAYS_BYTES], const char *axis)
{
    const struct survey *survey = page->survey;
    const struct case_step *steps = survey->book->ranks[0].steps;
    snprintf(says, SAYS_BYTES,
             "Curve of the training loss by %s: %.4g at update %zu, %.4g at update %zu%s.", axis,
             steps[0].loss, survey->first, steps[survey->steps - 1].loss, survey->last,
             page->reference ? "; a second curve is the reference's" : "");
}

static void put_losses(const struct page *page)
{
    const struct survey *survey = page->survey;
    char says[SAYS_BYTES];
    if (!survey->loss.any || survey->steps == 0)
        return;
    fputs("<section id=\"loss\">\n<h2>The loss</h2>\n", page->out);
    if (survey->each > 1)
        fprintf(page->out,
                "<p>Of %zu updates each point is the mean of %zu in a row; no update is left out. "
                "The band spans the "
                "least and the most of them, and is cut where it leaves the frame.</p>\n",
                survey->steps, survey->each);
    fputs("<div class=\"pictures\">\n", page->out);
    say_loss(page, says, "updates");
    put_picture(page, "loss-updates", says,
                "By updates: how much each update has done. A run with a larger global batch makes "
                "fewer of them in an "
                "epoch, and looks slower here than it is.");
    say_loss(page, says, "samples seen");
    put_picture(page, "loss-samples", says,
                "By samples: how much the data has done. Runs of different worlds or batches are "
                "compared on this axis.");
    fputs("</div>\n</section>\n", page->out);
}

static void put_local(const struct page *page)
{
    const struct casebook *book = page->survey->book;
    char says[SAYS_BYTES];
    if (!page->survey->local.any || book->world < 2)
        return;
    snprintf(says, sizeof says,
             "Curves of the losses of %zu ranks on their own samples, beside the reported loss.",
             book->world);
    put_picture(page, "loss-local", says,
                "Each rank's loss on its own share of the batch, beside the one that is reported. "
                "The reported one must lie "
                "among the ranks' own, for it is their mean; if it is exactly one rank's, that "
                "rank reports itself. "
                "A rank that lies apart sees other data, or has other parameters.");
}

static void put_norms(const struct page *page)
{
    const struct survey *survey = page->survey;
    char says[SAYS_BYTES];
    if (!survey->norm.any)
        return;
    snprintf(says, sizeof says, "Norms of gradients, from %.3g to %.3g, at %zu updates.",
             survey->norm.least, survey->norm.most,
             survey->has_norms ? survey->steps : survey->looks);
    put_picture(
        page, "norms", says,
        survey->book->world > 1
            ? "The gradient the optimizer was given, and the ranks' own before the reduction. Each "
              "rank's is weighted by its samples, so as a rule its norm is smaller than that of "
              "the sum, unless the ranks' gradients point in different directions; a factor of the "
              "number of ranks between two runs is a sum that was not made a mean, or a mean made "
              "twice."
            : "The gradient the optimizer was given. A peak is a batch unlike the others, or a "
              "rate that is too high.");
}

static void put_ranks(const struct page *page)
{
    if (!page->survey->norm.any && (page->survey->book->world < 2 || !page->survey->local.any))
        return;
    fputs("<section id=\"ranks\">\n<h2>Ranks and gradients</h2>\n<div class=\"pictures\">\n",
          page->out);
    put_local(page);
    put_norms(page);
    fputs("</div>\n</section>\n", page->out);
}

static void say_step(const struct page *page, char says[SAYS_BYTES])
{
    const struct survey *survey = page->survey;
    const struct case_step *step = &survey->book->ranks[0].steps[survey->shown];
    snprintf(
        says, SAYS_BYTES,
        "Bars of one update of each rank. Rank 0: %.3g ms, of which %.3g compute, %.3g wait for "
        "communication; communication takes %.3g.",
        1e3 * step->seconds, 1e3 * step->compute_seconds, 1e3 * step->exposed_seconds,
        1e3 * step->comm_seconds);
}

static void put_costs(const struct page *page)
{
    const struct survey *survey = page->survey;
    const struct casebook *book = survey->book;
    const struct case_start *start = &book->ranks[0].starts[0];
    char says[SAYS_BYTES];
    if (!survey->has_times && !start->has_ledger)
        return;
    fputs("<section id=\"costs\">\n<h2>Time and memory</h2>\n", page->out);
    if (survey->rows < book->world)
        fprintf(page->out, "<p>Shown are the first %zu of %zu ranks.</p>\n", survey->rows,
                book->world);
    fputs("<div class=\"pictures\">\n", page->out);
    if (survey->has_times) {
        say_step(page, says);
        put_picture(page, "step", says,
                    "One update: the one whose time on rank 0 is the median of all. Exposed wait "
                    "is communication "
                    "that no computation hides. Only durations are recorded, so communication is "
                    "drawn as if it ended with the "
                    "wait; where trace.json lies beside the record (--trace DIR/trace.json), its "
                    "true times are drawn.");
    }
    if (start->has_ledger) {
        snprintf(says, sizeof says,
                 "Bars of the memory of each rank by use. Rank 0 keeps %.3g MiB, at most %.3g.",
                 (double)memory_total(&start->ledger) / 1048576,
                 (double)start->ledger.peak_total_bytes / 1048576);
        put_picture(page, "memory", says,
                    "What each rank has taken for what, by its ledger, before the first update; "
                    "the cross is the most it had at "
                    "any time until then. Verification's second copies are not in it.");
    }
    fputs("</div>\n</section>\n", page->out);
}

/* --- verification ------------------------------------------------------------------------------- */

static void put_proof(const struct page *page, size_t rank, const json_t *proof)
{
    bool holds = json_is_true(json_object_get(proof, "holds"));
    fputs("<li>", page->out);
    html_format(page->out, "step %lld",
                (long long)json_integer_value(json_object_get(proof, "step")));
    if (rank > 0)
        html_format(page->out, ", rank %zu", rank);
    fputs(": ", page->out);
    html_text(page->out, json_string_value(json_object_get(proof, "what")));
    fputs(": ", page->out);
    html_text(page->out, json_string_value(json_object_get(proof, "how")));
    fprintf(page->out, ": <strong class=\"%s\">%s</strong></li>\n", holds ? "good" : "bad",
            holds ? "ok" : "FAILED");
}

/* Rank 0 says all, the others what failed, as on the terminal. */
static void put_proofs(const struct page *page)
{
    const struct casebook *book = page->survey->book;
    fputs("<section id=\"proof\">\n<h2>Verification</h2>\n", page->out);
    if (!book->ranks[0].proofs)
        fputs("<p>Nothing was compared in this run.</p>\n", page->out);
    else
        fputs("<p>The gradients of the first steps, against those of the lesson below.</p>\n<ul>\n",
              page->out);
    for (size_t rank = 0; rank < book->world; rank++) {
        const json_t *proof;
        size_t i;
        json_array_foreach(book->ranks[rank].proofs, i,
                           proof) if (rank == 0 || !json_is_true(json_object_get(proof, "holds")))
            put_proof(page, rank, proof);
    }
    fputs(book->ranks[0].proofs ? "</ul>\n</section>\n" : "</section>\n", page->out);
}

int sections_write(const struct survey *survey, const struct casebook *reference,
                   const char *folder, const char *path, struct fail *fail)
{
    struct page page = {survey, reference, folder, fopen(path, "we")};
    if (!page.out)
        return fail_set(fail, -errno, "cannot write %s: %s", path, strerror(errno));
    heading_write(&page);
    diagnosis_write(page.out, folder);
    put_losses(&page);
    put_ranks(&page);
    put_costs(&page);
    put_proofs(&page);
    fputs("<footer><p>The numbers of all pictures lie beside this page as tab-separated files, the "
          "pictures as SVG and "
          "PNG.</p></footer>\n</body>\n</html>\n",
          page.out);
    errno = EIO;
    bool wrong = ferror(page.out) != 0;
    wrong = fclose(page.out) != 0 || wrong;
    return wrong ? fail_set(fail, -errno, "cannot write %s: %s", path, strerror(errno)) : 0;
}
