// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_specs.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "model/gpt_specs.h"
#include "model/network_specs.h"

namespace myxtts {
namespace {

void append(TensorSpecs& all, TensorSpecs part, const std::string& prefix) {
  for (TensorSpec& spec : part) {
    spec.name.insert(0, prefix);
    if (!spec.source.empty()) spec.source.insert(0, prefix);
    all.push_back(std::move(spec));
  }
}

}  // namespace

TensorSpecs checkpoint_specs(const ModelConfig& config) {
  TensorSpecs all;
  append(all, gpt_specs(config.gpt), "gpt.");
  append(all, decoder_specs(config.decoder), "hifigan_decoder.waveform_decoder.");
  append(all, speaker_encoder_specs(config.speaker_encoder), "hifigan_decoder.speaker_encoder.");
  all.push_back({.name = "mel_stats",
                 .shape = {config.gpt.mel_bands},
                 .init = Init::Ones,
                 .role = TensorRole::Buffer,
                 .explained_by = "gpt.mel_bands"});
  return all;
}

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<std::string> unknown_names(const TensorSpecs& specs, const FoundTensors& found) {
  std::set<std::string_view> known;
  for (const TensorSpec& spec : specs) known.insert(spec.name);
  std::vector<std::string> unknown;
  for (const auto& [name, tensor] : found) {
    if (!known.contains(name)) unknown.push_back(name);
  }
  return unknown;
}

// As many as a person reads; of a model of another size nearly every tensor is at fault.
std::string first_of(const std::vector<std::string>& faults) {
  constexpr std::size_t kShown = 12;
  const auto shown = std::span(faults).first(std::min(kShown, faults.size()));
  const std::size_t more = faults.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace

void require_specs(const TensorSpecs& specs, const FoundTensors& found, const std::string& file,
                   const std::function<std::string(const std::string&)>& field_name) {
  std::vector<const TensorSpec*> missing;
  std::vector<const TensorSpec*> different;  // in shape, or in being whole numbers
  for (const TensorSpec& spec : specs) {
    const bool counter = spec.role == TensorRole::Counter;
    const auto tensor = found.find(spec.name);
    if (tensor == found.end()) {
      if (!counter) missing.push_back(&spec);
    } else if (tensor->second.shape != spec.shape || tensor->second.floating == counter) {
      different.push_back(&spec);
    }
  }
  const std::vector<std::string> unknown = unknown_names(specs, found);
  if (missing.empty() && unknown.empty() && different.empty()) return;
  const auto because = [&](const TensorSpec& spec) {
    return spec.explained_by.empty() ? "" : fmt::format(" ({})", field_name(spec.explained_by));
  };
  std::vector<std::string> faults;
  for (const TensorSpec* spec : missing) {
    faults.push_back(
        fmt::format("missing {} {}{}", spec->name, shape_text(spec->shape), because(*spec)));
  }
  for (const std::string& name : unknown) {
    faults.push_back(fmt::format("not known {} {}", name, shape_text(found.at(name).shape)));
  }
  for (const TensorSpec* spec : different) {
    const FoundTensor& tensor = found.at(spec->name);
    faults.push_back(fmt::format(
        "{} is {} of {}, the config asks for {} of {}{}", spec->name, shape_text(tensor.shape),
        tensor.floating ? "fractions" : "whole numbers", shape_text(spec->shape),
        spec->role == TensorRole::Counter ? "whole numbers" : "fractions", because(*spec)));
  }
  throw DataError(fmt::format(
      "{} does not fit its config.json: {} missing, {} not known, {} another shape or type than "
      "the config asks for: {}.",
      file, counted(std::ssize(missing), "tensor is", "tensors are"),
      counted(std::ssize(unknown), "is", "are"), counted(std::ssize(different), "has", "have"),
      first_of(faults)));
}

}  // namespace myxtts
