// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "data/clip_decoder.h"
#include "data/index/clip_checks.h"
#include "data/index/corpus_scan.h"
#include "data/layouts/corpus_faults.h"
#include "data/skipped.h"

namespace myxtts {
namespace {

// There are clips, but none that can be used.
bool is_left_out(const ClipIndex& index) {
  return index.size() == 0 && !index.skipped().empty();
}

std::string nothing_usable(const ClipIndex& part, const CorpusSource& source) {
  std::map<SkipReason, std::int64_t> counts;
  const std::vector<Skipped> left_out = part.skipped();
  for (const Skipped& skipped : left_out) ++counts[skipped.reason];
  return fmt::format("{} in the validation part of {} can be used ({}).",
                     left_out.size() == 1
                         ? std::string("Not one clip")
                         : fmt::format("None of the {} clips", human_count(std::ssize(left_out))),
                     source.path.string(), summary_of(counts));
}

using OpenPart = std::function<ClipIndex(const CorpusSource& source, CorpusPart part)>;

CorpusPiece validation_piece(ClipIndex index, const CorpusSource& source) {
  return {.index = std::move(index), .name = source.path.string(), .held_back = 1.0};
}

// The clips to train on, and those for validation where the corpus has such a part.
void add_training(const CorpusSource& source, const DataConfig& config, HoldBack rule,
                  const OpenPart& open, std::vector<CorpusPiece>& pieces) {
  const bool wants_validation = config.val_data.empty();
  ClipIndex validation = open(source, CorpusPart::Validation);
  const bool has_part = validation.size() > 0;
  if (wants_validation && is_left_out(validation)) {
    log_warning("data", "{} As if it had none, --val-fraction of its other clips is held back.",
                nothing_usable(validation, source));
  }
  pieces.push_back({.index = open(source, CorpusPart::Train),
                    .name = source.path.string(),
                    .weight = source.weight,
                    .held_back = wants_validation && !has_part ? config.val_fraction : 0.0,
                    .rule = rule});
  if (wants_validation && has_part) {
    pieces.push_back(validation_piece(std::move(validation), source));
  }
}

void add_validation(const CorpusSource& source, const OpenPart& open,
                    std::vector<CorpusPiece>& pieces) {
  ClipIndex part = open(source, CorpusPart::Validation);
  if (is_left_out(part)) {
    throw DataError(nothing_usable(part, source) +
                    " Mend it, or name another manifest with --val-data.");
  }
  pieces.push_back(validation_piece(
      part.size() > 0 ? std::move(part) : open(source, CorpusPart::Train), source));
}

void check_skipped(const Corpus& corpus, const DataConfig& config,
                   const std::filesystem::path& folder) {
  make_folder(folder);
  SkipList list(config);
  for (Skipped& skipped : corpus.skipped()) list.add(std::move(skipped));
  const auto path = folder / "skipped.jsonl";
  write_skipped(path, list.sorted());
  list.check_limit(static_cast<std::int64_t>(corpus.size()) + list.size(), path);
  if (list.size() == 0) return;
  log_warning("data", "{} left out ({}); see {}", counted(list.size(), "clip is", "clips are"),
              summary_of(list.counts()), path.string());
  for (const std::string& remedy : remedies_of(list.sorted())) log_warning("data", "{}", remedy);
}

std::string times(std::int64_t count) {
  return count == 0 ? "never" : count == 1 ? "once" : fmt::format("{} times", human_count(count));
}

// "each of the 24 clips of corpora/anna once".
std::string visits_of(const VisitGroup& group) {
  const std::int64_t clips = std::ssize(group.clips);
  const std::int64_t whole = group.visits / clips;
  const std::int64_t rest = group.visits % clips;
  if (rest > 0) {
    return fmt::format("{} of the {} clips of {} {} and the others {}, in turn", human_count(rest),
                       human_count(clips), group.name, times(whole + 1), times(whole));
  }
  return fmt::format(
      "{} of {} {}",
      clips == 1 ? "the only clip" : fmt::format("each of the {} clips", human_count(clips)),
      group.name, times(whole));
}

void log_visits(const Corpus& corpus) {
  for (const VisitGroup& group : corpus.training_groups()) {
    log_info("data", "an epoch visits {}{}", visits_of(group),
             group.weight == 1.0 ? "" : fmt::format(" (weight {})", group.weight));
  }
  if (corpus.validation().empty()) return;
  log_info("data", "{} for validation",
           counted(std::ssize(corpus.validation()), "clip is", "clips are"));
}

// What was trained on says nothing of other speech.
void warn_of_repeated(const Corpus& corpus) {
  std::unordered_set<std::string_view> trained;
  for (const ClipNumber number : corpus.training()) trained.insert(corpus.clip(number).audio);
  const auto is_trained = [&](ClipNumber number) {
    return trained.contains(corpus.clip(number).audio);
  };
  const std::int64_t both = std::ranges::count_if(corpus.validation(), is_trained);
  if (both == 0) return;
  const std::int64_t all = std::ssize(corpus.validation());
  log_warning("data",
              "{} of --val-data {} trained on too, so that the validation loss says little of "
              "speech that the model has not heard. Give other clips with --val-data, or leave it "
              "out: --val-fraction of the corpus is held back then.",
              both == all ? fmt::format("Every one of the {}", counted(all, "clip"))
                          : fmt::format("{} of the {}", human_count(both), counted(all, "clip")),
              both == 1 || both == all ? "is" : "are");
}

}  // namespace

Corpus Corpus::open(const DataConfig& config, const Vocabulary& vocabulary,
                    const std::filesystem::path& folder, HoldBack rule) {
  if (config.train_data.empty() && config.val_data.empty()) {
    throw ConfigError("There is no corpus to read; name one with --train-data DIR.");
  }
  check_corpora(config);  // before a folder is made for them
  const auto open = [&](const CorpusSource& source, CorpusPart part) {
    const ScanRequest request{
        .source = source, .part = part, .config = config, .vocabulary = vocabulary};
    ClipIndex index = open_index(config.cache_dir.value_or(folder), request);
    const std::string warning = warning_of_scripts(request, index);
    if (!warning.empty()) log_warning("data", "{}", warning);
    return index;
  };
  std::vector<CorpusPiece> pieces;
  for (const CorpusSource& source : config.train_data) {
    add_training(source, config, rule, open, pieces);
  }
  for (const CorpusSource& source : config.val_data) add_validation(source, open, pieces);
  Corpus corpus(std::move(pieces), config.language_weights.value_or(Weights{}),
                config.speaker_weights.value_or(Weights{}));
  check_skipped(corpus, config, folder);
  if (!config.val_data.empty()) warn_of_repeated(corpus);
  log_visits(corpus);
  return corpus;
}

namespace {

std::uint64_t hash_of(std::string_view text) {
  FastChecksum checksum;
  checksum.add(bytes_of(text));
  return checksum.value();
}

double weight_in(const Weights& weights, std::string_view name) {
  const auto found = weights.find(name);
  return found == weights.end() ? 1.0 : found->second;
}

// The name where it has a weight of its own: only those divide clips into groups.
std::string named_in(const Weights& weights, std::string_view name) {
  return weights.contains(name) ? std::string(name) : std::string();
}

std::string group_name(const std::string& corpus, const std::string& language,
                       const std::string& speaker) {
  std::string name = corpus;
  if (!language.empty()) name += fmt::format(", language {}", language);
  if (!speaker.empty()) name += fmt::format(", speaker {}", speaker);
  return name;
}

}  // namespace

std::size_t Corpus::piece_of(ClipNumber number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), std::size_t{number});
  return static_cast<std::size_t>(after - firsts_.begin()) - 1;
}

