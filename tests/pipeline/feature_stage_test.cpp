// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feature_stage.h"

#include <array>
#include <optional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "device/cpu/cpu_role_device.h"
#include "device/role_device.h"
#include "model/network_specs.h"
#include "pipeline/batcher.h"
#include "pipeline/clip_loader.h"
#include "pipeline/collator.h"
#include "pipeline/data_pipeline.h"
#include "support/formula_weights.h"
#include "support/small_networks.h"

namespace myxtts::feature_stage_test {
namespace {

constexpr std::array<std::int64_t, 3> kSamples = {30'000, 9'000, 52'224};
constexpr std::int64_t kRoom = 4;  // clips of the largest batch

GptConfig small_gpt() {
  return {.text_ids = 40,
          .start_text = 38,
          .stop_text = 0,
          .audio_ids = 66,
          .start_audio = 64,
          .stop_audio = 65,
          .max_text_tokens = 30,
          .perceiver_latents = 4};
}

// Three clips of noise, known to a cache or not.
class NoiseSource final : public BatchSource {
 public:
  NoiseSource() {
    for (std::size_t clip = 0; clip < kSamples.size(); ++clip) {
      const RandomStream random(clip, "noise");
      for (std::int64_t i = 0; i < kSamples[clip]; ++i) {
        samples_[clip].push_back(
            static_cast<std::int16_t>(3000 * random.normal(static_cast<std::uint64_t>(i / 3))));
      }
    }
  }

  PlannedBatch batch(DataPosition position) const override {
    PlannedBatch batch;
    batch.position = position;
    batch.clips = {0, 1, 2};
    batch.repeats = {0, 0, 0};
    batch.sizes = {.tokens = 256, .text_targets = 48, .audio_targets = 128, .longest = 256};
    return batch;
  }
  DataPosition next(DataPosition position) const override { return position; }
  ClipView clip(ClipNumber number) const override {
    ClipView view;
    view.identity = number;
    view.source_rate = ClipFeatures::kRate;
    view.source_frames = kSamples[number];
    view.samples = kSamples[number];
    view.text_tokens = 5;
    return view;
  }
  std::vector<std::int64_t> text_ids(const ClipView& clip) const override {
    return {3, 4, 5, 6, 7 + static_cast<std::int64_t>(clip.identity)};
  }
  PromptSpan prompt(std::int64_t, const ClipView& clip, std::uint32_t) const override {
    return {.first = 2000, .last = clip.samples / 2};
  }
  std::optional<CachedClip> cached(const ClipView& clip) const override {
    if (codes_[clip.identity].empty()) return std::nullopt;
    return CachedClip{.samples = samples_[clip.identity], .codes = codes_[clip.identity]};
  }
  void read_ahead(const ClipView&) const override {}
  std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const override {
    return DecodedClip{
        .samples = samples_[clip.identity], .sample_rate = ClipFeatures::kRate, .channels = 1};
  }
  void leave_out(ClipNumber, const Skipped&) override {}

  at::Tensor samples(ClipNumber number) const {
    return at::tensor(at::ArrayRef<std::int16_t>(samples_[number]), at::kShort);
  }
  ReplacedCodes noise(std::int64_t, const ClipView&, std::uint32_t, std::int64_t,
                      std::int64_t) const override {
    return replaced;
  }
  ReplacedCodes replaced = {};  // of each clip

  void know_codes(ClipNumber number, const at::Tensor& codes) {
    const auto* first = codes.const_data_ptr<std::int64_t>();
    codes_[number].assign(first, first + codes.numel());
  }

 private:
  std::array<std::vector<std::int16_t>, 3> samples_;
  std::array<std::vector<std::uint16_t>, 3> codes_;
};

class FeatureStageTest : public ::testing::Test {
 protected:
  FeatureStage make_stage(BatchPath path = BatchPath::PlainMemory) {
    return {*data_, *model_, path,
            FeatureNetworks{
                .gpt = small_gpt(),
                .clips = kRoom,
                .rows = {.tokens = 300, .text_targets = 60, .audio_targets = 200, .longest = 300},
                .dvae = &dvae_,
                .mel_stats = mel_stats_}};
  }

  HostBatch host_batch(std::int64_t number, std::size_t clips = 3) {
    LoadedBatch settled;
    settled.number = number;
    settled.planned = source_.batch({.epoch = 0, .step = number});
    for (std::size_t i = 0; i < clips; ++i) {
      settled.clips.push_back(std::get<LoadedClip>(
          load_clip(source_, static_cast<ClipNumber>(i), small_gpt().code_stride)));
    }
    auto laid_out = lay_out(source_, {.gpt = small_gpt()}, settled);
    const auto bytes = laid_out.block_bytes();
    return write_into(std::move(*pool_.claim(bytes)), std::move(laid_out), settled);
  }

  // The rows made the plain way, from codes found clip by clip.
  GptBatch expected_rows(std::size_t clips = 3) {
    std::vector<std::vector<std::int64_t>> texts;
    std::vector<std::vector<std::int64_t>> codes;
    std::vector<GptClip> rows;
    for (ClipNumber i = 0; i < clips; ++i) {
      const auto found = codes_of(i);
      const auto* first = found.const_data_ptr<std::int64_t>();
      codes.emplace_back(first, first + found.numel());
      texts.push_back(source_.text_ids(source_.clip(i)));
    }
    for (ClipNumber i = 0; i < clips; ++i) {
      rows.push_back(
          {.text = texts[i], .codes = codes[i], .prompt = source_.prompt(0, source_.clip(i), 0)});
    }
    return to_batch(pack_rows(small_gpt(), rows, PromptMask::Clip, source_.batch({}).sizes),
                    at::kCPU);
  }

  at::Tensor codes_of(ClipNumber clip) {
    ClipFeatures features(dvae_, mel_stats_, at::kCPU);
    const ClipSound sound = {source_.samples(clip), ClipFeatures::kRate};
    return features.encode({&sound, 1}).front().codes.contiguous();
  }

  NoiseSource source_;
  StagingPool pool_{4, plain_memory};
  const Dvae dvae_{test::small_dvae(), test::formula_weights(dvae_specs(test::small_dvae()), "f")};
  const at::Tensor mel_stats_ = at::full({80}, 1.5);
  std::unique_ptr<RoleDevice> data_ = open_cpu_role_device(Role::Data, {.threads = 1});
  std::unique_ptr<RoleDevice> model_ = open_cpu_role_device(Role::Model, {.threads = 1});
};

void expect_rows(const GptBatch& found, const GptBatch& expected) {
  EXPECT_EQ(found.clips, expected.clips);
  EXPECT_EQ(found.lengths, expected.lengths);
  EXPECT_EQ(found.longest, expected.longest);
  EXPECT_TRUE(at::equal(found.segment_ends, expected.segment_ends));
  EXPECT_TRUE(at::equal(found.tokens, expected.tokens));
  EXPECT_TRUE(at::equal(found.positions, expected.positions));
  EXPECT_TRUE(at::equal(found.target_rows, expected.target_rows));
  EXPECT_TRUE(at::equal(found.text_targets, expected.text_targets));
  EXPECT_TRUE(at::equal(found.text_clips, expected.text_clips));
  EXPECT_TRUE(at::equal(found.audio_targets, expected.audio_targets));
  EXPECT_TRUE(at::equal(found.audio_clips, expected.audio_clips));
  EXPECT_TRUE(at::equal(found.text_count, expected.text_count));
  EXPECT_TRUE(at::equal(found.audio_count, expected.audio_count));
}

TEST_F(FeatureStageTest, ASlotHoldsTheRowsAndPromptsThatTheClipsHave) {
  auto stage = make_stage();
  auto slots = stage.make_slots(2);
  auto host = host_batch(0);
  stage.fill(host, slots[0]);
  expect_rows(slots[0].rows, expected_rows());
  EXPECT_EQ(slots[0].clips, (std::vector<ClipNumber>{0, 1, 2}));
  EXPECT_TRUE(slots[0].filled.recorded());

  const PromptMels mels(mel_stats_, at::kCPU);
  std::vector<at::Tensor> prompts;
  for (ClipNumber clip = 0; clip < 3; ++clip) {
    const auto span = source_.prompt(0, source_.clip(clip), 0);
    prompts.push_back(source_.samples(clip).narrow(0, span.first, span.last - span.first));
  }
  auto expected = at::empty({kRoom, mels.bands(), mels.frames()});
  mels.make(prompts, expected, {});
  EXPECT_TRUE(at::equal(slots[0].prompt_mel, expected));
  EXPECT_DOUBLE_EQ(slots[0].audio_seconds,
                   static_cast<double>(kSamples[0] + kSamples[1] + kSamples[2]) / 22'050);
  EXPECT_TRUE(slots[0].ends_step);
}

TEST_F(FeatureStageTest, ARowHasThePromptOfTheRowThatItHears) {
  auto stage = make_stage();
  auto slots = stage.make_slots(2);
  auto own = host_batch(0);
  stage.fill(own, slots[0]);
  source_.know_codes(1, codes_of(1));  // of this one the batch takes the prompt alone along
  auto swapped = host_batch(1);
  const std::array<std::size_t, 3> prompt_row = {1, 2, 0};
  for (std::size_t row = 0; row < 3; ++row) swapped.host_clips[row].prompt_row = prompt_row[row];
  stage.fill(swapped, slots[1]);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_TRUE(at::equal(slots[1].prompt_mel[static_cast<std::int64_t>(row)],
                          slots[0].prompt_mel[static_cast<std::int64_t>(prompt_row[row])]))
        << row;
  }
  EXPECT_FALSE(at::equal(slots[0].prompt_mel[0], slots[0].prompt_mel[1]));
}

TEST_F(FeatureStageTest, NoiseChangesTheCodesThatAreReadAndNoTarget) {
  source_.know_codes(1, codes_of(1));
  source_.replaced = {{0, 63}, {3, 7}};
  auto stage = make_stage();
  auto slots = stage.make_slots(2);
  auto host = host_batch(0);
  stage.fill(host, slots[0]);
  const GptBatch clean = expected_rows();
  auto expected = clean.tokens.clone();
  for (std::size_t clip = 0; clip < 3; ++clip) {
    // Behind the latents, [START], five ids of text and the start of the codes.
    const auto first = clean.segment_ends[static_cast<std::int64_t>(clip)].item<std::int64_t>() +
                       small_gpt().perceiver_latents + 1 + 5 + 1;
    EXPECT_NE(expected[first].item<std::int64_t>(), small_gpt().text_ids + 63);
    expected[first] = small_gpt().text_ids + 63;
    expected[first + 3] = small_gpt().text_ids + 7;
  }
  EXPECT_TRUE(at::equal(slots[0].rows.tokens, expected));
  EXPECT_TRUE(at::equal(slots[0].rows.audio_targets, clean.audio_targets));
  EXPECT_TRUE(at::equal(slots[0].rows.text_targets, clean.text_targets));
}

TEST_F(FeatureStageTest, KnownCodesGiveTheSameSlotAsUnknownOnes) {
  auto stage = make_stage();
  auto slots = stage.make_slots(3);
  auto cold = host_batch(0);
  stage.fill(cold, slots[0]);
  source_.know_codes(1, codes_of(1));
  auto half = host_batch(1);
  stage.fill(half, slots[1]);
  for (const ClipNumber clip : {0U, 2U}) source_.know_codes(clip, codes_of(clip));
  auto warm = host_batch(2);
  stage.fill(warm, slots[2]);
  for (const std::size_t slot : {1U, 2U}) {
    expect_rows(slots[slot].rows, slots[0].rows);
    EXPECT_TRUE(at::equal(slots[slot].prompt_mel, slots[0].prompt_mel));
  }
}

TEST_F(FeatureStageTest, TheWayThroughHostMemoryGivesTheSameSlot) {
  auto straight = make_stage();
  auto around = make_stage(BatchPath::PinnedHost);
  auto expected = straight.make_slots(2);
  auto slots = around.make_slots(2);
  for (std::int64_t number = 0; number < 4; ++number) {
    const auto slot = static_cast<std::size_t>(number % 2);
    auto host = host_batch(number, static_cast<std::size_t>(1 + number % 3));
    straight.fill(host, expected[slot]);
    around.fill(host, slots[slot]);
    expect_rows(slots[slot].rows, expected[slot].rows);
    EXPECT_TRUE(at::equal(slots[slot].prompt_mel, expected[slot].prompt_mel));
  }
}

TEST_F(FeatureStageTest, ASlotsTensorsStayWhereTheyAreAndForgetTheBatchBefore) {
  auto stage = make_stage();
  auto slots = stage.make_slots(2);
  const void* tokens = slots[0].rows.tokens.data_ptr();
  const void* mel = slots[0].prompt_mel.data_ptr();
  for (const std::size_t clips : {3U, 1U, 0U, 2U}) {
    auto host = host_batch(0, clips);
    stage.fill(host, slots[0]);
    expect_rows(slots[0].rows, expected_rows(clips));
    EXPECT_EQ(slots[0].rows.tokens.data_ptr(), tokens);
    EXPECT_EQ(slots[0].prompt_mel.data_ptr(), mel);
  }
}

TEST_F(FeatureStageTest, TellsWhenTheDataDeviceWorkedOnEachBatch) {
  auto stage = make_stage();
  auto slots = stage.make_slots(2);
  for (std::int64_t number = 0; number < 2; ++number) {
    auto host = host_batch(number);
    stage.fill(host, slots[static_cast<std::size_t>(number)]);
  }
  const auto times = stage.take_times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[1].number, 1);
  EXPECT_GT(times[0].ended.milliseconds_since(times[0].began), 0);
  EXPECT_GE(times[1].began.milliseconds_since(times[0].ended), 0);
  EXPECT_TRUE(stage.take_times().empty());
}

// The CPU until it is asked for a copy too many: from then on it fails as LibTorch does with a GPU
// that fell off the bus.
class LosingDevice final : public RoleDevice {
 public:
  LosingDevice(std::unique_ptr<RoleDevice> inner, Role role, int copies)
      : inner_(std::move(inner)), role_(role), copies_left_(copies) {}

