// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_corpus.h"

#include <algorithm>

#include "base/log.h"
#include "cli/corpus_arguments.h"
#include "data/generated_corpus.h"

namespace myxtts {
namespace {

constexpr std::int64_t kFewest = 64;  // clips
constexpr std::int64_t kMost = 512;

}  // namespace

ProfileCorpus::ProfileCorpus(const DataConfig& data, const DevicePlan& plan) : settings_(data) {
  if (!settings_.train_data.empty()) {
    // A cache of features belongs where the person wants it, an index where it is found again.
    if (!settings_.cache_dataset) settings_.cache_dir = index_folder(settings_);
    return;
  }
  generated_.emplace("corpus");
  const std::int64_t clips = std::clamp(8 * plan.batch_size, kFewest, kMost);
  log_info("profile",
           "there is no --train-data, so {} clips of 1.5 to 11 s are generated; real ones may "
           "decode more slowly",
           clips);
  generate_corpus(generated_->path(), {.clips = clips});
  settings_.train_data = {{.path = generated_->path()}};
  settings_.val_data.clear();
  settings_.val_fraction = 0;
}

std::string ProfileCorpus::name() const {
  if (generated_) return "generated";
  std::string names;
  for (const CorpusSource& source : settings_.train_data) {
    names += (names.empty() ? "" : ", ") + source.path.string();
  }
  return names;
}

}  // namespace myxtts
