// SPDX-License-Identifier: Apache-2.0
#include "session/vocabulary_texts.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts::test::training_texts_test {
namespace {

TEST(TrainingTexts, AreCleanAndByLanguageAndOnlyOfClipsThatAreThere) {
  const TemporaryFolder folder;
  write_sound(folder / "wavs/a.wav", made_sound(1, 1), SoundFormat::Wav16);
  write_sound(folder / "wavs/b.wav", made_sound(1, 2), SoundFormat::Wav16);
  write_text(folder / "clips.txt",
             "wavs/a.wav|Mr. Smith has 3 dogs.|anna|en\nwavs/b.wav|Guten Tag!|karl|de\n"
             "wavs/missing.wav|Nobody says this.|anna|en\n");
  const auto texts = training_texts(
      {.train_data = {{.path = folder / "clips.txt", .layout = CorpusLayout::Plain}}});
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts.at(Language::En), (std::vector<std::string>{"mister smith has three dogs."}));
  EXPECT_EQ(texts.at(Language::De), (std::vector<std::string>{"guten tag!"}));
}

TEST(TrainingTexts, NoCorpusIsAnErrorThatNamesTheFlag) {
  try {
    training_texts({});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("--train-data"), std::string::npos);
  }
}

}  // namespace
}  // namespace myxtts::test::training_texts_test
