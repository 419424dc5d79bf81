// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "watch/file_state.h"
#include "watch/watched_run.h"

namespace myxtts {

// The page of runs, made of the files in page/ when the program is built.
extern const std::string_view kWatchPage;

// RUN/report.html: the page of one run with its data, pictures and sounds inside, which asks nobody
// for anything. Below 8 MB: of many measurements the newest, the first and those between them
// are there to be heard, as many as there is room for, and the page says what was left out. Written
// again it encodes only what is new. One thread at a time.
class ReportFile {
 public:
  static constexpr std::size_t kMostBytes = 8'000'000;

  // `version` is the program's.
  ReportFile(const std::filesystem::path& run, std::string version,
             std::size_t most_bytes = kMostBytes);

  // Throws DataError when it cannot be written.
  void write();

  std::filesystem::path path() const { return run_.found().folder / "report.html"; }

 private:
  struct Room;

  void share_recordings(nlohmann::json& samples) const;
  nlohmann::json data_of(nlohmann::json& samples, std::size_t room, nlohmann::json& left_out);
  bool add(const nlohmann::json& url, Room& room);
  std::string data_url(const std::filesystem::path& file);

  WatchedRun run_;
  const std::string version_;
  const std::size_t most_bytes_;
  // What was encoded, and of which state of the file.
  std::map<std::filesystem::path, std::pair<FileState, std::string>> encoded_;
};

}  // namespace myxtts
