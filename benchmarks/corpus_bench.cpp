// SPDX-License-Identifier: Apache-2.0
// corpus_bench CORPUS VOCABULARY CACHE: opens a corpus and plans its batches, and tells the time
// and the memory that takes. benchmarks/million_clips.py calls it.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "data/batches/batch_plan.h"
#include "data/corpus.h"

namespace {

using namespace myxtts;

// kB of a line such as "VmRSS:  1234 kB".
std::int64_t status_kb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: corpus_bench CORPUS VOCABULARY CACHE\n", stderr);
    return 2;
  }
  const Vocabulary vocabulary = Vocabulary::load(arguments[2]);
  DataConfig config;
  config.train_data = {{.path = arguments[1]}};
  const std::int64_t before = status_kb("VmRSS");
  auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  const Corpus corpus = Corpus::open(config, vocabulary, arguments[3]);
  const double opened = seconds_since(start);
  const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  const auto clips = static_cast<double>(corpus.size());
  const auto bytes = [&](const char* name) {
    return static_cast<double>(status_kb(name) - before) * 1024.0 / clips;
  };
  const double resident = bytes("VmRSS");
  start = std::chrono::steady_clock::now();
  const BatchPlan plan(corpus, GptConfig{}, {.batch_size = 32});
  const double share = plan.useful_share();
  const double planned = seconds_since(start);
  fmt::print(
      "{{\"clips\": {}, \"open_s\": {:.2f}, \"open_cpu_s\": {:.2f}, \"open_bytes_per_clip\": "
      "{:.0f}, ",
      corpus.size(), opened, cpu, resident);
  fmt::print("\"plan_s\": {:.2f}, \"bytes_per_clip\": {:.0f}, \"peak_bytes_per_clip\": {:.0f}, ",
             planned, bytes("VmRSS"), bytes("VmHWM"));
  fmt::print("\"useful_share\": {:.4f}}}\n", share);
  return 0;
}
