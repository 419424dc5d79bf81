// SPDX-License-Identifier: Apache-2.0
#include "watch/clip_list.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "audio/sound_encoder.h"
#include "base/error.h"
#include "config/json.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostClips = 20'000;
constexpr std::size_t kLargestList = 256'000'000;  // bytes
constexpr std::int64_t kMostSeconds = 30;
constexpr std::uintmax_t kLargestSoundFile = 200'000'000;  // bytes
constexpr std::uint64_t kLogAtOnce = 256 * 1024;           // bytes

nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

}  // namespace

std::optional<ClipList::ListedClip> ClipList::parse(std::string_view line) {
  const auto json = parse_shallow_json<nlohmann::json>(line);
  if (!json.is_object() || text_in(json, "file").empty()) return {};
  ListedClip clip{.file = text_in(json, "file"),
                  .manifest = text_in(json, "manifest"),
                  .line = whole_in(json, "line").value_or(0),
                  .reason = text_in(json, "reason"),
                  .measured = text_in(json, "measured"),
                  .text = text_in(json, "text")};
  const auto speed = number_in(json, "chars_per_second");
  const auto usual = number_in(json, "usual");
  if (clip.reason.empty() && speed && usual) {
    clip.reason = "speed";
    clip.measured = fmt::format("{:.1f} characters a second, usual are {:.1f}", *speed, *usual);
  }
  return clip;
}

void ClipList::look() {
  const FileState now = FileState::of(file_);
  if (now == file_state_) return;
  file_state_ = now;
  clips_.clear();
  reasons_.clear();
  size_ = damaged_ = 0;
  const std::string text = read_part(file_, 0, kLargestList).value_or("");
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;  // it is being written
    const auto clip = parse(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    if (!clip) {
      ++damaged_;
      continue;
    }
    ++size_;
    ++reasons_[clip->reason];
    if (clips_.size() < kMostClips) clips_.push_back(*clip);
  }
}

nlohmann::json ClipList::json(std::size_t from, std::size_t count, const std::string& reason,
                              const std::string& sound) const {
  auto listed = nlohmann::json::array();
  std::size_t place = 0;
  for (std::size_t index = 0; index < clips_.size() && listed.size() < count; ++index) {
    const ListedClip& clip = clips_[index];
    if (!reason.empty() && clip.reason != reason) continue;
    if (place++ < from) continue;
    std::error_code gone;
    const bool is_there = !sound.empty() && std::filesystem::is_regular_file(clip.file, gone);
    listed.push_back({{"index", index},
                      {"file", clip.file},
                      {"manifest", or_null(clip.manifest)},
                      {"line", clip.line > 0 ? nlohmann::json(clip.line) : nlohmann::json()},
                      {"reason", or_null(clip.reason)},
                      {"measured", or_null(clip.measured)},
                      {"text", or_null(clip.text)},
                      {"sound", is_there ? nlohmann::json(fmt::format("{}{}", sound, index))
                                         : nlohmann::json()}});
  }
  const auto of_reason = reasons_.find(reason);
  const std::int64_t total = reason.empty()                ? size_
                             : of_reason == reasons_.end() ? 0
                                                           : of_reason->second;
  return {
      {"total", total},
      {"reasons", reasons_.contains("speed") ? nlohmann::json::object() : nlohmann::json(reasons_)},
      {"clips", std::move(listed)}};
}

std::optional<std::filesystem::path> ClipList::sound_of(std::size_t index) const {
  if (index >= clips_.size()) return {};
  return clips_[index].file;
}

std::optional<std::string> wav_of_file(const std::filesystem::path& file) {
  std::error_code gone;
  if (!std::filesystem::is_regular_file(file, gone)) return {};
  if (std::filesystem::file_size(file, gone) > kLargestSoundFile) return {};
  try {
    const AudioData audio = read_audio(file);
    const std::int64_t frames = std::min(audio.frames(), kMostSeconds * audio.sample_rate);
    std::vector<float> mono(static_cast<std::size_t>(frames));
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      float sum = 0;
      for (std::int64_t channel = 0; channel < audio.channels; ++channel) {
        sum += audio.samples[static_cast<std::size_t>(frame * audio.channels + channel)];
      }
      mono[static_cast<std::size_t>(frame)] = sum / static_cast<float>(audio.channels);
    }
    return wav_of(mono, audio.sample_rate);
  } catch (const Error&) {
    return {};
  }
}

nlohmann::json log_json(const std::filesystem::path& file, std::int64_t from) {
  const auto size = static_cast<std::uint64_t>(FileState::of(file).size);
  std::uint64_t begin =
      from >= 0 ? std::min<std::uint64_t>(static_cast<std::uint64_t>(from), size)
                : size - std::min<std::uint64_t>(size, static_cast<std::uint64_t>(-from));
  std::string text = read_part(file, begin, kLogAtOnce).value_or("");
  if (from < 0 && begin > 0) {  // in the middle of a line
    const auto line_end =
        std::min(text.find('\n'), text.size() - std::min<std::size_t>(1, text.size()));
    text.erase(0, line_end + 1);
    begin += line_end + 1;
  }
  const auto last = text.rfind('\n');
  const bool is_one_long_line = last == std::string::npos && text.size() == kLogAtOnce;
  if (!is_one_long_line) text.resize(last == std::string::npos ? 0 : last + 1);
  auto lines = nlohmann::json::array();
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto line_end = std::min(rest.find('\n'), rest.size());
    lines.push_back(std::string(rest.substr(0, line_end)));
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
  }
  return {
      {"from", begin}, {"to", begin + text.size()}, {"size", size}, {"lines", std::move(lines)}};
}

}  // namespace myxtts
