/* suites: every suite there is, in the order of the floors they test. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

Suite *fail_suite(void);
Suite *slice_suite(void);
Suite *rng_suite(void);
Suite *options_suite(void);
Suite *metrics_suite(void);
Suite *progress_suite(void);
Suite *proof_suite(void);
Suite *environment_suite(void);
Suite *launch_cause_suite(void);
Suite *launch_cores_suite(void);
Suite *install_suite(void);
Suite *launch_suite(void);
Suite *compare_suite(void);
Suite *tensorfile_suite(void);
Suite *csv_suite(void);
Suite *idx_suite(void);
Suite *dataset_suite(void);
Suite *sampler_suite(void);
Suite *locate_suite(void);
Suite *verify_suite(void);
Suite *layer_suite(void);
Suite *loss_suite(void);
Suite *model_suite(void);
Suite *norm_suite(void);
Suite *optimizer_suite(void);
Suite *schedule_suite(void);
Suite *trainer_suite(void);
Suite *golden_suite(void);
Suite *replay_suite(void);
Suite *costmodel_suite(void);
Suite *extrapolate_suite(void);
Suite *steps_suite(void);
Suite *explain_suite(void);
Suite *wire_suite(void);
Suite *link_suite(void);
Suite *deadlock_suite(void);
Suite *rendezvous_suite(void);
Suite *comm_suite(void);
Suite *failures_suite(void);
Suite *narrow_suite(void);
Suite *ring_suite(void);
Suite *bench_suite(void);
Suite *peers_suite(void);
Suite *bucket_suite(void);
Suite *worker_suite(void);
Suite *ddp_suite(void);
Suite *zero1_suite(void);
Suite *corpus_suite(void);
Suite *run_suite(void);
Suite *forks_suite(void);
Suite *stairs_suite(void);
Suite *namespaces_suite(void);
Suite *mutants_suite(void);

struct suite_entry {
    const char *name;
    Suite *(*make)(void);
};

static const struct suite_entry suites[] = {
    {"fail", fail_suite},
    {"slice", slice_suite},
    {"rng", rng_suite},
    {"options", options_suite},
    {"metrics", metrics_suite},
    {"progress", progress_suite},
    {"proof", proof_suite},
    {"environment", environment_suite},
    {"launch_cause", launch_cause_suite},
    {"launch_cores", launch_cores_suite},
    {"install", install_suite},
    {"launch", launch_suite},
    {"compare", compare_suite},
    {"tensorfile", tensorfile_suite},
    {"csv", csv_suite},
    {"idx", idx_suite},
    {"dataset", dataset_suite},
    {"sampler", sampler_suite},
    {"locate", locate_suite},
    {"verify", verify_suite},
    {"layer", layer_suite},
    {"loss", loss_suite},
    {"model", model_suite},
    {"norm", norm_suite},
    {"optimizer", optimizer_suite},
    {"schedule", schedule_suite},
    {"trainer", trainer_suite},
    {"golden", golden_suite},
    {"replay", replay_suite},
    {"costmodel", costmodel_suite},
    {"extrapolate", extrapolate_suite},
    {"steps", steps_suite},
    {"explain", explain_suite},
    {"wire", wire_suite},
    {"link", link_suite},
    {"deadlock", deadlock_suite},
    {"rendezvous", rendezvous_suite},
    {"comm", comm_suite},
    {"failures", failures_suite},
    {"narrow", narrow_suite},
    {"ring", ring_suite},
    {"bench", bench_suite},
    {"peers", peers_suite},
    {"bucket", bucket_suite},
    {"worker", worker_suite},
    {"ddp", ddp_suite},
    {"zero1", zero1_suite},
    {"corpus", corpus_suite},
    {"run", run_suite},
    {"forks", forks_suite},
    {"stairs", stairs_suite},
    {"namespaces", namespaces_suite},
    {"mutants", mutants_suite},
    {NULL, NULL},
};

#endif
