// SPDX-License-Identifier: Apache-2.0
#include "data/speaker_table.h"

#include <set>
#include <span>
#include <string_view>

#include "base/error.h"

namespace myxtts {
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
