// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_rows.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

constexpr std::int64_t kIgnored = -1;
constexpr std::int64_t kStopTargets = 4;    // of each row
constexpr std::int64_t kSlipSamples = 256;  // coqui-tts counts the span in mel frames

void check_ids(std::span<const std::int64_t> ids, std::int64_t limit, std::string_view what,
               std::size_t clip) {
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= limit) {
      throw DataError(fmt::format("Clip {} of the batch has the {} {}; this model has ids 0 to {}.",
                                  clip, what, id, limit - 1));
    }
  }
}

void check_clip(const GptConfig& config, const GptClip& clip, std::size_t number) {
  const auto check_length = [number](std::size_t length, std::int64_t limit,
                                     std::string_view what) {
    if (length == 0 || static_cast<std::int64_t>(length) > limit) {
      throw DataError(fmt::format("Clip {} of the batch has {} {}; this model takes 1 to {}.",
                                  number, length, what, limit));
    }
  };
  check_length(clip.text.size(), config.max_text_tokens, "text tokens");
  check_length(clip.codes.size(), config.max_audio_tokens - 2, "codes");
  check_ids(clip.text, config.text_ids, "text id", number);
  check_ids(clip.codes, config.audio_ids, "code", number);
}

// Lays rows one after another.
class RowPacker {
 public:
  explicit RowPacker(const GptConfig& config) : config_(config) { rows_.segment_ends = {0}; }

  void begin_row() {
    for (std::int64_t latent = 0; latent < config_.perceiver_latents; ++latent) {
      const std::int64_t row = rows_.clips * config_.perceiver_latents + latent;
      append(config_.text_ids + config_.audio_ids + row, 0);
    }
    part_position_ = 0;
  }

  void begin_part() { part_position_ = 0; }

  void text(std::int64_t id) { append(id, 1 + part_position_++); }
  void code(std::int64_t id) {
    append(config_.text_ids + id, 1 + config_.text_positions() + part_position_++);
  }

  // The token appended last predicts `id`.
  void predicts_text(std::int64_t id) {
    text_rows_.push_back(last_token());
    rows_.text_targets.push_back(id);
    rows_.text_clips.push_back(rows_.clips);
  }
  void predicts_code(std::int64_t id) {
    audio_rows_.push_back(last_token());
    rows_.audio_targets.push_back(id);
    rows_.audio_clips.push_back(rows_.clips);
  }

  void end_row() {
    end_segment();
    ++rows_.clips;
  }

  GptRows finish(const RowSizes& sizes);

 private:
  void append(std::int64_t token, std::int64_t position) {
    rows_.tokens.push_back(token);
    rows_.positions.push_back(position);
  }

  void end_segment() { end_segment_at(static_cast<std::int64_t>(rows_.tokens.size())); }

  void end_segment_at(std::int64_t end) {
    rows_.lengths.push_back(end - rows_.segment_ends.back());
    rows_.segment_ends.push_back(static_cast<std::int32_t>(end));
  }

  // At least one segment, maybe empty, behind those of the clips.
  void end_padding(const RowSizes& sizes) {
    const auto end = static_cast<std::int64_t>(rows_.tokens.size());
    do {
      const std::int64_t start = rows_.segment_ends.back();
      end_segment_at(sizes.longest == 0 ? end : std::min(end, start + sizes.longest));
    } while (rows_.segment_ends.back() < end ||
             static_cast<std::int64_t>(rows_.lengths.size()) < sizes.segments);
    MYXTTS_CHECK(
        sizes.segments == 0 || static_cast<std::int64_t>(rows_.lengths.size()) == sizes.segments,
        "{} segments do not fit into {}", rows_.lengths.size(), sizes.segments);
  }

  std::int64_t last_token() const { return static_cast<std::int64_t>(rows_.tokens.size()) - 1; }

  const GptConfig& config_;
  GptRows rows_;
  std::int64_t part_position_ = 0;
  std::vector<std::int64_t> text_rows_;
  std::vector<std::int64_t> audio_rows_;
};

// Fills up to `size` (0: leaves as it is) with `value`.
void pad(std::vector<std::int64_t>& values, std::int64_t size, std::int64_t value,
         std::string_view what) {
  if (size == 0) return;
  MYXTTS_CHECK(static_cast<std::int64_t>(values.size()) <= size, "{} {} do not fit into {}",
               values.size(), what, size);
  values.resize(static_cast<std::size_t>(size), value);
}

