// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <vector>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

namespace myxtts::test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

at::ScalarType scalar_type(const std::string& name) {
  static const std::map<std::string, at::ScalarType> kTypes = {
      {"F32", at::kFloat}, {"F64", at::kDouble}, {"I64", at::kLong},
      {"I32", at::kInt},   {"I16", at::kShort},  {"BOOL", at::kBool}};
  return kTypes.at(name);
}

bool comparable(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && at::isfinite(a).all().item<bool>() &&
         at::isfinite(b).all().item<bool>();
}

at::Tensor on_cpu_in_double(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, at::kDouble);
}

}  // namespace

GoldenTensors read_golden(std::string_view name) {
  const char* root = std::getenv("MYXTTS_TEST_DATA");
  if (root == nullptr) throw std::runtime_error("set MYXTTS_TEST_DATA to the folder tests/");
  const std::string bytes = read_file(std::filesystem::path(root) / "golden" / name);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  const auto header = nlohmann::json::parse(bytes.substr(sizeof header_size, header_size));
  const char* data = bytes.data() + sizeof header_size + header_size;

  GoldenTensors tensors;
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
    const auto tensor = at::empty(shape, scalar_type(entry.at("dtype").get<std::string>()));
    std::memcpy(tensor.mutable_data_ptr(), data + entry.at("data_offsets").at(0).get<std::size_t>(),
                tensor.nbytes());
    tensors.emplace(key, tensor);
  }
  return tensors;
}

double max_abs_difference(const at::Tensor& a, const at::Tensor& b) {
  if (!comparable(a, b)) return std::numeric_limits<double>::infinity();
  if (a.numel() == 0) return 0.0;
  return (on_cpu_in_double(a) - on_cpu_in_double(b)).abs().max().item<double>();
}

double relative_error(const at::Tensor& a, const at::Tensor& expected) {
  if (!comparable(a, expected)) return std::numeric_limits<double>::infinity();
  const auto reference = on_cpu_in_double(expected);
  return ((on_cpu_in_double(a) - reference).norm() / reference.norm()).item<double>();
}

}  // namespace myxtts::test
