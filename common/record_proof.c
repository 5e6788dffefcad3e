/* record_proof: what a rank keeps, and what its verification has compared, as members of a record's line. */
#include "common/record.h"

void record_ledger(struct jsonl_line *line, const struct memory *ledger)
{
    jsonl_add(line, ",\"memory\":{\"peak\":%zu", ledger->peak_total_bytes);
    for (int use = 0; use < MEMORY_USES; use++)
        jsonl_whole(line, memory_use_name((enum memory_use)use), ledger->now_bytes[use]);
    jsonl_add(line, "}");
}

void record_proofs(struct jsonl_line *line, const struct proof *proof)
{
    for (size_t i = 0; i < proof->kept_count; i++) {
        const struct proof_line *kept = &proof->kept[i];
        jsonl_add(line, "%s{\"step\":%zu,\"what\":", i > 0 ? "," : ",\"proof\":[", kept->step);
        jsonl_string(line, kept->what);
        jsonl_add(line, ",\"how\":");
        jsonl_string(line, kept->how);
        jsonl_add(line, ",\"holds\":%s}", kept->holds ? "true" : "false");
    }
    jsonl_add(line, proof->kept_count > 0 ? "]" : "");
}
