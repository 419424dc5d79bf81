// SPDX-License-Identifier: Apache-2.0
#include "data/speaker_table.h"

namespace myxtts {

SpeakerTable::SpeakerTable(const Corpus& corpus) {
  for (const ClipNumber clip : corpus.training()) {
    const std::string_view speaker = corpus.clip(clip).speaker;
    if (!numbers_.contains(speaker)) numbers_.emplace(speaker, 0);
  }
  std::int64_t next = 0;
  for (auto& [speaker, number] : numbers_) number = next++;
}

std::int64_t SpeakerTable::number(std::string_view speaker) const {
  const auto found = numbers_.find(speaker);
  return found == numbers_.end() ? -1 : found->second;
}

}  // namespace myxtts
