// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace myxtts {

// The parts of the network that are trained, each by itself.
enum class Stage { Gpt, Dvae, Decoder, Speaker };

inline constexpr std::array kStages{Stage::Dvae, Stage::Gpt, Stage::Decoder, Stage::Speaker};

// As --stage calls it.
std::string_view name_of(Stage stage);

}  // namespace myxtts
