// SPDX-License-Identifier: Apache-2.0
#include "data/corpus.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/batches/epoch_order.h"
#include "data/generated_clips.h"

namespace myxtts::corpus_test {
namespace {

CorpusPiece piece_of(std::vector<ClipRow> rows, const std::string& name, double weight = 1.0,
                     double held_back = 0.0) {
  return {.index = ClipIndex::of(ClipIndexContent{.rows = std::move(rows)}),
          .name = name,
          .weight = weight,
          .held_back = held_back};
}

Corpus corpus_of(std::vector<CorpusPiece> pieces, const Weights& languages = {},
                 const Weights& speakers = {}) {
  return Corpus(std::move(pieces), languages, speakers);
}

template <typename... Pieces>
std::vector<CorpusPiece> pieces(Pieces... piece) {
  std::vector<CorpusPiece> list;
  (list.push_back(std::move(piece)), ...);
  return list;
}

std::set<std::string> ids_of(const Corpus& corpus, std::span<const ClipNumber> clips) {
  std::set<std::string> ids;
  for (const ClipNumber clip : clips) ids.emplace(corpus.clip(clip).id);
  return ids;
}

std::map<ClipNumber, int> counts(const Corpus& corpus, std::int64_t epoch) {
  std::map<ClipNumber, int> visits;
  for (const Visit& visit : visits_of_epoch(corpus.training_groups(), epoch)) ++visits[visit.clip];
  return visits;
}

TEST(Corpus, NumbersTheClipsOfAllPiecesOneAfterAnother) {
  const Corpus corpus =
      corpus_of(pieces(piece_of(test::generated_clips(3, 1), "a"), piece_of({}, "empty"),
                       piece_of(test::generated_clips(2, 2), "b")));
  ASSERT_EQ(corpus.size(), 5U);
  EXPECT_EQ(corpus.clip(2).id, "clip-000002");
  EXPECT_EQ(corpus.clip(3).id, "clip-000000");
  EXPECT_EQ(corpus.clip(4).id, "clip-000001");
  EXPECT_EQ(corpus.samples(4), corpus.clip(4).samples);
  EXPECT_EQ(corpus.training().size(), 5U);
  EXPECT_THROW(corpus.clip(5), InternalError);
}

TEST(Corpus, HoldsBackAFractionByIdAndNewClipsMoveNoOldOne) {
  auto rows = test::generated_clips(2000);
  const Corpus before = Corpus::of(rows, 0.1);
  EXPECT_EQ(before.training().size() + before.validation().size(), 2000U);
  EXPECT_NEAR(static_cast<double>(before.validation().size()), 200.0, 50.0);

  std::reverse(rows.begin(), rows.end());
  const auto more = test::generated_clips(3000);
  rows.insert(rows.begin() + 700, more.begin() + 2000, more.end());
  const Corpus after = Corpus::of(rows, 0.1);
  const auto old_ids = ids_of(before, before.validation());
  const auto new_ids = ids_of(after, after.validation());
  EXPECT_TRUE(std::ranges::includes(new_ids, old_ids));
  const auto old_training = ids_of(before, before.training());
  for (const std::string& id : new_ids) EXPECT_FALSE(old_training.contains(id)) << id;

  const Corpus larger = Corpus::of(test::generated_clips(2000), 0.2);
  EXPECT_TRUE(std::ranges::includes(ids_of(larger, larger.validation()), old_ids));
}

TEST(Corpus, ASmallCorpusAlwaysHoldsSomeBackAndNeverAll) {
  const auto held_back = [](std::size_t clips, double share) {
    const Corpus corpus = Corpus::of(test::generated_clips(clips), share);
    EXPECT_EQ(corpus.training().size() + corpus.validation().size(), clips);
    return corpus.validation().size();
  };
  EXPECT_EQ(held_back(1, 0.01), 0U);
  EXPECT_EQ(held_back(2, 0.01), 1U);
  EXPECT_EQ(held_back(15, 0.01), 1U);
  EXPECT_EQ(held_back(40, 0.01), 4U);
  EXPECT_EQ(held_back(200, 0.001), kLeastHeldBack);
  EXPECT_EQ(held_back(40, 0.0), 0U) << "nothing was asked for";
  for (std::size_t clips = 2; clips < 9; ++clips) EXPECT_LT(held_back(clips, 0.5), clips);
  // A function of the ids alone: not of their order, and what the share meets is among them.
  auto rows = test::generated_clips(40);
  const Corpus one = Corpus::of(rows, 0.01);
  std::reverse(rows.begin(), rows.end());
  const Corpus other = Corpus::of(rows, 0.01);
  EXPECT_EQ(ids_of(one, one.validation()), ids_of(other, other.validation()));
}

TEST(Corpus, ARunThatBeganWithTheShareAloneKeepsItsSplit) {
  const auto rows = test::generated_clips(40);
  const Corpus corpus = Corpus::of(rows, 0.02, HoldBack::Share);
  for (const ClipNumber clip : corpus.training()) {
    EXPECT_FALSE(is_held_back(corpus.clip(clip).id, 0.02));
  }
  EXPECT_LT(corpus.validation().size(), Corpus::of(rows, 0.02).validation().size());
}

TEST(Corpus, SpeakersAreHeldBackWithAllTheirClips) {
  auto rows = test::generated_clips(60);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].speaker = fmt::format("p{}", i % 12);
  const auto speakers_of = [](const Corpus& corpus, std::span<const ClipNumber> clips) {
    std::set<std::string> speakers;
    for (const ClipNumber clip : clips) speakers.emplace(corpus.clip(clip).speaker);
    return speakers;
  };
  const Corpus corpus = Corpus::of(rows, 0.01, HoldBack::Speakers);
  const auto trained = speakers_of(corpus, corpus.training());
  const auto measured = speakers_of(corpus, corpus.validation());
  EXPECT_EQ(measured.size(), 1U);
  EXPECT_EQ(trained.size(), 11U);
  for (const std::string& speaker : measured) EXPECT_FALSE(trained.contains(speaker));
  for (ClipRow& row : rows) row.speaker = row.id < "clip-000030" ? "a" : "b";
  const Corpus two = Corpus::of(rows, 0.01, HoldBack::Speakers);
  EXPECT_EQ(speakers_of(two, two.training()).size(), 2U) << "clips, where there are two speakers";
  EXPECT_EQ(two.validation().size(), 6U);
}

TEST(Corpus, APieceForValidationIsNotTrainedOn) {
  const Corpus corpus = corpus_of(pieces(piece_of(test::generated_clips(20), "a"),
                                         piece_of(test::generated_clips(7, 2), "b", 3.0, 1.0)));
  EXPECT_EQ(corpus.training().size(), 20U);
  ASSERT_EQ(corpus.validation().size(), 7U);
  EXPECT_EQ(corpus.validation()[0], 20U);
  EXPECT_EQ(counts(corpus, 0).size(), 20U);
}

TEST(Corpus, AWholeWeightIsExactlyThatManyVisitsOfEachClip) {
  const Corpus corpus = corpus_of(pieces(piece_of(test::generated_clips(10), "a", 1.0),
                                         piece_of(test::generated_clips(6, 2), "b", 3.0)));
  for (const std::int64_t epoch : {0, 1, 17}) {
    for (const auto& [clip, visits] : counts(corpus, epoch)) EXPECT_EQ(visits, clip < 10 ? 1 : 3);
    EXPECT_EQ(counts(corpus, epoch).size(), 16U);
  }
  std::set<std::uint32_t> repeats;
  for (const Visit& visit : visits_of_epoch(corpus.training_groups(), 2)) {
    if (visit.clip == 12) repeats.insert(visit.repeat);
  }
  EXPECT_EQ(repeats, (std::set<std::uint32_t>{0, 1, 2}));
}

TEST(Corpus, AFractionalWeightGoesRoundTheClipsAndStarvesNone) {
  for (const double weight : {0.3, 1.5, 2.25}) {
    const Corpus corpus = corpus_of(pieces(piece_of(test::generated_clips(40), "a", weight)));
    std::map<ClipNumber, int> sum;
    for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
      int visits = 0;
      for (const auto& [clip, count] : counts(corpus, epoch)) {
        visits += count;
        sum[clip] += count;
        EXPECT_LE(count, static_cast<int>(weight) + 1);
      }
      EXPECT_EQ(visits, static_cast<int>(weight * 40));
    }
    for (ClipNumber clip = 0; clip < 40; ++clip) {
      EXPECT_EQ(sum[clip], static_cast<int>(weight * 40)) << weight;
    }
  }
}

