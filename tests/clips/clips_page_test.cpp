// SPDX-License-Identifier: Apache-2.0
#include "clips/corpus_folder.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::test::clips_page_test {
namespace {

// 120 clips of two recordings, in English and in Persian, of every kind.
ClipCorpus sample() {
  ClipCorpus corpus{.title = "An <b>old</b> book",
                    .language = "en",
                    .min_confidence = 0.8,
                    .recordings = {{.recording = "chapter one.m4a"}, {.recording = "فصل دو.mp3"}}};
  for (int i = 0; i < 120; ++i) {
    const bool is_persian = i % 10 == 9;
    MadeClip clip{.name = fmt::format("chapter-{:04}", i),
                  .begin = 10.0 * i,
                  .end = 10.0 * i + 6,
                  .text = {.source = i % 2 == 0 ? TextSource::Book : TextSource::Transcription,
                           .text = is_persian ? "او می\u200Cخواهد کتاب را بخواند."
                                              : fmt::format("Sentence number {}.", i),
                           .heard = fmt::format("Sentence number {}.", i),
                           .confidence = 1 - 0.001 * i}};
    if (i == 60) {
      clip.text.confidence = 0.91;
      clip.text.heard = "Sentence numb her sixty.";
      clip.text.doubt = "Words are heard inside that are not in the text.";
    }
    corpus.recordings[i < 60 ? 0 : 1].clips.push_back(clip);
  }
  corpus.corrected = {"chapter-0119"};
  for (int i = 0; i < 450; ++i) {
    corpus.recordings[0].left_out.push_back(
        {.begin = 2.0 * i,
         .end = 2.0 * i + 1,
         .reason = {.name = i % 3 == 0 ? "music" : "noise",
                    .sentence = i % 3 == 0 ? "Music is heard." : "Two speak at once."},
         .text = "</script><script>alert(1)</script>"});
  }
  corpus.recordings[0].left_out.push_back(
      {.begin = 950, .end = 960, .reason = {"silence", "Nobody speaks for 10.0 s."}});
  corpus.unread = {"The first paragraph, which nobody read."};
  return corpus;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ClipsPage, HoldsItsCorpusAndNothingThatEndsItsScript) {
  const TemporaryFolder folder;
  write_clips_page(folder.path() / "clips.html", sample());
  const std::string html = read(folder.path() / "clips.html");
  EXPECT_EQ(html.find("@MYXTTS"), std::string::npos) << "every part is in it";
  EXPECT_EQ(html.find("http://www.w3.org/2000/svg") == std::string::npos, false);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos) << "it asks no network";
  const std::string opening = R"(<script type="application/json" id="corpus">)";
  const auto begin = html.find(opening) + opening.size();
  const auto json =
      nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  ASSERT_EQ(json["clips"].size(), 120U);
  EXPECT_EQ(json["clips"][60]["source"], "book");
  EXPECT_EQ(json["clips"][60]["confidence"], 0.91);
  EXPECT_EQ(json["clips"][9]["text"], "او می\u200Cخواهد کتاب را بخواند.");
  ASSERT_EQ(json["left_out"].size(), 450U) << "silence is nothing to look at";
  EXPECT_EQ(json["clips"][119]["corrected"], true);
  EXPECT_EQ(json["clips"][119]["recording"], "فصل دو.mp3");
  EXPECT_EQ(json["left_out"][449]["text"], "</script><script>alert(1)</script>");
  EXPECT_EQ(json["title"], "An <b>old</b> book");
}

TEST(ClipsPage, ThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(write_clips_page("/nowhere/at/all/clips.html", sample()), DataError);
}

// For page_test.py, which opens it in a browser.
TEST(ClipsPage, IsWrittenForTheBrowser) {
  const char* const file = std::getenv("MYXTTS_CLIPS_PAGE");
  if (file == nullptr) GTEST_SKIP() << "page_test.py names a file";
  write_clips_page(file, sample());
}

}  // namespace
}  // namespace myxtts::test::clips_page_test
