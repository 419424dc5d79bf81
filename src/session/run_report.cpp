// SPDX-License-Identifier: Apache-2.0
#include "session/run_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include <fmt/ranges.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/field.h"
#include "config/value_text.h"

namespace myxtts {

void write_settings(const std::filesystem::path& run, const EffectiveConfig& config) {
  EffectiveConfig written = config;
  written.values = with_absolute_paths(config.values);
  write_file_atomically(run / "config.yaml", bytes_of(print_config(written)));
}

void say(const Lines& lines) {
  for (const std::string& line : lines) log_info("train", "{}", line);
}

std::string resume_command(const std::filesystem::path& run) {
  return fmt::format("myxtts train --config {} --resume",
                     shell_word((run / "config.yaml").string()));
}

namespace {

// The corpora as flags: "--data corpora/anna,language=fa".
std::string corpora_as(const std::string& flag, const DataConfig& data,
                       const std::vector<CorpusSource>& sources) {
  std::string text;
  for (CorpusSource source : sources) {
    if (!source.language && data.language != DataConfig{}.language) source.language = data.language;
    if (!source.layout) source.layout = data.format;
    if (flag == "--data") source.weight = 1.0;  // it is for training alone
    text += fmt::format(" {} {}", flag, shell_word(format_corpus_source(source)));
  }
  return text;
}

// Whether a setting of a run is one for the parts that are still to be trained, too: which clips
// there are, the devices, and what a new model is made with. A model to go on from (`has_model`)
// brings that along, and the feature cache serves the GPT alone.
bool is_for_other_parts(const Field& field, const RunConfig& config, bool has_model) {
  static const std::set<std::string_view> as_corpora = {"data.train_data", "data.val_data",
                                                        "data.language", "data.format"};
  static const std::set<std::string_view> of_new_model = {"train.vocab", "train.vocab_pieces",
                                                          "train.seed", "data.cache_dataset"};
  if (of_new_model.contains(field.key)) return !has_model;
  if (as_corpora.contains(field.key)) return false;
  if (field.key == "data.data_gpu") return config.data.model_gpu.has_value();  // not --gpus
  if (field.key == "devices.mode") return config.devices.mode != Mode::Auto;
  const std::string_view section = section_of(field.key);
  return section == "data" || section == "devices" || field.key == "train.batch_size" ||
         field.key == "train.precision";
}

// The settings that are not the default, as flags: " --batch-size 4 --device cpu".
std::string flags_for_other_parts(const RunConfig& config, bool has_model) {
  std::string text;
  const RunConfig defaults;
  for (const Field& field : all_fields()) {
    const std::string value = field.value_of(config).text;
    if (!is_for_other_parts(field, config, has_model) || value == field.value_of(defaults).text) {
      continue;
    }
    if (field.negative_flag.empty()) {
      text += fmt::format(" {} {}", field.flag, shell_word(value));
    } else {
      text += " " + (value == "true" ? field.flag : field.negative_flag);
    }
  }
  return text;
}

// The folder itself, or one beside it that is not there yet.
std::string new_folder(const std::string& folder) {
  std::string name = folder;
  for (int number = 2; std::filesystem::exists(name); ++number) {
    name = fmt::format("{}-{}", folder, number);
  }
  return name;
}

// What trains the parts of RUN/latest that are missing: a decoder alone goes behind the parts that
// are there.
std::string how_to_train(const TrainedModel& model, const RunConfig& config,
                         const std::filesystem::path& run) {
  const std::string latest = (run / "latest").string();
  const bool is_last = model.untrained == std::vector{ModelPart::Decoder};
  const bool has_model = is_last || !model.size;
  std::string what = is_last ? "--stage decoder" : "--stages dvae,gpt,decoder";
  what += has_model ? " --init " + shell_word(latest) : " --model-size " + *model.size;
  return fmt::format(
      "{} cannot speak: its {}. To train {}, type:\n"
      "  myxtts train {}{}{}{} --checkpoint-dir {}\n",
      latest, were_not_trained(model.untrained), is_last ? "it" : "all that speaks", what,
      corpora_as("--train-data", config.data, config.data.train_data),
      corpora_as("--val-data", config.data, config.data.val_data),
      flags_for_other_parts(config, has_model),
      shell_word(new_folder(run.string() + (is_last ? "-decoder" : "-whole"))));
}

// The first words of a text: enough to hear.
std::string first_words(const std::string& text) {
  constexpr std::size_t kBytes = 100;
  if (text.size() <= kBytes) return text;
  const auto space = text.rfind(' ', kBytes);
  return space == std::string::npos ? text : text.substr(0, space);
}

}  // namespace

ManifestEntry example_of(const Corpus& corpus) {
  const bool has_other = !corpus.validation().empty();
  const ClipView clip =
      corpus.clip(has_other ? corpus.validation().front() : corpus.training().front());
  return {.audio = std::string(clip.audio),
          .text = std::string(clip.text),
          .language = std::string(clip.language)};
}

std::string were_not_trained(const std::vector<ModelPart>& parts) {
  std::vector<std::string_view> names;
  for (const ModelPart part : parts) names.push_back(name_of(part));
  return fmt::format("{} {} not trained", fmt::join(names, " and "),
                     names.size() == 1 ? "was" : "were");
}

std::string next_commands(const RunConfig& config, const std::filesystem::path& run,
                          const ManifestEntry& example, const TrainedModel& model) {
  if (!model.untrained.empty()) return how_to_train(model, config, run);
  const std::string named =
      (run / (std::filesystem::exists(run / "best") ? "best" : "latest")).string();
  const std::string given = "--model " + shell_word(named);
  const bool has_own = !config.data.val_data.empty();
  const auto& measured = has_own ? config.data.val_data : config.data.train_data;
  std::string text = fmt::format(
      "{} is a model now.\n"
      "  hear it     myxtts synthesize {} --reference {} --language {} --text {} --out hello.wav\n"
      "  measure it{}  myxtts evaluate {}{}\n",
      named, given, shell_word(example.audio.empty() ? "CLIP.wav" : example.audio),
      example.language.empty() ? config.data.language : example.language,
      shell_word(example.text.empty() ? "Hello." : first_words(example.text)),
      has_own ? "" : " (on every clip, those of the training too)", given,
      corpora_as("--data", config.data, measured));
  if (model.can_be_exported) {
    text += fmt::format("  export it   myxtts export {} --format coqui --out {}\n", given,
                        shell_word((run / "export").string()));
  }
  return text;
}

namespace {

constexpr double kReady = 0.995;      // a pipeline that is good enough
constexpr double kWaitsOften = 0.10;  // of the time: worth doing something about

// The stage that works while the others wait for it: the busiest one.
const StageReading* busiest(const PipelineReading& reading) {
  const StageReading* found = nullptr;
  for (const StageReading& stage : reading.stages) {
    if (found == nullptr ||
        share_of(stage.load.busy, stage.load) > share_of(found->load.busy, found->load)) {
      found = &stage;
    }
  }
  return found;
}

std::string remedy(const std::string& stage, const Advice& advice) {
  const auto with_cache = [&advice](const std::string& first, const char* second) {
    return advice.cache ? fmt::format("{}, or {} --cache-dataset", first, second) : first;
  };
  if (stage == "features") {
    return with_cache(
        "give the data work a device of its own (--data-gpu, --split-gpu, --data-threads)",
        "keep its results with");
  }
  if (stage == "decoder") return with_cache("raise --num-workers", "keep decoded clips with");
  if (stage == "reader") return with_cache("put the corpus on a faster disk", "use");
  return "raise --buffer-size";
}

}  // namespace

double waited_share(const PipelineReading& reading) {
  const double all = reading.model_device.busy_seconds + reading.readiness.waited_seconds;
  return all <= 0 ? 0.0 : reading.readiness.waited_seconds / all;
}

namespace {

bool holds_training_up(const PipelineReading& reading) {
  return reading.readiness.steps > 0 && reading.readiness.share() < kReady &&
         waited_share(reading) >= kWaitsOften;
}

}  // namespace

Advice advice_for(const RunConfig& config) {
  const bool is_gpt = config.train.stage == ModelPart::Gpt;
  return {.cache = is_gpt && !config.data.cache_dataset && !config.train.shift_clips,
          .profile = is_gpt && !config.parallel.ranks && !config.devices.gpus};
}

PipelineJudgement judge(const PipelineReading& reading, const Advice& advice) {
  if (reading.readiness.steps == 0) return {.code = "no-step"};
  if (reading.readiness.share() >= kReady) return {.code = "kept-up"};
  const StageReading* slowest = busiest(reading);
  if (!holds_training_up(reading) || slowest == nullptr) return {.code = "mostly-kept-up"};
  return {.code = "held-up",
          .stage = slowest,
          .stage_busy = share_of(slowest->load.busy, slowest->load),
          .remedy = remedy(slowest->name, advice)};
}

std::string pipeline_verdict(const PipelineReading& reading, const Advice& advice) {
  const PipelineJudgement judgement = judge(reading, advice);
  const ReadinessReading& ready = reading.readiness;
  if (judgement.code == "no-step") return "The pipeline fed no step.";
  const double waited = waited_share(reading);
  const std::string figures = fmt::format(
      "{} of {} batches were waiting when they were wanted ({:.1f} %), and the model "
      "device waited {:.1f} % of its time",
      ready.ready, ready.steps, 100 * ready.share(), 100 * waited);
  if (judgement.code == "kept-up") return fmt::format("The pipeline kept up: {}.", figures);
  if (judgement.stage == nullptr) {
    return fmt::format("The pipeline kept up most of the time: {}.", figures);
  }
  return fmt::format(
      "The pipeline held training up: {}. The busiest stage was the {} ({:.0f} %); {}.", figures,
      judgement.stage->name, 100 * judgement.stage_busy, judgement.remedy);
}

namespace {

// "6 steps, 1 to 6, in 2.5 s".
std::string steps_taken(const RunSummary& summary) {
  const std::int64_t steps = summary.last_step - summary.first_step;
  if (steps > 0) {
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(summary.seconds));
    return fmt::format("{}, {} to {}, in {}", counted(steps, "step"), summary.first_step + 1,
                       summary.last_step, human_duration(time));
  }
  if (summary.is_at_end) {
    return fmt::format(
        "nothing was left to train: the run is at its end, step {}; raise --max-steps, --epochs or "
        "--stage-budget to train on",
        summary.last_step);
  }
  return summary.last_step == 0 ? "no step was taken"
                                : fmt::format("no step was taken after step {}", summary.last_step);
}

}  // namespace

