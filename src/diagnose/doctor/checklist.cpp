// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/checklist.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/message_text.h"
#include "device/cuda_plugin.h"
#include "diagnose/report/markup.h"

namespace myxtts {
namespace {

constexpr const char* kGpuUse = "every command on a GPU";
constexpr int kLeastCapability = 75;  // Turing

std::string cuda_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

// 580 of "580.65.06"; 0 when it does not start with a number.
int major_of(const std::string& version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

Check check_plugin(const CudaFacts& cuda) {
  Check check{.id = "cuda_plugin", .name = "CUDA plugin", .needed_by = kGpuUse};
  if (!cuda.reason.empty()) {
    check.verdict = Verdict::Fail;
    check.found = (cuda.plugin_present ? "built; " : "") + cuda.reason;
    check.remedy = cuda.remedy;
    return check;
  }
  check.found = cuda_text(cuda.runtime_version);
  if (!cuda.working_devices.empty()) {
    check.found +=
        fmt::format("; our kernels run on GPU {}", fmt::join(cuda.working_devices, ", "));
  }
  const auto working = static_cast<int>(cuda.working_devices.size());
  if (cuda.faults.empty() && working == cuda.libtorch_devices && working > 0) return check;
  check.verdict = Verdict::Warn;
  if (working != cuda.libtorch_devices) {
    check.found += fmt::format("; LibTorch sees {} GPUs", cuda.libtorch_devices);
  }
  for (const std::string& fault : cuda.faults) check.found += "; " + fault;
  check.remedy = "See the rows of the driver and the GPUs";
  return check;
}

Check check_driver(const GpuInventory& gpus) {
  Check check{.id = "driver", .name = "NVIDIA driver", .needed_by = kGpuUse};
  if (!gpus.driver_found) {
    check.verdict = Verdict::Fail;
    check.found = "none: " + gpus.driver_fault;
    check.remedy =
        fmt::format("For a GPU install NVIDIA's driver, version {} or newer", kMinimumDriver);
    return check;
  }
  check.found = gpus.driver_version;
  if (gpus.cuda_version > 0)
    check.found += fmt::format(" (up to {})", cuda_text(gpus.cuda_version));
  for (const std::string& fault : gpus.faults) {
    check.verdict = Verdict::Warn;
    check.found += "; " + fault;
  }
  const int major = major_of(gpus.driver_version);
  if (major > 0 && major < kMinimumDriver) {
    check.verdict = Verdict::Fail;
    check.found += "; too old for CUDA 13.0";
    check.remedy = fmt::format("Install NVIDIA's driver, version {} or newer", kMinimumDriver);
  }
  return check;
}

std::string describe(const GpuInfo& gpu) {
  std::string text = gpu.name.empty() ? "without a name" : gpu.name;
  if (gpu.memory_total_bytes && gpu.memory_free_bytes) {
    text += fmt::format(", {} ({} free)", human_size(*gpu.memory_total_bytes),
                        human_size(*gpu.memory_free_bytes));
  }
  if (gpu.capability_major && gpu.capability_minor) {
    text += fmt::format(", capability {}.{}", *gpu.capability_major, *gpu.capability_minor);
  }
  if (gpu.utilisation_percent) text += fmt::format(", {} % busy", *gpu.utilisation_percent);
  if (gpu.power_watts) text += fmt::format(", {:.0f} W", *gpu.power_watts);
  if (gpu.power_watts && gpu.power_limit_watts) {
    text += fmt::format(" of {:.0f}", *gpu.power_limit_watts);
  }
  if (!gpu.pci_bus_id.empty()) text += ", at " + gpu.pci_bus_id;
  return text;
}

Check check_gpu(const GpuInfo& gpu) {
  Check check{.id = fmt::format("gpu{}", gpu.index),
              .name = fmt::format("GPU {}", gpu.index),
              .found = describe(gpu),
              .needed_by = kGpuUse};
  if (gpu.capability_major && gpu.capability_minor &&
      *gpu.capability_major * 10 + *gpu.capability_minor < kLeastCapability) {
    check.verdict = Verdict::Fail;
    check.found += "; too old: Turing (capability 7.5) is the first that CUDA 13 serves";
    check.remedy = "Use another GPU, or --device cpu";
  }
  for (const std::string& fault : gpu.faults) {
    check.verdict = std::max(check.verdict, Verdict::Warn);
    check.found += "; " + fault;
  }
  return check;
}

void add_gpus(const GpuInventory& inventory, Checks& checks) {
  if (inventory.gpus.empty()) {
    checks.push_back({.id = "gpus", .name = "GPUs", .found = "none", .needed_by = kGpuUse});
    checks.back().verdict = Verdict::Fail;
  }
  for (const GpuInfo& gpu : inventory.gpus) checks.push_back(check_gpu(gpu));
  if (!inventory.links.empty()) {
    std::vector<std::string> paths;
    for (const GpuLink& link : inventory.links) {
      paths.push_back(fmt::format("{}-{} {}", link.first, link.second, short_name(link)));
    }
    checks.push_back({.id = "links",
                      .name = "between GPUs",
                      .found = fmt::format("{}", fmt::join(paths, ", ")),
                      .needed_by = "--data-gpu with --model-gpu"});
  }
  if (inventory.visible_devices) {
    checks.push_back({.id = "visible_devices",
                      .name = "visible GPUs",
                      .found = "CUDA_VISIBLE_DEVICES=" + *inventory.visible_devices +
                               "; GPU numbers on the command line count in that list",
                      .needed_by = kGpuUse});
  }
}

// Adds the rows that a run on a GPU depends on: driver, CUDA plugin, each GPU, how they are
// connected.
void add_gpu_checks(const Findings& findings, Checks& checks) {
  checks.push_back(check_driver(findings.machine.gpus));
  checks.push_back(check_plugin(findings.cuda));
  add_gpus(findings.machine.gpus, checks);
}

constexpr const char* kEverything = "every command";
constexpr const char* kComputing = "every command that computes";

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr std::int64_t kLeastDisk = 1 * kGigabyte;    // one tiny model and its log
constexpr std::int64_t kGoodDisk = 20 * kGigabyte;    // three checkpoints of the xtts-v2 size
constexpr std::int64_t kLeastMemory = 2 * kGigabyte;  // LibTorch and a tiny model
constexpr std::int64_t kGoodMemory = 8 * kGigabyte;   // the xtts-v2 size, to speak with

Check check_libtorch(const LibraryFacts& libtorch) {
  Check check{.id = "libtorch",
              .name = "LibTorch",
              .found = fmt::format("{} from {}", libtorch.version, libtorch.path),
              .needed_by = kComputing,
              .cpu_run_needs_it = true};
  if (libtorch.version != libtorch.built_against) {
    check.verdict = Verdict::Warn;
    check.found += fmt::format("; this program was built for {}", libtorch.built_against);
    check.remedy = "Type: tools/setup";
  }
  return check;
}

Check check_cpu(const CpuInfo& cpu) {
  std::string found =
      fmt::format("{}, {} cores, {} threads", cpu.model.empty() ? "unknown model" : cpu.model,
                  cpu.physical_cores, cpu.logical_cores);
  if (cpu.quota > 0.0) found += fmt::format(", the container allows {:.1f}", cpu.quota);
  return {.id = "cpu",
          .name = "processor",
          .found = found,
          .needed_by = kEverything,
          .cpu_run_needs_it = true};
}

Check check_memory(const MemoryInfo& memory) {
  Check check{.id = "memory",
              .name = "memory",
              .found = fmt::format("{} available of {}{}", human_size(memory.available_bytes),
                                   human_size(memory.total_bytes),
                                   memory.limited_by_container ? " the container allows" : ""),
              .needed_by = kComputing,
              .cpu_run_needs_it = true};
  if (memory.available_bytes < kLeastMemory) {
    check.verdict = Verdict::Fail;
    check.remedy = fmt::format("Free memory: {} are needed", human_size(kLeastMemory));
  } else if (memory.available_bytes < kGoodMemory) {
    check.verdict = Verdict::Warn;
    check.remedy = fmt::format("The xtts-v2 size wants {}", human_size(kGoodMemory));
  }
  return check;
}

Check check_disk(const DiskInfo& disk) {
  Check check{.id = "disk",
              .name = "free disk",
              .found = fmt::format("{} of {} at {}", human_size(disk.free_bytes),
                                   human_size(disk.total_bytes), disk.folder.string()),
              .needed_by = "every command that writes",
              .cpu_run_needs_it = true};
  if (!disk.fault.empty()) check.found = disk.folder.string() + ": " + disk.fault;
  if (disk.free_bytes < kLeastDisk) {
    check.verdict = Verdict::Fail;
    check.remedy = fmt::format("Free {} here, or work in another folder", human_size(kLeastDisk));
  } else if (disk.free_bytes < kGoodDisk) {
    check.verdict = Verdict::Warn;
    check.remedy = fmt::format("Models of the xtts-v2 size want {}", human_size(kGoodDisk));
  }
  return check;
}

Check check_sound(const LibraryFacts& sound, const std::vector<std::string>& formats) {
  Check check{.id = "sound",
              .name = "sound library",
              .needed_by = "encode, and every command that reads or writes audio",
              .cpu_run_needs_it = true};
  if (!sound.fault.empty()) {
    check.verdict = Verdict::Fail;
    check.found = sound.fault;
    check.remedy = "Type: apt install libsndfile1";
    return check;
  }
  check.found = fmt::format("{}: {}", sound.version, fmt::join(formats, ", "));
  for (const char* format : {"Opus", "MP3"}) {
    if (std::count(formats.begin(), formats.end(), format) > 0) continue;
    check.verdict = Verdict::Warn;
    check.found += fmt::format("; no {}", format);
    check.remedy = "Convert such files to WAV or FLAC, or install libsndfile 1.1 or newer";
  }
  return check;
}

Check check_text_data(const TextDataFacts& data, Check check) {
  if (data.path.empty()) {
    check.verdict = Verdict::Fail;
    check.found = "not installed";
  } else if (!data.missing.empty()) {
    check.verdict = Verdict::Fail;
    check.found = fmt::format("{} lacks {}", data.path, fmt::join(data.missing, ", "));
  } else {
    check.found = fmt::format("{} in {}", human_size(data.bytes), data.path);
    return check;
  }
  check.remedy = "Type tools/setup in the checkout, or name its folder in MYXTTS_TEXT_DATA";
  return check;
}

// How doctor writes a verdict.
std::string state_of(Verdict verdict) {
  if (verdict == Verdict::Pass) return "ok";
  return verdict == Verdict::Warn ? "warning" : "missing";
}

// nvidia-smi's matrix: one row and one column for each GPU.
std::string topology_matrix(const GpuInventory& inventory) {
  const auto path = [&inventory](int one, int other) {
    if (one == other) return std::string("X");
    for (const GpuLink& link : inventory.links) {
      if (link.first == std::min(one, other) && link.second == std::max(one, other)) {
        return short_name(link);
      }
    }
    return std::string("?");
  };
  std::string layout = "  <6";
  Rows rows{{""}};
  for (const GpuInfo& gpu : inventory.gpus) {
    const std::string name = fmt::format("GPU {}", gpu.index);
    layout += "<7";
    rows.front().push_back(name);
    auto& row = rows.emplace_back(std::vector{name});
    for (const GpuInfo& other : inventory.gpus) row.push_back(path(gpu.index, other.index));
  }
  return table_text(layout, rows);
}

std::vector<std::string> missing(const Checks& checklist, bool for_cpu) {
  std::vector<std::string> names;
  for (const Check& check : checklist) {
    if (check.verdict == Verdict::Fail && check.cpu_run_needs_it == for_cpu) {
      names.push_back(check.name);
    }
  }
  return names;
}

std::string conclusion(const CudaFacts& cuda, const Checks& checklist) {
  const auto for_cpu = missing(checklist, true);
  const auto for_more = missing(checklist, false);
  std::string text = for_cpu.empty()
                         ? "Everything that a run on the CPU needs is here."
                         : fmt::format("Missing for any run: {}.", fmt::join(for_cpu, ", "));
  if (!cuda.working_devices.empty()) {
    text += fmt::format(" Usable GPUs: {}.", fmt::join(cuda.working_devices, ", "));
  }
  if (!for_more.empty()) text += fmt::format(" Not here: {}.", fmt::join(for_more, ", "));
  return text;
}

}  // namespace

Checks make_checklist(const Findings& findings) {
  Checks checks;
  checks.push_back({.id = "compiler",
                    .name = "compiled by",
                    .found = findings.compiler,
                    .needed_by = kEverything,
                    .cpu_run_needs_it = true});
  checks.push_back(check_libtorch(findings.libtorch));
  checks.push_back(check_cpu(findings.machine.cpu));
  checks.push_back(check_memory(findings.machine.memory));
  checks.push_back(check_disk(findings.disk));
  checks.push_back(check_sound(findings.sound, findings.sound_formats));
  checks.push_back({.id = "icu",
                    .name = "Unicode (ICU)",
                    .found = findings.icu_version,
                    .needed_by = "tokenize, and every command that reads text",
                    .cpu_run_needs_it = true});
  checks.push_back(
      check_text_data(findings.japanese,
                      {.id = "japanese", .name = "Japanese words", .needed_by = "--language ja"}));
  checks.push_back(check_text_data(
      findings.chinese, {.id = "chinese", .name = "Chinese sounds", .needed_by = "--language zh"}));
  add_gpu_checks(findings, checks);
  return checks;
}

bool can_run_on_cpu(const Checks& checklist) {
  return std::none_of(checklist.begin(), checklist.end(), [](const Check& check) {
    return check.cpu_run_needs_it && check.verdict == Verdict::Fail;
  });
}

std::string report_text(const Findings& findings, const Checks& checklist) {
  std::string text = fmt::format("myxtts {}\n\n", findings.program_version) +
                     describe(checklist, longest_name(checklist), state_of);
  if (findings.machine.gpus.gpus.size() > 1) text += "\n" + topology_matrix(findings.machine.gpus);
  return text + "\n" + conclusion(findings.cuda, checklist) + "\n";
}

std::string report_json(const Findings& findings, const Checks& checklist) {
  Json report;
  report["version"] = findings.program_version;
  report["can_run_on_cpu"] = can_run_on_cpu(checklist);
  report["checks"] = Json::array();
  for (const Check& check : checklist) {
    report["checks"].push_back({{"id", check.id},
                                {"name", check.name},
                                {"state", state_of(check.verdict)},
                                {"found", check.found},
                                {"needed_by", check.needed_by},
                                {"cpu_run_needs_it", check.cpu_run_needs_it},
                                {"remedy", check.remedy}});
  }
  return json_text(report);
}

}  // namespace myxtts
