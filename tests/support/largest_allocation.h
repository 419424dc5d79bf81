// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace myxtts::test {

// Watches how much memory the process asks for at once, whoever asks: our code or a library's. What
// is only asked for and never touched counts, too.
//
// Under the address and thread sanitizers it sees the size of each allocation; elsewhere the
// growth of the address space, of which an allocation that is too large is a part.
class LargestAllocation {
 public:
  LargestAllocation();
  std::size_t bytes() const;  // since the object was made

 private:
  std::size_t before_ = 0;
};

}  // namespace myxtts::test