std::string describe(const RunSummary& summary) {
  const std::int64_t steps = summary.last_step - summary.first_step;
  std::string text = steps_taken(summary);
  if (steps > 0 && summary.seconds > 0) {
    text += fmt::format(" ({:.3g} steps/s, {:.3g} hours of speech an hour)",
                        static_cast<double>(steps) / summary.seconds,
                        summary.audio_seconds / summary.seconds);
  }
  text += "\n";
  if (summary.first_loss && summary.last_loss) {
    text += fmt::format("loss      {:.4f} at first, {:.4f} at last\n", *summary.first_loss,
                        *summary.last_loss);
  }
  if (summary.best_validation_loss) {
    text += fmt::format("validated {:.4f} at best", *summary.best_validation_loss);
    if (summary.best_step) text += fmt::format(", at step {}", human_count(*summary.best_step));
    if (summary.last_validation_loss) {
      text += fmt::format("; {:.4f} at last", *summary.last_validation_loss);
    }
    text += "\n";
  }
  if (summary.samples > 0) {
    text +=
        fmt::format("samples   {} to hear in {}\n", summary.samples, summary.samples_in.string());
  }
  if (summary.skipped_steps > 0) {
    text += fmt::format("skipped   {} not finite\n",
                        counted(summary.skipped_steps, "step that was", "steps that were"));
  }
  if (holds_training_up(summary.pipeline)) {
    text += pipeline_verdict(summary.pipeline, summary.advice) + "\n";
  }
  return text;
}

