// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/measure.h"

#include <array>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <unicode/uversion.h>

#include "audio/sndfile_library.h"
#include "base/error.h"
#include "base/process.h"
#include "text/language.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{} ({})", __clang_major__, __clang_minor__, __clang_patchlevel__,
                     MYXTTS_BUILD_TYPE);
#else
  return fmt::format("GCC {}.{}.{} ({})", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__,
                     MYXTTS_BUILD_TYPE);
#endif
}

std::string icu_version() {
  UVersionInfo version{};
  std::array<char, U_MAX_VERSION_STRING_LENGTH> text{};
  u_getVersion(version);
  u_versionToString(version, text.data());
  return text.data();
}

// Whether the opened library lists a format (or an encoding within formats). It lists only what it
// was built with.
bool lists(const SndfileLibrary& library, int count_command, int entry_command, int wanted) {
  int count = 0;
  library.command(nullptr, count_command, &count, sizeof count);
  for (int index = 0; index < count; ++index) {
    SF_FORMAT_INFO info{};
    info.format = index;
    if (library.command(nullptr, entry_command, &info, sizeof info) == 0 && info.format == wanted) {
      return true;
    }
  }
  return false;
}

TextDataFacts measure_data(const std::optional<fs::path>& folder,
                           std::initializer_list<const char*> files) {
  TextDataFacts facts;
  if (!folder) return facts;
  facts.path = folder->string();
  for (const char* file : files) {
    std::error_code unreadable;
    const auto size = fs::file_size(*folder / file, unreadable);
    if (unreadable || size == 0) {
      facts.missing.emplace_back(file);
    } else {
      facts.bytes += static_cast<std::int64_t>(size);
    }
  }
  return facts;
}

void test_devices(const CudaBackend& backend, CudaFacts& facts) {
  const std::vector<CudaDevice> devices = backend.devices();
  std::vector<std::future<void>> tests;
  for (const CudaDevice& device : devices) {
    tests.push_back(std::async(std::launch::async,
                               [&backend, index = device.index] { backend.self_test(index); }));
  }
  for (std::size_t index = 0; index < tests.size(); ++index) {
    TestedGpu tested{.pci_bus_id = devices[index].pci_bus_id};
    try {
      tests[index].get();
    } catch (const std::exception& error) {
      tested.fault = error.what();
    }
    facts.tested.push_back(std::move(tested));
  }
}

void measure_sound(Findings& findings) {
  LibraryFacts& facts = findings.sound;
  try {
    const SndfileLibrary& library = sndfile_library();
    facts.version = library.version_string();
    facts.path = library.path;
    const auto major = [&library](int format) {
      return lists(library, SFC_GET_FORMAT_MAJOR_COUNT, SFC_GET_FORMAT_MAJOR, format);
    };
    const auto subtype = [&library](int format) {
      return lists(library, SFC_GET_FORMAT_SUBTYPE_COUNT, SFC_GET_FORMAT_SUBTYPE, format);
    };
    // Numbers from the file format's definition: headers before 1.1 do not name MPEG.
    constexpr int kMpeg = 0x230000;
    if (major(SF_FORMAT_WAV)) findings.sound_formats.emplace_back("WAV");
    if (major(SF_FORMAT_FLAC)) findings.sound_formats.emplace_back("FLAC");
    if (subtype(SF_FORMAT_VORBIS)) findings.sound_formats.emplace_back("Vorbis");
    if (subtype(SF_FORMAT_OPUS)) findings.sound_formats.emplace_back("Opus");
    if (major(kMpeg)) findings.sound_formats.emplace_back("MP3");
  } catch (const DataError& error) {
    facts.fault = error.what();
  }
}

// Runs a kernel on every GPU at once. Never throws: what fails is a fault.
CudaFacts measure_cuda(const CudaPlugin& plugin) {
  CudaFacts facts{
      .plugin_present = plugin.present, .reason = plugin.reason, .remedy = plugin.remedy};
  if (plugin.backend == nullptr) return facts;
  try {
    facts.runtime_version = plugin.backend->runtime_version();
    facts.libtorch_devices = plugin.backend->libtorch_device_count();
    test_devices(*plugin.backend, facts);
  } catch (const std::exception& error) {
    facts.faults.emplace_back(error.what());
  }
  return facts;
}

}  // namespace

Findings measure(MachineProbe& probe, const CudaPlugin& plugin, const fs::path& folder) {
  Findings findings;
  findings.program_version = MYXTTS_VERSION;
  findings.compiler = compiler();
  findings.machine = discover_machine(probe);
  findings.cuda = measure_cuda(plugin);
  findings.disk = probe.disk(folder);
  measure_sound(findings);
  findings.icu_version = icu_version();
  findings.japanese =
      measure_data(find_text_data("unidic"), {"sys.dic", "matrix.bin", "char.bin", "unk.dic"});
  findings.chinese =
      measure_data(find_text_data("pypinyin"), {"pinyin_dict.json", "phrases_dict.json"});
  findings.speech = measure_data(find_data("sound", "silero-vad", "MYXTTS_SOUND_DATA"),
                                 {"silero_vad_16k.safetensors"});
  return findings;
}

}  // namespace myxtts
