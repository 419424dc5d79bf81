// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/planted_training.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "pipeline/pipeline_bench.h"

namespace myxtts::test {
namespace {

constexpr int kWarmUp = 8;  // steps

void wait_for(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double seconds_since(Clock::Time from) {
  return std::chrono::duration<double>(system_clock().now() - from).count();
}

class Training {
 public:
  explicit Training(const PlantedTraining& planted)
      : planted_(planted),
        random_(planted.seed, "stalls"),
        corpus_({.clips = 96,
                 .batch_size = static_cast<std::size_t>(planted.clips),
                 .fill_cache = planted.cached}),
        features_(tiny_gpt().text_ids) {
    corpus_.on_read_ahead = [this](ClipNumber) {
      if (!planted_.cached) wait_for(planted_.listing);
    };
    corpus_.on_decode = [this](ClipNumber) { return decode(); };
    features_.on_fill = [this](const HostBatch&) {
      wait_for(planted_.cached ? 0 : planted_.encoding * scale());
    };
    features_.on_prompts = [this](const HostBatch&) { wait_for(planted_.prompts * scale()); };
    features_.on_send = [this](const HostBatch&) { wait_for(planted_.transfer); };
  }

  TrialReading run() {
    FakePipeline pipeline(
        corpus_, features_,
        pipeline_options(
            {.workers = planted_.workers, .buffer = planted_.buffer, .end = std::nullopt}));
    pipeline.start({});
    pipeline.outlet().wait_until_ready();
    for (int step = 0; step < kWarmUp; ++step) take_step(pipeline);
    TrialReading reading = measure(pipeline);
    pipeline.outlet().finish();
    for (int step = 0; step < 10; ++step) {
      const auto began = system_clock().now();
      work();
      reading.resident_seconds.push_back(seconds_since(began));
    }
    return reading;
  }

 private:
  std::optional<Skipped> decode() {
    const auto began = system_clock().now();
    wait_for(planted_.files);
    if (random_.uniform(decoded_++) < planted_.stall_chance) wait_for(planted_.stall);
    file_nanoseconds_ += (system_clock().now() - began).count();
    wait_for(planted_.decoding);
    return std::nullopt;
  }

  // Work that grows with the batch.
  double scale() const { return static_cast<double>(planted_.clips) / PlantedTraining::kBaseClips; }

  void work() const { wait_for(planted_.step * scale()); }

  std::int64_t take_step(FakePipeline& pipeline) const {
    const auto slot = pipeline.outlet().next();
    work();
    return std::ssize((*slot)->clips);
  }

  TrialReading measure(FakePipeline& pipeline) const {
    TrialReading reading;
    const PipelineReading before = pipeline.outlet().meters();
    const std::int64_t files_before = file_nanoseconds_;
    const auto began = system_clock().now();
    auto last = began;
    for (int step = 0; step < planted_.steps; ++step) {
      reading.clips += take_step(pipeline);
      ++reading.batches;
      const auto now = system_clock().now();
      reading.step_seconds.push_back(std::chrono::duration<double>(now - last).count());
      last = now;
    }
    reading.wall_seconds = seconds_since(began);
    reading.file_seconds = 1e-9 * static_cast<double>(file_nanoseconds_ - files_before);
    reading.pipeline = between(before, pipeline.outlet().meters());
    reading.step_tokens.assign(reading.step_seconds.size(), 100);
    reading.tokens = reading.useful_tokens = 100 * std::ssize(reading.step_seconds);
    reading.resident_tokens = 100;
    return reading;
  }

  const PlantedTraining planted_;
  const RandomStream random_;
  std::atomic<std::uint64_t> decoded_ = 0;
  std::atomic<std::int64_t> file_nanoseconds_ = 0;
  MemoryCorpus corpus_;
  FakeFeatures features_;
};

}  // namespace

Profile profile_of(const PlantedTraining& training) {
  ProfileSetup setup{.cache_dataset = training.cached, .cores = 8};
  setup.plan.batch_size = training.clips;
  return make_profile(setup, Training(training).run());
}

PlantedTraining with(PlantedTraining training, const Knob& knob) {
  if (knob.key == "data.num_workers") {
    training.workers = static_cast<std::size_t>(std::stoi(knob.value));
  } else if (knob.key == "data.cache_dataset") {
    training.cached = true;
  } else if (knob.key == "data.pipeline_buffer_size") {
    training.buffer = static_cast<std::size_t>(std::stoi(knob.value));
  } else if (knob.key == "train.batch_size") {
    training.clips = std::stoi(knob.value);
  } else {
    throw InternalError("a planted training has no knob " + knob.key);
  }
  return training;
}

}  // namespace myxtts::test
