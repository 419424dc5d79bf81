// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "weights/dtype.h"
#include "weights/zip.h"

namespace myxtts::test {

// A file that tests/golden/make_weights.py made.
inline std::filesystem::path golden_weights(const std::string& name) {
  return std::filesystem::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "weights" / name;
}

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<long>(content.size()));
}

template <typename Number>
std::vector<Number> numbers_of(const TensorView& view) {
  std::vector<Number> numbers(view.bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), view.bytes.data(), view.bytes.size());
  return numbers;
}

// make_weights.py's formula.
inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i) * 0.25F - 1.0F;
  return numbers;
}

// A .pth file around any pickle, with storages "0", "1", ...
inline void write_pth(const std::filesystem::path& path, std::string_view pickle,
                      const std::vector<std::string>& storages = {}) {
  AtomicFile file(path);
  ZipWriter zip(file);
  zip.add("archive/data.pkl", bytes_of(pickle));
  for (std::size_t i = 0; i < storages.size(); ++i) {
    zip.add("archive/data/" + std::to_string(i), bytes_of(storages[i]));
  }
  zip.finish();
  file.commit();
}

// The pieces of pickles, by hand.
inline std::string text_op(std::string_view text) {
  return std::string("\x8c") + static_cast<char>(text.size()) + std::string(text);
}

inline std::string integer_op(long long number) {
  return std::string("\x8a\x08", 2) + std::string(reinterpret_cast<const char*>(&number), 8);
}

inline std::string tuple_op(const std::vector<long long>& numbers) {
  std::string pickle = "(";
  for (const long long number : numbers) pickle += integer_op(number);
  return pickle + "t";
}

struct TensorOp {
  std::string storage_type = "FloatStorage";
  std::string key = "0";
  long long count = 4;
  long long offset = 0;
  std::vector<long long> shape = {4};
  std::vector<long long> strides = {1};
};

inline std::string tensor_op(const TensorOp& op) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text_op("storage") + "ctorch\n" +
         op.storage_type + "\n" + text_op(op.key) + text_op("cpu") + integer_op(op.count) + "tQ" +
         integer_op(op.offset) + tuple_op(op.shape) + tuple_op(op.strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}

inline std::string pickle_of(const std::string& operations) {
  return "\x80\x02" + operations + ".";
}

// The message of the DataError that `action` throws; "" when it throws none. Anything else it
// throws goes on and fails the test.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace myxtts::test
