// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "audio/resample.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "data/batches/sound_window.h"
#include "data/corpus.h"
#include "data/skipped.h"
#include "device/torch_device.h"
#include "diagnose/corpus/corpus_survey.h"
#include "model/gpt.h"
#include "run/model_folder.h"
#include "session/console.h"
#include "synth/clip_evaluator.h"
#include "text/tokenizer.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluateArguments {
  explicit EvaluateArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  std::filesystem::path model;
  std::vector<std::string> data;
  bool json = false;
};

// The text loss as it counts in the sum.
double weighted_text(const ClipScore& score) {
  return kTextLossWeight * score.text;
}

Json losses_of(const ClipScore& score) {
  return {{"loss_text_ce", weighted_text(score)},
          {"loss_mel_ce", score.audio},
          {"loss", weighted_text(score) + score.audio}};
}

// Over the columns of what follows.
void print_head(const EvaluateArguments& arguments) {
  if (!arguments.json)
    print(fmt::format("{:<7}  {:<9}  {:<10}  {}\n", "loss", "text_loss", "audio_loss", "clip"));
}

// The losses as training shows them: the text loss by itself, which counts little in the sum.
std::string columns_of(const ClipScore& score) {
  return fmt::format("{:.5f}  {:<9.5f}  {:<10.5f}", weighted_text(score) + score.audio, score.text,
                     score.audio);
}

// Says a score at once: whoever reads the other end may be waiting for it.
void print_clip(const EvaluateArguments& arguments, std::string_view id, const ClipScore& score) {
  if (arguments.json) {
    Json line = {{"clip", id}};
    line.update(losses_of(score));
    print(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(fmt::format("{}  {}\n", columns_of(score), id));
  }
}

void print_sum(const EvaluateArguments& arguments, const ScoreSum& sum) {
  const auto tokens = sum.over_tokens();
  if (arguments.json) {
    Json line = {{"clips", sum.clips()},
                 {"text_tokens", tokens.text_targets},
                 {"mel_tokens", tokens.audio_targets}};
    line.update(losses_of(tokens));
    line["mean_over_clips"] = losses_of(sum.over_clips());
    print(line.dump() + "\n");
    return;
  }
  print(fmt::format("{}  all tokens of {}\n", columns_of(tokens), counted(sum.clips(), "clip")));
  print(fmt::format("{}  mean over clips\n", columns_of(sum.over_clips())));
}

// The ids of a clip's text; `encoders` are those of the languages so far.
std::vector<std::int64_t> ids_of(const ClipView& clip, const Vocabulary& vocabulary,
                                 std::map<Language, TextEncoder>& encoders) {
  const auto language = parse_language(clip.language);
  const auto& encoder = encoders.try_emplace(language, vocabulary, language).first->second;
  const auto ids = encoder.encode(clip.text).ids;
  return {ids.begin(), ids.end()};
}

// The sound of a clip [S] fp32; nothing: it cannot be decoded and is left out, as in a training,
// until there is more of it than data.max_skipped.
std::optional<at::Tensor> sound_of(const ClipView& clip, std::int64_t sample_rate,
                                   const Corpus& corpus, SkipList& left_out) {
  const std::filesystem::path path(clip.audio);
  try {
    return read_clip(path, sample_rate);
  } catch (const DataError& error) {
    log_warning("evaluate", "{} is left out: {}", path.string(), error.what());
    left_out.add({.file = path,
                  .manifest = std::filesystem::path(clip.manifest),
                  .line = clip.line,
                  .measured = error.what()});
  }
  left_out.check_limit(static_cast<std::int64_t>(corpus.size() + corpus.skipped().size()), {});
  return std::nullopt;
}

int evaluate(const EvaluateArguments& arguments, RunConfig config) {
  config.data.train_data = parse_corpora(arguments.data, "--data");
  config.data.val_data.clear();
  config.data.val_fraction = 0.0;
  if (config.data.cache_dir) require_output("--cache-dir", *config.data.cache_dir, Output::Folder);
  const auto folder = find_model("--model", arguments.model);
  const auto device = open_one_device(config.devices.device);
  const auto model = open_model(folder);
  require_finite(model, folder);
  const auto vocabulary = Vocabulary::load(folder / files::kVocabulary);
  const auto corpus = open_without_run(config.data, vocabulary);

  const ClipEvaluator score_of(model, device);
  std::map<Language, TextEncoder> encoders;
  DataConfig lenient = config.data;
  lenient.strict = false;  // what that is about was judged when the corpus was opened
  SkipList left_out(lenient);
  for (const Skipped& skipped : corpus.skipped()) left_out.add(skipped);
  ScoreSum sum;
  print_head(arguments);
  Progress progress({.title = "Evaluating", .total = corpus.size()});
  for (ClipNumber number = 0; number < corpus.size(); ++number) {
    const auto clip = corpus.clip(number);
    progress.advance();
    const auto samples = sound_of(clip, score_of.sample_rate(), corpus, left_out);
    if (!samples) continue;
    const auto score =
        score_of(*samples, evaluation_prompt(samples->size(0)), ids_of(clip, vocabulary, encoders));
    print_clip(arguments, clip.id, score);
    sum.add(score);
  }
  if (sum.clips() == 0) throw DataError("No clip is left to evaluate; see what was left out.");
  print_sum(arguments, sum);
  return 0;
}

int run_evaluate(const EvaluateArguments& arguments) {
  const EffectiveConfig settings = make_effective_config(arguments.flags.sources());
  return with_named_origins(settings, [&] { return evaluate(arguments, settings.values); });
}

std::function<int()> declare_evaluate(CLI::App& app) {
  const auto arguments = std::make_shared<EvaluateArguments>(app);
  app.add_option("--model", arguments->model, "The model folder.")->required()->type_name("DIR");
  app.add_option("--data", arguments->data,
                 "A corpus to measure on, in any of the layouts; may be given several times.")
      ->required()
      ->type_name("DIR");
  app.add_flag("--json", arguments->json, "Prints one JSON object a line instead of columns.");
  return [arguments] { return run_evaluate(*arguments); };
}

}  // namespace

Command evaluate_command() {
  return {.name = "evaluate",
          .group = "Models",
          .summary = "Measures how well a model predicts recorded clips: losses of text and codes",
          .declare = declare_evaluate,
          .examples = {"myxtts evaluate --model xtts --data LJSpeech-1.1",
                       "myxtts evaluate --model xtts --data corpus,language=de --json"}};
}

}  // namespace myxtts
