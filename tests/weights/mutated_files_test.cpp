// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/allocation_meter.h"
#include "weights/dtype.h"
#include "weights/pth.h"
#include "weights/safetensors.h"
#include "weights/sample_files.h"

namespace myxtts::test::mutated_files_test {
namespace {

// Messages, exceptions and the smallest files' bookkeeping, in addition to four times the file.
constexpr std::size_t kAllowance = std::size_t{512} << 10;

// Of the dict "model" where there is one, as a checkpoint's reader would.
void read_every_tensor(const PthReader& reader, PickleRef value, int depth) {
  if (const auto model = reader.tree().find(value, "model")) value = *model;
  if (reader.tree()[value].kind != PickleKind::Dict || depth == 3) return;
  for (const auto& [name, item] : reader.items(value)) {
    const PickleKind kind = reader.tree()[item].kind;
    if (kind == PickleKind::Dict) read_every_tensor(reader, item, depth + 1);
    if (kind != PickleKind::Call) continue;
    std::vector<std::byte> dense_buffer;
    std::vector<std::byte> float_buffer;
    const TensorView view = dense(reader.tensor(item, name), dense_buffer);
    if (is_floating(view.dtype)) as_fp32(view, float_buffer);
    reader.verify(item, name);
  }
}

// Everything a reader can be asked for; true if the file was accepted. Only DataErrors may come.
bool read_file(const std::filesystem::path& path) {
  const AllocationMeter meter;
  const auto message = refusal([&] {
    if (path.extension() == ".pth") {
      const PthReader reader(path);
      read_every_tensor(reader, reader.tree().root(), 0);
    } else {
      const SafetensorsReader reader(path);
      std::size_t sum = 0;
      for (const auto& [name, view] : reader.tensors()) {
        for (const std::byte byte : view.bytes) sum += std::to_integer<std::size_t>(byte);
      }
      if (sum == 1) throw DataError("unlikely, but it keeps the reading");
    }
  });
  EXPECT_LE(meter.peak(), 4 * std::filesystem::file_size(path) + kAllowance) << path;
  return message.empty();
}

std::string own_safetensors(const TemporaryFolder& folder) {
  const auto numbers = ramp(24);
  const auto bytes = std::as_bytes(std::span(numbers));
  write_safetensors(folder / "own.safetensors",
                    {{"gpt.weight", {Dtype::F32, {4, 6}, bytes}},
                     {"gpt.half", {Dtype::F16, {2, 4}, bytes.first(16)}},
                     {"counter", {Dtype::I64, {}, bytes.first(8)}}},
                    {{"format", "pt"}});
  return contents_of(folder / "own.safetensors");
}

std::string own_pth(const TemporaryFolder& folder) {
  const auto numbers = ramp(24);
  PthWriter writer(folder / "own.pth");
  writer.set_zip64_limit(300);
  writer.open_dict();
  writer.key("model");
  writer.dict({{"w", {Dtype::F32, {4, 6}, std::as_bytes(std::span(numbers))}}});
  writer.close_dict();
  writer.commit();
  return contents_of(folder / "own.pth");
}

struct Seed {
  std::string name;  // of the mutated file, for its extension
  std::string content;
};

std::vector<Seed> seeds(const TemporaryFolder& folder) {
  std::vector<Seed> all = {{"own.safetensors", own_safetensors(folder)},
                           {"own.pth", own_pth(folder)}};
  for (const char* name : {"checkpoint.pth", "checkpoint_protocol5.pth", "state_dict.pth",
                           "bare_tensor.pth", "calls_system.pth", "voices.pth"}) {
    all.push_back({name, contents_of(golden_weights(name))});
  }
  return all;
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string operator()(std::string content) {
    const std::size_t changes = 1 + below(4);
    for (std::size_t i = 0; i < changes && !content.empty(); ++i) change(content);
    return content;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void change(std::string& content) {
    const std::size_t at = below(content.size());
    switch (below(6)) {
      case 0:
        content[at] = static_cast<char>(below(256));
        break;
      case 1:
        content[at] = static_cast<char>(content[at] ^ (1 << below(8)));
        break;
      case 2:
        content.erase(at, 1 + below(8));
        break;
      case 3:
        content.insert(at, content.substr(below(content.size()), 1 + below(16)));
        break;
      case 4:
        content.replace(at, 4, std::string(4, below(2) == 0 ? '\xff' : '\0'));
        break;
      default:
        content.replace(at, 1, std::string(1, "]}(tuRbQq.h2\x81\x93\x8c"[below(15)]));
        break;
    }
  }

  std::mt19937 random_;
};

// A pickle's checksum would turn away nearly every mutation of it; this makes the file's checksums
// true again, so that the machine behind them is met.
std::string with_true_checksums(std::string archive) {
  const auto number = [&archive](std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, archive.data() + at, bytes);
    return value;
  };
  for (std::size_t at = archive.find("PK\1\2"); at != std::string::npos;
       at = archive.find("PK\1\2", at + 4)) {
    if (at + 46 > archive.size()) break;
    const std::size_t local = number(at + 42, 4);
    if (local + 30 > archive.size()) continue;
    const std::size_t begin = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    const std::size_t size = number(at + 24, 4);
    if (begin > archive.size() || size > archive.size() - begin) continue;
    const std::uint32_t sum = crc32(bytes_of(std::string_view(archive).substr(begin, size)));
    archive.replace(at + 16, 4, std::string(reinterpret_cast<const char*>(&sum), 4));
  }
  return archive;
}

// MYXTTS_MUTATIONS=50000 runs the long form.
std::size_t mutation_count() {
  const char* wanted = std::getenv("MYXTTS_MUTATIONS");
  return wanted != nullptr ? std::stoul(wanted) : 2000;
}

TEST(MutatedFiles, AreReadOrRefusedWithOneSentenceAndLittleMemory) {
  const TemporaryFolder folder;
  const auto all = seeds(folder);
  Mutator mutate(20261115);
  std::size_t accepted = 0;
  const std::size_t count = mutation_count();
  for (std::size_t i = 0; i < count; ++i) {
    const Seed& seed = all[i % all.size()];
    std::string content = mutate(seed.content);
    if (seed.name.ends_with(".pth") && i % 3 != 0) content = with_true_checksums(content);
    const auto path = folder / seed.name;
    write_file(path, content);
    if (read_file(path)) ++accepted;
  }
  // Both happen, or the mutations test nothing.
  EXPECT_GT(accepted, count / 100);
  EXPECT_LT(accepted, count * 9 / 10);
}

TEST(MutatedFiles, EveryFileIsAcceptedBeforeItIsMutated) {
  const TemporaryFolder folder;
  for (const Seed& seed : seeds(folder)) {
    write_file(folder / seed.name, seed.content);
    EXPECT_TRUE(read_file(folder / seed.name)) << seed.name;
  }
}

TEST(MutatedFiles, AFileCutAtAny64thIsRefused) {
  const TemporaryFolder folder;
  for (const Seed& seed : seeds(folder)) {
    for (std::size_t part = 0; part < 64; ++part) {
      write_file(folder / seed.name, seed.content.substr(0, seed.content.size() * part / 64));
      EXPECT_FALSE(read_file(folder / seed.name)) << seed.name << " cut at " << part << "/64";
    }
  }
}

TEST(MutatedFiles, ALargeHostileHeaderStaysWithinFourTimesItsFile) {
  const TemporaryFolder folder;
  const std::size_t size = 4'000'000;
  std::string tensors = "{";
  for (int i = 0; tensors.size() < size; ++i) {
    tensors += '"' + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  }
  tensors.back() = '}';
  for (const std::string& header :
       {tensors, "{\"" + std::string(size, 'a'), "{\"a\":" + std::string(size, '['),
        "{\"a\":{\"shape\":[" + std::string(size, '9')}) {
    const auto length = static_cast<std::uint64_t>(header.size());
    write_file(folder / "x.safetensors",
               std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
    read_file(folder / "x.safetensors");
  }
}

}  // namespace
}  // namespace myxtts::test::mutated_files_test
