// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/model.h"
#include "pipeline/batch_source.h"

namespace myxtts::test {

// Endless batches of the sound files of a folder, with texts drawn at random, all padded to one
// size. Everything follows from the seed.
class ProbeSource final : public BatchSource {
 public:
  ProbeSource(const std::filesystem::path& folder, const GptConfig& gpt, std::int64_t batch_size);

  PlannedBatch batch(DataPosition position) const override;
  DataPosition next(DataPosition position) const override {
    return {position.epoch, position.step + 1};
  }
  ClipView clip(ClipNumber number) const override;
  std::vector<std::int64_t> text_ids(const ClipView& clip) const override;
  PromptSpan prompt(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat) const override;
  std::optional<CachedClip> cached(const ClipView& clip) const override;
  void read_ahead(const ClipView&) const override {}
  std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const override;
  void leave_out(ClipNumber number, const Skipped& skipped) override;

  std::size_t size() const { return clips_.size(); }
  RowSizes sizes() const { return sizes_; }

  // From now on the clip's codes and sound come from memory.
  void cache(ClipNumber number, std::vector<std::int16_t> samples,
             std::vector<std::uint16_t> codes);
  void use_cache(bool use) { use_cache_ = use; }

 private:
  struct Clip {
    std::string path;
    std::int64_t rate = 0;
    std::int64_t frames = 0;
    std::int64_t samples = 0;
    std::int64_t text = 0;
    std::vector<std::int16_t> cached_samples = {};
    std::vector<std::uint16_t> cached_codes = {};
  };

  const Clip& of(const ClipView& view) const { return clips_[view.identity]; }
  std::vector<ClipNumber> drawn(std::int64_t step) const;

  const GptConfig gpt_;
  const std::int64_t batch_size_;
  std::vector<Clip> clips_;
  RowSizes sizes_ = {};
  bool use_cache_ = false;
};

}  // namespace myxtts::test
