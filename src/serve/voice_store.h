// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// A voice that is kept in files: clips of it, or what --save-voice made of some.
struct StoredVoice {
  std::string name;
  std::vector<std::filesystem::path> clips;
  std::filesystem::path saved;  // where there are no clips
};

// What a voice may be made of when it is sent.
struct UploadLimits {
  std::size_t clips = 20;
  std::size_t bytes = 32'000'000;  // of all clips together
};

// The folder of voices that the server speaks in. A voice NAME is NAME.wav (or another sound file),
// NAME.safetensors, or a folder NAME of clips. Names lead nowhere else: they hold no slash and do
// not begin with a dot.
//
// Files may be put there by hand at any time. Any thread. Throws RequestError.
class VoiceStore {
 public:
  // Empty: there is none, and nothing can be added. Voices that a server before this one was killed
  // over are removed.
  explicit VoiceStore(std::filesystem::path folder, UploadLimits limits = {});

  std::vector<StoredVoice> list() const;  // by name
  std::optional<StoredVoice> find(const std::string& name) const;

  // Keeps the clips, each the bytes of a sound file, as a new voice. `check` throws for a file that
  // no voice can be heard in; then nothing stays.
  void add(const std::string& name, std::span<const std::string> clips,
           const std::function<void(const std::filesystem::path&)>& check);

  // Throws RequestError 404 where there is no such voice.
  void remove(const std::string& name);
  void rename(const std::string& from, const std::string& to);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void remove_unfinished() const;
  StoredVoice require(const std::string& name) const;
  void require_new(const std::string& name) const;

  const std::filesystem::path folder_;
  const UploadLimits limits_;
  std::mutex changing_;  // one change at a time
};

// Throws RequestError for what cannot be the name of a voice.
void check_voice_name(const std::string& name);

// Writes what a request asked for. Throws RequestError 507 where the disk does not take it.
void write_for_request(const std::filesystem::path& path, std::string_view bytes);

}  // namespace myxtts
