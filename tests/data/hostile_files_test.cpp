// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/value_text.h"
#include "data/clip_decoder.h"
#include "data/index/clip_checks.h"
#include "data/layouts/manifest.h"
#include "support/corpus_maker.h"
#include "support/effort.h"
#include "support/largest_allocation.h"
#include "support/processor_time.h"
#include "support/temporary_folder.h"

// libsndfile forgets 6 kB of libvorbis' with each OGG whose header is damaged.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init";
}

namespace myxtts::hostile_files_test {
namespace {

using test::SoundFormat;

constexpr std::size_t kGigabyte = 1'000'000'000;

class Mutations {
 public:
  explicit Mutations(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::size_t below(std::size_t count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % count;
  }

  // One to eight edits: most in the first bytes, where headers are.
  std::string mutated(std::string bytes, std::string_view favourites) {
    for (std::size_t edit = 1 + below(8); edit > 0 && !bytes.empty(); --edit) {
      const std::size_t reach =
          below(3) > 0 ? std::min<std::size_t>(bytes.size(), 256) : bytes.size();
      const std::size_t at = below(reach);
      switch (below(6)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes[at] = favourites[below(favourites.size())];
          break;
        case 2:
          bytes.erase(at, 1 + below(64));
          break;
        case 3:
          bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(64)));
          break;
        case 4:  // a number as large as its field
          for (std::size_t index = at; index < std::min(at + 4, bytes.size()); ++index) {
            bytes[index] = static_cast<char>(below(2) == 0 ? 0xff : 0x7f);
          }
          break;
        default:
          if (below(4) == 0) bytes.resize(below(bytes.size()));
      }
    }
    return bytes;
  }