TEST(Corpus, LanguagesAndSpeakersHaveWeightsOfTheirOwn) {
  const Corpus corpus = corpus_of(pieces(piece_of(test::generated_clips(30), "a", 2.0)),
                                  {{"de", 3.0}}, {{"speaker-1", 2.0}});
  const auto visits = counts(corpus, 0);
  for (ClipNumber clip = 0; clip < 30; ++clip) {
    const int expected = 2 * (clip % 3 == 0 ? 3 : 1) * (clip % 5 == 1 ? 2 : 1);
    EXPECT_EQ(visits.at(clip), expected) << clip;
  }
}

TEST(Corpus, AWeightForASpeakerNobodyHasIsAConfigError) {
  EXPECT_THROW(corpus_of(pieces(piece_of(test::generated_clips(5), "a")), {}, {{"nobody", 2.0}}),
               ConfigError);
}

TEST(Corpus, TheFingerprintFollowsWhatIsTrainedOn) {
  const auto rows = test::generated_clips(50);
  const auto before = Corpus::of(rows).fingerprint();
  EXPECT_EQ(Corpus::of(rows).fingerprint(), before);
  auto moved = rows;
  for (ClipRow& row : moved) row.audio = "/elsewhere" + row.audio;
  EXPECT_EQ(Corpus::of(moved).fingerprint(), before) << "a corpus may be moved";
  auto changed = rows;
  ++changed[20].text_tokens;
  EXPECT_NE(Corpus::of(changed).fingerprint(), before);
  EXPECT_NE(corpus_of(pieces(piece_of(rows, "a", 2.0))).fingerprint(), before);
  EXPECT_NE(Corpus::of(rows, 0.2).fingerprint(), before);
}

}  // namespace
}  // namespace myxtts::corpus_test
