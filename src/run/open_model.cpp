// SPDX-License-Identifier: Apache-2.0
#include "run/open_model.h"

#include <algorithm>
#include <system_error>

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/resumed_run.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
#include "run/model_folder.h"
#include "run/public_folder.h"
#include "run/run_directory.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

NamedTensors open_tensors(const std::filesystem::path& path, const TensorSpecs& specs) {
  require_tensors(SafetensorsReader(path), specs);
  auto tensors = read_tensors(path);
  for (auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kFloat);
  }
  return tensors;
}

}  // namespace

namespace {

namespace fs = std::filesystem;

constexpr const char* kXtts = "xtts-v2";

bool holds_model(const fs::path& folder) {
  return fs::exists(folder / files::kModel) || fs::exists(folder / files::kDvae);
}

// A folder beside the public one, so that the command can be typed as it stands.
[[noreturn]] void refuse_public_folder(std::string_view flag, fs::path folder) {
  if (!folder.has_filename()) folder = folder.parent_path();  // "XTTS-v2/"
  fs::path target = folder.string() + "-imported";
  for (int other = 2; fs::exists(target); ++other) {
    target = fmt::format("{}-imported-{}", folder.string(), other);
  }
  throw DataError(
      fmt::format("{} {} is a model of the public layout, which has to be imported once; type: "
                  "myxtts import --from {} --out {}",
                  flag, folder.string(), shell_word(folder.string()), shell_word(target.string())));
}

// The model that `myxtts pull` keeps under that name; empty: there is none, the name is a path, or
// the working directory has something of that name.
fs::path pulled_model(const fs::path& name) {
  const fs::path models = models_folder();
  if (models.empty() || name.empty() || name != name.filename() || fs::exists(name)) return {};
  return holds_model(models / name) ? models / name : fs::path();
}

// The model of `myxtts pull` whose name is nearly the one that was given; nothing: none is.
std::optional<std::string> near_model(const fs::path& given) {
  std::vector<std::string> names{kXtts};
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(models_folder(), none)) {
    if (holds_model(entry.path())) names.push_back(entry.path().filename().string());
  }
  return nearest_name(given.string(), names);
}

// What the link of a run points at: "step-0001200".
std::string checkpoint_of(const fs::path& link) {
  std::error_code none;
  return fs::canonical(link, none).filename().string();
}

}  // namespace

fs::path find_model(std::string_view flag, const fs::path& given) {
  if (holds_model(given)) return given;
  if (const fs::path pulled = pulled_model(given); !pulled.empty()) return pulled;
  for (const char* name : {"best", "latest"}) {
    if (!holds_model(given / name)) continue;
    log_info("model", "{} {} means {}, {}", flag, given.string(), (given / name).string(),
             checkpoint_of(given / name));
    return given / name;
  }
  if (holds_public_model(given)) refuse_public_folder(flag, given);
  const fs::path around = given.has_parent_path() ? given.parent_path() : ".";
  if (given.extension() == ".pth" && holds_public_model(around)) refuse_public_folder(flag, around);
  if (fs::is_regular_file(given) && holds_model(around)) {
    throw DataError(fmt::format("{} {} is a file of a model; name its folder, {} {}.", flag,
                                given.string(), flag, around.string()));
  }
  if (fs::exists(given / files::kConfig) || fs::exists(given / files::kVocabulary)) return given;
  if (const std::string run = what_a_run_is(given); !run.empty()) {
    throw DataError(fmt::format("{} {} is no model{}.", flag, given.string(), run));
  }
  if (const std::string near = flag_of_run_near(flag, given); !near.empty()) {
    throw DataError(fmt::format("{} {} holds no model itself; {}.", flag, given.string(), near));
  }
  if (given == kXtts) {
    throw DataError(fmt::format("{} {}, the public model, is not here yet; type: myxtts pull {}",
                                flag, kXtts, kXtts));
  }
  if (const auto near = near_model(given); near && !fs::exists(given)) {
    throw DataError(
        fmt::format("There is no model {}; did you mean {} {}?", given.string(), flag, *near));
  }
  throw DataError(fmt::format(
      "{} {} is not a model folder{}; name one with config.json, vocab.json and "
      "model.safetensors, such as myxtts import makes, a run directory of myxtts train, "
      "or a model of myxtts pull --list.",
      flag, given.string(), fs::exists(given) ? "" : " (nothing is there)"));
}

