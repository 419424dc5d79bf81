// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/checklist.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/message_text.h"
#include "diagnose/doctor/gpu_rows.h"
#include "diagnose/report/markup.h"

namespace myxtts {
namespace {

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

Check check_data(const TextDataFacts& data, const char* variable, Check check) {
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
  check.remedy =
      fmt::format("Type tools/setup in the checkout, or name its folder in {}", variable);
  return check;
}

bool is_a_gpu(const Check& check) {
  return check.id.starts_with("gpu") && check.id != "gpus";
}

// How doctor writes a verdict. A card that has a row is there.
std::string state_of(const Check& check) {
  if (check.verdict == Verdict::Pass) return "ok";
  if (check.verdict == Verdict::Warn) return "warning";
  return is_a_gpu(check) ? "failed" : "missing";
}

// The names of what is missing, and belongs to `which`.
template <typename Which>
std::string missing(const Checks& checklist, const Which& which) {
  std::vector<std::string> names;
  for (const Check& check : checklist) {
    if (check.verdict == Verdict::Fail && which(check)) names.push_back(check.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string conclusion(const std::vector<NumberedGpu>& gpus, const Checks& checklist) {
  const auto for_cpu =
      missing(checklist, [](const Check& check) { return check.cpu_run_needs_it; });
  const auto for_more = missing(
      checklist, [](const Check& check) { return !check.cpu_run_needs_it && !is_a_gpu(check); });
  const auto broken = missing(checklist, is_a_gpu);
  std::string text = for_cpu.empty() ? "Everything that a run on the CPU needs is here."
                                     : fmt::format("Missing for any run: {}.", for_cpu);
  text += fmt::format(" Usable GPUs: {}.", usable_gpus(gpus));
  if (!broken.empty()) text += fmt::format(" Not usable: {}.", broken);
  if (!for_more.empty()) text += fmt::format(" Not here: {}.", for_more);
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
      check_data(findings.japanese, "MYXTTS_TEXT_DATA",
                 {.id = "japanese", .name = "Japanese words", .needed_by = "--language ja"}));
  checks.push_back(
      check_data(findings.chinese, "MYXTTS_TEXT_DATA",
                 {.id = "chinese", .name = "Chinese sounds", .needed_by = "--language zh"}));
  checks.push_back(check_data(findings.speech, "MYXTTS_SOUND_DATA",
                              {.id = "speech", .name = "speech finder", .needed_by = "clips"}));
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
  const auto gpus = numbered_gpus(findings);
  if (gpus.size() > 1) text += "\n" + topology_matrix(findings.machine.gpus, gpus);
  return text + "\n" + conclusion(gpus, checklist) + "\n";
}

std::string report_json(const Findings& findings, const Checks& checklist) {
  Json report;
  report["version"] = findings.program_version;
  report["can_run_on_cpu"] = can_run_on_cpu(checklist);
  report["checks"] = Json::array();
  for (const Check& check : checklist) {
    report["checks"].push_back({{"id", check.id},
                                {"name", check.name},
                                {"state", state_of(check)},
                                {"found", check.found},
                                {"needed_by", check.needed_by},
                                {"cpu_run_needs_it", check.cpu_run_needs_it},
                                {"remedy", check.remedy}});
  }
  return json_text(report);
}

}  // namespace myxtts
