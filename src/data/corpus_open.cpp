// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/human.h"
#include "base/log.h"
#include "data/corpus.h"
#include "data/index/index_folder.h"
#include "data/skip_list.h"

namespace myxtts {
namespace {

// There are clips, but none that can be used.
bool is_left_out(const ClipIndex& index) {
  return index.size() == 0 && !index.skipped().empty();
}

std::string nothing_usable(const ClipIndex& part, const CorpusSource& source) {
  std::map<SkipReason, std::int64_t> counts;
  const std::vector<SkippedFile> skipped = part.skipped();
  for (const SkippedFile& file : skipped) ++counts[file.skipped.reason];
  return fmt::format("None of the {} clips in the validation part of {} can be used ({}).",
                     human_count(static_cast<std::int64_t>(skipped.size())), source.path.string(),
                     summary_of(counts));
}

// Opens the corpora of one run.
class CorpusOpener {
 public:
  CorpusOpener(const DataConfig& config, const Vocabulary& vocabulary,
               const std::filesystem::path& folder)
      : config_(config), vocabulary_(vocabulary), indexes_(config.cache_dir.value_or(folder)) {}

  // The clips to train on, and those for validation where the corpus has such a part.
  void add_training(const CorpusSource& source) {
    const bool wants_validation = config_.val_data.empty();
    ClipIndex validation = open(source, CorpusPart::Validation);
    const bool has_part = validation.size() > 0;
    if (wants_validation && is_left_out(validation)) {
      log_warning("data", "{} As if it had none, --val-fraction of its other clips is held back.",
                  nothing_usable(validation, source));
    }
    const double held_back = wants_validation && !has_part ? config_.val_fraction : 0.0;
    pieces_.push_back({.index = open(source, CorpusPart::Train),
                       .name = source.path.string(),
                       .weight = source.weight,
                       .held_back = held_back});
    if (wants_validation && has_part) add_validation(std::move(validation), source);
  }

  void add_validation(const CorpusSource& source) {
    ClipIndex part = open(source, CorpusPart::Validation);
    if (is_left_out(part)) {
      throw DataError(nothing_usable(part, source) +
                      " Mend it, or name another manifest with --val-data.");
    }
    add_validation(part.size() > 0 ? std::move(part) : open(source, CorpusPart::Train), source);
  }

  std::vector<CorpusPiece> take() { return std::move(pieces_); }

 private:
  ClipIndex open(const CorpusSource& source, CorpusPart part) const {
    return indexes_.open(
        {.source = source, .part = part, .config = config_, .vocabulary = vocabulary_});
  }

  void add_validation(ClipIndex index, const CorpusSource& source) {
    pieces_.push_back({.index = std::move(index), .name = source.path.string(), .held_back = 1.0});
  }

  const DataConfig& config_;
  const Vocabulary& vocabulary_;
  const IndexFolder indexes_;
  std::vector<CorpusPiece> pieces_;
};

void judge_skipped(const Corpus& corpus, const DataConfig& config,
                   const std::filesystem::path& folder) {
  make_folder(folder);
  SkipList list(config);
  for (Skipped& skipped : corpus.skipped()) list.add(std::move(skipped));
  const auto path = folder / "skipped.jsonl";
  write_skipped(path, list.sorted());
  if (list.size() > 0) {
    log_warning("data", "{} clips are left out ({}); see {}", human_count(list.size()),
                summary_of(list.counts()), path.string());
  }
  list.judge(static_cast<std::int64_t>(corpus.size()) + list.size(), path);
}

std::string visits_of(const VisitGroup& group) {
  const auto clips = static_cast<std::int64_t>(group.clips.size());
  const std::int64_t whole = group.visits / clips;
  const std::int64_t rest = group.visits % clips;
  if (rest == 0) return whole == 1 ? "each once" : fmt::format("each {} times", whole);
  return fmt::format("{} of them {} times and {} of them {} times, in turn", human_count(rest),
                     whole + 1, human_count(clips - rest), whole);
}

void say_visits(const Corpus& corpus) {
  for (const VisitGroup& group : corpus.training_groups()) {
    log_info("data", "an epoch visits the {} clips of {} {}: {} visits (weight {})",
             human_count(static_cast<std::int64_t>(group.clips.size())), group.name,
             visits_of(group), human_count(group.visits), group.weight);
  }
  log_info("data", "{} clips are for validation",
           human_count(static_cast<std::int64_t>(corpus.validation().size())));
}

}  // namespace

Corpus Corpus::open(const DataConfig& config, const Vocabulary& vocabulary,
                    const std::filesystem::path& folder) {
  if (config.train_data.empty() && config.val_data.empty()) {
    throw ConfigError("There is no corpus to read; name one with --train-data DIR.");
  }
  CorpusOpener opener(config, vocabulary, folder);
  for (const CorpusSource& source : config.train_data) opener.add_training(source);
  for (const CorpusSource& source : config.val_data) opener.add_validation(source);
  Corpus corpus(opener.take(), {.languages = config.language_weights.value_or(Weights{}),
                                .speakers = config.speaker_weights.value_or(Weights{})});
  judge_skipped(corpus, config, folder);
  say_visits(corpus);
  return corpus;
}

}  // namespace myxtts