OpenModel open_model(const std::filesystem::path& folder) {
  const std::string json = read_config_text(folder);
  const std::string subject = (folder / files::kConfig).string();
  OpenModel opened{.config = parse_model_config(json, subject),
                   .reference = parse_reference_config(json, subject),
                   .model = {},
                   .dvae = {}};
  if (!std::filesystem::exists(folder / files::kDvae)) {
    throw DataError(
        fmt::format("{} has no {}, which turns sound into codes; import the model again "
                    "from a folder that holds {}.",
                    folder.string(), files::kDvae, files::kPublicDvae));
  }
  opened.model = open_tensors(folder / files::kModel, checkpoint_specs(opened.config));
  opened.dvae = open_tensors(folder / files::kDvae, dvae_specs(opened.config.dvae));
  return opened;
}

namespace {

NamedTensors chosen(const PartFacts& part, const NamedTensors& tensors, bool trained) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(part.prefix) == trained) found.emplace(name, tensor);
  }
  return found;
}

}  // namespace

NamedTensors trained_tensors(const PartFacts& part, const NamedTensors& of_file) {
  return chosen(part, of_file, true);
}

NamedTensors untrained_tensors(const PartFacts& part, const NamedTensors& of_file) {
  return chosen(part, of_file, false);
}

// In the order in which they are trained.
constexpr std::array kPartsThatSpeak{ModelPart::Dvae, ModelPart::Gpt, ModelPart::Decoder};

bool is_untrained(const fs::path& folder, ModelPart part) {
  const PartFacts& facts = facts_of(part);
  const fs::path file = folder / facts.file;
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return false;
  try {
    const ModelConfig config =
        parse_model_config(read_config_text(folder), (folder / files::kConfig).string());
    TensorSpecs specs =
        facts.file == files::kDvae ? dvae_specs(config.dvae) : checkpoint_specs(config);
    const NamedTensors tensors = open_tensors(file, specs);
    std::erase_if(specs,
                  [&](const TensorSpec& spec) { return !spec.name.starts_with(facts.prefix); });
    return is_as_initialised(specs, tensors);
  } catch (const DataError&) {
    return false;  // who opens the model says what is wrong with it
  }
}

std::vector<ModelPart> untrained_parts(const fs::path& folder) {
  std::vector<ModelPart> parts;
  for (const ModelPart part : kPartsThatSpeak) {
    if (is_untrained(folder, part)) parts.push_back(part);
  }
  return parts;
}

void warn_of_untrained_parts(const fs::path& folder, const std::vector<ModelPart>& trained_now) {
  std::vector<ModelPart> untrained = untrained_parts(folder);
  std::erase_if(untrained,
                [&](ModelPart part) { return std::ranges::count(trained_now, part) > 0; });
  if (untrained.empty()) return;
  std::vector<std::string_view> names;
  for (const ModelPart part : untrained) names.push_back(name_of(part));
  // What was trained on an untrained part has to learn anew with it.
  std::vector<std::string_view> parts;
  for (const ModelPart part : kPartsThatSpeak) {
    if (part == untrained.front() || !parts.empty()) parts.push_back(name_of(part));
  }
  const char* those = names.size() == 1 ? "it" : "them";
  log_warning(
      "model",
      "the {} of {} {} never trained{}, so what you hear is noise; to train {}, type: myxtts train "
      "{} {} --init {} --train-data CORPUS --checkpoint-dir RUN",
      fmt::join(names, " and "), folder.string(), names.size() == 1 ? "was" : "were",
      trained_now.empty() ? "" : fmt::format(", and this run does not train {}", those), those,
      parts.size() == 1 ? "--stage" : "--stages", fmt::join(parts, ","),
      shell_word(folder.string()));
}

void require_finite(const OpenModel& model, const std::filesystem::path& folder) {
  require_finite(model.model, folder / files::kModel);
  require_finite(model.dvae, folder / files::kDvae);
}

CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const PartFacts& part) {
  CheckpointContents contents{
      .state = read_training_state(checkpoint.folder / files::kState),
      .weights = trained_tensors(part, read_tensors(checkpoint.folder / part.file)),
      .optimiser = read_tensors(checkpoint.folder / files::kOptimiser)};
  if (contents.state.step != checkpoint.step) {
    throw DataError(fmt::format("{} is of step {}, but its folder of step {}.",
                                (checkpoint.folder / files::kState).string(), contents.state.step,
                                checkpoint.step));
  }
  require_finite(contents.weights, checkpoint.folder / part.file);
  require_finite(contents.optimiser, checkpoint.folder / files::kOptimiser);
  return contents;
}

}  // namespace myxtts
