// SPDX-License-Identifier: Apache-2.0
// chain.json: the stages of a run that are finished.
#include "config/effective_config.h"
#include "fuzz/fuzz_input.h"
#include "session/part_chain.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  static const EffectiveConfig kSettings = [] {
    EffectiveConfig config = make_effective_config({});
    config.values.train.stages = {ModelPart::Dvae, ModelPart::Gpt};
    config.values.run.resume = "auto";
    return config;
  }();
  fuzz::put_file(fuzz::folder() / "chain.json", fuzz::text_of(data, size));
  return fuzz::parse([] {
    const PartChain chain(kSettings, fuzz::folder());
    chain.next();
    chain.summary();
    for (std::size_t stage = 0; stage < chain.size(); ++stage) chain.opening(stage);
  });
}
