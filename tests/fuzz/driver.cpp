// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer, as tools/test does in the build with sanitizers:
//
//   fuzz_NAME FILE...                          each file once: to see a fault again
//   fuzz_NAME --runs N SEEDS [DICTIONARY]      each seed, then mutations of them, N inputs in all
//
// The mutations are the same in every run. An input that ends the program, takes more than 5 s of
// the processor or asks for more than 1 GB at once is written to fault-NAME in the working
// directory.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=1000:hard_rss_limit_mb=2000:allocator_may_return_null=0:"
         "quarantine_size_mb=16";
}
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() {
  return "abort_on_error=1";  // it calls nobody else
}
#endif

namespace {

constexpr unsigned kSlowest = 5;  // seconds of the processor
constexpr std::size_t kLargest = 4096;

std::string_view current;            // the input that is looked at
volatile std::uint64_t started = 0;  // inputs so far
std::string fault_file;

// Called from a dying program: system calls alone.
void keep_input() {
  const int file = ::open(fault_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  const auto written = ::write(file, current.data(), current.size());
  ::close(file);
  if (written < 0) return;
  std::fprintf(stderr, "\nThe input of %zu bytes is in %s.\n", current.size(), fault_file.c_str());
}

[[noreturn]] void end(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  keep_input();
  std::_Exit(1);
}

// Every second of the processor: whether the same input is still looked at.
void look_at_clock(int) {
  static std::uint64_t seen = 0;
  static unsigned seconds = 0;
  seconds = seen == started ? seconds + 1 : 0;
  seen = started;
  if (seconds > kSlowest) end("An input takes more than 5 s.");
}

void watch() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(keep_input);
#endif
  std::set_terminate([] {
    try {
      if (std::current_exception()) throw;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "An exception that no user is told of: %s\n", error.what());
    } catch (...) {
    }
    end("The parser ended the program.");
  });
  ::signal(SIGABRT, [](int) { end("The program was ended."); });
  ::signal(SIGPROF, look_at_clock);
  const itimerval second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_PROF, &second, nullptr);
}

void run(const std::string& input) {
  // A copy of just that size, so that the sanitizer sees a read behind its end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  current = input;
  started = started + 1;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The words of a dictionary in libFuzzer's form: a line "word" each, \\, \" and \xAB in it.
std::vector<std::string> words_of(const std::filesystem::path& path) {
  std::vector<std::string> words;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find('"');
    const auto last = line.rfind('"');
    if (line.starts_with('#') || begin == line.npos || last == begin) continue;
    std::string word;
    for (std::size_t at = begin + 1; at < last; ++at) {
      if (line[at] == '\\' && line[at + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(at + 2, 2), nullptr, 16));
        at += 3;
      } else {
        if (line[at] == '\\') ++at;
        word += line[at];
      }
    }
    words.push_back(word);
  }
  return words;
}

class Mutations {
 public:
  Mutations(std::vector<std::string> seeds, std::vector<std::string> words)
      : seeds_(std::move(seeds)), words_(std::move(words)) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (std::size_t edit = 1 + below(6); edit > 0; --edit) change(bytes);
    if (bytes.size() > kLargest) bytes.resize(kLargest);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % limit;
  }

  void change(std::string& bytes) {
    const std::size_t at = below(bytes.size() + 1);
    switch (bytes.empty() ? 3 : below(8)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(16));
        break;
      case 3:
        bytes.insert(at, words_.empty() ? std::string(1 + below(16), 'a') : word());
        break;
      case 4:  // a number at its limit
        put_number(bytes, at);
        break;
      case 5:
        bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(32)));
        break;
      case 6: {  // the end of another seed
        const std::string& other = seeds_[below(seeds_.size())];
        bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
        break;
      }
      default:
        if (below(4) == 0)
          bytes.resize(at);
        else if (!words_.empty())
          bytes.replace(at, std::min<std::size_t>(4, bytes.size() - at), word());
    }
  }

  const std::string& word() { return words_[below(words_.size())]; }

  void put_number(std::string& bytes, std::size_t at) {
    constexpr std::uint64_t kLimits[] = {0,           1,           0x7f,       0xff,
                                         0x7fff,      0xffff,      0x7fffffff, 0xffffffff,
                                         0x80000000u, 0x100000000, ~0ULL >> 1, ~0ULL};
    const std::uint64_t value = kLimits[below(std::size(kLimits))];
    const std::size_t width = std::size_t{1} << below(4);
    if (at + width <= bytes.size()) std::memcpy(bytes.data() + at, &value, width);
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
  std::uint64_t state_ = 1;
};

int run_mutations(std::uint64_t runs, const std::filesystem::path& folder,
                  const std::filesystem::path& dictionary) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const auto& file : files) seeds.push_back(content_of(file));
  if (seeds.empty()) end("There is no seed.");
  for (const std::string& seed : seeds) run(seed);
  Mutations mutations(seeds,
                      dictionary.empty() ? std::vector<std::string>() : words_of(dictionary));
  while (started < runs) run(mutations.next());
  std::printf("%llu executions\n", static_cast<unsigned long long>(started));
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  fault_file = "fault-" + std::filesystem::path(values[0]).filename().string();
  watch();
  if (arguments.size() >= 3 && arguments[0] == "--runs") {
    return run_mutations(std::stoull(arguments[1]), arguments[2],
                         arguments.size() > 3 ? arguments[3] : "");
  }
  for (const std::string& file : arguments) run(content_of(file));
  return 0;
}
