// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for NVIDIA's management library, opened in its place. What it answers is set by
// environment variables, so that one build can be any machine:
//   FAKE_NVML_NAMES     "NVIDIA H200;NVIDIA L4": one GPU for each name
//   FAKE_NVML_DRIVER    driver version          FAKE_NVML_CUDA    newest CUDA version, 13000
//   FAKE_NVML_FAIL      "nvmlDeviceGetName=999,nvmlInit_v2=9": functions that fail, with their
//   result FAKE_NVML_BROKEN    index of the GPU those failures are limited to (functions of a
//   device) FAKE_NVML_ANCESTOR  topology level between any two GPUs (10 PIX ... 50 SYS)
//   FAKE_NVML_PEER      what nvmlDeviceGetP2PStatus says: 0 yes, else why not
//   FAKE_NVML_NVLINKS   active links of each GPU; FAKE_NVML_SWITCH=1: they lead to a switch
// Built with FAKE_NVML_OLD it lacks the functions that came later.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string setting(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  std::istringstream list(setting("FAKE_NVML_NAMES"));
  for (std::string name; std::getline(list, name, ';');) all.push_back(name);
  return all;
}

// Handles count from 1, so that none is null.
int index_of(void* device) {
  return static_cast<int>(reinterpret_cast<std::size_t>(device)) - 1;
}

int failure(const std::string& function) {
  std::istringstream list(setting("FAKE_NVML_FAIL"));
  for (std::string entry; std::getline(list, entry, ',');) {
    const auto equals = entry.find('=');
    if (entry.substr(0, equals) == function) return std::atoi(entry.c_str() + equals + 1);
  }
  return 0;
}

int failure(const std::string& function, void* device) {
  const std::string broken = setting("FAKE_NVML_BROKEN");
  if (!broken.empty() && std::stoi(broken) != index_of(device)) return 0;
  return failure(function);
}

struct PciInfo {
  std::array<char, 16> legacy;
  std::array<unsigned, 5> numbers;
  std::array<char, 32> bus_id;
};

void write_bus_id(int index, PciInfo* info) {
  std::snprintf(info->bus_id.data(), info->bus_id.size(), "00000000:%02X:00.0", 0x10 + index);
}

void write(const std::string& text, char* into, unsigned size) {
  std::snprintf(into, size, "%s", text.c_str());
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return failure("nvmlInit_v2");
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : result == 3 ? "Not Supported" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* into, unsigned size) {
  write(setting("FAKE_NVML_DRIVER", "580.65.06"), into, size);
  return failure("nvmlSystemGetDriverVersion");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = std::stoi(setting("FAKE_NVML_CUDA", "13000"));
  return failure("nvmlSystemGetCudaDriverVersion_v2");
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(names().size());
  return failure("nvmlDeviceGetCount_v2");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return failure("nvmlDeviceGetHandleByIndex_v2", *device);
}
int nvmlDeviceGetName(void* device, char* into, unsigned size) {
  write(names().at(static_cast<std::size_t>(index_of(device))), into, size);
  return failure("nvmlDeviceGetName", device);
}
int nvmlDeviceGetUUID(void* device, char* into, unsigned size) {
  write("GPU-0000000" + std::to_string(index_of(device)), into, size);
  return failure("nvmlDeviceGetUUID", device);
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  write_bus_id(index_of(device), info);
  return failure("nvmlDeviceGetPciInfo_v3", device);
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  const bool big =
      names().at(static_cast<std::size_t>(index_of(device))).find("H200") != std::string::npos;
  total_free_used[0] = big ? 150'754'820'096ULL : 24'152'899'584ULL;
  total_free_used[1] = total_free_used[0] - 1'000'000'000ULL;
  total_free_used[2] = 1'000'000'000ULL;
  return failure("nvmlDeviceGetMemoryInfo", device);
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_memory) {
  gpu_memory[0] = 7;
  gpu_memory[1] = 3;
  return failure("nvmlDeviceGetUtilizationRates", device);
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  const bool big =
      names().at(static_cast<std::size_t>(index_of(device))).find("H200") != std::string::npos;
  *major = big ? 9 : 8;
  *minor = big ? 0 : 9;
  return failure("nvmlDeviceGetCudaComputeCapability", device);
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, int* level) {
  *level = std::stoi(setting("FAKE_NVML_ANCESTOR", "50"));
  return failure("nvmlDeviceGetTopologyCommonAncestor");
}

#ifndef FAKE_NVML_OLD
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 76'500;
  return failure("nvmlDeviceGetPowerUsage", device);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return failure("nvmlDeviceGetEnforcedPowerLimit", device);
}
int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = std::stoi(setting("FAKE_NVML_PEER", "0"));
  return failure("nvmlDeviceGetP2PStatus");
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  const auto links = static_cast<unsigned>(std::stoi(setting("FAKE_NVML_NVLINKS", "0")));
  *active = link < links ? 1 : 0;
  return links == 0 ? 3 : 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = setting("FAKE_NVML_SWITCH") == "1" ? 2 : 0;
  return 0;
}
// Links go to the next GPU, the last one's to the first.
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* info) {
  write_bus_id((index_of(device) + 1) % static_cast<int>(names().size()), info);
  return 0;
}
#endif

}  // extern "C"
