// SPDX-License-Identifier: Apache-2.0
#include "run/background_save.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cstring>
#include <fstream>
#include <numeric>
#include <span>
#include <string>

#include "base/atomic_file.h"
#include "run/model_folder.h"
#include "run/sealed_folder.h"
#include "support/effort.h"
#include "support/killed_process.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"
#include "support/threaded_device.h"
#include "weights/safetensors.h"

namespace myxtts::background_save_test {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::SmallDisk;
using test::TemporaryFolder;
using test::ThreadedDevice;

// Where the copies of a test lie.
enum class Room { OnDevice, InHostMemory, Nowhere };

std::shared_ptr<std::byte> take(std::size_t bytes) {
  return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
}

// What is trained in these tests: every value of every tensor is the number of the last step.
class Training {
 public:
  explicit Training(ThreadedDevice& device, std::size_t values = 1000) : device_(device) {
    for (auto* tensor : {&weight_, &first_, &second_}) tensor->resize(values);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  ~Training() { device_.synchronize(device_.stream()); }  // steps under way write to the tensors

  // As an update does: later, in the order of the stream.
  void step() {
    ++step_;
    device_.run(device_.stream(), [this, value = static_cast<float>(step_)] {
      for (auto* tensor : {&weight_, &first_, &second_}) {
        std::fill(tensor->begin(), tensor->end(), value);
      }
    });
  }

  PlacedCheckpoint checkpoint() {
    return {.state = {.step = step_},
            .model = {{"gpt.weight", placed(weight_)}, {"gpt.none", placed(none_)}},
            .optimiser = {{"first", placed(first_)}, {"second", placed(second_)}}};
  }

 private:
  PlacedTensor placed(std::vector<float>& values) const {
    return {.kind = {Dtype::F32, {static_cast<std::int64_t>(values.size())}},
            .place = {.data = values.data(), .gpu = device_.gpu()},
            .bytes = values.size() * sizeof(float)};
  }

  ThreadedDevice& device_;
  std::int64_t step_ = 0;
  std::vector<float> weight_;
  std::vector<float> first_;
  std::vector<float> second_;
  std::vector<float> none_;
};

// A run with one file that never changes and one tensor that is not trained.
struct SavedRun {
  explicit SavedRun(const fs::path& folder, ThreadedDevice& device, Room room = Room::OnDevice,
                    std::size_t host_piece = Snapshot::kHostPiece)
      : store(folder) {                        // which makes the folder
    const std::string_view vocabulary = "{}";  // whole at once: checkpoints are linked to it
    write_file_atomically(folder / "vocab.json", std::as_bytes(std::span(vocabulary)));
    saver.emplace(
        store,
        Snapshot(device, room == Room::OnDevice ? Snapshot::TakeMemory(take) : nullptr, host_piece),
        PlacedTensors{{"decoder.weight",
                       {.kind = {Dtype::F32, {2}},
                        .place = {.data = untrained.data(), .gpu = -1},
                        .bytes = sizeof(untrained)}}},
        std::vector<fs::path>{folder / "vocab.json"});
    if (room == Room::Nowhere) device.limit_host_memory(0);
  }

