// SPDX-License-Identifier: Apache-2.0
#include "data/skipped.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::skip_list_test {
namespace {

Skipped skipped(std::int64_t line, SkipReason reason = SkipReason::Silent) {
  return {.file = "wavs/" + std::to_string(line) + ".wav",
          .manifest = "metadata.csv",
          .line = line,
          .reason = reason,
          .measured = "peak 0 of 32768, at least 33"};
}

std::string verdict(const SkipList& list, std::int64_t all) {
  try {
    list.check_limit(all, "run/skipped.jsonl");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(SkipList, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const SkipReason reason : all_skip_reasons()) names.insert(name_of(reason));
  EXPECT_EQ(names.size(), all_skip_reasons().size());
  EXPECT_FALSE(names.contains(""));
  EXPECT_GE(names.size(), 18U);
}

TEST(SkipList, ThreadsAddAndTheOrderIsThatOfTheManifest) {
  SkipList list({});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&list, thread] {
      for (int index = 0; index < 250; ++index) {
        list.add(skipped(index * 4 + thread + 1,
                         index % 2 == 0 ? SkipReason::Silent : SkipReason::Empty));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto sorted = list.sorted();
  ASSERT_EQ(sorted.size(), 1000U);
  for (std::size_t index = 0; index < sorted.size(); ++index) {
    EXPECT_EQ(sorted[index].line, static_cast<std::int64_t>(index) + 1);
  }
  EXPECT_EQ(list.counts(), (std::map<SkipReason, std::int64_t>{{SkipReason::Empty, 500},
                                                               {SkipReason::Silent, 500}}));
}

TEST(SkipList, MoreThanTheShareIsADataErrorWithTheReasons) {
  SkipList list({.max_skipped = 0.05});
  for (int line = 1; line <= 4; ++line) list.add(skipped(line));
  list.add(skipped(5, SkipReason::AudioTooLong));
  EXPECT_EQ(verdict(list, 100), "");
  EXPECT_EQ(verdict(list, 99),
            "5 of 99 clips cannot be used (4 silent, 1 audio-too-long), more than the 5 % that "
            "--max-skipped allows; see run/skipped.jsonl, have all such clips named with myxtts "
            "prepare CORPUS, or raise --max-skipped.");
  EXPECT_EQ(verdict(SkipList({.max_skipped = 0.0}), 10), "");
  EXPECT_EQ(verdict(list, 5),
            "None of the 5 clips can be used (4 silent, 1 audio-too-long); myxtts prepare CORPUS "
            "names each of them.");
}

TEST(SkipList, RecordingsThatAreTooLongAreNamedWithTheCommandThatCutsThem) {
  SkipList list({.max_skipped = 0.05});
  list.add({.file = "wavs/talk.wav", .reason = SkipReason::AudioTooLong, .measured = "30 s"});
  const std::string cut =
      "wavs/talk.wav is too long to learn from (30 s). Have it cut into clips with their texts "
      "(myxtts clips wavs/talk.wav --whisper WHISPER --out wavs/talk-clips), and name that folder "
      "as a corpus, too.";
  EXPECT_EQ(verdict(list, 10),
            "1 of 10 clips cannot be used (1 audio-too-long), more than the 5 % that --max-skipped "
            "allows. " +
                cut + " run/skipped.jsonl names all of them.");
  EXPECT_EQ(verdict(list, 1), "The only clip cannot be used (1 audio-too-long). " + cut);
}

TEST(SkipList, StrictMakesTheFirstOneAnError) {
  SkipList list({.strict = true});
  try {
    list.add(skipped(7));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "wavs/7.wav (metadata.csv:7) cannot be used: silent (peak 0 of 32768, at least "
                 "33); mend it or leave out --strict.");
  }
  EXPECT_EQ(list.size(), 0);
}

TEST(SkipList, TheFileHasALineOfJsonForEachWhateverTheNamesHold) {
  const test::TemporaryFolder folder;
  Skipped odd = skipped(2, SkipReason::BadLine);
  odd.file = "a\"b\n\xff.wav";
  write_skipped(folder / "skipped.jsonl", {skipped(1), odd});
  const std::string text = test::contents_of(folder / "skipped.jsonl");
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const auto first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first, (nlohmann::json{{"file", "wavs/1.wav"},
                                   {"manifest", "metadata.csv"},
                                   {"line", 1},
                                   {"reason", "silent"},
                                   {"measured", "peak 0 of 32768, at least 33"}}));
  const auto second = nlohmann::json::parse(text.substr(text.find('\n') + 1));
  EXPECT_EQ(second["file"], "a\"b\n\xef\xbf\xbd.wav");
}

}  // namespace
}  // namespace myxtts::skip_list_test
