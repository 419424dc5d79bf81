// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/checklist.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human.h"
#include "diagnose/doctor/gpu_checks.h"

namespace myxtts {
namespace {

std::string size_text(std::int64_t bytes) {
  return human_size(static_cast<std::uint64_t>(bytes));
}

constexpr const char* kEverything = "every command";
constexpr const char* kComputing = "every command that computes";

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr std::int64_t kLeastDisk = 1 * kGigabyte;    // one tiny model and its log
constexpr std::int64_t kGoodDisk = 20 * kGigabyte;    // three checkpoints of the xtts-v2 size
constexpr std::int64_t kLeastMemory = 2 * kGigabyte;  // LibTorch and a tiny model
constexpr std::int64_t kGoodMemory = 8 * kGigabyte;   // the xtts-v2 size, to speak with

Check check_libtorch(const LibTorchFacts& libtorch) {
  Check check{.id = "libtorch",
              .name = "LibTorch",
              .found = fmt::format("{} from {}", libtorch.version, libtorch.path),
              .needed_by = kComputing,
              .cpu_run_needs_it = true};
  if (libtorch.version != libtorch.built_against) {
    check.state = CheckState::Warning;
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
              .found = fmt::format("{} available of {}{}", size_text(memory.available_bytes),
                                   size_text(memory.total_bytes),
                                   memory.limited_by_container ? " the container allows" : ""),
              .needed_by = kComputing,
              .cpu_run_needs_it = true};
  if (memory.available_bytes < kLeastMemory) {
    check.state = CheckState::Missing;
    check.remedy = fmt::format("Free memory: {} are needed", size_text(kLeastMemory));
  } else if (memory.available_bytes < kGoodMemory) {
    check.state = CheckState::Warning;
    check.remedy = fmt::format("The xtts-v2 size wants {}", size_text(kGoodMemory));
  }
  return check;
}

Check check_disk(const DiskInfo& disk) {
  Check check{.id = "disk",
              .name = "free disk",
              .found = fmt::format("{} of {} at {}", size_text(disk.free_bytes),
                                   size_text(disk.total_bytes), disk.folder.string()),
              .needed_by = "every command that writes",
              .cpu_run_needs_it = true};
  if (!disk.fault.empty()) check.found = disk.folder.string() + ": " + disk.fault;
  if (disk.free_bytes < kLeastDisk) {
    check.state = CheckState::Missing;
    check.remedy = fmt::format("Free {} here, or work in another folder", size_text(kLeastDisk));
  } else if (disk.free_bytes < kGoodDisk) {
    check.state = CheckState::Warning;
    check.remedy = fmt::format("Models of the xtts-v2 size want {}", size_text(kGoodDisk));
  }
  return check;
}

Check check_sound(const SoundFacts& sound) {
  Check check{.id = "sound",
              .name = "sound library",
              .needed_by = "encode, and every command that reads or writes audio",
              .cpu_run_needs_it = true};
  if (!sound.fault.empty()) {
    check.state = CheckState::Missing;
    check.found = sound.fault;
    check.remedy = "Type: apt install libsndfile1";
    return check;
  }
  check.found = fmt::format("{}: {}", sound.version, fmt::join(sound.formats, ", "));
  for (const char* format : {"Opus", "MP3"}) {
    if (std::count(sound.formats.begin(), sound.formats.end(), format) > 0) continue;
    check.state = CheckState::Warning;
    check.found += fmt::format("; no {}", format);
    check.remedy = "Convert such files to WAV or FLAC, or install libsndfile 1.1 or newer";
  }
  return check;
}

Check check_text_data(const TextDataFacts& data, Check check) {
  if (data.path.empty()) {
    check.state = CheckState::Missing;
    check.found = "not installed";
  } else if (!data.missing.empty()) {
    check.state = CheckState::Missing;
    check.found = fmt::format("{} lacks {}", data.path, fmt::join(data.missing, ", "));
  } else {
    check.found = fmt::format("{} in {}", size_text(data.bytes), data.path);
    return check;
  }
  check.remedy = "Type tools/setup in the checkout, or name its folder in MYXTTS_TEXT_DATA";
  return check;
}

}  // namespace

std::string name_of(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "ok";
    case CheckState::Warning:
      return "warning";
    case CheckState::Missing:
      return "missing";
  }
  return "missing";
}

std::vector<Check> make_checklist(const Findings& findings) {
  std::vector<Check> checks;
  checks.push_back({.id = "compiler",
                    .name = "compiled by",
                    .found = findings.compiler,
                    .needed_by = kEverything,
                    .cpu_run_needs_it = true});
  checks.push_back(check_libtorch(findings.libtorch));
  checks.push_back(check_cpu(findings.machine.cpu));
  checks.push_back(check_memory(findings.machine.memory));
  checks.push_back(check_disk(findings.disk));
  checks.push_back(check_sound(findings.sound));
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

bool can_run_on_cpu(const std::vector<Check>& checklist) {
  return std::none_of(checklist.begin(), checklist.end(), [](const Check& check) {
    return check.cpu_run_needs_it && check.state == CheckState::Missing;
  });
}

}  // namespace myxtts
