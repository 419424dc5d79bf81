// SPDX-License-Identifier: Apache-2.0
#include "clips/recording.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "audio/sound_reader.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/message_text.h"
#include "clips/voice_activity.h"

namespace myxtts {
namespace {

constexpr std::int64_t kBeyondReach = 4096;  // samples; the filter reaches a tenth of that
constexpr double kWorthKeeping = 2.0;        // seconds before a damaged place
constexpr float kFullScale = 0.999F;
constexpr std::int64_t kListenedAtOnce = 60 * kClipRate;  // samples

// In `folder`, without a name: gone when it is closed, however this process ends.
OpenFile nameless_file(const std::filesystem::path& folder) {
  OpenFile file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.get() >= 0) return file;
  auto name = (folder / ".myxtts-tmp-XXXXXX").string();  // where the disk's format knows no such
  OpenFile named(::mkostemp(name.data(), O_CLOEXEC));
  if (named.get() < 0) {
    throw DataError(fmt::format("{} cannot be written to: {}.", folder.string(),
                                std::generic_category().message(errno)));
  }
  ::unlink(name.c_str());
  return named;
}

// The levels of sound at kSpeechRate, 10 ms each; `held` is what does not fill a step yet. Rumble
// below 100 Hz does not count.
void add_levels(const at::Tensor& sound, at::Tensor& held, std::vector<float>& levels) {
  constexpr std::int64_t kStep = kSpeechRate / 100;
  held = at::cat({held, sound});
  const auto steps = held.size(0) / kStep;
  if (steps == 0) return;
  const auto power =
      held.narrow(0, 0, steps * kStep).view({steps, kStep}).var(at::IntArrayRef{1}, false);
  const auto level = (power.clamp_min(1e-10).log10() * 10.0F).contiguous();
  const auto* first = level.const_data_ptr<float>();
  levels.insert(levels.end(), first, first + steps);
  held = held.slice(0, steps * kStep).clone();
}

std::unique_ptr<SoundReader> opened(const std::filesystem::path& path) {
  try {
    return std::make_unique<SoundReader>(path);
  } catch (const DataError& error) {
    throw UnreadableRecording(error.what());
  }
}

}  // namespace

StreamResampler::StreamResampler(std::int64_t from_rate, std::int64_t to_rate)
    : resample_(from_rate, to_rate, at::kCPU),
      from_(from_rate / std::gcd(from_rate, to_rate)),
      to_(to_rate / std::gcd(from_rate, to_rate)),
      step_(from_ * ((kBeyondReach + from_ - 1) / from_)),
      held_(at::empty({0})) {}

at::Tensor StreamResampler::add(const at::Tensor& piece) {
  if (from_ == to_) return piece;
  held_ = at::cat({held_, piece});
  const auto ready = (held_.size(0) - before_ - step_) / step_ * step_;
  if (ready <= 0) return at::empty({0});
  auto result = take(before_ + ready + step_, ready);
  const auto behind = before_ + ready - step_;  // where the samples begin that go before the next
  held_ = held_.slice(0, behind).clone();
  before_ = step_;
  return result;
}

at::Tensor StreamResampler::finish() {
  if (held_.size(0) == before_) return at::empty({0});
  auto result = take(held_.size(0), -1);
  held_ = at::empty({0});
  before_ = 0;
  return result;
}

// What the samples up to `end` give, from `before_` on: of `count` samples, or of all.
at::Tensor StreamResampler::take(std::int64_t end, std::int64_t count) {
  const auto given = resample_(held_.slice(0, 0, end));
  const auto first = before_ / from_ * to_;
  return count < 0 ? given.slice(0, first) : given.slice(0, first, first + count / from_ * to_);
}

