// SPDX-License-Identifier: Apache-2.0
#include "data/index/clip_index.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "data/generated_clips.h"
#include "data/index/clip_index_format.h"
#include "support/effort.h"
#include "support/temporary_folder.h"

namespace myxtts::clip_index_test {
namespace {

ClipIndexContent some_content() {
  return {.key = 42,
          .rows = {{.id = "a/one",
                    .audio = "/corpus/a/one.flac",
                    .text = "Hello there.",
                    .speaker = "ann",
                    .language = "en",
                    .manifest = "/corpus/list.csv",
                    .line = 2,
                    .stamp = {.size = 1000, .changed_ns = 77},
                    .source_rate = 44'100,
                    .source_frames = 88'200,
                    .text_tokens = 9},
                   {.id = "not in the path", .audio = "/corpus/شعر.wav", .text = ""}},
          .skipped = {{.file = "/corpus/bad.wav",
                       .manifest = "/corpus/list.csv",
                       .line = 3,
                       .reason = SkipReason::AudioTooLong,
                       .measured = "31.7 s",
                       .stamp = {.size = 5, .changed_ns = 6}}},
          .witnesses = {{"/corpus/list.csv", {.size = 123, .changed_ns = 456}}}};
}

// With checksums that are right, as an attacker would have them.
void seal(std::vector<std::byte>& image) {
  index_format::Header header;
  if (image.size() < sizeof header) return;
  std::memcpy(&header, image.data(), sizeof header);
  FastChecksum body;
  body.add(std::span(image).subspan(sizeof header));
  header.body_checksum = body.value();
  FastChecksum head;
  head.add(index_format::bytes_of_value(header).first(index_format::kCheckedHeaderBytes));
  header.header_checksum = head.value();
  std::memcpy(image.data(), &header, sizeof header);
}

// Reads everything an index has to give.
std::size_t read_all(const ClipIndex& index) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const ClipView clip = index.clip(i);
    for (const auto text : {clip.id, clip.audio, clip.text, clip.speaker, clip.language,
                            clip.manifest, index.file(i).first, index.id(i)}) {
      bytes += std::string(text).size();
    }
    bytes += static_cast<std::size_t>(index.samples(i) >= 0);
  }
  for (const Skipped& skipped : index.skipped()) bytes += skipped.measured.size();
  return bytes + index.witnesses().size();
}

