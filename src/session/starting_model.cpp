// SPDX-License-Identifier: Apache-2.0
#include "session/starting_model.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "data/batches/sound_window.h"
#include "run/model_folder.h"
#include "session/vocabulary_texts.h"
#include "train/starting_point.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestVocabulary = 64 << 20;  // bytes
constexpr const char* kStart = "start";

std::string read_vocabulary(const fs::path& file) {
  return read_text_file(file, "vocabulary of --vocab", kLargestVocabulary);
}

fs::path make_start(const fs::path& run) {
  std::error_code failed;
  fs::remove_all(run / kStart, failed);
  fs::create_directories(run / kStart, failed);
  if (!failed) return run / kStart;
  throw DataError(
      fmt::format("The folder {} cannot be made: {}.", (run / kStart).string(), failed.message()));
}

// Whether a folder belongs to the run itself, whose files nobody writes to in place. Those of a
// model elsewhere are their owner's to change.
bool is_within(const fs::path& folder, const fs::path& run) {
  const fs::path within =
      fs::weakly_canonical(folder).lexically_relative(fs::weakly_canonical(run));
  return !within.empty() && *within.begin() != "..";
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_hard_link(fs::canonical(from), to, failed);
  if (failed) copy_apart(from, to);
}

// The files of a model folder that a part leaves as they are.
std::vector<std::string> fixed_names(const fs::path& folder, const PartFacts& part) {
  std::vector<std::string> names{files::kConfig, files::kVocabulary, files::kDvae, files::kModel,
                                 files::kVoices};
  std::erase(names, part.file);
  if (windows_of(part.part).with_speakers) names.emplace_back(files::kSpeakers);
  const std::string licence =
      parse_licence(read_config_text(folder), (folder / files::kConfig).string()).file;
  if (!licence.empty()) names.push_back(fs::path(licence).filename().string());
  std::erase_if(names, [&](const std::string& name) { return !fs::exists(folder / name); });
  return names;
}

const NamedTensors& tensors_of(const OpenModel& network, std::string_view file) {
  return file == files::kDvae ? network.dvae : network.model;
}

// As a new model has it: the file that the part does not train.
void write_fixed_tensors(const StartingModel& start) {
  for (const std::string file : {files::kModel, files::kDvae}) {
    if (file != start.part.file) {
      write_tensors(start.folder / file, tensors_of(start.network, file));
    }
  }
}

}  // namespace

TextIds ids_of(const Vocabulary& vocabulary) {
  return {.count = vocabulary.rows(), .start = vocabulary.start(), .stop = vocabulary.stop()};
}

NamedTensors StartingModel::untrained() const {
  return untrained_tensors(part, tensors_of(network, part.file));
}

std::vector<fs::path> StartingModel::fixed_files() const {
  std::vector<fs::path> paths;
  for (const std::string& name : fixed_names(folder, part)) paths.push_back(folder / name);
  return paths;
}

StartingModel start_from_folder(const fs::path& model, const fs::path& run, ModelPart part,
                                const std::optional<std::string>& asked_size) {
  // Read before they are put together: GCC 12 destroys members twice when an initialiser throws.
  Vocabulary vocabulary = Vocabulary::load(model / files::kVocabulary);
  StartingModel start{.vocabulary = std::move(vocabulary)};
  start.part = facts_of(part);
  start.network = model_to_train(model, ids_of(start.vocabulary), asked_size);
  start.folder = make_start(run);
  const auto take = is_within(model, run) ? link_or_copy : copy_apart;
  for (const std::string& name : fixed_names(model, start.part)) {
    take(model / name, start.folder / name);
  }
  return start;
}

void set_mel_stats(StartingModel& start, const at::Tensor& mel_stats) {
  start.network.model.insert_or_assign("mel_stats", mel_stats);
  if (start.part.file != files::kModel) {
    write_tensors(start.folder / files::kModel, start.network.model);
  }
}

