// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/corpus_source.h"
#include "data/audio_header.h"
#include "data/clip_decoder.h"
#include "data/manifest.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts {
namespace {

using test::MadeClip;
using test::SoundFormat;

std::string described(const std::vector<Skipped>& list) {
  std::string text;
  for (const Skipped& skipped : list) {
    text += skipped.file.string() + ":" + std::to_string(skipped.line) + " " +
            std::string(name_of(skipped.reason)) + " " + skipped.measured + "\n";
  }
  return text;
}

// Clips by text, which is the same in every layout.
std::map<std::string, ManifestEntry> by_text(const Manifest& manifest) {
  std::map<std::string, ManifestEntry> entries;
  for (const ManifestEntry& entry : manifest.entries) entries[entry.text] = entry;
  return entries;
}

bool has_speakers(CorpusLayout layout) {
  return layout != CorpusLayout::LjSpeech && layout != CorpusLayout::Original;
}

void expect_clips(const Manifest& manifest, const std::vector<MadeClip>& clips) {
  EXPECT_EQ(manifest.entries.size(), clips.size());
  EXPECT_TRUE(manifest.skipped.empty()) << described(manifest.skipped);
  const auto entries = by_text(manifest);
  for (const MadeClip& clip : clips) {
    ASSERT_TRUE(entries.contains(clip.text)) << clip.name;
    const ManifestEntry& entry = entries.at(clip.text);
    EXPECT_NE(entry.id.find(clip.name), std::string::npos) << entry.id;
    EXPECT_EQ(entry.speaker, has_speakers(manifest.layout) ? clip.speaker : "");
    const auto decoded = decode_clip(entry.audio);
    ASSERT_TRUE(std::holds_alternative<DecodedClip>(decoded)) << entry.audio;
    EXPECT_EQ(std::get<DecodedClip>(decoded).samples, test::as_16_bits(clip.sound)) << entry.audio;
  }
}

TEST(Layouts, EachIsFoundByLookingAndHoldsTheSameClips) {
  const auto clips = test::made_clips(6);
  for (const auto& [name, layout] : corpus_layouts()) {
    SCOPED_TRACE(name);
    const test::TemporaryFolder folder;
    const auto path = test::make_corpus(folder.path(), layout, clips);
    const Manifest manifest = read_manifest({.path = path});
    EXPECT_EQ(name_of(manifest.layout), name);
    expect_clips(manifest, clips);
    expect_clips(read_manifest({.path = path, .layout = layout}), clips);
  }
}

}  // namespace
}  // namespace myxtts
