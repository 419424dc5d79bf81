// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/batch_source.h"

namespace myxtts::test {

// Sizes of a GPT so small that batches of the fake corpus are a few kilobytes.
GptConfig tiny_gpt();

// The codes that the fake DVAE finds for a clip at 22,050 Hz.
// One for each `stride` samples.
std::vector<std::uint16_t> fake_codes(std::span<const std::int16_t> samples,
                                      std::int64_t stride = 256);

std::uint64_t hash_of(std::span<const std::int16_t> samples);

struct MemoryCorpusOptions {
  std::size_t clips = 40;
  std::size_t batch_size = 4;
  std::uint64_t seed = 1;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  std::size_t most_skipped = 1000;
  bool fill_cache = false;      // as if an earlier epoch had computed everything
  std::int64_t longest = 4000;  // samples
  const FeatureCache* cache = nullptr;
};

// A corpus that exists nowhere: sound, text, order and prompts follow from the seed. Counts what it
// is asked for. What a test may change is changed before the stages start.
class MemoryCorpus : public BatchSource {
 public:
  explicit MemoryCorpus(const MemoryCorpusOptions& options = {});

  PlannedBatch batch(DataPosition position) const override;
  DataPosition next(DataPosition position) const override;
  std::int64_t ranks() const override { return options_.world_size; }
  std::vector<PlannedBatch> batches_of_ranks(DataPosition position) const override;
  ClipView clip(ClipNumber number) const override;
  std::vector<std::int64_t> text_ids(const ClipView& clip) const override;
  PromptSpan prompt(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat) const override;
  std::optional<CachedClip> cached(const ClipView& clip) const override;
  void begin_epoch(std::int64_t epoch) const override {
    if (on_epoch) on_epoch(epoch);
  }
  void read_ahead(const ClipView& clip) const override;
  std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const override;
  void leave_out(ClipNumber number, const Skipped& skipped) override;

  std::int64_t steps_per_epoch() const;
  std::size_t size() const { return rows_.size(); }
  const std::vector<std::int16_t>& samples(ClipNumber number) const {
    return rows_[number].samples;
  }

  // Called at the beginning of each of these calls; may wait, throw or say that a clip is bad.
  std::function<void(DataPosition)> on_batch = {};
  std::function<void(std::int64_t)> on_epoch = {};
  std::function<void(ClipNumber)> on_read_ahead = {};
  std::function<std::optional<Skipped>(ClipNumber)> on_decode = {};

  std::map<ClipNumber, int> decodes() const;
  std::vector<ClipNumber> left_out() const;

 private:
  struct Row {
    std::string id;
    std::vector<std::int16_t> samples = {};
    std::vector<std::uint16_t> codes = {};
    std::vector<std::int64_t> text = {};
  };
  const std::vector<ClipNumber>& order(std::int64_t epoch, std::int64_t rank) const;
  std::vector<ClipNumber> drawn_order(std::int64_t epoch, std::int64_t rank) const;
  PlannedBatch batch_of(DataPosition position, std::int64_t rank) const;

  const MemoryCorpusOptions options_;
  std::vector<Row> rows_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::int64_t, std::int64_t>, std::vector<ClipNumber>> orders_;
  mutable std::map<ClipNumber, int> decodes_;
  std::vector<ClipNumber> left_out_;
};

}  // namespace myxtts::test