std::string vocabulary_of_new_model(const RunConfig& config) {
  if (config.train.vocab) return read_vocabulary(*config.train.vocab);
  const auto texts = training_texts(config.data);
  const auto pieces = config.train.vocab_pieces;
  return pieces ? learn_vocabulary(texts, static_cast<std::size_t>(*pieces), 2)
                : learn_vocabulary(texts);
}

StartingModel start_from_nothing(const RunConfig& config, const fs::path& run) {
  const std::string json = vocabulary_of_new_model(config);
  const std::string origin =
      config.train.vocab ? config.train.vocab->string() : "the learnt vocabulary";
  Vocabulary vocabulary = Vocabulary::parse(json, origin);
  StartingModel start{.vocabulary = std::move(vocabulary), .from_nothing = true};
  start.part = facts_of(config.train.stage);
  const TextIds ids = ids_of(start.vocabulary);
  const ModelConfig sizes = new_model_config(config.train.model_size, ids);
  start.network = new_model(sizes, static_cast<std::uint64_t>(config.train.seed));
  const std::string config_json = with_text_ids(print_model_config(sizes), ids, files::kConfig);

  start.folder = make_start(run);
  write_file_atomically(start.folder / files::kConfig, bytes_of(config_json));
  write_file_atomically(start.folder / files::kVocabulary, bytes_of(json));
  write_fixed_tensors(start);
  if (!config.train.vocab) {
    log_info("train", "a vocabulary of {} tokens was learnt from the training texts: {}", ids.count,
             (start.folder / files::kVocabulary).string());
  }
  return start;
}

std::optional<std::string> asked_size(const EffectiveConfig& settings) {
  if (settings.origins.empty()) return std::nullopt;
  const std::string& size = settings.values.train.model_size;
  const Origin::Kind kind = settings.origin_of("train.model_size").kind;
  const bool asked = kind == Origin::Kind::Flag ||
                     (kind != Origin::Kind::Default && size != TrainConfig{}.model_size);
  return asked ? std::optional(size) : std::nullopt;
}

namespace {

// The checkpoint that a run goes on from, or another one of its network; nothing: there is none.
std::optional<fs::path> resumed_model(const RunDirectoryConfig& run) {
  if (!run.resume) return std::nullopt;
  for (const fs::path& folder : {fs::path(*run.resume), run.checkpoint_dir / "latest"}) {
    if (fs::exists(folder / files::kState)) return folder;
  }
  return std::nullopt;
}

ModelConfig sizes_in(const fs::path& folder) {
  return parse_model_config(read_config_text(folder), (folder / files::kConfig).string());
}

[[noreturn]] void refuse_network(const std::string& asked, const std::string& why) {
  throw ConfigError(
      fmt::format("{} cannot be had with --resume, as {}; leave it out, or begin another run with "
                  "--checkpoint-dir DIR.",
                  asked, why));
}

bool was_typed(const EffectiveConfig& settings, const char* key) {
  return !settings.origins.empty() && settings.origin_of(key).kind == Origin::Kind::Flag;
}

}  // namespace

void refuse_other_network(const EffectiveConfig& settings) {
  const TrainConfig& train = settings.values.train;
  const auto model = resumed_model(settings.values.run);
  if (!model) return;
  const ModelConfig own = sizes_in(*model);
  if (const auto size = asked_size(settings); size && size != size_name(own.gpt)) {
    refuse_network("--model-size " + *size,
                   fmt::format("the network of {} is {}", model->string(),
                               size_name(own.gpt).value_or("of a size of its own")));
  }
  const bool has_init = was_typed(settings, "train.init") && train.init;
  if (has_init && fs::exists(*train.init / files::kConfig) && sizes_in(*train.init) != own) {
    refuse_network("--init " + train.init->string(),
                   fmt::format("{} is a network of other sizes", model->string()));
  }
  if (!was_typed(settings, "train.vocab") || !train.vocab || !fs::exists(*train.vocab)) return;
  if (read_vocabulary(*train.vocab) != read_vocabulary(*model / files::kVocabulary)) {
    refuse_network("--vocab " + train.vocab->string(),
                   fmt::format("{} has another vocabulary", model->string()));
  }
}

}  // namespace myxtts
