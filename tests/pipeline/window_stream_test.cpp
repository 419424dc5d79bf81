// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "base/checksum.h"
#include "device/cpu/cpu_role_device.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "pipeline/corpus_batches.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

// Windows of sound from files to tensors.

namespace myxtts::window_stream_test {
namespace {

using test::TemporaryFolder;

std::vector<at::Tensor> tensors_of(const SoundWindows& windows) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : {windows.weights, windows.clips, windows.mel, windows.sound,
                                   windows.starts, windows.voices, windows.speakers}) {
    if (tensor.defined()) all.push_back(tensor.clone());
  }
  return all;
}

std::uint64_t hash_of(const DeviceBatch& batch) {
  FastChecksum sum;
  for (const at::Tensor& tensor : tensors_of(batch.windows)) {
    sum.add({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  return sum.value();
}

struct StreamOptions {
  std::size_t workers = 2;
  std::size_t buffer = 50;
  std::size_t ring = 3;
  int devices = 2;
  DataPosition start = {};
  std::optional<std::uint64_t> seed = 5;
  bool shift = false;
};

// Clips of 24,000 and 44,100 Hz, one of them shorter than any window, in batches of three.
class WindowStream : public testing::TestWithParam<ModelPart> {
 protected:
  WindowStream() {
    auto clips = test::made_clips(5);
    for (std::size_t i = 0; i < clips.size(); ++i) {
      const bool is_short = i == 3;
      clips[i].sound =
          test::made_sound(is_short ? 0.6 : 1.3 + 0.2 * static_cast<double>(i),
                           static_cast<std::uint64_t>(i + 1), i < 3 ? 24'000 : 44'100, 1);
    }
    config_.train_data = {{.path = make_corpus(folder_ / "wav", CorpusLayout::LjSpeech, clips)}};
    config_.val_fraction = 0;
    config_.max_chars_per_second = 1000;
    corpus_.emplace(Corpus::open(config_, vocabulary_, folder_ / "index"));
    speakers_.emplace(*corpus_);
    model_.gpt.text_ids = static_cast<std::int64_t>(vocabulary_.rows());
    plan_.emplace(*corpus_, model_.gpt, BatchSettings{.batch_size = 3, .seed = 2});
    dvae_ = std::make_unique<Dvae>(model_.dvae, initialise(dvae_specs(model_.dvae), 1));
    NamedTensors encoder;
    for (const auto& [name, tensor] :
         initialise(speaker_encoder_specs(model_.speaker_encoder), 2)) {
      encoder.emplace(kSpeakerEncoderPrefix + name, tensor);
    }
    for (const auto& [name, tensor] : speaker_encoder_tables(model_.speaker_encoder)) {
      encoder.insert_or_assign(kSpeakerEncoderPrefix + name, tensor);
    }
    encoder_ = std::make_unique<SpeakerEncoder>(model_.speaker_encoder, encoder);
  }

  WindowPlan windows(ModelPart stage) const {
    return plan_windows({.stage = stage, .windows_per_clip = 2, .window = 0.8}, model_,
                        plan_->slots());
  }

  // Calls `see` with each batch of two epochs.
  template <typename See>
  void run(ModelPart stage, const StreamOptions& options, See see) {
    const auto data = open_cpu_role_device(Role::Data, {.threads = 1});
    const auto model = open_cpu_role_device(Role::Model, {.threads = 2});
    CorpusBatches batches(
        *corpus_, *plan_, vocabulary_, config_,
        {.prompt_seed = options.seed, .shift = options.shift, .speakers = &*speakers_});
    FeatureStage features(*data, options.devices == 2 ? *model : *data, BatchPath::PlainMemory,
                          {.gpt = model_.gpt,
                           .clips = plan_->slots(),
                           .rows = plan_->sizes().back(),
                           .dvae = dvae_.get(),
                           .mel_stats = mel_stats_,
                           .windows = windows(stage),
                           .speaker_encoder = encoder_.get(),
                           .speaker_dim = model_.speaker_encoder.output_dim});
    PipelineOptions settings;
    settings.gpt = model_.gpt;
    settings.windows = windows(stage);
    settings.end = DataPosition{2, 0};
    settings.workers = options.workers;
    settings.most_workers = options.workers;
    settings.buffer_batches = options.buffer;
    settings.ring_slots = options.ring;
    DataPipeline<FeatureStage> pipeline(batches, features, settings);
    pipeline.start(options.start);
    while (auto slot = pipeline.outlet().next()) see(**slot);
    pipeline.outlet().finish();
  }

  std::vector<std::uint64_t> hashes(ModelPart stage, const StreamOptions& options) {
    std::vector<std::uint64_t> found;
    run(stage, options, [&found](const DeviceBatch& batch) { found.push_back(hash_of(batch)); });
    return found;
  }

  at::Tensor wave_of(ClipNumber number, std::int64_t rate) const {
    const ClipView clip = corpus_->clip(number);
    const auto decoded = std::get<DecodedClip>(decode_clip(std::filesystem::path(clip.audio)));
    const auto wave =
        at::tensor(at::ArrayRef<std::int16_t>(decoded.samples), at::kShort).to(at::kFloat) /
        32768.0;
    if (decoded.sample_rate == rate) return wave;
    return Resampler(decoded.sample_rate, rate, at::kCPU)(wave).clamp(-1.0, 1.0);
  }

  TemporaryFolder folder_;
  Vocabulary vocabulary_ =
      Vocabulary::load(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json");
  DataConfig config_;
  ModelConfig model_ = model_preset("tiny");
  std::optional<Corpus> corpus_;
  std::optional<SpeakerTable> speakers_;
  std::optional<BatchPlan> plan_;
  std::unique_ptr<Dvae> dvae_;
  std::unique_ptr<SpeakerEncoder> encoder_;
  at::Tensor mel_stats_ = at::full({model_.gpt.mel_bands}, 1.5);
};

TEST_P(WindowStream, IsTheSameForAnyWorkersBufferRingDevicesAndStart) {
  const auto expected = hashes(GetParam(), {.workers = 1, .buffer = 1, .ring = 2, .devices = 1});
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_NE(expected[0], expected[2]) << "two epochs differ";
  for (const StreamOptions& options :
       {StreamOptions{.workers = 5}, {.workers = 2, .buffer = 1, .ring = 8}, {.devices = 1}}) {
    EXPECT_EQ(hashes(GetParam(), options), expected)
        << options.workers << " workers, buffer " << options.buffer << ", ring " << options.ring;
  }
  EXPECT_EQ(hashes(GetParam(), {.start = {0, 1}}),
            std::vector(expected.begin() + 1, expected.end()));
}

TEST_P(WindowStream, ASeedChangesItAndMeasurementsDoNotDraw) {
  EXPECT_NE(hashes(GetParam(), {.seed = 6}), hashes(GetParam(), {.seed = 5}));
  std::set<std::vector<std::int64_t>> places;
  run(GetParam(), {.seed = std::nullopt}, [&](const DeviceBatch& batch) {
    EXPECT_TRUE(batch.windows.weights.defined());
    places.insert({batch.clips.begin(), batch.clips.end()});
  });
  EXPECT_EQ(hashes(GetParam(), {.seed = std::nullopt}), hashes(GetParam(), {.seed = std::nullopt}));
}

TEST_P(WindowStream, WindowsOfMissingClipsHaveNoWeightAndStandBehind) {
  run(GetParam(), {}, [&](const DeviceBatch& batch) {
    const auto there = static_cast<std::int64_t>(2 * batch.clips.size());
    const auto weights = batch.windows.weights;
    ASSERT_EQ(weights.size(0), 6);
    EXPECT_EQ(weights.narrow(0, 0, there).sum().item<double>(), static_cast<double>(there));
    EXPECT_EQ(weights.sum().item<double>(), static_cast<double>(there));
    for (std::int64_t window = 0; window < there; ++window) {
      EXPECT_EQ(batch.windows.clips[window].item<std::int64_t>(), window / 2);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Of, WindowStream,
                         ::testing::Values(ModelPart::Dvae, ModelPart::Decoder, ModelPart::Speaker),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

using SoundWindowsOf = WindowStream;

// Whatever window it is: it stands in its clip's spectrogram, frame by frame.
TEST_F(SoundWindowsOf, TheDvaeAreFramesOfTheClipsOwnSpectrogram) {
  const MelSpectrogram spectrogram(dvae_mel_config(), at::kCPU);
  int whole = 0;
  run(ModelPart::Dvae, {}, [&](const DeviceBatch& batch) {
    const auto& mel = batch.windows.mel;
    ASSERT_EQ(mel.size(2) % 4, 0);
    for (std::size_t row = 0; row < batch.clips.size(); ++row) {
      const auto wave = wave_of(batch.clips[row], 22'050);
      const auto of_clip =
          normalised_log_mel(spectrogram(wave.unsqueeze(0)), mel_stats_).squeeze(0);
      if (of_clip.size(1) < mel.size(2)) continue;  // silence is behind it
      const auto window = mel[static_cast<std::int64_t>(2 * row)];
      int fits = 0;
      for (std::int64_t first = 0; first + mel.size(2) <= of_clip.size(1); ++first) {
        const auto there = of_clip.narrow(1, first, mel.size(2));
        if ((there - window).abs().max().item<double>() < 1e-4) ++fits;
      }
      EXPECT_EQ(fits, 1);
      ++whole;
    }
  });
  EXPECT_EQ(whole, 8) << "four of the five clips, in two epochs";
}

TEST_F(SoundWindowsOf, TheDecoderAreTheSamplesOfItsFramesAndSilenceBehindTheClip) {
  bool had_silence = false;
  run(ModelPart::Decoder, {}, [&](const DeviceBatch& batch) {
    const auto& windows = batch.windows;
    for (std::size_t row = 0; row < batch.clips.size(); ++row) {
      const auto wave = wave_of(batch.clips[row], 24'000);
      const auto samples = windows.sound.size(1);
      const auto padded = at::constant_pad_nd(wave, {0, samples + 4096});
      for (std::int64_t number = 0; number < 2; ++number) {
        const auto place = static_cast<std::int64_t>(2 * row) + number;
        const auto first = 256 * windows.starts[place].item<std::int64_t>();
        EXPECT_TRUE(at::allclose(windows.sound[place], padded.narrow(0, first, samples), 0, 1e-6));
        if (first + samples > wave.size(0)) had_silence = true;
      }
    }
  });
  EXPECT_TRUE(had_silence);
}

TEST_F(SoundWindowsOf, TheDecoderHaveTheVoicesOfWholeClipsHoweverTheyAreShifted) {
  std::set<std::uint64_t> streams;
  for (const bool shift : {false, true}) {
    FastChecksum sounds;
    run(ModelPart::Decoder, {.shift = shift}, [&](const DeviceBatch& batch) {
      for (std::size_t row = 0; row < batch.clips.size(); ++row) {
        const auto heard =
            Resampler(22'050, 16'000, at::kCPU)(wave_of(batch.clips[row], 22'050)).unsqueeze(0);
        const auto whole = heard.narrow(1, 0, heard.size(1) / 4000 * 4000);
        EXPECT_TRUE(at::allclose(batch.windows.voices[static_cast<std::int64_t>(row)],
                                 (*encoder_)(whole).squeeze(0), 1e-4, 1e-5));
      }
      const auto& sound = batch.windows.sound;
      sounds.add({static_cast<const std::byte*>(sound.const_data_ptr()), sound.nbytes()});
    });
    streams.insert(sounds.value());
  }
  EXPECT_EQ(streams.size(), 2U) << "the windows are of the shifted sound";
}

// A latent whose value is its number shows which time a frame stands for; a frame to either side
// would be 0.23 of a latent away.
TEST_F(SoundWindowsOf, TheDecoderBeginWhereItsFramesDo) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : initialise(decoder_specs(model_.decoder), 1)) {
    tensors.emplace(kDecoderPrefix + name, tensor);
  }
  const Decoder decoder(model_.decoder, tensors);
  const WindowPlan plan = windows(ModelPart::Decoder);
  for (std::int64_t codes = 1; codes <= 400; codes += codes < 40 ? 1 : 37) {
    const auto latents = at::arange(codes, at::kFloat).view({1, codes, 1}).expand({1, codes, 4});
    const auto frames = decoder.frames(latents);
    ASSERT_EQ(frames.size(2), units_of(plan, codes * 1024, codes)) << codes;
    for (std::int64_t frame = 4; frame + 8 < frames.size(2); frame += 7) {
      const double seconds = (static_cast<double>(frame) + 0.5) * 256 / 24'000;
      const double latent = seconds * 22'050 / 1024 - 0.5;
      EXPECT_NEAR(frames[0][0][frame].item<double>(), latent, 0.06) << frame << " of " << codes;
    }
  }
}

TEST(TrainingWindow, FollowsFromItsArgumentsAloneAndReachesBothEnds) {
  std::set<std::int64_t> places;
  for (std::int64_t window = 0; window < 200; ++window) {
    const VisitDraw draw{.seed = 1, .epoch = 2, .clip_id = "a", .repeat = 0};
    places.insert(training_window(draw, window, 9));
    EXPECT_EQ(training_window(draw, window, 9), training_window(draw, window, 9));
  }
  EXPECT_EQ(places.size(), 10U);
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin(), 9);
  const VisitDraw draw{.seed = 1, .epoch = 2, .clip_id = "a", .repeat = 0};
  constexpr std::int64_t kLast = 1'000'000'000;
  const auto changed = [&draw](auto change) {
    VisitDraw other = draw;
    change(other);
    return training_window(other, 3, kLast) != training_window(draw, 3, kLast);
  };
  EXPECT_TRUE(changed([](VisitDraw& other) { other.seed = 2; }));
  EXPECT_TRUE(changed([](VisitDraw& other) { other.epoch = 3; }));
  EXPECT_TRUE(changed([](VisitDraw& other) { other.clip_id = "b"; }));
  EXPECT_TRUE(changed([](VisitDraw& other) { other.repeat = 1; }));
  EXPECT_NE(training_window(draw, 4, kLast), training_window(draw, 3, kLast));
}

}  // namespace
}  // namespace myxtts::window_stream_test
