// SPDX-License-Identifier: Apache-2.0
#include "watch/run_samples.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "http/answers.h"
#include "watch/file_state.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::size_t kLongestText = 20'000;  // bytes

std::optional<std::int64_t> whole_number(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0) return {};
  return number;
}

std::map<std::int64_t, fs::path> step_folders(const fs::path& run) {
  std::map<std::int64_t, fs::path> found;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(run / "samples", failed);
       entry != fs::directory_iterator(); entry.increment(failed)) {
    if (failed) break;
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (!name.starts_with(kStepPrefix) || !entry->is_directory(unreadable)) continue;
    if (const auto step = whole_number(std::string_view(name).substr(kStepPrefix.size()))) {
      found.emplace(*step, entry->path());
    }
  }
  return found;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(folder, failed); entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (failed) break;
    names.insert(entry->path().filename().string());
  }
  return names;
}

// "01" of "01.wav", "01-original.wav" and so on; empty: another file.
std::string sample_of(const std::string& file) {
  const auto end = file.find_first_not_of("0123456789");
  return end == std::string::npos || file[0] == '.' ? std::string() : file.substr(0, end);
}

// Of recordings, where others speak. What the DVAE gives back is a sound only where it is judged.
bool makes_copies(const std::string& part) {
  return part == "decoder" || part == "dvae";
}

// By the header of a WAV; nothing: it is none.
std::optional<double> seconds_of(const fs::path& wav) {
  const auto head = read_part(wav, 0, 44);
  if (!head || head->size() < 44 || !head->starts_with("RIFF")) return {};
  std::uint32_t bytes_a_second = 0;
  std::memcpy(&bytes_a_second, head->data() + 28, sizeof(bytes_a_second));
  if (bytes_a_second == 0) return {};
  return static_cast<double>(FileState::of(wav).size - 44) / bytes_a_second;
}

// What one measurement made.
class Measurement {
 public:
  Measurement(fs::path folder, std::string id, std::int64_t step)
      : folder_(std::move(folder)), id_(std::move(id)), step_(step), files_(files_in(folder_)) {}

  Json json(const std::string& part) const {
    std::set<std::string> names;
    for (const auto& file : files_) {
      if (std::string name = sample_of(file); !name.empty()) names.insert(std::move(name));
    }
    auto samples = Json::array();
    for (const auto& name : names) samples.push_back(sample(name, part));
    return {{"step", step_},
            {"time", json_of(FileState::of(folder_).time())},
            {"samples", std::move(samples)}};
  }

 private:
  Json sample(const std::string& name, const std::string& part) const {
    const bool is_copy = makes_copies(part);
    const Json sound = address("sound", name + ".wav");
    Json scores = Json::object();
    if (const auto read = read_object(folder_ / (name + ".json"))) {
      for (const auto& [key, value] : read->items()) {
        if (value.is_number()) scores[key] = value;
      }
    }
    return {{"name", name},
            {"text", text_in_file(name + ".txt")},
            {"heard", files_.contains(name + "-heard.txt") ? Json(text_in_file(name + "-heard.txt"))
                                                           : Json()},
            {"synthesis", is_copy ? Json() : sound},
            {"copy", is_copy ? sound : Json()},
            {"recording", address("sound", name + "-original.wav")},
            {"voice", address("sound", name + "-voice.wav")},
            {"picture", address("picture", name + ".png")},
            {"seconds",
             {{"synthesis", is_copy ? Json() : length(name + ".wav")},
              {"copy", is_copy ? length(name + ".wav") : Json()},
              {"recording", length(name + "-original.wav")},
              {"voice", length(name + "-voice.wav")}}},
            {"scores", std::move(scores)}};
  }

  Json length(const std::string& file) const {
    return files_.contains(file) ? json_of(seconds_of(folder_ / file)) : Json();
  }

  Json address(const char* kind, const std::string& file) const {
    if (!files_.contains(file)) return nullptr;
    return fmt::format("/api/{}?id={}&step={}&file={}", kind, in_address(id_), step_, file);
  }

  std::string text_in_file(const std::string& file) const {
    std::string text = read_part(folder_ / file, 0, kLongestText).value_or("");
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  const fs::path folder_;
  const std::string id_;
  const std::int64_t step_;
  const std::set<std::string> files_;
};

}  // namespace

Json samples_json(const fs::path& run, const std::string& id, const std::string& part) {
  auto measurements = Json::array();
  for (const auto& [step, folder] : step_folders(run)) {
    measurements.push_back(Measurement(folder, id, step).json(part));
  }
  const bool is_spoken = !makes_copies(part);
  return {{"measurements", std::move(measurements)},
          {"picture_rows",
           Json::array({is_spoken ? "codes" : "recording", is_spoken ? "synthesis" : "copy"})},
          {"left_out", 0}};
}

SampleCount count_samples(const fs::path& run) {
  SampleCount count;
  const auto folders = step_folders(run);
  for (const auto& [step, folder] : folders) {
    const auto files = files_in(folder);
    count.in_newest = std::ranges::count_if(
        files, [](const auto& file) { return file == sample_of(file) + ".txt"; });
    count.samples += count.in_newest;
    count.newest = folder.filename().string();
    count.mark = fmt::format("{} {} {}", folders.size(), step, files.size());
  }
  return count;
}

std::optional<fs::path> sample_file(const fs::path& run, const std::string& step,
                                    const std::string& file) {
  const auto number = whole_number(step);
  const bool is_known = file.ends_with(".wav") || file.ends_with(".png");
  const bool is_plain = file.find('/') == std::string::npos && !sample_of(file).empty();
  if (!number || !is_known || !is_plain) return {};
  const auto folders = step_folders(run);
  const auto folder = folders.find(*number);
  if (folder == folders.end() || !files_in(folder->second).contains(file)) return {};
  fs::path path = folder->second / file;
  if (!lies_in(path, run)) return {};
  return path;
}

}  // namespace myxtts
