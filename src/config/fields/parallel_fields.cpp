// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"
#include "config/fields/sections.h"

namespace myxtts {

void add_parallel_fields(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "parallel.gpus",
                         .flag = "--gpus",
                         .placeholder = "LIST",
                         .group = "Several processes",
                         .sentence = "GPUs of this host that train one model together, a rank on "
                                     "each; with --data-gpu, that one feeds them all."},
                        MYXTTS_MEMBER(parallel.gpus), gpu_numbers(), "none"));
  fields.push_back(bind({.key = "parallel.ranks",
                         .flag = "--ranks",
                         .placeholder = "N",
                         .group = "Several processes",
                         .sentence = "So many ranks in this process, fed by one data device; on "
                                     "the CPU, where there are no --gpus to name."},
                        MYXTTS_MEMBER(parallel.ranks), integer_between(1, 64), "none"));
  fields.push_back(bind({.key = "parallel.rank_timeout",
                         .flag = "--rank-timeout",
                         .placeholder = "SECONDS",
                         .group = "Several processes",
                         .sentence = "How long ranks wait for one that does not answer before the "
                                     "run ends everywhere."},
                        MYXTTS_MEMBER(parallel.rank_timeout), number_between(1, 86'400)));
  fields.push_back(bind(
      {.key = "parallel.wire",
       .flag = "--wire",
       .placeholder = "KIND",
       .group = "Several processes",
       .sentence = "The numbers in which gradients go from rank to rank; bf16 halves what is "
                   "sent and rounds it."},
      MYXTTS_MEMBER(parallel.wire), one_of<Wire>({{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}})));
  fields.push_back(bind({.key = "parallel.shard_optimiser",
                         .flag = "--shard-optimiser",
                         .negative_flag = "--no-shard-optimiser",
                         .group = "Several processes",
                         .sentence = "Each rank keeps AdamW's averages of its own part of the "
                                     "model alone, and updates that part for all."},
                        MYXTTS_MEMBER(parallel.shard_optimiser), true_or_false()));
}

}  // namespace myxtts
