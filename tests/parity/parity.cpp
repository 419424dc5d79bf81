// SPDX-License-Identifier: Apache-2.0
//
// Computes with our network what coqui-tts' trainer computes, for anyone to compare: takes
// and gives named tensors in safetensors files. docs/internals/network.md lists the names.
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "audio/mel_spectrogram.h"
#include "config/model.h"
#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"
#include "model/vocoder.h"
#include "parity/parity_batch.h"
#include "parity/parity_model.h"
#include "parity/parity_training.h"
#include "weights/tensor_files.h"

namespace myxtts::test {
namespace {

constexpr int kSteps = 20;
constexpr double kClipNorm = 1.0;

// conditioning [B, 1, 1, S] -> [B, 80, F], the mel that the GPT is conditioned on.
at::Tensor conditioning_mel(const ParityModel& model, const at::Tensor& conditioning) {
  const at::NoGradGuard no_grad;
  const MelSpectrogram mel(conditioning_mel_config(), c10::kCPU);
  return normalised_log_mel(mel(conditioning.flatten(0, 2)), model.weights.at("mel_stats"));
}

// A batch and the mel of its prompts.
struct ParityBatch {
  GptBatch rows;
  at::Tensor mel;  // [B, 80, F]
};

ParityBatch make_batch(const ParityModel& model, const TensorsByName& inputs,
                       const std::string& group, PromptMask mask) {
  const auto clips = read_clips(model.config.gpt, inputs, group + "cond_idxs");
  return {.rows = to_batch(pack_rows(model.config.gpt, views(clips), mask), c10::kCPU),
          .mel = conditioning_mel(model, input(inputs, group + "conditioning"))};
}

GptLosses losses_of(const Gpt& gpt, const ParityBatch& batch) {
  const auto states = gpt.states(batch.rows, gpt.conditioning(batch.mel));
  return gpt_losses(batch.rows, gpt.logits(batch.rows, states));
}

// Weighted text, codes, sum: as the peer's trainer reports them.
at::Tensor reported(const GptLosses& losses) {
  return at::stack({losses.text * kTextLossWeight, losses.audio, losses.total}).detach();
}

void write_losses(TensorsByName& out, const std::string& prefix, const GptLosses& losses) {
  const auto values = reported(losses);
  out[prefix + "loss_text_ce"] = values[0];
  out[prefix + "loss_mel_ce"] = values[1];
  out[prefix + "loss"] = values[2];
}

// Each gradient under the parameter's name within the GPT and under its name in the checkpoint.
void write_gradients(TensorsByName& out, const ParityModel& model) {
  for (const auto& spec : gpt_specs(model.config.gpt)) {
    const std::string whole = kGptPrefix + spec.name;
    const auto gradient = model.weights.at(whole).grad().clone();
    for (const auto& name : {spec.name, whole}) {
      out["grad.norm." + name] = gradient.norm();
      out["grad.full." + name] = gradient;
    }
  }
}

DeviceBatch as_step(ParityBatch batch, std::int64_t number) {
  DeviceBatch step;
  step.number = number;
  step.position = {.epoch = 0, .step = number};
  step.clips.resize(static_cast<std::size_t>(batch.rows.clips));
  step.rows = std::move(batch.rows);
  step.prompt_mel = std::move(batch.mel);
  return step;
}

void write_curve(TensorsByName& out, const std::string& prefix, const ParityCurve& curve) {
  out[prefix + "losses"] = curve.losses;
  out[prefix + "grad_norms"] = curve.norms;
}

// Twenty steps on one batch, clipped.
void write_training(TensorsByName& out, const ParityModel& model, const TensorsByName& inputs) {
  std::vector<DeviceBatch> steps;
  for (int step = 0; step < kSteps; ++step) {
    steps.push_back(as_step(make_batch(model, inputs, "in.batch.", PromptMask::None), step));
  }
  write_curve(out, "train20.", train(model, std::move(steps), kClipNorm));
}

// The peer's recipe: a new batch in each step, its slip with the prompts' spans, no clipping.
void write_recipe(TensorsByName& out, const ParityModel& model, const TensorsByName& inputs) {
  std::vector<DeviceBatch> steps;
  for (int step = 0; inputs.contains(fmt::format("in.step{}.batch.codes", step)); ++step) {
    const auto of_step = inputs_of_step(inputs, step);
    steps.push_back(as_step(make_batch(model, of_step, "in.batch.", PromptMask::Peer), step));
  }
  if (!steps.empty()) write_curve(out, "recipe.", train(model, std::move(steps), std::nullopt));
}

void write_decoder(TensorsByName& out, const ParityModel& model, const TensorsByName& inputs) {
  const at::NoGradGuard no_grad;
  const Decoder decoder(model.config.decoder, model.weights);
  out["decoder.wav"] =
      decoder(input(inputs, "in.decoder.latents"), input(inputs, "in.decoder.speaker"));
}

TensorsByName compute(const ParityModel& model, const TensorsByName& inputs) {
  const Gpt gpt(model.config.gpt, model.weights);
  TensorsByName out;
  write_decoder(out, model, inputs);
  {
    const at::NoGradGuard no_grad;
    const auto masked = make_batch(model, inputs, "in.masked.", PromptMask::Peer);
    write_losses(out, "masked.batch.", losses_of(gpt, masked));
  }
  const auto batch = make_batch(model, inputs, "in.batch.", PromptMask::None);
  out["batch.mel_cond"] = batch.mel.unsqueeze(1);  // [B, 1, 80, F]
  const auto losses = losses_of(gpt, batch);
  write_losses(out, "eval.batch.", losses);
  losses.total.backward();
  write_gradients(out, model);
  write_training(out, model, inputs);
  write_recipe(out, model, inputs);
  return out;
}

int run(int argc, char** argv) {
  CLI::App app("Computes what coqui-tts' trainer computes on a batch, to be compared.");
  std::filesystem::path model_path;
  std::filesystem::path inputs_path;
  std::filesystem::path out_path;
  app.add_option("--model", model_path, "a model directory")->required();
  app.add_option("--inputs", inputs_path, "a batch, as safetensors")->required();
  app.add_option("--out", out_path, "where to write the results, as safetensors")->required();
  CLI11_PARSE(app, argc, argv);
  write_tensors(out_path, compute(read_model(model_path), read_tensors(inputs_path)));
  return 0;
}

}  // namespace
}  // namespace myxtts::test

int main(int argc, char** argv) {
  try {
    return myxtts::test::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "parity: {}\n", error.what());
    return 1;
  }
}