Recording::Recording(const std::filesystem::path& path, const std::filesystem::path& scratch,
                     const std::function<void(double)>& heard)
    : path_(path), file_(nameless_file(scratch)) {
  const auto reader = opened(path);
  const auto rate = reader->sample_rate();
  const auto channels = reader->channels();
  StreamResampler resample(rate, kClipRate);
  while (true) {
    stop_if_interrupted();
    const auto first = reader->frames_read();
    const auto values = read_on(*reader);
    if (values.empty()) break;
    count_clipped(values, channels, first, rate);
    const auto frames = std::ssize(values) / channels;
    const auto all =
        at::from_blob(const_cast<float*>(values.data()), {frames, channels}, at::kFloat);
    write(resample.add(all.mean(1)));
    if (heard) heard(static_cast<double>(frames) / static_cast<double>(rate));
  }
  write(resample.finish());
}

// The next values; none at the end, or where the file is damaged from here on.
std::span<const float> Recording::read_on(SoundReader& reader) {
  try {
    return reader.read();
  } catch (const DataError& error) {
    const double good =
        static_cast<double>(reader.frames_read()) / static_cast<double>(reader.sample_rate());
    if (good < kWorthKeeping) throw UnreadableRecording(error.what());
    damage_ = fmt::format("{} What comes before, {}, is used.", error.what(),
                          human_duration(std::chrono::milliseconds(std::llround(good * 1000))));
    return {};
  }
}

double Recording::seconds() const {
  return static_cast<double>(samples_) / static_cast<double>(kClipRate);
}

void Recording::write(const at::Tensor& sound) {
  if (sound.size(0) == 0) return;
  const auto plain = sound.contiguous();
  const auto values =
      to_16_bits(std::span(plain.const_data_ptr<float>(), static_cast<std::size_t>(plain.size(0))));
  detail::write_all(file_.get(), std::as_bytes(std::span(values)),
                    path_.filename().string() + " in working form");
  samples_ += plain.size(0);
}

void Recording::count_clipped(std::span<const float> values, std::int64_t channels,
                              std::int64_t first, std::int64_t rate) {
  const auto frames = std::ssize(values) / channels;
  course_.clipped.resize(static_cast<std::size_t>((first + frames) * 100 / rate + 1));
  const float share = 100.0F / static_cast<float>(rate * channels);  // of one value of 10 ms
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float value = values[static_cast<std::size_t>(frame * channels + channel)];
      if (std::abs(value) >= kFullScale) {
        course_.clipped[static_cast<std::size_t>((first + frame) * 100 / rate)] += share;
      }
    }
  }
}

at::Tensor Recording::sound(std::int64_t begin, std::int64_t end) const {
  begin = std::clamp<std::int64_t>(begin, 0, samples_);
  const auto count = std::clamp<std::int64_t>(end, begin, samples_) - begin;
  std::vector<std::int16_t> values(static_cast<std::size_t>(count));
  auto bytes = std::as_writable_bytes(std::span(values));
  auto at = static_cast<off_t>(begin * 2);
  while (!bytes.empty()) {
    const auto got = ::pread(file_.get(), bytes.data(), bytes.size(), at);
    if (got <= 0) {
      throw DataError(fmt::format("{} in working form cannot be read back: {}.",
                                  path_.filename().string(),
                                  std::generic_category().message(errno)));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += got;
  }
  return at::from_blob(values.data(), {count}, at::kShort).to(at::kFloat).div_(32767.0);
}

void Recording::listen(const VoiceActivity& activity, const std::function<void(double)>& heard) {
  VoiceActivity::Listener listener(activity);
  StreamResampler resample(kClipRate, kSpeechRate);
  auto held = at::empty({0});
  course_.level.clear();
  for (std::int64_t at = 0; at < samples_; at += kListenedAtOnce) {
    stop_if_interrupted();
    const auto piece = sound(at, at + kListenedAtOnce);
    auto spoken = resample.add(piece);
    if (at + kListenedAtOnce >= samples_) spoken = at::cat({spoken, resample.finish()});
    listener.add(spoken);
    add_levels(spoken, held, course_.level);
    if (heard) heard(static_cast<double>(piece.size(0)) / static_cast<double>(kClipRate));
  }
  course_.speech = listener.finish();
}

}  // namespace myxtts