GptRows RowPacker::finish(const RowSizes& sizes) {
  const auto counted = [](const std::vector<std::int64_t>& targets) {
    return static_cast<std::int64_t>(targets.size()) - std::ranges::count(targets, kIgnored);
  };
  rows_.text_count = counted(rows_.text_targets);
  rows_.audio_count = counted(rows_.audio_targets);

  pad(rows_.tokens, sizes.tokens, 0, "tokens");
  rows_.positions.resize(rows_.tokens.size(), 0);
  end_padding(sizes);
  pad(text_rows_, sizes.text_targets, 0, "text targets");
  pad(audio_rows_, sizes.audio_targets, 0, "audio targets");
  for (auto* targets : {&rows_.text_targets, &rows_.text_clips}) {
    targets->resize(text_rows_.size(), targets == &rows_.text_clips ? rows_.clips : kIgnored);
  }
  for (auto* targets : {&rows_.audio_targets, &rows_.audio_clips}) {
    targets->resize(audio_rows_.size(), targets == &rows_.audio_clips ? rows_.clips : kIgnored);
  }
  rows_.target_rows = text_rows_;
  rows_.target_rows.insert(rows_.target_rows.end(), audio_rows_.begin(), audio_rows_.end());

  const std::int64_t longest = *std::ranges::max_element(rows_.lengths);
  MYXTTS_CHECK(sizes.longest == 0 || sizes.longest >= longest, "a segment of {} exceeds {}",
               longest, sizes.longest);
  rows_.longest = std::max(longest, sizes.longest);
  return std::move(rows_);
}

// The targets [first, last) of a clip that the prompt was cut from; may reach beyond the last one.
PromptSpan masked_targets(const GptConfig& config, const PromptSpan& prompt, PromptMask mask,
                          bool is_last) {
  if (mask == PromptMask::None) return {};
  if (mask == PromptMask::Peer && !is_last) return {};
  const std::int64_t unit = mask == PromptMask::Peer ? kSlipSamples : config.code_stride;
  return {.first = prompt.first / unit, .last = prompt.last / unit};
}

void append_training_row(RowPacker& packer, const GptConfig& config, const GptClip& clip,
                         const PromptSpan& masked) {
  packer.begin_row();
  packer.text(config.start_text);
  for (const std::int64_t id : clip.text) {
    packer.predicts_text(id);
    packer.text(id);
  }
  packer.predicts_text(config.stop_text);  // STOP itself is a target and not an input

  std::int64_t number = 0;
  const auto predicts = [&](std::int64_t code) {
    const bool hidden = number >= masked.first && number < masked.last;
    packer.predicts_code(hidden ? kIgnored : code);
    ++number;
  };
  packer.begin_part();
  packer.code(config.start_audio);
  for (const std::int64_t code : clip.codes) {
    predicts(code);
    packer.code(code);
  }
  for (std::int64_t stop = 1; stop < kStopTargets; ++stop) {
    predicts(config.stop_audio);
    packer.code(config.stop_audio);
  }
  predicts(config.stop_audio);
  packer.end_row();
}

void append_latent_row(RowPacker& packer, const GptConfig& config, const GptClip& clip) {
  packer.begin_row();
  packer.text(config.start_text);
  for (const std::int64_t id : clip.text) packer.text(id);
  packer.text(config.stop_text);
  packer.begin_part();
  std::int64_t before = config.start_audio;
  for (const std::int64_t code : clip.codes) {
    packer.code(before);
    packer.predicts_code(code);
    before = code;
  }
  packer.end_row();
}

}  // namespace

GptRows pack_rows(const GptConfig& config, std::span<const GptClip> clips, PromptMask mask,
                  const RowSizes& sizes) {
  RowPacker packer(config);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    check_clip(config, clips[i], i);
    const bool is_last = i + 1 == clips.size();
    append_training_row(packer, config, clips[i],
                        masked_targets(config, clips[i].prompt, mask, is_last));
  }
  GptRows rows = packer.finish(sizes);
  if (rows.audio_count == 0 && rows.clips > 0) {
    log_warning("model",
                "every code of this batch of {} lies in its prompt; its code loss counts as 0",
                rows.clips);
  }
  return rows;
}

TargetCounts count_targets(const GptConfig& config, const RowOutline& row, PromptMask mask) {
  const std::int64_t targets = row.codes + kStopTargets;
  const PromptSpan masked = masked_targets(config, row.prompt, mask, row.is_last);
  const std::int64_t hidden = std::min(masked.last, targets) - std::min(masked.first, targets);
  return {.text = row.text_tokens + 1, .audio = targets - hidden};
}

GptRows pack_latent_rows(const GptConfig& config, std::span<const GptClip> clips) {
  RowPacker packer(config);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    check_clip(config, clips[i], i);
    append_latent_row(packer, config, clips[i]);
  }
  return packer.finish({});
}

}  // namespace myxtts