void Corpus::count() {
  firsts_ = {0};
  for (const CorpusPiece& piece : pieces_) firsts_.push_back(firsts_.back() + piece.index.size());
  if (firsts_.back() > std::numeric_limits<ClipNumber>::max()) {
    throw DataError(fmt::format("{} clips are more than one run can number.", firsts_.back()));
  }
}

void Corpus::split() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const CorpusPiece& piece = pieces_[p];
    const std::vector<bool> held_back = clips_held_back(piece.index, piece.held_back, piece.rule);
    for (std::size_t i = 0; i < piece.index.size(); ++i) {
      (held_back[i] ? validation_ : training_).push_back(static_cast<ClipNumber>(firsts_[p] + i));
    }
  }
}

void Corpus::weigh(const Weights& languages, const Weights& speakers) {
  const bool by_corpus = languages.empty() && speakers.empty();
  std::map<std::tuple<std::size_t, std::string, std::string>, VisitGroup> found;
  VisitGroup* group = nullptr;
  std::size_t piece = pieces_.size();  // of `group`
  for (const ClipNumber number : training_) {
    const std::size_t p = piece_of(number);
    if (!by_corpus || p != piece) {
      const ClipView clip = pieces_[p].index.clip(number - firsts_[p]);
      const auto language = named_in(languages, clip.language);
      const auto speaker = named_in(speakers, clip.speaker);
      group = &found[{p, language, speaker}];
      group->name = group_name(pieces_[p].name, language, speaker);
      group->weight =
          pieces_[p].weight * weight_in(languages, language) * weight_in(speakers, speaker);
      piece = p;
    }
    group->clips.push_back(number);
  }
  for (auto& [key, made] : found) {
    made.visits = std::llround(made.weight * static_cast<double>(made.clips.size()));
    // Where visits are fewer than clips or do not divide, which clips come first must not follow
    // the order of the manifest, which is often that of speakers and books.
    if (made.visits % static_cast<std::int64_t>(made.clips.size()) != 0) {
      std::ranges::sort(made.clips, {}, [this](ClipNumber number) {
        const std::size_t p = piece_of(number);
        return std::pair(hash_of(pieces_[p].index.id(number - firsts_[p])), number);
      });
    }
    groups_.push_back(std::move(made));
  }
}

