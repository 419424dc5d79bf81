// SPDX-License-Identifier: Apache-2.0
#include "config/model_part.h"

#include <algorithm>

#include "base/error.h"
#include "config/model.h"

namespace myxtts {
namespace {

constexpr std::array kFacts{PartFacts{.part = ModelPart::Gpt,
                                      .name = "gpt",
                                      .file = files::kModel,
                                      .prefix = kGptPrefix,
                                      .on_windows = false,
                                      .learning_rate = 5e-6,
                                      .rate_from_nothing = 2e-4,
                                      .schedule = ScheduleKind::Steps,
                                      .weight_decay = 0.01,
                                      .batch_size = 1},
                            PartFacts{.part = ModelPart::Dvae,
                                      .name = "dvae",
                                      .file = files::kDvae,
                                      .learning_rate = 3e-4,
                                      .rate_from_nothing = 3e-4,
                                      .weight_decay = 0.01,
                                      .batch_size = 16},
                            PartFacts{.part = ModelPart::Decoder,
                                      .name = "decoder",
                                      .file = files::kModel,
                                      .prefix = kDecoderPrefix,
                                      .learning_rate = 2e-4,
                                      .rate_from_nothing = 2e-4,
                                      .schedule = ScheduleKind::Exponential,
                                      .batch_size = 8},
                            PartFacts{.part = ModelPart::Speaker,
                                      .name = "speaker",
                                      .file = files::kModel,
                                      .prefix = kSpeakerEncoderPrefix,
                                      .learning_rate = 1e-3,
                                      .rate_from_nothing = 1e-3,
                                      .weight_decay = 0.01,
                                      .batch_size = 32}};

}  // namespace

const PartFacts& facts_of(ModelPart part) {
  const auto* const found = std::ranges::find(kFacts, part, &PartFacts::part);
  MYXTTS_CHECK(found != kFacts.end(), "a part without facts");
  return *found;
}

std::string_view name_of(ModelPart part) {
  return facts_of(part).name;
}

}  // namespace myxtts