  CheckpointStore store;
  std::array<float, 2> untrained{0.25F, 0.5F};
  std::optional<BackgroundSave> saver;
};

std::vector<float> values_of(const SafetensorsReader& file, std::string_view name) {
  const TensorView& view = file.at(name);
  std::vector<float> values(view.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

void expect_whole(const fs::path& folder, std::int64_t step, std::size_t values = 1000) {
  const std::vector<float> expected(values, static_cast<float>(step));
  ASSERT_EQ(find_damage(folder), "");
  const SafetensorsReader model(folder / files::kModel);
  EXPECT_EQ(values_of(model, "gpt.weight"), expected);
  EXPECT_EQ(values_of(model, "gpt.none"), std::vector<float>{});
  EXPECT_EQ(values_of(model, "decoder.weight"), (std::vector<float>{0.25F, 0.5F}));
  const SafetensorsReader optimiser(folder / files::kOptimiser);
  EXPECT_EQ(values_of(optimiser, "first"), expected);
  EXPECT_EQ(values_of(optimiser, "second"), expected);
  EXPECT_EQ(read_training_state(folder / files::kState).step, step);
  EXPECT_EQ(contents_of(folder / "vocab.json"), "{}");
}

class BackgroundSaveIn : public ::testing::TestWithParam<Room> {};

TEST_P(BackgroundSaveIn, ACheckpointHoldsItsOwnStepThoughTrainingGoesOn) {
  const TemporaryFolder folder;
  ThreadedDevice device;
  Training training(device);
  SavedRun run(folder.path(), device, GetParam());
  for (int i = 0; i < 5; ++i) {
    training.step();
    run.saver->save(training.checkpoint());
    for (int later = 0; later < 10; ++later) training.step();
  }
  ASSERT_TRUE(run.saver->finish());
  for (const std::int64_t step : {23, 34, 45}) {
    expect_whole(folder / "checkpoints" / fmt::format("step-{:07}", step), step);
  }
}

INSTANTIATE_TEST_SUITE_P(Rooms, BackgroundSaveIn,
                         ::testing::Values(Room::OnDevice, Room::InHostMemory, Room::Nowhere));

// Two tensors to a piece, one to a piece, and tensors larger than a piece.
TEST(BackgroundSave, HostMemoryThatWasPreparedIsEnoughAndHoldsEveryTensorWhole) {
  for (const std::size_t piece : {9000, 5000, 1000}) {
    const TemporaryFolder folder;
    ThreadedDevice device;
    Training training(device);
    SavedRun run(folder.path(), device, Room::InHostMemory, piece);
    run.saver->prepare_in_host_memory(training.checkpoint());
    ASSERT_TRUE(run.saver->finish());
    device.limit_host_memory(0);
    std::atomic<bool> go = false;
    device.run(device.stream(), [&go] { go.wait(false); });
    training.step();
    run.saver->save(training.checkpoint());  // without memory for a copy it would never return
    training.step();
    go = true;
    go.notify_all();
    ASSERT_TRUE(run.saver->finish());
    expect_whole(folder / "latest", 1);
  }
}

TEST(BackgroundSave, TheCopyIsMadeInTheOrderOfTheStreamAndNotWhenTheFileIsWritten) {
  const TemporaryFolder folder;
  ThreadedDevice device;
  Training training(device);
  SavedRun run(folder.path(), device);
  std::atomic<bool> go = false;
  // The model's stream is far behind: neither the step of the checkpoint nor the next one is done.
  device.run(device.stream(), [&go] { go.wait(false); });
  training.step();
  run.saver->save(training.checkpoint());
  training.step();
  go = true;
  go.notify_all();
  ASSERT_TRUE(run.saver->finish());
  expect_whole(folder / "latest", 1);
}

TEST(BackgroundSave, SavingDoesNotWaitForTheDevice) {
  const TemporaryFolder folder;
  ThreadedDevice device;
  Training training(device);
  SavedRun run(folder.path(), device);
  std::atomic<bool> go = false;
  device.run(device.stream(), [&go] { go.wait(false); });
  training.step();
  run.saver->save(training.checkpoint());  // a wait in here would never end
  EXPECT_FALSE(fs::exists(folder / "latest"));
  go = true;
  go.notify_all();
  ASSERT_TRUE(run.saver->finish());
  expect_whole(folder / "latest", 1);
}

TEST(BackgroundSave, TensorsLargerThanABlockArriveWhole) {
  const TemporaryFolder folder;
  ThreadedDevice device;
  constexpr std::size_t kValues = 3 * (16 << 20) / sizeof(float) + 7;
  Training training(device, kValues);
  SavedRun run(folder.path(), device);
  training.step();
  run.saver->save(training.checkpoint());
  ASSERT_TRUE(run.saver->finish());
  expect_whole(folder / "latest", 1, kValues);
}

TEST(BackgroundSave, EqualTensorsGiveEqualFiles) {
  const TemporaryFolder one;
  const TemporaryFolder two;
  for (const auto* folder : {&one, &two}) {
    ThreadedDevice device;
    Training training(device);
    SavedRun run(folder->path(), device, folder == &one ? Room::OnDevice : Room::Nowhere);
    training.step();
    run.saver->save(training.checkpoint());
    ASSERT_TRUE(run.saver->finish());
  }
  for (const auto* name : {files::kModel, files::kOptimiser, files::kState, kChecksums}) {
    EXPECT_EQ(contents_of(one / "latest" / name), contents_of(two / "latest" / name)) << name;
  }
}

TEST(BackgroundSave, AFlippedBitInAnyFileIsFoundAndTheCheckpointBeforeIsUsed) {
  const TemporaryFolder folder;
  ThreadedDevice device;
  Training training(device, 50);
  SavedRun run(folder.path(), device);
  for (int i = 0; i < 2; ++i) {
    training.step();
    run.saver->save(training.checkpoint());
  }
  ASSERT_TRUE(run.saver->finish());
  const fs::path damaged_one = folder / "checkpoints" / "step-0000002";
  for (const auto* name : {files::kModel, files::kOptimiser, files::kState, kChecksums}) {
    const fs::path file = damaged_one / name;
    const std::string whole = contents_of(file);
    for (std::size_t place = 0; place < whole.size(); place += 37) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ (1 << place % 8));
      std::ofstream(file, std::ios::binary) << damaged;
      // White space in a list of checksums may change into other white space: nothing is lost.
      if (name == kChecksums && std::isspace(whole[place])) continue;
      ASSERT_NE(find_damage(damaged_one), "") << name << " byte " << place;
      if (place == 0) {
        EXPECT_EQ(run.store.newest_valid()->step, 1) << name;
      }
    }
    std::ofstream(file, std::ios::binary) << whole;
  }
  EXPECT_EQ(run.store.newest_valid()->step, 2);
  expect_whole(folder / "latest", 2, 50);
}

// Everything in a folder, by size.
std::size_t files_below(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(folder), {}));
}