 private:
  std::uint64_t state_;
};

template <typename Call>
void expect_quick(const Call& call, const std::string& what) {
  const double start = test::thread_seconds();
  call();
  EXPECT_LT(test::thread_seconds() - start, 5.0) << what;
}

// The variable keeps the bytes of a file that crashes the test.
void keep_evidence(const std::string& name, const std::string& bytes) {
  if (const char* folder = std::getenv("MYXTTS_HOSTILE_FILES")) {
    test::write_text(std::filesystem::path(folder) / name, bytes);
  }
}

TEST(HostileFiles, AHeaderThatPromisesMoreThanMemoryHoldsIsTooLong) {
  const test::TemporaryFolder folder;
  test::write_sound(folder / "x.flac", test::made_sound(0.4, 2, 16'000), SoundFormat::Flac16);
  std::string bytes = test::contents_of(folder / "x.flac");
  bytes[21] = static_cast<char>(bytes[21] | 0x0f);  // the count of samples: 36 bits from here on
  bytes.replace(22, 4, "\xff\xff\xff\xff");
  test::write_text(folder / "x.flac", bytes);
  const auto header = read_audio_header(folder / "x.flac");
  ASSERT_TRUE(std::holds_alternative<Skipped>(header));
  EXPECT_EQ(std::get<Skipped>(header).reason, SkipReason::AudioTooLong);
  EXPECT_EQ(std::get<Skipped>(header).measured, "68719476735 samples, at most 268435456");
}

TEST(HostileFiles, AThousandMutatedSoundsAreDecodedOrNamed) {
  const test::TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> seeds;  // extension, bytes
  for (const SoundFormat format : test::all_sound_formats()) {
    const auto path = folder / ("seed" + std::string(test::extension_of(format)));
    test::write_sound(path, test::made_sound(0.4, 2, 16'000, 2), format);
    seeds.emplace_back(test::extension_of(format), test::contents_of(path));
  }
  const test::LargestAllocation memory;
  int named = 0;
  for (int round = 0; round < test::repetitions(1200); ++round) {
    Mutations random(static_cast<std::uint64_t>(round));
    const auto& [extension, bytes] = seeds[static_cast<std::size_t>(round) % seeds.size()];
    const std::string harmed = random.mutated(bytes, std::string_view("\0\xff\x7f\x80\x01", 5));
    keep_evidence("sound" + extension, harmed);
    const auto path = folder / ("x" + extension);
    test::write_text(path, harmed);
    expect_quick(
        [&] {
          const auto header = read_audio_header(path);
          const auto decoded = decode_clip(path);
          if (const auto* skipped = std::get_if<Skipped>(&decoded)) {
            ++named;
            EXPECT_FALSE(skipped->measured.empty());
          }
          if (const auto* clip = std::get_if<DecodedClip>(&decoded)) {
            EXPECT_FALSE(clip->samples.empty());
            EXPECT_TRUE(std::holds_alternative<AudioHeader>(header));
          }
        },
        extension + " " + std::to_string(round));
  }
  EXPECT_GT(named, test::repetitions(200));
  EXPECT_LT(named, test::repetitions(1200));
  EXPECT_LT(memory.bytes(), kGigabyte);
}

TEST(HostileFiles, EightHundredMutatedManifestsGiveClipsOrASentence) {
  const auto clips = test::made_clips(3);
  constexpr char kFavourites[] = "|\t\"\n\r\\/{}[]:,\0\xff\xef\xbb\xbf. ";
  const std::string favourites(kFavourites, sizeof(kFavourites) - 1);
  const test::LargestAllocation memory;
  int round = 0;
  for (const auto& [name, layout] : corpus_layouts()) {
    const test::TemporaryFolder folder;
    test::make_corpus(folder.path(), layout, clips);
    const std::string file = read_manifest({.path = folder.path()}).entries.at(0).manifest;
    const std::string bytes = test::contents_of(file);
    for (int index = 0; index < test::repetitions(90); ++index, ++round) {
      Mutations random(static_cast<std::uint64_t>(round));
      const std::string harmed = random.mutated(bytes, favourites);
      keep_evidence("manifest." + name, harmed);
      test::write_text(file, harmed);
      expect_quick(
          [&] {
            for (const auto& forced : {std::optional(layout), std::optional<CorpusLayout>()}) {
              try {
                const Manifest manifest = read_manifest({.path = folder.path(), .layout = forced});
                for (const ManifestEntry& entry : manifest.entries) {
                  check_text(entry.text);
                  EXPECT_FALSE(entry.id.empty());
                }
              } catch (const DataError& error) {
                EXPECT_TRUE(std::string(error.what()).ends_with('.')) << error.what();
              }
            }
          },
          name + " " + std::to_string(index));
    }
  }
  EXPECT_EQ(round, test::repetitions(90) * 9);
  EXPECT_LT(memory.bytes(), kGigabyte);
}

// Headers that promise the most their fields can hold, over files of a few bytes.
TEST(HostileFiles, ALyingHeaderCostsNoMemory) {
  const test::TemporaryFolder folder;
  const std::string wav = test::wav_bytes(test::as_16_bits(test::made_sound(0.1, 1)));
  const auto with = [](std::string bytes, std::size_t at, std::string_view value) {
    return bytes.replace(at, value.size(), value);
  };
  std::vector<std::string> liars = {
      with(wav, 40, "\xff\xff\xff\xff"),    with(wav, 40, std::string_view("\0\0\xfe\x7f", 4)),
      with(wav, 4, "\xff\xff\xff\xff"),     with(wav, 22, "\xff\xff"),
      with(wav, 16, "\xff\xff\xff\x7f"),    with(wav, 24, "\xff\xff\xff\x7f"),
      with(wav, 36, "LIST\xff\xff\xff\xff")};
  for (const SoundFormat format : {SoundFormat::Flac16, SoundFormat::Vorbis, SoundFormat::Mp3}) {
    const auto path = folder / ("seed" + std::string(test::extension_of(format)));
    test::write_sound(path, test::made_sound(0.2, 2), format);
    const std::string bytes = test::contents_of(path);
    liars.push_back(with(bytes, 18, "\xff\xff\xff\xff\xff\xff\xff\xff"));  // FLAC's sample count
    liars.push_back(with(bytes, 5, "\xff\xff\xff"));                       // its block's size
    liars.push_back("ID3\x04" + std::string(2, '\0') + "\x7f\x7f\x7f\x7f" + bytes);
  }
  const test::LargestAllocation memory;
  for (std::size_t index = 0; index < liars.size(); ++index) {
    test::write_text(folder / "x", liars[index]);
    expect_quick(
        [&] {
          read_audio_header(folder / "x");
          decode_clip(folder / "x");
        },
        std::to_string(index));
  }
  EXPECT_LT(memory.bytes(), kGigabyte);
}

}  // namespace
}  // namespace myxtts::hostile_files_test
