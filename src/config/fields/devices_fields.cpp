// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"
#include "config/fields/sections.h"

namespace myxtts {

void add_devices_fields(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "devices.device",
       .flag = "--device",
       .placeholder = "KIND",
       .group = "Devices",
       .sentence = "What to compute on; auto takes a GPU where there is one.",
       .commands = kCorpusCommands},
      MYXTTS_MEMBER(devices.device),
      one_of<DeviceKind>(
          {{"auto", DeviceKind::Auto}, {"cpu", DeviceKind::Cpu}, {"cuda", DeviceKind::Cuda}})));
  fields.push_back(
      bind({.key = "devices.mode",
            .flag = "--mode",
            .placeholder = "MODE",
            .group = "Devices",
            .sentence = "How data work and training share the devices; auto measures and takes the "
                        "fastest, none follows from the other device settings."},
           MYXTTS_MEMBER(devices.mode),
           one_of<Mode>({{"auto", Mode::Auto},
                         {"dual", Mode::Dual},
                         {"single", Mode::Single},
                         {"split", Mode::Split},
                         {"cpu", Mode::Cpu}}),
           "none"));
  fields.push_back(
      bind({.key = "devices.split_gpu",
            .flag = "--split-gpu",
            .placeholder = "N[:SMS]",
            .group = "Devices",
            .sentence = "One GPU used as two, with so many of its multiprocessors for data work."},
           MYXTTS_MEMBER(devices.split_gpu), gpu_with_multiprocessors(), "none"));
  fields.push_back(
      bind({.key = "devices.transfer_path",
            .flag = "--transfer-path",
            .placeholder = "PATH",
            .group = "Devices",
            .sentence = "How batches go from the data GPU to the model GPU: from card to card, or "
                        "through host memory."},
           MYXTTS_MEMBER(devices.transfer_path),
           one_of<TransferPath>({{"auto", TransferPath::Auto},
                                 {"peer", TransferPath::Peer},
                                 {"host", TransferPath::Host}})));
  fields.push_back(bind({.key = "devices.enable_memory_isolation",
                         .flag = "--enable-memory-isolation",
                         .negative_flag = "--disable-memory-isolation",
                         .group = "Devices",
                         .sentence = "Give data work and training a memory cap each."},
                        MYXTTS_MEMBER(devices.enable_memory_isolation), true_or_false()));
  fields.push_back(
      bind({.key = "devices.data_gpu_memory",
            .flag = "--data-gpu-memory",
            .placeholder = "MB",
            .group = "Devices",
            .sentence = "The cap on GPU memory for data work, in MB of 1,048,576 bytes."},
           MYXTTS_MEMBER(devices.data_gpu_memory), integer_between(256, 1'048'576), "auto"));
  fields.push_back(
      bind({.key = "devices.model_gpu_memory",
            .flag = "--model-gpu-memory",
            .placeholder = "MB",
            .group = "Devices",
            .sentence = "The cap on GPU memory for training, in MB of 1,048,576 bytes."},
           MYXTTS_MEMBER(devices.model_gpu_memory), integer_between(256, 1'048'576), "auto"));
  fields.push_back(
      bind({.key = "devices.data_threads",
            .flag = "--data-threads",
            .placeholder = "N",
            .group = "Devices",
            .sentence = "Threads that compute features on the CPU; auto takes a quarter of the "
                        "cores."},
           MYXTTS_MEMBER(devices.data_threads), integer_between(1, 1024), "auto"));
  fields.push_back(bind({.key = "devices.model_threads",
                         .flag = "--model-threads",
                         .placeholder = "N",
                         .group = "Devices",
                         .sentence = "Threads that train on the CPU; auto takes the other cores."},
                        MYXTTS_MEMBER(devices.model_threads), integer_between(1, 1024), "auto"));
}

}  // namespace myxtts