  std::string name() const override { return "GPU 3"; }
  int gpu() const override { return -1; }
  Stream stream() const override { return inner_->stream(); }
  Stream make_stream() override { return inner_->make_stream(); }
  Event make_event() const override { return inner_->make_event(); }
  HostMemory host_memory(std::size_t bytes) const override { return inner_->host_memory(bytes); }
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override {
    TORCH_CHECK(copies_left_-- > 0, "CUDA error: unspecified launch failure\nand much more");
    inner_->copy(stream, to, from, bytes);
  }
  std::unique_ptr<Scope> enter(const Stream& stream) override { return inner_->enter(stream); }
  const RoleMemory& memory() const override { return inner_->memory(); }
  void rethrow() const override {
    try {
      throw;
    } catch (const c10::Error& error) {
      throw failed_device(role_, name(), error.what_without_backtrace());
    }
  }

 private:
  const std::unique_ptr<RoleDevice> inner_;
  const Role role_;
  mutable int copies_left_;
};

TEST_F(FeatureStageTest, ADeviceThatIsLostInMidRunEndsItWithItsNameAndWhatToTypeNext) {
  auto whole = make_stage();
  auto expected = whole.make_slots(1);
  auto host = host_batch(0);
  whole.fill(host, expected[0]);

  constexpr int kBatches = 5;
  data_ = std::make_unique<LosingDevice>(std::move(data_), Role::Data, kBatches);
  auto stage = make_stage();
  PipelineOptions options;
  options.gpt = small_gpt();
  DataPipeline<FeatureStage> pipeline(source_, stage, options);
  pipeline.start({});
  try {
    for (int batch = 0; batch <= kBatches; ++batch) {
      const auto slot = pipeline.outlet().next();
      ASSERT_TRUE(slot.has_value()) << "a failure is not an end";
      expect_rows((*slot)->rows, expected[0].rows);
    }
    FAIL() << "the device did not fail";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "The data role failed on GPU 3: CUDA error: unspecified launch failure. "
                 "Checkpoints that were saved are whole: type the same command with --resume once "
                 "the device works again.");
  }
  EXPECT_THROW((void)pipeline.outlet().next(), DeviceError) << "and does not come back";
  pipeline.outlet().finish();
}

// One batch with caps; gives the peaks of both roles.
TEST_F(FeatureStageTest, CapsOfALittleMoreThanThePeakAreEnoughAndFourFifthsAreNot) {
  const auto run = [this](std::optional<std::int64_t> data_cap,
                          std::optional<std::int64_t> model_cap) {
    data_ = open_cpu_role_device(Role::Data, {.memory_cap_bytes = data_cap, .threads = 1});
    model_ = open_cpu_role_device(Role::Model, {.memory_cap_bytes = model_cap, .threads = 1});
    auto stage = make_stage();
    auto slots = stage.make_slots(2);
    for (std::int64_t number = 0; number < 2; ++number) {
      auto host = host_batch(number);
      stage.fill(host, slots[static_cast<std::size_t>(number)]);
    }
    return std::pair(data_->memory().read().peak, model_->memory().read().peak);
  };
  const auto [data, model] = run({}, {});
  EXPECT_GT(data, 1'000'000);
  EXPECT_GT(model, 1'000'000);
  EXPECT_EQ(run(data * 105 / 100, model * 105 / 100), std::pair(data, model));
  const auto message = [&](auto data_cap, auto model_cap) -> std::string {
    try {
      run(data_cap, model_cap);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_NE(message(data * 8 / 10, model).find("The data role wants"), std::string::npos);
  EXPECT_NE(message(data * 8 / 10, model).find("or lower --batch-size."), std::string::npos);
  EXPECT_NE(message(data * 2, model * 8 / 10).find("The model role wants"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::feature_stage_test
