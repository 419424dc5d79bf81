// SPDX-License-Identifier: Apache-2.0
#include "model/spec_check.h"

#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace myxtts {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

SpecFaults compare_with_specs(const TensorSpecs& specs, const FoundTensors& found) {
  SpecFaults faults;
  std::set<std::string_view> known;
  for (const TensorSpec& spec : specs) {
    known.insert(spec.name);
    const bool counter = spec.role == TensorRole::Counter;
    const auto tensor = found.find(spec.name);
    if (tensor == found.end()) {
      if (!counter) faults.missing.push_back(&spec);
    } else if (tensor->second.shape != spec.shape || tensor->second.floating == counter) {
      faults.different.push_back(&spec);
    }
  }
  for (const auto& [name, tensor] : found) {
    if (!known.contains(name)) faults.unknown.push_back(name);
  }
  return faults;
}

void require_specs(const TensorSpecs& specs, const FoundTensors& found, const std::string& file,
                   const std::function<std::string(const std::string&)>& field_name) {
  const SpecFaults faults = compare_with_specs(specs, found);
  if (faults.empty()) return;
  const auto because = [&](const TensorSpec& spec) {
    return spec.explained_by.empty() ? "" : fmt::format(" ({})", field_name(spec.explained_by));
  };
  std::string message = fmt::format(
      "{} does not fit its config.json: {} tensors are missing, {} are not known, {} have another "
      "shape or type than the config asks for.",
      file, faults.missing.size(), faults.unknown.size(), faults.different.size());
  for (const TensorSpec* spec : faults.missing) {
    message +=
        fmt::format("\n  missing    {} {}{}", spec->name, shape_text(spec->shape), because(*spec));
  }
  for (const std::string& name : faults.unknown) {
    message += fmt::format("\n  not known  {} {}", name, shape_text(found.at(name).shape));
  }
  for (const TensorSpec* spec : faults.different) {
    const FoundTensor& tensor = found.at(spec->name);
    message += fmt::format("\n  different  {} is {} of {}, the config asks for {} of {}{}",
                           spec->name, shape_text(tensor.shape),
                           tensor.floating ? "fractions" : "whole numbers", shape_text(spec->shape),
                           spec->role == TensorRole::Counter ? "whole numbers" : "fractions",
                           because(*spec));
  }
  throw DataError(message);
}

}  // namespace myxtts