std::string plumbing(const RunSummary& summary) {
  return describe(summary.pipeline) + pipeline_verdict(summary.pipeline, summary.advice);
}

namespace {

template <typename Iterator>
double mean_of(Iterator first, std::size_t count) {
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

}  // namespace

void RunTally::evaluated(const EvaluationReport& report) {
  last_validation_ = report.loss;
  if (report.best) best_step_ = report.step;
}

void RunTally::stepped(const StepReport& report) {
  audio_seconds_ += report.audio_seconds;
  if (report.numbers.skipped) return;
  ++steps_;
  if (first_.size() < kFew) first_.push_back(report.numbers.loss);
  last_.push_back(report.numbers.loss);
  if (last_.size() > kFew) last_.pop_front();
}

// A run of a few steps has a first and a second half.
std::size_t RunTally::few() const {
  return std::clamp<std::size_t>(steps_ / 2, 1, kFew);
}

std::optional<double> RunTally::first_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(first_.begin(), few());
}

std::optional<double> RunTally::last_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(last_.rbegin(), few());
}

namespace {

std::unique_ptr<GpuMeter> meter_of(const RolePlan& role) {
  return role.gpu ? std::make_unique<GpuMeter>(role.gpu->uuid) : nullptr;
}

// "98 % 31.0 GB", or nothing where the card does not tell.
std::string use_of(const GpuMeter* gpu) {
  const auto use = gpu != nullptr ? gpu->read() : std::nullopt;
  return use ? fmt::format("{:.0f} % {}", 100 * use->busy_share, human_size(use->used_bytes)) : "";
}

void add_figure(std::vector<std::string>& figures, const std::string& name,
                const std::string& value) {
  if (!value.empty()) figures.push_back(fmt::format("{}: {}", name, value));
}

// Never 100 where a batch was late.
std::string percent_down(double share) {
  return fmt::format("{:.4g} %", std::floor(1000 * share) / 10);
}

}  // namespace

