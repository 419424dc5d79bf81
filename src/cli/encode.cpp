// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <CLI/CLI.hpp>

#include "audio/resample.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "synth/clip_encoder.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct EncodeArguments {
  fs::path model;
  fs::path out;
  ReferenceFlags reference;
  std::vector<fs::path> files;
};

// The names of the tensors begin with the names of the files, so those must differ.
void check_names(const std::vector<fs::path>& files) {
  std::set<std::string> stems;
  for (const auto& file : files) {
    const auto stem = file.stem().string();
    if (stem == "all") {
      throw ConfigError(
          fmt::format("{} would take the name 'all', which stands for all files "
                      "together; rename it.",
                      file.string()));
    }
    if (!stems.insert(stem).second) {
      throw ConfigError(
          fmt::format("Two of the files are called '{}'; rename {}, or encode it into "
                      "another file.",
                      stem, file.string()));
    }
  }
}

at::Tensor read_long_enough(const fs::path& file, const ClipEncoder& encoder) {
  auto clip = read_clip(file, encoder.sample_rate());
  if (clip.size(0) < shortest_reference_piece(encoder.sample_rate())) {
    throw DataError(fmt::format(
        "{} is {:.2f} s long; at least 0.33 s are needed to hear a voice.", file.string(),
        static_cast<double>(clip.size(0)) / static_cast<double>(encoder.sample_rate())));
  }
  return clip;
}

void add_voice(TensorsByName& tensors, const std::string& name, const Voice& voice) {
  tensors[name + ".latents"] = voice.latents;
  tensors[name + ".speaker"] = voice.speaker;
}

int run_encode(const EncodeArguments& arguments) {
  check_names(arguments.files);
  require_output("--out", arguments.out, Output::File);
  const c10::AutoGradMode no_gradients(false);
  const auto model = open_model(find_model("--model", arguments.model));
  const auto lengths = reference_lengths(arguments.reference, model.reference,
                                         model.config.decoder.input_sample_rate);
  const ClipEncoder encoder(model, lengths);

  TensorsByName tensors;
  std::vector<at::Tensor> clips;
  Progress progress({.title = "Encoding", .total = arguments.files.size()});
  for (const auto& file : arguments.files) {
    const auto name = file.stem().string();
    clips.push_back(read_long_enough(file, encoder));
    const auto mel = encoder.mel_dvae(clips.back());
    tensors[name + ".mel_dvae"] = mel;
    tensors[name + ".mel_cond"] = encoder.mel_cond(clips.back());
    tensors[name + ".codes"] = encoder.codes(mel);
    add_voice(tensors, name, encoder.voice({clips.back()}));
    clips.back() =
        clips.back().narrow(0, 0, std::min(lengths.of_each, clips.back().size(0))).clone();
    progress.advance();
  }
  add_voice(tensors, "all", encoder.voice(clips));
  write_tensors(arguments.out, tensors);
  log_info("encode", "{} holds what the model makes of {}.", arguments.out.string(),
           counted(std::ssize(arguments.files), "file"));
  return 0;
}

}  // namespace

Command encode_command() {
  const auto declare = [](CLI::App& app) {
    auto arguments = std::make_shared<EncodeArguments>();
    app.add_option("--model", arguments->model, "The model folder")->required()->type_name("DIR");
    app.add_option("--out", arguments->out, "The safetensors file to write")
        ->required()
        ->type_name("FILE");
    declare_reference_flags(app, arguments->reference);
    app.add_option("FILE", arguments->files, "Audio files, in the order of the reference")
        ->required();
    return [arguments] { return run_encode(*arguments); };
  };
  return {"encode",
          "Models",
          "Turns clips into codes, mel spectrograms, conditioning latents and speaker vectors",
          declare,
          {"myxtts encode --model DIR --out me.safetensors me.wav"}};
}

}  // namespace myxtts
