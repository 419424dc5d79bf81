// SPDX-License-Identifier: Apache-2.0
#include "serve/voice_store.h"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "audio/ffmpeg.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "http/request_error.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 64;  // bytes
constexpr const char* kSaved = ".safetensors";
constexpr const char* kUnfinished = ".adding-";  // hidden, so that it is no voice

bool is_sound_file(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(audio_endings(), ending) != audio_endings().end();
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::vector<fs::path> clips_in(const fs::path& folder) {
  std::vector<fs::path> clips;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_regular_file(failed) && is_sound_file(entry.path()) && !is_hidden(entry.path())) {
      clips.push_back(entry.path());
    }
  }
  std::ranges::sort(clips);
  return clips;
}

// What a thing in the folder is as a voice; nothing where it is none.
std::optional<StoredVoice> voice_at(const fs::directory_entry& entry) {
  std::error_code failed;
  const fs::path& path = entry.path();
  if (is_hidden(path)) return {};
  if (entry.is_directory(failed)) {
    StoredVoice voice{.name = path.filename().string(), .clips = clips_in(path), .saved = {}};
    if (voice.clips.empty()) return {};
    return voice;
  }
  if (!entry.is_regular_file(failed)) return {};
  if (path.extension() == kSaved) return StoredVoice{path.stem().string(), {}, path};
  if (is_sound_file(path)) return StoredVoice{path.stem().string(), {path}, {}};
  return {};
}

// Who sent a clip knows its number, not the file that it was put into.
void check_under_its_number(const fs::path& clip, std::size_t number,
                            const std::function<void(const fs::path&)>& check) {
  try {
    check(clip);
  } catch (const DataError& error) {
    std::string message = error.what();
    const std::string file = clip.string();
    for (auto at = message.find(file); at != std::string::npos; at = message.find(file, at)) {
      message.replace(at, file.size(), fmt::format("{} {}", at == 0 ? "Clip" : "clip", number));
    }
    throw DataError(message);
  }
}

}  // namespace

void check_voice_name(const std::string& name) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (!name.empty() && name.size() <= kLongestName && name.front() != '.' &&
      name.find_first_of("/\\") == std::string::npos && std::ranges::none_of(name, is_control)) {
    return;
  }
  throw RequestError(400, "invalid_voice_name",
                     fmt::format("\"{}\" cannot be the name of a voice: it has 1 to {} bytes, no "
                                 "slash, and does not begin with a dot.",
                                 printable(name), kLongestName),
                     "name");
}

void write_for_request(const fs::path& path, std::string_view bytes) {
  try {
    write_file_atomically(path, std::as_bytes(std::span(bytes)));
  } catch (const Error& error) {
    log_error("serve", "{}", error.what());
    throw RequestError(
        507, "disk_error",
        "The server could not write the file: its disk is full or cannot be written. "
        "Its log says more.");
  }
}

VoiceStore::VoiceStore(fs::path folder, UploadLimits limits)
    : folder_(std::move(folder)), limits_(limits) {
  if (!folder_.empty()) remove_unfinished();
}

// Of a server that was killed while a voice came in.
void VoiceStore::remove_unfinished() const {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    if (entry.path().filename().string().starts_with(kUnfinished)) {
      fs::remove_all(entry.path(), failed);
    }
  }
}

std::vector<StoredVoice> VoiceStore::list() const {
  std::vector<StoredVoice> voices;
  if (folder_.empty()) return voices;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    if (auto voice = voice_at(entry)) voices.push_back(std::move(*voice));
  }
  // Of several with one name a saved voice comes first: it is read soonest.
  std::ranges::sort(voices, [](const StoredVoice& a, const StoredVoice& b) {
    return std::pair(a.name, a.saved.empty()) < std::pair(b.name, b.saved.empty());
  });
  const auto repeated = std::ranges::unique(voices, {}, &StoredVoice::name);
  voices.erase(repeated.begin(), repeated.end());
  return voices;
}

std::optional<StoredVoice> VoiceStore::find(const std::string& name) const {
  for (auto& voice : list()) {
    if (voice.name == name) return std::move(voice);
  }
  return {};
}

void VoiceStore::add(const std::string& name, std::span<const std::string> clips,
                     const std::function<void(const fs::path&)>& check) {
  std::size_t bytes = 0;
  for (const auto& clip : clips) bytes += clip.size();
  if (clips.empty() || clips.size() > limits_.clips || bytes > limits_.bytes) {
    throw RequestError(
        clips.empty() ? 400 : 413, "bad_clips",
        fmt::format("A voice is made of 1 to {} clips of {} together; these are {} of {}.",
                    limits_.clips, human_size(limits_.bytes), clips.size(), human_size(bytes)),
        "audio_sample");
  }
  const std::lock_guard lock(changing_);
  require_new(name);
  const fs::path working = folder_ / (kUnfinished + name);
  fs::remove_all(working);
  fs::create_directories(working);
  try {
    for (std::size_t i = 0; i < clips.size(); ++i) {
      // What a file holds is told by its bytes, not by its name.
      const fs::path path = working / fmt::format("{:02}.wav", i + 1);
      write_for_request(path, clips[i]);
      check_under_its_number(path, i + 1, check);
    }
    fs::rename(working, folder_ / name);
  } catch (...) {  // and on it goes: nothing of a voice that failed stays
    std::error_code ignored;
    fs::remove_all(working, ignored);
    throw;
  }
}

void VoiceStore::remove(const std::string& name) {
  const std::lock_guard lock(changing_);
  const StoredVoice voice = require(name);
  if (!voice.saved.empty()) {
    fs::remove(voice.saved);
  } else if (voice.clips.front().parent_path() == folder_) {
    fs::remove(voice.clips.front());
  } else {
    fs::remove_all(folder_ / name);
  }
}

void VoiceStore::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(changing_);
  const StoredVoice voice = require(from);
  require_new(to);
  const bool is_folder = voice.saved.empty() && voice.clips.front().parent_path() != folder_;
  const fs::path path = is_folder             ? folder_ / from
                        : voice.saved.empty() ? voice.clips.front()
                                              : voice.saved;
  fs::rename(path, folder_ / (is_folder ? to : to + path.extension().string()));
}

StoredVoice VoiceStore::require(const std::string& name) const {
  auto voice = find(name);
  if (voice) return std::move(*voice);
  throw RequestError(
      404, "voice_not_found",
      fmt::format("There is no voice \"{}\" in the folder of voices.", printable(name)), "voice");
}

void VoiceStore::require_new(const std::string& name) const {
  if (folder_.empty()) {
    throw RequestError(409, "no_voices_folder",
                       "The server has no folder for voices; start it with --voices DIR.");
  }
  check_voice_name(name);
  if (!find(name)) return;
  throw RequestError(
      409, "voice_exists",
      fmt::format("There is a voice \"{}\" already; delete it first, or take another name.",
                  printable(name)),
      "name");
}

}  // namespace myxtts