ProgressObserver::ProgressObserver(const DevicePlan& plan, const TrainingProgressOptions& options,
                                   Screen& screen, const Clock& clock)
    : options_(options),
      clock_(clock),
      plan_(plan),
      is_one_line_(screen.abilities().terminal),
      data_gpu_(plan.mode == Mode::Dual ? meter_of(plan.data) : nullptr),
      model_gpu_(meter_of(plan.model)),
      progress_(std::in_place,
                ProgressOptions{.title = options.title,
                                .total = options.last_step,
                                .deadline = options.deadline,
                                .done_before = static_cast<std::uint64_t>(options.first_step)},
                screen, clock),
      since_(clock.now()),
      begun_(clock.now()) {}

void ProgressObserver::stepped(const StepReport& report) {
  losses_.add(report.numbers.step, report.numbers.loss);
  clips_ += std::ssize(report.clips);
  audio_seconds_ += report.audio_seconds;
  if (progress_->draws_soon()) progress_->set_note(note(report));
  progress_->advance();
}

void ProgressObserver::evaluated(const EvaluationReport& report) {
  validation_ = report.loss;
  std::string parts;
  for (std::size_t i = 0; i < report.losses.size(); ++i) {
    parts +=
        fmt::format("{}{} {:.4f}", i == 0 ? "" : ", ", options_.loss_names.at(i), report.losses[i]);
  }
  log_info("train", "step {}: validation loss {:.4f} ({}) over {} in {:.1f} s{}", report.step,
           report.loss, parts, counted(report.clips, "clip"), report.seconds,
           report.best ? ", the best so far" : "");
}