void Corpus::refuse_unused(const Weights& languages, const Weights& speakers) const {
  const auto check = [this](const Weights& named, const char* what, auto member) {
    for (const auto& [name, weight] : named) {
      const bool used = std::ranges::any_of(
          training_, [&](ClipNumber number) { return clip(number).*member == name; });
      if (!used) {
        throw ConfigError(
            fmt::format("The {} \"{}\" was given the weight {}, but no clip to train on has it.",
                        what, name, weight));
      }
    }
  };
  check(languages, "language", &ClipView::language);
  check(speakers, "speaker", &ClipView::speaker);
}

Corpus::Corpus(std::vector<CorpusPiece> pieces, const Weights& languages, const Weights& speakers)
    : pieces_(std::move(pieces)) {
  count();
  split();
  refuse_unused(languages, speakers);
  weigh(languages, speakers);
}

Corpus Corpus::of(std::vector<ClipRow> rows, double held_back, HoldBack rule) {
  std::vector<CorpusPiece> pieces;
  pieces.push_back({.index = ClipIndex::of(ClipIndexContent{.rows = std::move(rows)}),
                    .held_back = held_back,
                    .rule = rule});
  return Corpus(std::move(pieces));
}

ClipView Corpus::clip(ClipNumber number) const {
  const std::size_t piece = piece_of(number);
  return pieces_[piece].index.clip(number - firsts_[piece]);
}

std::int64_t Corpus::samples(ClipNumber number) const {
  const std::size_t piece = piece_of(number);
  return pieces_[piece].index.samples(number - firsts_[piece]);
}

std::int64_t Corpus::text_tokens(ClipNumber number) const {
  const std::size_t piece = piece_of(number);
  return pieces_[piece].index.text_tokens(number - firsts_[piece]);
}

std::uint64_t Corpus::fingerprint() const {
  FastChecksum checksum;
  const auto add = [&checksum](std::int64_t value) {
    checksum.add(std::as_bytes(std::span(&value, 1)));
  };
  for (const VisitGroup& group : groups_) {
    add(group.visits);
    for (const ClipNumber number : group.clips) {
      const ClipView view = clip(number);
      add(number);
      add(view.samples);
      add(view.text_tokens);
      add(static_cast<std::int64_t>(view.id.size()));
      checksum.add(bytes_of(view.id));
    }
  }
  return checksum.value();
}

std::vector<Skipped> Corpus::skipped() const {
  std::vector<Skipped> all;
  for (const CorpusPiece& piece : pieces_) {
    for (Skipped& skipped : piece.index.skipped()) all.push_back(std::move(skipped));
  }
  return all;
}

void refuse_unheard(const Corpus& corpus) {
  constexpr std::size_t kLooks = 16;
  const auto clips = corpus.training();
  const std::size_t looks = std::min(kLooks, clips.size());
  std::map<SkipReason, std::int64_t> counts;
  for (std::size_t look = 0; look < looks; ++look) {
    const ClipView clip = corpus.clip(clips[look * clips.size() / looks]);
    const auto decoded = decode_clip(std::filesystem::path(clip.audio));
    const auto* fault = std::get_if<Skipped>(&decoded);
    // What is not there any more may be in the cache.
    if (fault == nullptr || fault->reason == SkipReason::Unreadable) return;
    ++counts[fault->reason];
  }
  throw RefusedCorpusError(fmt::format(
      "{} to train on can be used ({}); myxtts prepare CORPUS names each of them.",
      looks == 1              ? std::string("Not one clip")
      : looks == clips.size() ? fmt::format("None of the {} clips", looks)
                              : fmt::format("None of {} clips that were looked at, of {},", looks,
                                            human_count(std::ssize(clips))),
      summary_of(counts)));
}

namespace {

// See Note [A speaker's place].
std::pair<const char*, std::size_t> place_of(const ClipView& clip) {
  return {clip.speaker.data(), clip.speaker.size()};
}

// The first clip of each speaker by name; equal names in the order of their corpora.
using FirstClips = std::multimap<std::string_view, ClipNumber>;

FirstClips first_clips(const Corpus& corpus, std::span<const ClipNumber> clips) {
  FirstClips first;
  std::set<std::pair<const char*, std::size_t>> seen;
  for (const ClipNumber number : clips) {
    const ClipView clip = corpus.clip(number);
    if (seen.insert(place_of(clip)).second) first.emplace(clip.speaker, number);
  }
  return first;
}

}  // namespace

SpeakerTable::SpeakerTable(const Corpus& corpus) {
  const FirstClips trained = first_clips(corpus, corpus.training());
  for (const auto& [name, clip] : trained) {
    numbers_.emplace(place_of(corpus.clip(clip)), size_++);
    names_.emplace_back(name);
  }
  const FirstClips measured = first_clips(corpus, corpus.validation());
  std::int64_t stranger = 0;
  for (const auto& [name, clip] : measured) {
    const bool is_known = trained.count(name) == 1 && measured.count(name) == 1;
    numbers_.emplace(place_of(corpus.clip(clip)),
                     is_known ? number(corpus.clip(trained.find(name)->second)) : --stranger);
  }
}

std::int64_t SpeakerTable::number(const ClipView& clip) const {
  const auto found = numbers_.find(place_of(clip));
  MYXTTS_CHECK(found != numbers_.end(), "{} is a clip of another corpus", clip.id);
  return found->second;
}

}  // namespace myxtts
