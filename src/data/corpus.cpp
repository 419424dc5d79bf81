// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"

namespace myxtts {
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

bool is_held_back(std::string_view id, double fraction) {
  // 53 bits: what a double compares exactly.
  return static_cast<double>(hash_of(id) >> 11U) < fraction * 0x1.0p53;
}

struct Corpus::State {
  std::vector<CorpusPiece> pieces;
  std::vector<std::size_t> firsts;  // the number of each piece's first clip, and of all clips
  std::vector<ClipNumber> training;
  std::vector<ClipNumber> validation;
  std::vector<VisitGroup> groups;

  struct Place {
    const ClipIndex& index;
    std::size_t number;
  };
  Place place(ClipNumber number) const {
    MYXTTS_CHECK(number < firsts.back(), "clip {} of {} was asked for", number, firsts.back());
    const auto after = std::upper_bound(firsts.begin(), firsts.end(), std::size_t{number});
    const auto piece = static_cast<std::size_t>(after - firsts.begin()) - 1;
    return {pieces[piece].index, number - firsts[piece]};
  }

  void count();
  void split();
  void weigh(const VisitWeights& weights);
  void refuse_unused(const VisitWeights& weights) const;
};

void Corpus::State::count() {
  firsts = {0};
  for (const CorpusPiece& piece : pieces) firsts.push_back(firsts.back() + piece.index.size());
  if (firsts.back() > std::numeric_limits<ClipNumber>::max()) {
    throw DataError(fmt::format("{} clips are more than one run can number.", firsts.back()));
  }
}

void Corpus::State::split() {
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const CorpusPiece& piece = pieces[p];
    for (std::size_t i = 0; i < piece.index.size(); ++i) {
      const bool held_back =
          piece.held_back > 0 && is_held_back(piece.index.id(i), piece.held_back);
      (held_back ? validation : training).push_back(static_cast<ClipNumber>(firsts[p] + i));
    }
  }
}

void Corpus::State::weigh(const VisitWeights& weights) {
  const bool by_corpus = weights.languages.empty() && weights.speakers.empty();
  std::map<std::tuple<std::size_t, std::string, std::string>, VisitGroup> found;
  VisitGroup* group = nullptr;
  std::size_t piece = pieces.size();  // of `group`
  for (const ClipNumber number : training) {
    const auto after = std::upper_bound(firsts.begin(), firsts.end(), std::size_t{number});
    const auto p = static_cast<std::size_t>(after - firsts.begin()) - 1;
    if (!by_corpus || p != piece) {
      const ClipView clip = pieces[p].index.clip(number - firsts[p]);
      const auto language = named_in(weights.languages, clip.language);
      const auto speaker = named_in(weights.speakers, clip.speaker);
      group = &found[{p, language, speaker}];
      group->name = group_name(pieces[p].name, language, speaker);
      group->weight = pieces[p].weight * weight_in(weights.languages, language) *
                      weight_in(weights.speakers, speaker);
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
        const Place at = place(number);
        return std::pair(hash_of(at.index.id(at.number)), number);
      });
    }
    groups.push_back(std::move(made));
  }
}

void Corpus::State::refuse_unused(const VisitWeights& weights) const {
  const auto check = [this](const Weights& named, const char* what, auto member) {
    for (const auto& [name, weight] : named) {
      const bool used = std::ranges::any_of(training, [&](ClipNumber number) {
        const Place at = place(number);
        return at.index.clip(at.number).*member == name;
      });
      if (!used) {
        throw ConfigError(
            fmt::format("The {} \"{}\" was given the weight {}, but no clip to train on has it.",
                        what, name, weight));
      }
    }
  };
  check(weights.languages, "language", &ClipView::language);
  check(weights.speakers, "speaker", &ClipView::speaker);
}

Corpus::Corpus(std::vector<CorpusPiece> pieces, const VisitWeights& weights)
    : state_(std::make_unique<State>()) {
  state_->pieces = std::move(pieces);
  state_->count();
  state_->split();
  state_->refuse_unused(weights);
  state_->weigh(weights);
}

Corpus Corpus::of(std::vector<ClipRow> rows, double held_back) {
  std::vector<CorpusPiece> pieces;
  pieces.push_back(
      {.index = ClipIndex::of(ClipIndexContent{.rows = std::move(rows)}), .held_back = held_back});
  return Corpus(std::move(pieces));
}

Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;
Corpus::~Corpus() = default;

std::size_t Corpus::size() const {
  return state_->firsts.back();
}

ClipView Corpus::clip(ClipNumber number) const {
  const auto at = state_->place(number);
  return at.index.clip(at.number);
}

ClipLengths Corpus::lengths(ClipNumber number) const {
  const auto at = state_->place(number);
  return at.index.lengths(at.number);
}

std::span<const ClipNumber> Corpus::training() const {
  return state_->training;
}

std::span<const ClipNumber> Corpus::validation() const {
  return state_->validation;
}

std::span<const VisitGroup> Corpus::training_groups() const {
  return state_->groups;
}

std::uint64_t Corpus::fingerprint() const {
  FastChecksum checksum;
  const auto add = [&checksum](std::int64_t value) {
    checksum.add(std::as_bytes(std::span(&value, 1)));
  };
  for (const VisitGroup& group : state_->groups) {
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
  for (const CorpusPiece& piece : state_->pieces) {
    for (SkippedFile& file : piece.index.skipped()) all.push_back(std::move(file.skipped));
  }
  return all;
}

}  // namespace myxtts
