// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "config/model.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "support/corpus_maker.h"
#include "support/small_networks.h"
#include "train/dvae/dvae_training.h"
#include "train/dvae/mel_windows.h"

// Whether a DVAE learns: four clips by heart, and a codebook that is used.

namespace myxtts::test::learning_test {
namespace {

enum Loss : std::size_t { Reconstruction, Commitment, Perplexity, CodesUsed, MelError };

std::unique_ptr<RoleDevice> one_core() {
  at::set_num_threads(1);
  RolePlan plan;
  plan.threads = 1;
  return open_role_device(Role::Model, plan);
}

// Four clips of three quarters of a second, and the scale of their bands.
struct Clips {
  at::Tensor mel;    // [4, 80, 64]
  at::Tensor stats;  // [80]
};

Clips four_clips() {
  const MelSpectrogram spectrogram(dvae_mel_config(), at::kCPU);
  std::vector<at::Tensor> rows;
  for (std::uint64_t clip = 1; clip <= 4; ++clip) {
    const auto sound = made_sound(63 * 256 / 22'050.0 + 1e-4, clip);
    rows.push_back(at::tensor(sound.samples).narrow(0, 0, 63 * 256));
  }
  const auto log_mel = normalised_log_mel(spectrogram(at::stack(rows)), at::ones({80}));
  const auto stats = log_mel.square().mean(at::IntArrayRef{0, 2}).sqrt();
  return {.mel = log_mel / stats.view({1, -1, 1}), .stats = stats};
}

constexpr double kRate = 1e-3;

// The error of its last step.
double by_heart(const CodebookRule& rule, bool new_codebook, int steps) {
  const auto config = model_preset("tiny").dvae;
  auto weights = initialise(dvae_specs(config), 1);
  if (!new_codebook) weights.at("codebook.cluster_size").fill_(1);
  const auto clips = four_clips();
  const auto device = one_core();
  const auto training =
      make_dvae_training(config, weights, clips.stats, *device, {.codebook = rule});
  auto batch = mel_batch(clips.mel, *device);
  return train(*training, {&batch}, steps, kRate).back().losses[Reconstruction];
}

// Codes that say nothing leave the mean to be said, and so does a codebook that stays at random
// numbers. By a tenth of both, or less, one knows that codes carry the clips; a third is asked for.
TEST(DvaeLearning, FourClipsAreReconstructedByHeartAndNotWithACodebookOfRandomNumbers) {
  const auto mel = four_clips().mel;
  const auto mean = mel.mean(at::IntArrayRef{0, 2}, /*keepdim=*/true);
  const double of_the_mean = (mel - mean).square().mean().item<double>();
  const double learned = by_heart({.begin_steps = 100}, true, 220);
  const double random = by_heart({.decay = 1.0, .least_use = 0}, false, 100);
  EXPECT_LT(learned, of_the_mean / 3);
  EXPECT_LT(learned, random / 3);
  EXPECT_GT(random, of_the_mean / 2) << "random numbers say little more than the mean";
}

// Perplexity after a run over ever new windows, as a share of the codes.
double perplexity_share(double least_use) {
  auto weights = initialise(dvae_specs(small_dvae()), 2);
  weights.at("codebook.cluster_size").fill_(1);  // random numbers that count as learned
  const auto device = one_core();
  const auto training = make_dvae_training(small_dvae(), weights, at::ones({80}), *device,
                                           {.codebook = {.least_use = least_use}});
  std::vector<DeviceBatch> batches;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    batches.push_back(mel_batch(speechlike_mel(16, 64, seed), *device));
  }
  std::vector<DeviceBatch*> all;
  for (auto& batch : batches) all.push_back(&batch);
  const auto numbers = train(*training, all, 360, 1e-3);
  return numbers.back().losses[Perplexity] / 64;
}

// Forty percent are what docs promise of a codebook; one that collapsed has two codes of its 64.
TEST(DvaeLearning, CodesThatBeginAnewKeepFortyPercentInUseAndWithoutThemTheCodebookCollapses) {
  const double alive = perplexity_share(CodebookRule{}.least_use);
  EXPECT_GE(alive, 0.4);
  EXPECT_LT(perplexity_share(0), alive / 3);
}

}  // namespace
}  // namespace myxtts::test::learning_test
