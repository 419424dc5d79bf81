// SPDX-License-Identifier: Apache-2.0
#include "weights/checkpoint_names.h"

#include <array>
#include <utility>

namespace myxtts {
namespace {

constexpr std::string_view kTrainerPrefix = "xtts.";
constexpr std::string_view kDvaePrefix = "dvae.";

bool is_surplus(std::string_view name) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"torch_mel_spectrogram_dvae.",
                                                         "torch_mel_spectrogram_style_encoder.",
                                                         "gpt.gpt_inference.", "gpt.gpt.wte."};
  constexpr std::array<std::string_view, 2> kSuffixes = {".attn.bias", ".attn.masked_bias"};
  for (const auto prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  for (const auto suffix : kSuffixes) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

// Weight normalisation under the names it has since PyTorch 2.0.
std::string with_parametrizations(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRenamed = {
      {{".weight_g", ".parametrizations.weight.original0"},
       {".weight_v", ".parametrizations.weight.original1"}}};
  for (const auto& [before, now] : kRenamed) {
    if (name.ends_with(before)) {
      return std::string(name.substr(0, name.size() - before.size())).append(now);
    }
  }
  return std::string(name);
}

}  // namespace

std::optional<std::string> public_name(std::string_view name_in_file, CheckpointPart part) {
  std::string_view name = name_in_file;
  if (name.starts_with(kTrainerPrefix)) name.remove_prefix(kTrainerPrefix.size());
  const bool is_dvae = name.starts_with(kDvaePrefix);
  if (is_surplus(name) || is_dvae != (part == CheckpointPart::Dvae)) return std::nullopt;
  return is_dvae ? std::string(name.substr(kDvaePrefix.size())) : with_parametrizations(name);
}

}  // namespace myxtts
