// SPDX-License-Identifier: Apache-2.0
// The YAML of --config, recipes and RUN/config.yaml, with the value of every setting.
#include "config/effective_config.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] {
    static const EffectiveConfig kDefaults = make_effective_config({});
    EffectiveConfig config = kDefaults;
    for (const Setting& setting : read_config_file(fuzz::file_of(data, size))) {
      if (!setting.stage) apply_setting(setting, config);
    }
    print_differences(config.values);
  });
}
