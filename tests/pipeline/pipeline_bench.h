// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/data_pipeline.h"
#include "support/fake_features.h"
#include "support/memory_corpus.h"

namespace myxtts::test {

using FakePipeline = DataPipeline<FakeFeatures>;

struct BenchOptions {
  std::size_t workers = 2;
  std::size_t most_workers = 0;  // 0: as `workers`
  std::size_t buffer = 4;
  std::size_t ring = 3;
  std::optional<DataPosition> end = DataPosition{1, 0};
  std::size_t bytes = SIZE_MAX;
  bool tune_buffer = false;
  std::int64_t batches_a_step = 1;
};

inline PipelineOptions pipeline_options(const BenchOptions& options) {
  PipelineOptions pipeline;
  pipeline.gpt = tiny_gpt();
  pipeline.batches_a_step = options.batches_a_step;
  pipeline.end = options.end;
  pipeline.workers = options.workers;
  pipeline.most_workers = std::max(options.workers, options.most_workers);
  pipeline.buffer_batches = options.buffer;
  pipeline.buffer_bytes = options.bytes;
  pipeline.tune_buffer = options.tune_buffer;
  pipeline.ring_slots = options.ring;
  return pipeline;
}

// What a trainer saw.
struct SeenBatch {
  DataPosition position;
  std::vector<ClipNumber> clips;
  std::vector<std::uint64_t> sounds;
  std::uint64_t hash = 0;

  friend bool operator==(const SeenBatch&, const SeenBatch&) = default;
};

inline SeenBatch seen(const FakeBatch& batch) {
  return {batch.position, batch.clips, batch.sounds, batch.hash};
}

// Everything the pipeline gives from `position` on, at most `most` batches.
inline std::vector<SeenBatch> run_pipeline(MemoryCorpus& corpus, const BenchOptions& options,
                                           DataPosition position = {},
                                           std::size_t most = SIZE_MAX) {
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, pipeline_options(options));
  pipeline.start(position);
  std::vector<SeenBatch> batches;
  while (batches.size() < most) {
    const auto slot = pipeline.outlet().next();
    if (!slot) break;
    batches.push_back(seen(**slot));
  }
  pipeline.outlet().finish();
  return batches;
}

}  // namespace myxtts::test
