// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "data/corpus.h"

namespace myxtts {

// The speakers of a corpus' training clips, numbered in the order of their names. Any thread.
class SpeakerTable {
 public:
  explicit SpeakerTable(const Corpus& corpus);

  std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }
  // From 0; -1: nobody who is trained on.
  std::int64_t number(std::string_view speaker) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

}  // namespace myxtts
