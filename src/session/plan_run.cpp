// SPDX-License-Identifier: Apache-2.0
#include "session/plan_run.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/effective_config.h"
#include "config/model_json.h"
#include "data/layouts/manifest.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "device/plan/gpu_choice.h"
#include "device/plan/plan_devices.h"
#include "diagnose/memory/memory_plan.h"
#include "parallel/world.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "session/run_report.h"

namespace myxtts {

namespace fs = std::filesystem;

void require_named_init(const TrainConfig& config) {
  if (config.init != kInitRequired) return;
  const std::string recipe = find_recipe("one-voice-from-nothing.yaml");
  throw ConfigError(
      fmt::format("This recipe trains a model further, and none is named: fetch the public one "
                  "with myxtts pull "
                  "xtts-v2 and give --init xtts-v2, or another with --init MODEL; to begin from "
                  "nothing, use {}.",
                  recipe.empty() ? "--stages dvae,gpt,decoder without the recipe"
                                 : "--config " + shell_word(recipe)));
}

void find_starting_model(RunConfig& config) {
  require_named_init(config.train);
  std::optional<fs::path>& init = config.train.init;
  if (!init) return;
  const bool is_there = fs::exists(*init) || fs::exists(models_folder() / *init);
  if (is_there || !config.run.resume) init = find_model("--init", *init);
}

ModelConfig sizes_to_train(const TrainConfig& config) {
  require_named_init(config);
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

namespace {

Manifest listed_by(CorpusSource source, const DataConfig& data) {
  if (!source.layout) source.layout = data.format;
  return read_manifest(source);
}

// What the corpora list, each visited once in an epoch; nothing: they are weighted, or cannot be
// read, which whoever opens them says.
std::optional<std::int64_t> listed_clips(const DataConfig& data) {
  if (data.language_weights || data.speaker_weights) return std::nullopt;
  std::int64_t clips = 0;
  for (const CorpusSource& source : data.train_data) {
    if (source.weight != 1.0) return std::nullopt;
    try {
      clips += std::ssize(listed_by(source, data).entries);
    } catch (const DataError&) {
      return std::nullopt;
    }
  }
  return clips;
}

}  // namespace

std::int64_t listed_speakers(const DataConfig& data) {
  std::int64_t speakers = 0;
  for (const CorpusSource& source : data.train_data) {
    std::set<std::string> names;
    for (const ManifestEntry& entry : listed_by(source, data).entries) names.insert(entry.speaker);
    speakers += std::ssize(names);
  }
  return speakers;
}

ManifestEntry first_listed(const DataConfig& data) {
  const auto& sources = data.val_data.empty() ? data.train_data : data.val_data;
  if (sources.empty()) return {};
  const Manifest listed = listed_by(sources.front(), data);
  return listed.entries.empty() ? ManifestEntry{} : listed.entries.front();
}

RunConfig within_corpora(RunConfig config) {
  std::optional<std::int64_t>& batch = config.train.batch_size;
  const auto clips = batch > 1 ? listed_clips(config.data) : std::nullopt;
  if (clips && *clips > 1 && *batch > *clips) batch = clips;
  return config;
}

DevicePlan plan_run(const RunConfig& config, const ModelConfig& model, int ranks) {
  SystemProbe probe;
  const std::string fault = cuda_fault(find_cuda_plugin());
  Machine machine = discover_machine(probe);
  machine.memory.available_bytes /= ranks;
  return plan_with_savers(config, machine, model, fault);
}

DevicePlan plan_and_open_devices(const RunConfig& config, const ModelConfig& model) {
  return open_devices(plan_run(config, model));
}

RunConfig without_auto(RunConfig config) {
  if (config.devices.mode == Mode::Auto) config.devices.mode.reset();
  return config;
}

namespace {

// None named is every one that is visible, but the one that prepares data.
GpuNumbers named_gpus(const RunConfig& config, const GpuInventory& inventory) {
  if (config.devices.gpus && !config.devices.gpus->empty()) return *config.devices.gpus;
  GpuNumbers numbers;
  const auto visible = static_cast<std::int64_t>(visible_gpus(inventory).size());
  for (std::int64_t number = 0; number < visible; ++number) {
    if (number != config.data.data_gpu) numbers.push_back(number);
  }
  return numbers;
}

GpuNumbers model_gpus(const RunConfig& config, const GpuInventory& inventory) {
  const GpuChoice any(inventory, gpu_flags(config), "");  // throws where there is none
  const GpuNumbers numbers = named_gpus(config, inventory);
  if (!numbers.empty()) return numbers;
  throw DeviceError(fmt::format(
      "--gpus all leaves no GPU to train on beside --data-gpu {}: this machine shows {}. Leave out "
      "--data-gpu and --gpus to do both on one.",
      *config.data.data_gpu, visible_gpus(inventory).size()));
}

// Whether a rank of a launcher takes the GPU of its place on the host.
bool takes_gpu_by_place(const RunConfig& config) {
  const DevicesConfig& devices = config.devices;
  return devices.device != DeviceKind::Cpu && devices.mode != Mode::Cpu && !devices.split_gpu &&
         !config.data.data_gpu;
}

// What `plan` does is kept to the cores of a rank, which it counts.
template <typename Plan>
DevicePlan with_cores_of(const World& world, const Plan& plan) {
  DevicePlan planned;
  std::exception_ptr failure;
  std::thread([&] {
    try {
      keep_to_cores(own_cores(world));
      planned = plan();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return planned;
}

std::string place_of(const DevicePlan& plan) {
  return plan.model.gpu ? fmt::format("GPU {}", plan.model.gpu->listed) : "the CPU";
}

std::string devices_of(const std::vector<DevicePlan>& plans) {
  const RolePlan& first = plans.front().model;
  if (!first.gpu) {
    return fmt::format("each with {} of the CPU", counted(first.threads, "thread"));
  }
  std::vector<std::string> gpus;
  for (const DevicePlan& plan : plans) {
    gpus.push_back(fmt::format("GPU {}", plan.model.gpu->listed));
  }
  return fmt::format("on {}", fmt::join(gpus, ", "));
}

}  // namespace

bool has_rank_threads(const RunConfig& config) {
  return config.parallel.ranks || (config.devices.gpus && config.data.data_gpu);
}

bool has_rank_processes(const RunConfig& config) {
  return config.devices.gpus && !config.data.data_gpu;
}

std::vector<RunConfig> settings_of_ranks(const RunConfig& config, const GpuInventory& gpus) {
  RunConfig alone = config;
  alone.devices.gpus.reset();
  alone.parallel.ranks.reset();
  if (config.parallel.ranks) {
    return std::vector<RunConfig>(static_cast<std::size_t>(*config.parallel.ranks), alone);
  }
  std::vector<RunConfig> settings;
  for (const std::int64_t gpu : model_gpus(config, gpus)) {
    if (config.data.data_gpu) {
      alone.data.model_gpu = gpu;
    } else {
      alone.devices.gpus = GpuNumbers{gpu};
    }
    settings.push_back(alone);
  }
  return settings;
}

RunConfig settings_of_rank(const RunConfig& config, const World& world, const GpuInventory& gpus) {
  if (!takes_gpu_by_place(config)) return config;
  const GpuNumbers numbers = named_gpus(config, gpus);
  const bool are_named = config.devices.gpus && !config.devices.gpus->empty();
  if (numbers.empty()) return config;
  const bool is_shown_its_own = !are_named && numbers.size() == 1;
  const auto place = is_shown_its_own ? 0 : static_cast<std::size_t>(world.local_rank);
  if (place < numbers.size()) {
    RunConfig own = config;
    own.devices.gpus = GpuNumbers{numbers[place]};
    return own;
  }
  if (are_named) {
    throw ConfigError(fmt::format(
        "--gpus {} names {} for the {} ranks that the launcher has started on this host; name one "
        "for each, or leave --gpus out.",
        fmt::join(numbers, ","), numbers.size(), world.local_size));
  }
  throw DeviceError(fmt::format(
      "Rank {} is number {} of {} on this host, which shows {} GPUs; start at most {} ranks there, "
      "or train on the CPU with --device cpu.",
      world.rank, world.local_rank, world.local_size, numbers.size(), numbers.size()));
}

RunConfig settings_of_first_rank(const RunConfig& config) {
  if (!has_rank_threads(config) && !has_rank_processes(config)) return config;
  SystemProbe probe;
  return settings_of_ranks(config, discover_machine(probe).gpus).front();
}

int ranks_on_host(const RunConfig& config) {
  if (const auto world = world_of(process_environment())) return world->local_size;
  if (!has_rank_threads(config) && !has_rank_processes(config)) return 1;
  SystemProbe probe;
  return static_cast<int>(settings_of_ranks(config, discover_machine(probe).gpus).size());
}

// A launcher has left this process its share of the cores already.
DevicePlan plan_first_rank(const RunConfig& config, const ModelConfig& model, int ranks) {
  const bool is_launched = world_of(process_environment()).has_value();
  return with_cores_of({.size = ranks, .local_size = is_launched ? 1 : ranks},
                       [&] { return plan_run(config, model, ranks); });
}

std::vector<DevicePlan> joined_plans(std::vector<DevicePlan> plans, const DevicesConfig& devices) {
  RolePlan data = plans.front().data;
  int threads = 0;
  for (const DevicePlan& plan : plans) threads += plan.data.threads;
  if (!devices.data_threads) data.threads = threads;
  const DevicePlan first = plans.front();
  for (std::size_t place = 0; place < plans.size(); ++place) {
    DevicePlan& plan = plans[place];
    plan.data = data;
    if (plan.model.gpu) plan.model.gpu->logical = static_cast<int>(place) + 1;
    if (plan.batch_size == first.batch_size && plan.grad_accum == first.grad_accum) continue;
    throw DeviceError(fmt::format(
        "The ranks have room for different batches: {} clips on {}, {} on {}. Give one size for "
        "all, as in --batch-size {}.",
        first.batch_size, place_of(first), plan.batch_size, place_of(plan),
        std::min(first.batch_size, plan.batch_size)));
  }
  return plans;
}

std::vector<DevicePlan> plan_ranks(const RunConfig& config, const ModelConfig& model) {
  SystemProbe probe;
  const std::vector<RunConfig> settings = settings_of_ranks(config, discover_machine(probe).gpus);
  const int size = static_cast<int>(settings.size());
  std::vector<DevicePlan> plans;
  for (int rank = 0; rank < size; ++rank) {
    const World world{.rank = rank, .size = size, .local_rank = rank, .local_size = size};
    plans.push_back(with_cores_of(
        world, [&] { return plan_run(settings[static_cast<std::size_t>(rank)], model, size); }));
  }
  if (config.parallel.ranks && plans.front().model.gpu) {
    throw ConfigError(fmt::format(
        "--ranks {} is for the CPU, and this run would be on a GPU; add --device cpu, or name the "
        "GPUs, as in --data-gpu 0 --gpus 1,2.",
        *config.parallel.ranks));
  }
  return joined_plans(std::move(plans), config.devices);
}

std::vector<DevicePlan> open_unless_open(std::vector<DevicePlan> plans) {
  if (!cuda_plugin_is_open()) return open_devices(std::move(plans));
  for (DevicePlan& plan : plans) plan = with_cuda_facts(plan, require_cuda().devices());
  return plans;
}

std::vector<DevicePlan> open_and_log(std::vector<DevicePlan> plans) {
  say(configuring(plans.front()));
  plans = open_unless_open(std::move(plans));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  say(configured(plans, visible == nullptr ? "" : visible));
  log_info("train", "{}", describe(plans.front()));
  if (plans.size() > 1) {
    log_info("ranks", "{} ranks train one model, {}; one data device feeds them all", plans.size(),
             devices_of(plans));
  }
  return plans;
}

}  // namespace myxtts
