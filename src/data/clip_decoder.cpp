// SPDX-License-Identifier: Apache-2.0
#include "data/clip_decoder.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "data/sample_blocks.h"
#include "data/sound_file.h"

namespace myxtts {
namespace {

constexpr std::size_t kBlock = 32'768;                       // values decoded at a time
constexpr std::int64_t kTrustedFrames = 4'000'000;           // room made for a header's word alone
constexpr std::int64_t kMostFrames = std::int64_t{1} << 26;  // 128 MiB; 50 minutes at 22,050 Hz
constexpr int kLoudestSilence = 32;                          // 60 dB below full scale
constexpr double kClippedShare = 0.25;                       // of all samples

// Each thread's own, so that no clip allocates anything but its samples.
template <typename Value>
std::span<Value> scratch() {
  thread_local std::vector<Value> block(kBlock);
  return block;
}

// Decodes to the end, or to one frame beyond what is allowed, growing with what was decoded.
class Decoder {
 public:
  Decoder(SoundFile& file, DecodedClip& clip) : file_(file), clip_(clip) {
    const auto promised = std::clamp<std::int64_t>(file.promised_frames(), 0, kTrustedFrames);
    // One more, so that the end shows without the samples moving.
    clip_.samples.resize(static_cast<std::size_t>(promised) + 1);
  }

  SampleFindings decode() {
    const bool straight = file_.fits_16_bits();
    if (straight && file_.channels() == 1) {
      decode_straight();
    } else if (straight) {
      decode_blocks<short>();
    } else {
      decode_blocks<float>();
    }
    clip_.samples.resize(count_);
    return findings_;
  }

 private:
  // Makes room for `frames` more where nothing is left.
  std::span<std::int16_t> room(std::size_t frames) {
    if (clip_.samples.size() == count_) clip_.samples.resize(count_ + std::max(frames, count_ / 2));
    return std::span(clip_.samples).subspan(count_);
  }

  bool is_too_long() const { return count_ > static_cast<std::size_t>(kMostFrames); }

  void decode_straight() {
    while (!is_too_long()) {
      const auto target = room(kBlock);
      const auto wanted = std::min<std::size_t>(target.size(), kBlock);
      const auto got = file_.read(target.data(), static_cast<std::int64_t>(wanted));
      if (got == 0) return;
      take(target.first(static_cast<std::size_t>(got)));
    }
  }

  template <typename Value>
  void decode_blocks() {
    const auto block = scratch<Value>();
    const auto channels = static_cast<std::size_t>(file_.channels());
    const std::size_t frames = std::max<std::size_t>(1, block.size() / channels);
    while (!is_too_long()) {
      const auto target = room(frames);
      const auto wanted = std::min(target.size(), frames);
      const auto got = file_.read(block.data(), static_cast<std::int64_t>(wanted));
      if (got == 0) return;
      const auto values = block.first(static_cast<std::size_t>(got) * channels);
      if constexpr (std::is_same_v<Value, float>)
        look_at(std::span<const float>(values), findings_);
      mix_down(std::span<const Value>(values), channels, target.data());
      take(target.first(static_cast<std::size_t>(got)));
    }
  }

  void take(std::span<const std::int16_t> samples) {
    look_at(samples, findings_);
    count_ += samples.size();
  }

  SoundFile& file_;
  DecodedClip& clip_;
  std::size_t count_ = 0;
  SampleFindings findings_;
};

using Found = std::pair<SkipReason, std::string>;

std::optional<Found> fault_of_length(const SoundFile& file, std::int64_t frames) {
  if (frames > kMostFrames) {
    return Found(SkipReason::AudioTooLong, fmt::format("more than {} samples", kMostFrames));
  }
  if (file.length_is_exact() && frames < file.promised_frames()) {
    return Found(SkipReason::Truncated,
                 fmt::format("{} samples, the header promises {}", frames, file.promised_frames()));
  }
  if (const auto damage = file.damage(); !damage.empty()) {
    return Found(SkipReason::Unreadable,
                 fmt::format("damaged after {} samples: {}", frames, damage));
  }
  if (frames == 0) return Found(SkipReason::Empty, "0 samples");
  return std::nullopt;
}

std::optional<Found> fault_of_sound(const SampleFindings& findings, std::int64_t frames) {
  if (findings.has_nan) return Found(SkipReason::NotANumber, "values that are not numbers");
  if (findings.peak <= kLoudestSilence) {
    return Found(SkipReason::Silent,
                 fmt::format("peak {} of 32768, at least {}", findings.peak, kLoudestSilence + 1));
  }
  const double share = static_cast<double>(findings.at_full_scale) / static_cast<double>(frames);
  if (share >= kClippedShare) {
    return Found(SkipReason::Clipped,
                 fmt::format("{:.0f} % of all samples at full scale, below {:.0f} %", 100.0 * share,
                             100.0 * kClippedShare));
  }
  return std::nullopt;
}

}  // namespace

std::variant<DecodedClip, Skipped> decode_clip(const std::filesystem::path& path) {
  auto opened = SoundFile::open(path);
  if (auto* skipped = std::get_if<Skipped>(&opened)) return std::move(*skipped);
  auto& file = std::get<SoundFile>(opened);
  DecodedClip clip{.samples = {}, .sample_rate = file.sample_rate(), .channels = file.channels()};
  const SampleFindings findings = Decoder(file, clip).decode();
  const auto frames = static_cast<std::int64_t>(clip.samples.size());
  auto fault = fault_of_length(file, frames);
  if (!fault) fault = fault_of_sound(findings, frames);
  if (!fault) return clip;
  return Skipped{.file = path, .reason = fault->first, .measured = std::move(fault->second)};
}

}  // namespace myxtts
