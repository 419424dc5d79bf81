// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/batches/batch_plan.h"
#include "data/corpus.h"
#include "data/skipped.h"
#include "pipeline/batch_source.h"
#include "pipeline/pipeline_reading.h"
#include "text/tokenizer.h"

namespace myxtts {

struct CorpusBatchesOptions {
  // Where prompts and windows are cut: anywhere, by the seed; nothing: where evaluation has them.
  std::optional<std::uint64_t> prompt_seed = 0;
  bool swap_prompts = false;               // --prompt-from speaker
  bool shift = false;                      // --shift-clips, where prompts are drawn
  double noise = 0;                        // --code-noise, likewise
  const FeatureCache* cache = nullptr;     // outlives the batches
  SkipList* left_out = nullptr;            // of the run; null: one of its own; outlives the batches
  StageProbe* probe = nullptr;             // of a trial; outlives the batches
  const SpeakerTable* speakers = nullptr;  // null: all clips are of speaker 0; outlives them
};

// The batches of a corpus on disk. What was left out when the corpus was opened counts together
// with what turns out bad while the pipeline runs.
//
// Corpus, plan and vocabulary outlive it.
class CorpusBatches final : public BatchSource {
 public:
  CorpusBatches(const Corpus& corpus, const BatchPlan& plan, const Vocabulary& vocabulary,
                const DataConfig& config, const CorpusBatchesOptions& options);
  PlannedBatch batch(DataPosition position) const override { return plan_.batch(position); }
  DataPosition next(DataPosition position) const override { return plan_.next(position); }
  std::int64_t ranks() const override { return plan_.ranks(); }
  std::vector<PlannedBatch> batches_of_ranks(DataPosition position) const override {
    return plan_.batches_of_ranks(position);
  }
  ClipView clip(ClipNumber number) const override { return corpus_.clip(number); }
  std::vector<std::int64_t> text_ids(const ClipView& clip) const override;
  PromptSpan prompt(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat) const override;
  bool swaps_prompts() const override { return options_.swap_prompts; }
  std::int64_t shift(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat) const override;
  ReplacedCodes noise(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat,
                      std::int64_t count, std::int64_t codes) const override;
  std::int64_t window(VisitDraw draw, std::int64_t window, std::int64_t count,
                      std::int64_t last) const override;
  std::int64_t speaker(const ClipView& clip) const override;
  std::optional<CachedClip> cached(const ClipView& clip) const override;
  void begin_epoch(std::int64_t epoch) const override;
  void read_ahead(const ClipView& clip) const override;
  std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const override;
  void leave_out(ClipNumber number, const Skipped& skipped) override;

 private:
  const Corpus& corpus_;
  const BatchPlan& plan_;
  const CorpusBatchesOptions options_;
  const std::int64_t clips_;  // kept and left out
  std::map<std::string, std::unique_ptr<const TextEncoder>, std::less<>> encoders_;
  const std::unique_ptr<SkipList> own_list_;  // where the run has none
  SkipList& list_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::set<ClipNumber> left_out_;
};

}  // namespace myxtts
