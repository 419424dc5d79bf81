// SPDX-License-Identifier: Apache-2.0
#include "session/plan_run.h"

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "config/model_json.h"
#include "device/cuda_plugin.h"
#include "device/plan_devices.h"
#include "device/system_probe.h"
#include "device/visible_devices.h"
#include "diagnose/memory/saving_plan.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "session/run_records.h"

namespace myxtts {

namespace fs = std::filesystem;

ModelConfig sizes_to_train(const TrainConfig& config) {
  return config.init ? open_model(*config.init).config : model_preset(config.model_size);
}

ModelConfig sizes_of_run(const RunConfig& config) {
  const auto& init = config.train.init;
  const fs::path latest = config.run.checkpoint_dir / "latest";
  const bool init_is_gone = init && !fs::exists(*init);
  if (!init_is_gone || !config.run.resume || !fs::exists(latest)) {
    return sizes_to_train(config.train);
  }
  return parse_model_config(read_config_text(latest), (latest / files::kConfig).string());
}

DevicePlan plan_run(const RunConfig& config, const ModelConfig& model) {
  SystemProbe probe;
  const std::string fault = cuda_fault(find_cuda_plugin(CudaPluginPlaces::usual()));
  return plan_with_savers(config, discover_machine(probe), model, fault);
}

DevicePlan plan_and_open_devices(const RunConfig& config, const ModelConfig& model) {
  return open_devices(plan_run(config, model));
}

DevicePlan open_and_tell(const DevicePlan& planned) {
  say(configuring(planned));
  // A later stage of a process finds them open.
  const DevicePlan plan = cuda_plugin_is_open() ? with_cuda_facts(planned, require_cuda().devices())
                                                : open_devices(planned);
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  say(configured(plan, visible == nullptr ? "" : visible));
  log_info("train", "{}", describe(plan));
  return plan;
}

}  // namespace myxtts
