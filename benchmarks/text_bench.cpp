// SPDX-License-Identifier: Apache-2.0
//
// How fast one thread cleans and tokenises; benchmarks/text_bench.py runs it beside the peer.
//
//   text_bench VOCABULARY LANGUAGE SENTENCES SECONDS
//
// SENTENCES is a file of one sentence per line. They are encoded over and over for at least so many
// seconds of processor time, after one round that reads the tables a language needs. Prints
//
//   SENTENCES_PER_SECOND MEGABYTES_PER_SECOND IDS_PER_ROUND
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "text/language.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) throw DataError(fmt::format("{} holds no sentences.", path));
  return lines;
}

std::size_t encode_all(const TextEncoder& encoder, const std::vector<std::string>& lines) {
  std::size_t ids = 0;
  for (const std::string& line : lines) ids += encoder.encode(line).ids.size();
  return ids;
}

void measure(const TextEncoder& encoder, const std::vector<std::string>& lines, double at_least) {
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  const std::size_t ids = encode_all(encoder, lines);
  const double start = processor_seconds();
  double taken = 0;
  int rounds = 0;
  for (; taken < at_least; taken = processor_seconds() - start, ++rounds) {
    MYXTTS_CHECK(encode_all(encoder, lines) == ids, "two rounds differ");
  }
  fmt::print("{:.1f} {:.4f} {}\n", static_cast<double>(lines.size()) * rounds / taken,
             static_cast<double>(bytes) * rounds / taken / 1e6, ids);
}

}  // namespace
}  // namespace myxtts

int main(int count, char** arguments) {
  if (count != 5) {
    fmt::print(stderr, "Usage: text_bench VOCABULARY LANGUAGE SENTENCES SECONDS\n");
    return 2;
  }
  try {
    const auto vocabulary = myxtts::Vocabulary::load(arguments[1]);
    const myxtts::TextEncoder encoder(vocabulary, myxtts::parse_language(arguments[2]));
    myxtts::measure(encoder, myxtts::read_lines(arguments[3]), std::atof(arguments[4]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
