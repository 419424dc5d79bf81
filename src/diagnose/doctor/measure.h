// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "device/cuda_plugin.h"
#include "device/machine.h"

namespace myxtts {

// What doctor measured. Nothing in here is judged: checklist.h does that.

// A library that this program loads.
struct LibraryFacts {
  std::string version = {};
  std::string built_against = {};  // LibTorch: of the headers this program was compiled with
  std::string path = {};           // the file that is loaded
  std::string fault = {};          // why it cannot be used; empty: it can
};

// A GPU that CUDA shows, and whether it ran our test kernel.
struct TestedGpu {
  std::string pci_bus_id = {};
  std::string fault = {};  // empty: it did
};

// The CUDA plugin, and what it says of the GPUs once it is open.
struct CudaFacts {
  bool plugin_present = false;  // the file is there
  std::string reason = {};      // why it is not open; empty: it is
  std::string remedy = {};
  int runtime_version = 0;   // 13000 is 13.0
  int libtorch_devices = 0;  // how many GPUs LibTorch can compute on
  std::vector<TestedGpu> tested = {};
  std::vector<std::string> faults = {};  // what failed for all after the plugin was opened
};

// A folder of files that a language needs.
struct TextDataFacts {
  std::string path = {};                  // empty: the folder is not there
  std::vector<std::string> missing = {};  // files that should be in it
  std::int64_t bytes = 0;
};

struct Findings {
  std::string program_version = {};
  std::string compiler = {};
  LibraryFacts libtorch = {};
  Machine machine = {};
  CudaFacts cuda = {};
  DiskInfo disk = {};
  LibraryFacts sound = {};                      // libsndfile
  std::vector<std::string> sound_formats = {};  // of "WAV", "FLAC", "Vorbis", "Opus", "MP3"
  std::string icu_version = {};
  TextDataFacts japanese = {};
  TextDataFacts chinese = {};
  TextDataFacts speech = {};  // the weights that find it
};

// Of the LibTorch that is loaded into this process.
LibraryFacts libtorch_facts();

// Measures everything but LibTorch, which only programs linked to it can ask: fill in
// Findings::libtorch with libtorch_facts(). `folder` is where free disk space is asked for.
Findings measure(MachineProbe& probe, const CudaPlugin& plugin,
                 const std::filesystem::path& folder);

}  // namespace myxtts