// A card for each role shows both; a card that two roles share shows what each of them holds.
void ProgressObserver::add_gpus(std::vector<std::string>& figures) const {
  if (!model_gpu_) return;
  const int model = plan_.model.gpu->listed;
  if (data_gpu_) {
    add_figure(figures, fmt::format("data GPU {}", plan_.data.gpu->listed),
               use_of(data_gpu_.get()));
    add_figure(figures, fmt::format("model GPU {}", model), use_of(model_gpu_.get()));
    return;
  }
  add_figure(figures, fmt::format("GPU {}", model), use_of(model_gpu_.get()));
  if (plan_.mode != Mode::Split || !options_.memory) return;
  for (const Role role : {Role::Data, Role::Model}) {
    const auto bytes = static_cast<std::uint64_t>(options_.memory(role));
    add_figure(figures, name_of(role), human_size(bytes));
  }
}

// "GPU 12/98 %", "3.1/31 GB": the data role's before the model role's.
void ProgressObserver::add_gpus_in_short(std::vector<std::string>& figures) const {
  const auto model = model_gpu_ ? model_gpu_->read() : std::nullopt;
  const auto data = data_gpu_ ? data_gpu_->read() : std::nullopt;
  if (!model) return;
  const auto percent = [](const GpuUse& use) { return std::lround(100 * use.busy_share); };
  figures.push_back(data ? fmt::format("GPU {}/{} %", percent(*data), percent(*model))
                         : fmt::format("GPU {} %", percent(*model)));
  const bool is_split = plan_.mode == Mode::Split && options_.memory;
  const auto gigabytes = [](std::int64_t bytes) {
    const double count = static_cast<double>(bytes) / 1e9;
    return count < 10 ? fmt::format("{:.2g}", count) : fmt::format("{:.0f}", count);
  };
  const std::string of_model =
      gigabytes(is_split ? options_.memory(Role::Model) : model->used_bytes) + " GB";
  if (!is_split && !data) {
    figures.push_back(of_model);
    return;
  }
  const std::int64_t of_data = is_split ? options_.memory(Role::Data) : data->used_bytes;
  figures.push_back(gigabytes(of_data) + "/" + of_model);
}

std::vector<std::string> ProgressObserver::losses_in_words(double loss) const {
  if (!is_one_line_) {
    std::vector<std::string> words{fmt::format("loss {:.4f}", loss)};
    if (validation_) words.push_back(fmt::format("validation {:.4f}", *validation_));
    return words;
  }
  std::vector<std::string> words{fmt::format("loss {:.3g}", loss)};
  if (validation_) words.push_back(fmt::format("val {:.3g}", *validation_));
  return words;
}

ProgressNote ProgressObserver::note(const StepReport& report) {
  const auto now = clock_.now();
  const double seconds = std::max(1e-9, seconds_in(now - since_));
  ProgressNote made{
      .first = losses_in_words(report.numbers.loss),
      .then = {fmt::format("epoch {}", report.position.epoch + 1),
               fmt::format("lr {:.3g}", report.learning_rate),
               fmt::format("{:.1f} clips/s", static_cast<double>(clips_) / seconds),
               counted(std::lround(audio_seconds_ / seconds), "hour") + " of speech an hour"}};
  if (options_.most_seconds) {
    const double trained = options_.seconds_before + seconds_in(now - begun_);
    const std::chrono::duration<double> left(std::max(0.0, *options_.most_seconds - trained));
    made.first.insert(made.first.begin(),
                      fmt::format("{} of {:.4g} min left",
                                  human_duration(std::chrono::ceil<std::chrono::seconds>(left)),
                                  *options_.most_seconds / 60));
  }
  made.first.push_back("ready " + percent_down(options_.meters().readiness.share()));
  for (const CurveBucket& bucket : losses_.buckets()) made.curve.push_back(mean_of(bucket));
  if (is_one_line_) {
    add_gpus_in_short(made.first);
  } else {
    add_gpus(made.first);
  }
  since_ = now;
  clips_ = 0;
  audio_seconds_ = 0;
  return made;
}

}  // namespace myxtts
