// SPDX-License-Identifier: Apache-2.0
#include "watch/run_shelf.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "http/request_error.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenSearches{1000};
constexpr int kSearchShare = 20;  // at most that part of the time is spent searching

}  // namespace

std::vector<std::shared_ptr<WatchedRun>> RunShelf::all() {
  const std::lock_guard lock(mutex_);
  const auto began = SteadyClock::now();
  if (began >= search_again_) {
    std::map<std::string, std::shared_ptr<WatchedRun>> now;
    for (FoundRun& found : find_runs(folders_)) {
      const auto known = runs_.find(found.id);
      const bool is_same = known != runs_.end() && known->second->found().folder == found.folder;
      const std::string id = found.id;
      now[id] = is_same ? known->second : std::make_shared<WatchedRun>(std::move(found));
    }
    runs_ = std::move(now);
    const auto ended = SteadyClock::now();
    search_again_ =
        ended + std::max<SteadyClock::duration>(kBetweenSearches, kSearchShare * (ended - began));
  }
  std::vector<std::shared_ptr<WatchedRun>> runs;
  for (const auto& [id, run] : runs_) runs.push_back(run);
  return runs;
}

std::shared_ptr<WatchedRun> RunShelf::get(const std::string& id) {
  for (auto& run : all()) {
    if (run->found().id == id) return run;
  }
  throw RequestError(
      404, "no_such_run",
      fmt::format("There is no run {} here; it may have been renamed or deleted.", printable(id)));
}

Json RunShelf::overview() {
  std::vector<Json> lines;
  for (const auto& run : all()) lines.push_back(run->line());
  std::ranges::stable_sort(lines, std::ranges::greater{},
                           [](const Json& line) { return line["updated"].get<double>(); });
  auto folders = Json::array();
  for (const auto& folder : folders_) {
    folders.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"folders", std::move(folders)},
          {"version", version_},
          {"now", std::chrono::duration<double>(now).count()},
          {"runs", lines}};
}

}  // namespace myxtts