TEST(ClipIndex, GivesBackWhatItWasMadeOf) {
  const ClipIndexContent content = some_content();
  const ClipIndex index = ClipIndex::of(content);
  EXPECT_EQ(index.key(), 42U);
  ASSERT_EQ(index.size(), 2U);
  const ClipView one = index.clip(0);
  EXPECT_EQ(one.id, "a/one");
  EXPECT_EQ(one.audio, "/corpus/a/one.flac");
  EXPECT_EQ(one.text, "Hello there.");
  EXPECT_EQ(one.speaker, "ann");
  EXPECT_EQ(one.language, "en");
  EXPECT_EQ(one.manifest, "/corpus/list.csv");
  EXPECT_EQ(one.line, 2);
  EXPECT_EQ(one.stamp, content.rows[0].stamp);
  EXPECT_EQ(one.source_rate, 44'100);
  EXPECT_EQ(one.source_frames, 88'200);
  EXPECT_EQ(one.samples, 44'100);
  EXPECT_EQ(one.text_tokens, 9);
  EXPECT_EQ(index.clip(1).id, "not in the path");
  EXPECT_EQ(index.id(0), "a/one");
  EXPECT_EQ(index.id(1), "not in the path");
  EXPECT_EQ(index.clip(1).text, "");
  EXPECT_EQ(index.samples(0), 44'100);
  EXPECT_EQ(index.text_tokens(0), 9);
  EXPECT_EQ(index.file(1).first, "/corpus/شعر.wav");
  EXPECT_EQ(index.witnesses(), content.witnesses);
  ASSERT_EQ(index.skipped().size(), 1U);
  const Skipped skipped = index.skipped()[0];
  EXPECT_EQ(skipped.file, "/corpus/bad.wav");
  EXPECT_EQ(skipped.manifest, "/corpus/list.csv");
  EXPECT_EQ(skipped.line, 3);
  EXPECT_EQ(skipped.reason, SkipReason::AudioTooLong);
  EXPECT_EQ(skipped.measured, "31.7 s");
  EXPECT_EQ(skipped.stamp, content.skipped[0].stamp);
}

TEST(ClipIndex, AClipsIdentityFollowsItsPathSizeAndTimeOfChange) {
  auto content = some_content();
  const auto before = ClipIndex::of(content).clip(0).identity;
  content.rows[0].text = "Another text.";
  EXPECT_EQ(ClipIndex::of(content).clip(0).identity, before);
  auto moved = content;
  moved.rows[0].audio = "/corpus/b/one.flac";
  moved.rows[0].id = "b/one";
  EXPECT_NE(ClipIndex::of(moved).clip(0).identity, before);
  ++content.rows[0].stamp.changed_ns;
  const auto touched = ClipIndex::of(content).clip(0).identity;
  EXPECT_NE(touched, before);
  ++content.rows[0].stamp.size;
  EXPECT_NE(ClipIndex::of(content).clip(0).identity, touched);
}

TEST(ClipIndex, EveryFlippedBitAndEveryCutIsFound) {
  const auto image = make_clip_index(some_content());
  for (std::size_t byte = 0; byte < image.size(); ++byte) {
    auto damaged = image;
    damaged[byte] ^= std::byte{1} << (byte % 8);
    EXPECT_THROW(ClipIndex::of(damaged), DataError) << "byte " << byte;
    EXPECT_THROW(ClipIndex::of({image.begin(), image.begin() + static_cast<std::ptrdiff_t>(byte)}),
                 DataError)
        << "cut at " << byte;
  }
  auto longer = image;
  longer.push_back(std::byte{0});
  EXPECT_THROW(ClipIndex::of(longer), DataError);
}

TEST(ClipIndex, AnOlderVersionIsRefusedByItsNumber) {
  auto image = make_clip_index(some_content());
  index_format::Header header;
  std::memcpy(&header, image.data(), sizeof header);
  header.version = index_format::kVersion - 1;
  std::memcpy(image.data(), &header, sizeof header);
  seal(image);
  try {
    ClipIndex::of(image);
    FAIL() << "an older version was opened";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("version 0"), std::string::npos) << error.what();
  }
}

TEST(ClipIndex, AHostileFileIsRefusedOrReadButNeverBelievedBeyondItsEnd) {
  const auto clips = test::generated_clips(20);
  auto content = some_content();
  content.rows.insert(content.rows.end(), clips.begin(), clips.end());
  const auto image = make_clip_index(content);
  const RandomStream random(5, "hostile");
  int refused = 0;
  const int tries = test::repetitions(8000);
  for (int i = 0; i < tries; ++i) {
    auto hostile = image;
    const auto draw = static_cast<std::uint64_t>(i) * 16;
    const auto changes = random.integer(draw, 1, 6);
    for (std::int64_t change = 0; change < changes; ++change) {
      const auto index = draw + 1 + 2 * static_cast<std::uint64_t>(change);
      // Tables come before the strings, and that is where harm can be done.
      const auto place = static_cast<std::size_t>(
          random.integer(index, 8, static_cast<std::int64_t>(image.size()) * 2 / 3));
      hostile[place] = static_cast<std::byte>(random.bits(index + 1));
    }
    seal(hostile);
    try {
      read_all(ClipIndex::of(hostile));
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, tries / 4);
  EXPECT_LT(refused, tries);
}

TEST(ClipIndex, AFileStaysReadableWhileItIsReplaced) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "x.index", make_clip_index(some_content()));
  const ClipIndex before = ClipIndex::open(folder / "x.index");
  write_file_atomically(folder / "x.index",
                        make_clip_index({.key = 1, .rows = test::generated_clips(3)}));
  EXPECT_EQ(before.clip(0).text, "Hello there.");
  EXPECT_EQ(ClipIndex::open(folder / "x.index").size(), 3U);
}

TEST(ClipIndex, AMissingOrEmptyFileIsADataError) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(ClipIndex::open(folder / "none.index"), DataError);
  write_file_atomically(folder / "empty.index", {});
  EXPECT_THROW(ClipIndex::open(folder / "empty.index"), DataError);
}

}  // namespace
}  // namespace myxtts::clip_index_test
