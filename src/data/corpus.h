// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/run_config.h"
#include "data/batches/epoch_order.h"
#include "data/clip.h"
#include "data/held_back.h"
#include "data/index/clip_index.h"
#include "text/vocabulary.h"

namespace myxtts {

// One corpus of a run, read.
struct CorpusPiece {
  ClipIndex index;
  std::string name = {};  // for messages
  double weight = 1.0;
  double held_back = 0.0;  // the share of its clips that is for validation: 1 is all of it
  HoldBack rule = HoldBack::Clips;
};

// The kept clips of all corpora of a run. Only read after it was made: any thread may ask.
class Corpus {
 public:
  // Opens the indexes of data.train_data and data.val_data, which lie in data.cache_dir or else in
  // `folder` (that of the run); scans what is new or has changed first. Shows progress. Throws
  // DataError when more is wrong than data.max_skipped allows.
  static Corpus open(const DataConfig& config, const Vocabulary& vocabulary,
                     const std::filesystem::path& folder, HoldBack rule = HoldBack::Clips);

  // Clips are visited by the weights of their corpora, languages and speakers.
  explicit Corpus(std::vector<CorpusPiece> pieces, const Weights& languages = {},
                  const Weights& speakers = {});
  // One corpus in memory, for tests and for clips that are given by hand.
  static Corpus of(std::vector<ClipRow> rows, double held_back = 0.0,
                   HoldBack rule = HoldBack::Clips);

  std::size_t size() const { return firsts_.back(); }
  ClipView clip(ClipNumber number) const;
  std::int64_t samples(ClipNumber number) const;  // these two cost less than clip()
  std::int64_t text_tokens(ClipNumber number) const;

  std::span<const ClipNumber> training() const { return training_; }
  std::span<const ClipNumber> validation() const { return validation_; }

  // training() divided by weight; the visits of an epoch are exact counts.
  std::span<const VisitGroup> training_groups() const { return groups_; }

  // Of what training sees: ids, lengths and visits. Two runs with equal fingerprints and settings
  // have equal batches.
  std::uint64_t fingerprint() const;

  // What was left out of all pieces, in order.
  std::vector<Skipped> skipped() const;

 private:
  std::size_t piece_of(ClipNumber number) const;
  void count();
  void split();
  void weigh(const Weights& languages, const Weights& speakers);
  void refuse_unused(const Weights& languages, const Weights& speakers) const;

  std::vector<CorpusPiece> pieces_;
  std::vector<std::size_t> firsts_;  // the number of each piece's first clip, and of all clips
  std::vector<ClipNumber> training_;
  std::vector<ClipNumber> validation_;
  std::vector<VisitGroup> groups_;
};

// Throws RefusedCorpusError where no clip to train on can be heard, by a look at a few of them from
// the first to the last: a run would end at the first of them anyway, with much begun.
void refuse_unheard(const Corpus& corpus);

// Said where the part `speaker` is to be trained on one speaker.
inline constexpr const char* kOneSpeaker =
    "The corpus has one speaker, and a speaker encoder learns from telling several apart. A "
    "decoder "
    "of one voice needs no trained encoder: its speaker vector is that of an encoder of fixed "
    "random weights, nearly the same for every clip. Leave the part speaker out.";

// The speakers of a run: those of its training clips from 0, in the order of their names. Equal
// names in different corpora are different speakers, and a corpus without names is one speaker.
// One who is only measured on is the trained one of that name where only these two have it. Any
// thread. The corpus outlives it.
class SpeakerTable {
 public:
  explicit SpeakerTable(const Corpus& corpus);

  std::int64_t size() const { return size_; }  // those who are trained on
  // Their names in the order of their numbers.
  const std::vector<std::string>& names() const { return names_; }
  // Of a clip of the corpus; below 0, a different one each, for speakers that are not trained on.
  std::int64_t number(const ClipView& clip) const;

 private:
  // Note [A speaker's place]
  // An index has each name once. The address of a name therefore identifies the speaker and the
  // corpus.
  using Place = std::pair<const char*, std::size_t>;

  std::int64_t size_ = 0;
  std::vector<std::string> names_;
  std::map<Place, std::int64_t> numbers_;
};

}  // namespace myxtts