TEST(BackgroundSave, AFullDiskIsSaidOnceAndTheNextSaveTriesAgain) {
  const SmallDisk disk(200);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 200 kB";
  ThreadedDevice device;
  Training training(device, 10'000);  // 120 kB a checkpoint: one has room, two have not
  SavedRun run(disk.path(), device);
  training.step();
  run.saver->save(training.checkpoint());
  ASSERT_TRUE(run.saver->finish());
  const std::size_t before = files_below(disk.path());

  testing::internal::CaptureStderr();
  training.step();
  run.saver->save(training.checkpoint());
  EXPECT_FALSE(run.saver->finish());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("The checkpoint of step 2 was not saved"), std::string::npos) << said;
  EXPECT_NE(said.find("is full"), std::string::npos) << said;
  EXPECT_EQ(said.find("was not saved"), said.rfind("was not saved")) << said;
  EXPECT_EQ(files_below(disk.path()), before) << "something of it was left";
  expect_whole(disk / "latest", 1, 10'000);

  ASSERT_EQ(::mount("none", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=400k"), 0);
  training.step();
  run.saver->save(training.checkpoint());
  EXPECT_TRUE(run.saver->finish());
  expect_whole(disk / "latest", 3, 10'000);
}

void save_some(const fs::path& folder, std::int64_t begin, std::int64_t end) {
  ThreadedDevice device;
  Training training(device, 20'000);
  SavedRun run(folder, device);
  for (std::int64_t i = 0; i < begin; ++i) training.step();
  for (std::int64_t i = begin; i < end; ++i) {
    training.step();
    run.saver->save(training.checkpoint());
  }
}

TEST(BackgroundSave, AKillAtAnyMomentLeavesAWholeLatestThatNeverGoesBack) {
  const TemporaryFolder folder;
  const auto window =
      test::time_of_process([&folder] { save_some(folder.path() / "timed", 0, 2); });
  std::int64_t newest = 0;
  int unfinished = 0;
  const int kills = test::repetitions(100);
  // On a slow or busy machine most kills may come too early to mean anything: those go on.
  const auto met = [&] { return unfinished > kills / 10 && newest > 3; };
  for (int kill_number = 0; kill_number < kills || (!met() && kill_number < 20 * kills);
       ++kill_number) {
    test::run_and_kill([&] { save_some(folder.path(), newest, INT64_MAX); }, window);
    if (!fs::exists(folder / "checkpoints")) continue;

    for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
      if (entry.path().filename().string().starts_with(".unfinished")) ++unfinished;
    }
    if (!fs::exists(folder / "latest")) continue;  // killed before the very first one
    ASSERT_EQ(find_damage(folder / "latest"), "") << "after kill " << kill_number;
    const CheckpointStore store(folder.path());
    const auto found = store.newest_valid();
    ASSERT_TRUE(found.has_value());
    ASSERT_GE(found->step, newest);
    newest = found->step;
    expect_whole(found->folder, newest, 20'000);
  }
  EXPECT_TRUE(met()) << unfinished << " kills while saving, newest step " << newest;
}

}  // namespace
}  // namespace myxtts::background_save_test
