/* zoo_table: the mistakes that --inject plants, one row each. See zoo.h. */
#include "common/zoo.h"

enum { L2 = 1 << 2, L3 = 1 << 3, L4 = 1 << 4, RANKS = L2 | L3 | L4, BUCKETS = L3 | L4 };
enum { WHOLE_GRADIENTS = 1, ANY_STAGE = 3 }; // the last stage in which it can be planted

/* clang-format off */
const struct zoo_row zoo_table[ZOO_MEMBERS] = {
[ZOO_SUM_NOT_MEAN] = {
    .name = "sum-not-mean", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = RANKS, .needs_ranks = true,
    .wrong = "each rank takes the mean over its own samples and the sum over ranks is not divided: the "
             "gradient is N times too large",
    .symptom = "the loss falls in jumps, rises or becomes NaN, the worse the more ranks; a rate N times smaller "
               "mends it; Adam hides it, clipping too",
    .cure = "divide by the number of ranks once, or weight each sample by 1 / (samples of all ranks) before "
            "summing",
    .elsewhere = "PyTorch: dist.all_reduce of gradients by hand, whose default is SUM; DDP divides by itself. "
                 "DeepSpeed: a loss that was summed over tokens instead of averaged"},
[ZOO_MEAN_TWICE] = {
    .name = "mean-twice", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = RANKS, .needs_ranks = true,
    .wrong = "the reduced gradient is a mean already and is divided by N once more",
    .symptom = "learning is smooth and slow, the slower the more ranks, as with a rate N times smaller; Adam "
               "hides it",
    .cure = "leave out the second division",
    .elsewhere = "PyTorch: DDP averages, and the code divides the loss or param.grad by the world size again. "
                 "Hugging Face Trainer: the same in a compute_loss of one's own"},
[ZOO_NO_LR_SCALE] = {
    .name = "no-lr-scale", .lessons = RANKS, .most_stage = ANY_STAGE, .needs_ranks = true,
    .excludes = "per-rank-batch lr-scale",
    .wrong = "the batch is per rank, so N ranks make it N times larger, and the rate stays as it was",
    .symptom = "fewer updates an epoch and a higher loss after the same epochs; by updates the curve looks the "
               "same or better",
    .cure = "--lr-scale linear with --warmup, or keep the global batch with --batch",
    .elsewhere = "PyTorch: DataLoader(batch_size) is per rank under DDP. Hugging Face Trainer: "
                 "per_device_train_batch_size. DeepSpeed: train_micro_batch_size_per_gpu; none scales the rate"},
[ZOO_LR_SCALE_NO_WARMUP] = {
    .name = "lr-scale-no-warmup", .lessons = RANKS, .most_stage = ANY_STAGE, .needs_ranks = true,
    .excludes = "per-rank-batch lr-scale warmup",
    .wrong = "the batch is per rank, the rate is scaled with it, and the first updates take all of that rate",
    .symptom = "the loss jumps up in the first updates and comes down late, or never as far",
    .cure = "--warmup over the first epochs (Goyal et al., 2017), or a smaller scaled rate",
    .elsewhere = "PyTorch: lr * world_size without a LinearLR in front. Hugging Face Trainer: warmup_steps is 0 "
                 "unless given. DeepSpeed: no scheduler WarmupLR in its configuration"},
[ZOO_NO_SET_EPOCH] = {
    .name = "no-set-epoch", .lessons = RANKS, .most_stage = ANY_STAGE, .excludes = "no-shuffle",
    .wrong = "every epoch uses the order of epoch 0, so its batches are the same ones again",
    .symptom = "the training loss repeats its pattern epoch by epoch; the test loss is a little worse",
    .cure = "draw the order from (seed, epoch)",
    .elsewhere = "PyTorch: DistributedSampler without set_epoch(epoch) at the start of every epoch. DeepSpeed: a "
                 "loader of one's own with such a sampler. Hugging Face Trainer calls it"},
[ZOO_SAME_SHARD] = {
    .name = "same-shard", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = L2 | L4, .needs_ranks = true,
    .wrong = "every rank takes rank 0's share of the batch: most samples are never seen",
    .symptom = "more ranks are no better than one with a batch N times smaller; the test loss parts from the "
               "training loss early",
    .cure = "each rank takes its own share",
    .elsewhere = "PyTorch: a DataLoader without DistributedSampler, or num_replicas and rank left at 1 and 0; an "
                 "IterableDataset that does not look at the rank"},
[ZOO_SEED_PER_RANK] = {
    .name = "seed-per-rank", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = RANKS, .needs_ranks = true,
    .excludes = "init resume",
    .wrong = "each rank draws its first weights from seed + rank and nobody broadcasts rank 0's: ranks train "
             "different networks with one gradient",
    .symptom = "the loss falls slowly and stays high; ranks disagree about the loss of the same samples; each "
               "checkpoint is another network",
    .cure = "one seed for the weights, or broadcast rank 0's before the first step",
    .elsewhere = "PyTorch: torch.manual_seed(seed + rank) before the model is built and no DDP wrapper, which "
                 "would broadcast, or DDP(init_sync=False), or FSDP without sync_module_states. DeepSpeed: parameters "
                 "made after initialize"},
[ZOO_SAME_DROPOUT] = {
    .name = "same-dropout", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = RANKS, .needs_ranks = true,
    .needs = "--dropout 0.3",
    .wrong = "masks are drawn by (step, row of the rank's micro-batch), so all ranks leave out the same units",
    .symptom = "the loss is noisier and regularisation weaker than the rate of dropout says; hard to see in one "
               "curve",
    .cure = "draw masks by the sample, or from a stream that differs by rank",
    .elsewhere = "PyTorch: the same torch.manual_seed on every rank, kept for dropout; Hugging Face's set_seed does "
                 "so. Megatron and DeepSpeed keep a random state of its own for what must differ"},
[ZOO_SHUFFLE_PER_RANK] = {
    .name = "shuffle-per-rank", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = L2 | L4, .needs_ranks = true,
    .excludes = "no-shuffle",
    .wrong = "each rank draws the order from seed + rank and takes its own slice of that: some samples come "
             "several times in an epoch, others never",
    .symptom = "the training loss looks healthy; the test loss is a little worse, and no run repeats another of "
               "another world",
    .cure = "one seed for the order on all ranks",
    .elsewhere = "PyTorch: DistributedSampler(seed=seed + rank), whose seed must be the same everywhere, or "
                 "shuffling the data set before sharding it"},
[ZOO_LAST_BATCH_UNWEIGHTED] = {
    .name = "last-batch-unweighted", .lessons = RANKS, .most_stage = ANY_STAGE,
    .needs = "--accumulate 3",
    .wrong = "every micro-batch and every rank counts alike, however many samples it has: a mean of means",
    .symptom = "a spike of the gradient's norm at each epoch's last update; samples of short batches count too "
               "much",
    .cure = "weight each sample by 1 / (samples of the update)",
    .elsewhere = "PyTorch: loss / accumulation_steps with a mean loss. Hugging Face Trainer did so for tokens "
                 "until 4.46 (October 2024). DeepSpeed divides by gradient_accumulation_steps as well"},
[ZOO_RANK0_LOSS_ONLY] = {
    .name = "rank0-loss-only", .lessons = RANKS, .most_stage = ANY_STAGE, .needs_ranks = true,
    .wrong = "the loss that is reported is the rank's own: rank 0 prints that of its share",
    .symptom = "the printed curve is noisier with more ranks, and differs from the one-process curve, while the "
               "model is the same",
    .cure = "sum losses and samples over all ranks before printing",
    .elsewhere = "PyTorch: if rank == 0: print(loss.item()) without an all_reduce. DeepSpeed: the same with what "
                 "the engine returns. Hugging Face Trainer gathers when it logs"},
[ZOO_SYNC_LAST_MICROBATCH_ONLY] = {
    .name = "sync-last-microbatch-only", .lessons = RANKS, .most_stage = WHOLE_GRADIENTS, .caught = RANKS, .needs_ranks = true,
    .needs = "--accumulate 3",
    .wrong = "only the last micro-batch's gradient is reduced; the earlier ones are added after, on each rank "
             "its own",
    .symptom = "ranks drift apart step by step; the loss of the ranks' shares spreads; evaluation depends on the "
               "rank",
    .cure = "accumulate first, then reduce the sum",
    .elsewhere = "PyTorch: gradients accumulated outside param.grad, or an all_reduce in the last micro-batch's "
                 "hook over that micro-batch's gradient alone"},
[ZOO_SYNC_FIRST_MICROBATCH_ONLY] = {
    .name = "sync-first-microbatch-only", .lessons = RANKS, .most_stage = WHOLE_GRADIENTS, .caught = RANKS, .needs_ranks = true,
    .needs = "--accumulate 3",
    .wrong = "only the first micro-batch's gradient is reduced; the later ones are added after, on each rank "
             "its own",
    .symptom = "as with the last one only: ranks drift apart step by step",
    .cure = "synchronise in the last micro-batch of a window, not in the first",
    .elsewhere = "PyTorch: the condition of no_sync() the wrong way round, or i % K == 0 where (i + 1) % K == 0 "
                 "is meant. Hugging Face accelerate: a sync_gradients of one's own"},
[ZOO_CLIP_BEFORE_REDUCE] = {
    .name = "clip-before-reduce", .lessons = RANKS, .most_stage = WHOLE_GRADIENTS, .caught = RANKS, .needs_ranks = true,
    .needs = "--clip 0.5",
    .wrong = "each rank clips its own gradient to the norm, then they are averaged: ranks weigh by how little "
             "was cut off, and the mean's norm is below the limit",
    .symptom = "learning is slower and depends on the number of ranks; the norm after clipping is never at the "
               "limit",
    .cure = "reduce first, clip the mean",
    .elsewhere = "PyTorch: clip_grad_norm_ inside no_sync(), or before an all_reduce by hand; with DDP, after "
                 "backward() it is right"},
[ZOO_CLIP_PER_SHARD] = {
    .name = "clip-per-shard", .lessons = L4, .most_stage = ANY_STAGE, .caught = L4, .needs_ranks = true, .needs = "--clip 0.5",
    .wrong = "each rank clips what it owns by the norm of that alone: the direction changes and the whole norm may "
             "be as large as NORM times the root of N",
    .symptom = "clipping does less the more ranks there are; spikes come through",
    .cure = "add the shards' squared norms over all ranks, then take one factor everywhere",
    .elsewhere = "PyTorch: torch.nn.utils.clip_grad_norm_ on FSDP's shards, instead of the method of the FSDP "
                 "module. DeepSpeed: clipping by hand beside gradient_clipping in its configuration"},
[ZOO_STALE_BUCKET] = {
    .name = "stale-bucket", .lessons = BUCKETS, .most_stage = WHOLE_GRADIENTS, .caught = BUCKETS, .needs_ranks = true,
    .wrong = "the last bucket is not waited for: its layers train on the gradient of the step before",
    .symptom = "the first layers lag behind; a slightly worse or, at a large rate, oscillating curve",
    .cure = "wait for every bucket before the optimizer's step",
    .elsewhere = "PyTorch: all_reduce(async_op=True) without wait() on the last handle, or an optimizer on "
                 "another stream than the communication's"},
[ZOO_SKIP_ONE_RANK] = {
    .name = "skip-one-rank", .lessons = RANKS, .most_stage = WHOLE_GRADIENTS, .needs_ranks = true,
    .wrong = "one sample has a NaN feature; the rank that meets it sends zeros and skips its own update, while "
             "the others make theirs",
    .symptom = "all is well until an epoch meets the sample; from then on ranks differ, each epoch more",
    .cure = "take the decision from reduced values, so that all ranks skip or none (--on-nonfinite skip); look "
            "at the data",
    .elsewhere = "PyTorch: if not torch.isfinite(loss): continue on one rank, which hangs DDP as well. "
                 "GradScaler without its found_inf reduced. DeepSpeed reduces the overflow flag"},
[ZOO_DECAY_BIASES] = {
    .name = "decay-biases", .lessons = RANKS, .most_stage = ANY_STAGE, .caught = L4, .needs = "--weight-decay 0.1",
    .excludes = "no-bias",
    .wrong = "weight decay takes biases, too",
    .symptom = "a slightly higher loss that no number of ranks explains; biases are too small",
    .cure = "two groups of parameters: decay for weights, none for biases and norms",
    .elsewhere = "PyTorch: one parameter group, AdamW(model.parameters()). DeepSpeed: the same. Hugging Face "
                 "Trainer leaves biases and norms out"},
[ZOO_EVAL_PADDING_COUNTED] = {
    .name = "eval-padding-counted", .lessons = RANKS, .most_stage = ANY_STAGE, .needs_ranks = true,
    .wrong = "the test set is padded with its first samples to equal shares, and the copies are counted",
    .symptom = "test loss and accuracy change a little with the number of ranks, the model being the same",
    .cure = "count each sample once: shares may be uneven, or drop what was added",
    .elsewhere = "PyTorch: DistributedSampler pads unless drop_last, in evaluation as well. Hugging Face "
                 "accelerate: gather instead of gather_for_metrics"},
[ZOO_RESUME_REPEATS_DATA] = {
    .name = "resume-repeats-data", .lessons = RANKS, .most_stage = ANY_STAGE, .needs = "--resume DIR",
    .wrong = "after --resume the sampler begins at the start of the epoch's order again",
    .symptom = "the training loss is lower for a while after a restart: its samples were just seen; others are "
               "left out",
    .cure = "save the position in the epoch's order and go on from there",
    .elsewhere = "PyTorch: a checkpoint without the sampler's position. Hugging Face Trainer: ignore_data_skip. "
                 "DeepSpeed: load_checkpoint does not move the loader"},
[ZOO_RESUME_WITHOUT_MOMENTUM] = {
    .name = "resume-without-momentum", .lessons = RANKS, .most_stage = ANY_STAGE, .needs = "--resume DIR",
    .wrong = "after --resume the optimizer's state is zero",
    .symptom = "a kink in the curve at each restart; with Adam, a jump",
    .cure = "save and load the optimizer's state with the weights",
    .elsewhere = "PyTorch: only model.state_dict() is saved. DeepSpeed: load_optimizer_states=False or "
                 "load_module_only. Hugging Face Trainer: from_pretrained instead of resume_from_checkpoint"},
[ZOO_BATCH_NOT_DIVIDED] = {
    .name = "batch-not-divided", .lessons = RANKS, .most_stage = ANY_STAGE, .needs_ranks = true,
    .excludes = "per-rank-batch",
    .wrong = "--batch is meant over all ranks and every rank takes that many: the global batch is N times what "
             "the configuration says",
    .symptom = "N times fewer updates an epoch than planned, a higher loss after the same epochs, and memory "
               "that does not fall with more ranks",
    .cure = "divide the global batch by the number of ranks, or say that it is per rank and scale the rate",
    .elsewhere = "PyTorch: DataLoader(batch_size=global_batch) under DDP. Hugging Face Trainer: the global batch "
                 "given as per_device_train_batch_size. DeepSpeed refuses a train_batch_size that does not fit"},
};
/* clang-format on */
