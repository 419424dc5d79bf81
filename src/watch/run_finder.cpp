// SPDX-License-Identifier: Apache-2.0
#include "watch/run_finder.h"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "run/run_directory.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;
constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kMostFolders = 20'000;  // that are looked at

class RunSearch {
 public:
  explicit RunSearch(bool has_several) : has_several_(has_several) {}

  void search(const fs::path& given) {
    fs::path folder = fs::absolute(given).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    visit(folder, folder.filename().string(), "", 0);
  }

  std::vector<FoundRun> take() { return std::move(found_); }

 private:
  void visit(const fs::path& folder, const std::string& id, const std::string& chain, int depth) {
    if (found_.size() >= kMostRuns || ++looked_ > kMostFolders) return;
    std::error_code failed;
    const bool has_stages = fs::exists(folder / kChainFile, failed);
    if (!has_stages && looks_like_a_run(folder)) {
      found_.push_back({unique(id), folder, chain});
      return;
    }
    if (depth == kDeepest) return;
    // The folder that was asked for need not be named where it is the only one.
    const bool is_named = depth > 0 || has_stages || has_several_;
    for (const auto& name : folders_in(folder)) {
      visit(folder / name, is_named ? id + "/" + name : name, has_stages ? id : "", depth + 1);
    }
  }

  static std::vector<std::string> folders_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(folder, failed); entry != fs::directory_iterator();
         entry.increment(failed)) {
      if (failed) break;
      const std::string name = entry->path().filename().string();
      std::error_code unreadable;
      if (name.starts_with('.') || entry->is_symlink(unreadable)) continue;
      if (entry->is_directory(unreadable)) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  std::string unique(const std::string& id) {
    std::string made = id;
    for (int number = 2; !ids_.insert(made).second; ++number)
      made = fmt::format("{}-{}", id, number);
    return made;
  }

  const bool has_several_;
  std::vector<FoundRun> found_;
  std::set<std::string> ids_;
  std::size_t looked_ = 0;
};

}  // namespace

bool looks_like_a_run(const fs::path& folder) {
  std::error_code failed;
  const auto has = [&](const char* name) { return fs::exists(folder / name, failed); };
  return has("metrics.jsonl") || has("status.json") || (has("config.yaml") && has("log.txt")) ||
         (has("checkpoints") && has("lock"));
}

std::vector<FoundRun> find_runs(const std::vector<fs::path>& folders) {
  RunSearch search(folders.size() > 1);
  for (const fs::path& folder : folders) search.search(folder);
  return search.take();
}

}  // namespace myxtts
