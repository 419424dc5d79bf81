// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/large_buffer.h"

#include <sys/mman.h>

#include <memory>

#include "base/error.h"
#include "base/human.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21U;

}  // namespace

LargeBuffer::LargeBuffer(std::size_t count, Pages pages) {
  const std::size_t bytes = (count * sizeof(float) / kLargePage + 1) * kLargePage;
  mapped_bytes_ = bytes + kLargePage;  // room to begin at a large page
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) {
    throw DeviceError(
        fmt::format("There is no memory left for {} of the decoder; use a smaller batch or model.",
                    human_size(mapped_bytes_)));
  }
  void* aligned = mapped_;
  std::size_t space = mapped_bytes_;
  data_ = static_cast<float*>(std::align(kLargePage, bytes, aligned, space));
  // Only a wish: where the system does not grant it, small pages do.
  if (pages == Pages::Large) (void)madvise(data_, bytes, MADV_HUGEPAGE);
}

LargeBuffer::~LargeBuffer() {
  (void)munmap(mapped_, mapped_bytes_);
}

}  // namespace myxtts
