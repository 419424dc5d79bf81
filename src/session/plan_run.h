// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "data/layouts/manifest.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "parallel/world.h"

namespace myxtts {

// Throws ConfigError where a recipe goes on from a model (train.init is kInitRequired) and none is
// named.
void require_named_init(const TrainConfig& config);

// --init becomes the model folder that it names, which may be that of a run (find_model()). Left as
// it is where it is gone and --resume does not need it. Throws DataError.
void find_starting_model(RunConfig& config);

// The sizes a run would train: those of --init, whose files are checked, else of --model-size.
// Throws DataError, ConfigError.
ModelConfig sizes_to_train(const TrainConfig& config);

// The same for a run that may be resumed: its newest checkpoint is whole, so that --init may be
// gone.
ModelConfig sizes_of_run(const RunConfig& config);

// The settings with a --batch-size that is no larger than what --train-data lists: no step has more
// clips, so that neither memory nor time is for more.
RunConfig within_corpora(RunConfig config);

// How many speakers --train-data lists, by the rule of SpeakerTable. Throws DataError.
std::int64_t listed_speakers(const DataConfig& data);

// The first clip that --val-data lists, or --train-data without it. Throws DataError.
ManifestEntry first_listed(const DataConfig& data);

// The plan of a run on this machine; opens nothing. Of `ranks` that share the host each may have
// its part of the host's memory. Throws ConfigError, DeviceError.
DevicePlan plan_run(const RunConfig& config, const ModelConfig& model, int ranks = 1);

// How many ranks of a run share this host: those of its launcher, else those of its settings.
int ranks_on_host(const RunConfig& config);

// The plan of the first of them, with its share of the cores too.
DevicePlan plan_first_rank(const RunConfig& config, const ModelConfig& model, int ranks);

// The same as plan_run(), opened: only the planned GPUs are visible to CUDA afterwards, and no
// context is made.
DevicePlan plan_and_open_devices(const RunConfig& config, const ModelConfig& model);

// Opens the devices of a plan unless an earlier part did, which had the same.
std::vector<DevicePlan> open_unless_open(std::vector<DevicePlan> plans);

// The settings without --mode auto: what is planned for everybody who does not ask for it.
RunConfig without_auto(RunConfig config);

// Whether the ranks of a run are threads of this process, fed by one data device: --ranks on the
// CPU, --gpus beside --data-gpu.
bool has_rank_threads(const RunConfig& config);

// Whether they are processes that are to be started: --gpus alone.
bool has_rank_processes(const RunConfig& config);

// The settings of each of those ranks, as if it were alone: its GPU of --gpus is its --model-gpu
// beside --data-gpu, or the only one of its --gpus. Throws DeviceError where --gpus all leaves
// none.
std::vector<RunConfig> settings_of_ranks(const RunConfig& config, const GpuInventory& gpus);

// The settings of a rank that a launcher started, as if it were alone: the GPU of --gpus in its
// place on this host, or of all that are visible; the only one where the launcher shows it no
// other. As they are where it has GPUs of its own by other flags, or none. Throws ConfigError where
// --gpus names fewer than there are ranks, DeviceError where the host has fewer.
RunConfig settings_of_rank(const RunConfig& config, const World& world, const GpuInventory& gpus);

// Of the first of them, on this machine: the others differ by their devices alone. The settings
// themselves where there are none.
RunConfig settings_of_first_rank(const RunConfig& config);

// The plans of ranks as one: a data role that works for all, with the threads of all unless
// --data-threads says how many, and each rank's own model device. Throws DeviceError where their
// batches differ.
std::vector<DevicePlan> joined_plans(std::vector<DevicePlan> plans, const DevicesConfig& devices);

// The plans of those ranks on this machine, each made as a process that has its share of the cores
// would make it. Opens nothing. Throws ConfigError, DeviceError.
std::vector<DevicePlan> plan_ranks(const RunConfig& config, const ModelConfig& model);

// Opens the planned devices of the ranks of this process, and logs what each has.
std::vector<DevicePlan> open_and_log(std::vector<DevicePlan> plans);

}  // namespace myxtts
