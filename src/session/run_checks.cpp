// SPDX-License-Identifier: Apache-2.0
#include "session/run_checks.h"

#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/message_text.h"
#include "config/resumed_run.h"
#include "config/value_text.h"
#include "data/batches/batch_plan.h"
#include "data/corpus.h"
#include "data/generated_corpus.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "device/plan/gpu_choice.h"
#include "diagnose/corpus/corpus_survey.h"
#include "diagnose/doctor/checklist.h"
#include "diagnose/doctor/measure.h"
#include "diagnose/validate/validation.h"
#include "model/discriminators.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"
#include "run/model_folder.h"
#include "run/run_directory.h"
#include "run/training_state.h"
#include "session/part_chain.h"
#include "session/plan_run.h"
#include "session/samples/part_samples.h"
#include "session/starting_model.h"
#include "session/trial/trial.h"
#include "text/vocabulary.h"
#include "train/starting_point.h"
#include "train/step/parameters.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// The folder itself, or the nearest above it that exists.
fs::path existing_folder(fs::path folder) {
  std::error_code unreadable;
  folder = fs::absolute(folder);
  while (!fs::exists(folder, unreadable) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

// Why nothing can be written to a folder that exists; empty: something can.
std::string writing_fault(const fs::path& folder) {
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable)) return "it is not a folder";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return errno == EROFS ? "its disk is mounted read-only" : "you may not write there";
}

BatchShape shape_of(const BatchPlan& batches, const CorpusFacts& corpus) {
  BatchShape shape{.clips = batches.slots()};
  if (!batches.sizes().empty()) {
    const RowSizes& largest = batches.sizes().back();
    shape.tokens = largest.tokens;
    shape.text_targets = largest.text_targets;
    shape.audio_targets = largest.audio_targets;
    shape.segments = largest.segments;
    shape.longest = largest.longest;
  }
  const auto seconds_per_clip =
      corpus.training_hours * 3600.0 / static_cast<double>(corpus.training_clips);
  shape.samples = static_cast<std::int64_t>(seconds_per_clip * kModelRate) * shape.clips;
  return shape;
}

// Of --init, of --vocab, or learnt as the run itself would learn it. Without the model of --init a
// corpus can still be looked at: that it is missing is said of the model.
Vocabulary vocabulary_of(const RunFacts& facts) {
  const RunConfig& config = facts.config;
  if (facts.model && config.train.init) {
    return Vocabulary::load(*config.train.init / files::kVocabulary);
  }
  return Vocabulary::parse(vocabulary_of_new_model(config), "the new vocabulary");
}

CorpusFacts facts_of_corpus(const Corpus& corpus, const RunConfig& config, const GptConfig& gpt,
                            const DevicePlan& plan) {
  CorpusFacts facts{.training_clips = static_cast<std::int64_t>(corpus.training().size()),
                    .validation_clips = static_cast<std::int64_t>(corpus.validation().size()),
                    .left_out = static_cast<std::int64_t>(corpus.skipped().size())};
  for (const ClipNumber number : corpus.training()) {
    const ClipView clip = corpus.clip(number);
    facts.training_hours += static_cast<double>(clip.samples) / (3600.0 * kModelRate);
    facts.source_bytes += 2 * clip.source_frames;
  }
  if (facts.training_clips == 0) return facts;
  refuse_unheard(corpus);
  // Sizes are wanted for every run; without static shapes a batch is no larger than these.
  const BatchPlan batches(corpus, gpt,
                          {.batch_size = plan.batch_size,
                           .batch_tokens = plan.batch_tokens,
                           .static_shapes = true,
                           .seed = static_cast<std::uint64_t>(config.train.seed)});
  facts.batches_per_epoch = batches.steps_per_epoch();
  facts.speakers = SpeakerTable(corpus).size();
  facts.largest_batch = shape_of(batches, facts);
  facts.useful_share = batches.useful_share();
  return facts;
}

// What `part` gives, or the sentence it failed with.
template <typename Part, typename Result>
void gather(Part part, Result& result, std::string& fault) {
  try {
    result = part();
  } catch (const Error& error) {
    fault = one_line(error.what());
  } catch (const fs::filesystem_error& error) {
    fault = fmt::format("{}: {}.", error.path1().string(), error.code().message());
  }
}

ModelConfig sizes_of(const RunFacts& facts) {
  return facts.model ? *facts.model : model_preset(facts.config.train.model_size);
}

std::int64_t bytes_below(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code failed;
  for (auto entry = fs::recursive_directory_iterator(folder, failed);
       !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    struct stat status {};
    // Files with several names are checkpoints' links to one: each counts for its share.
    if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += status.st_size / static_cast<std::int64_t>(status.st_nlink);
    }
  }
  return bytes;
}

// Where the part has its checkpoints: one of --stages in a folder of its own.
fs::path folder_of_part(const RunConfig& config) {
  const fs::path& run = config.run.checkpoint_dir;
  const fs::path own = run / name_of(config.train.stage);
  std::error_code unreadable;
  return fs::is_directory(own, unreadable) ? own : run;
}

// Of the checkpoint that --resume goes on from; 0: the run begins.
std::int64_t steps_before(const fs::path& folder, const RunDirectoryConfig& run) {
  if (!run.resume) return 0;
  const bool is_newest = *run.resume == "latest";
  const fs::path from = is_newest ? folder / "latest" : folder_of_checkpoint(folder, *run.resume);
  std::error_code missing;
  const fs::path state = from / files::kState;
  return fs::exists(state, missing) ? read_training_state(state).step : 0;
}

// What a run has done, its disk, what it has there already and what it will add; `before`: the
// parts before it.
void add_folder(std::span<const RunFacts> before, RunFacts& facts) {
  SystemProbe probe;
  facts.disk = probe.disk(existing_folder(facts.config.run.checkpoint_dir));
  if (facts.disk.fault.empty()) facts.disk.fault = writing_fault(facts.disk.folder);
  const fs::path folder = folder_of_part(facts.config);
  facts.held_bytes = bytes_below(folder / "checkpoints") + bytes_below(folder / "start");
  gather([&] { return steps_before(folder, facts.config.run); }, facts.steps_done, facts.run_fault);
  facts.bytes_before = 0;
  for (const RunFacts& each : before) {
    if (each.model) facts.bytes_before += bytes_to_keep(each);
  }
  if (facts.model && facts.config.train.stage == ModelPart::Decoder) {
    facts.judges = parameter_count(discriminator_specs(discriminators_for(facts.model->decoder)));
  }
}

// A run, and what of it is needed until its facts are complete.
struct LookedAt {
  RunFacts facts;
  std::shared_ptr<const Corpus> corpus = {};  // null: it could not be opened
  std::optional<TextIds> text_ids = {};       // of the vocabulary it was opened with
};

// The index goes where prepare puts it. That nothing can be written there is no fault of the
// corpus.
std::shared_ptr<const Corpus> open_corpus(const RunFacts& facts, const Vocabulary& vocabulary) {
  const DataConfig& data = facts.config.data;
  const HoldBack rule = hold_back_of(facts.config.train.stage);
  if (writing_fault(existing_folder(index_folder(data))).empty()) {
    return std::make_shared<Corpus>(open_without_run(data, vocabulary, rule));
  }
  const ScratchFolder scratch("dry-run");
  DataConfig elsewhere = data;
  elsewhere.cache_dir.reset();
  return std::make_shared<Corpus>(Corpus::open(elsewhere, vocabulary, scratch.path(), rule));
}

// No step has more clips than the corpus, so memory is planned for no more.
RunConfig within_corpus(RunConfig config, const Corpus* corpus) {
  std::optional<std::int64_t>& batch = config.train.batch_size;
  const auto clips = corpus != nullptr ? static_cast<std::int64_t>(corpus->training().size()) : 0;
  if (batch > clips && clips > 1) batch = clips;
  return config;
}

// The parts of a run have one corpus. `before`: the part before, which has opened it unless its
// clips are held back by another rule; null: there is none. `ranks` share the host.
LookedAt look_before_devices(RunConfig config, int ranks, const LookedAt* before) {
  SystemProbe probe;
  LookedAt run{.facts = {.config = config, .machine = discover_machine(probe)}};
  RunFacts& facts = run.facts;
  facts.machine.memory.available_bytes /= ranks;
  const auto sizes_of_model = [&config] {
    find_starting_model(config);
    return sizes_to_train(config.train);
  };
  gather(sizes_of_model, facts.model, facts.model_fault);
  facts.config = config;  // --init is the folder that was found
  facts.model_source = config.train.init ? config.train.init->string() : config.train.model_size;
  const bool is_open = before != nullptr && hold_back_of(before->facts.config.train.stage) ==
                                                hold_back_of(config.train.stage);
  if (is_open) {
    run.corpus = before->corpus;
    facts.corpus_fault = before->facts.corpus_fault;
    run.text_ids = before->text_ids;
  } else {
    const auto open = [&] {
      const Vocabulary vocabulary = vocabulary_of(facts);
      run.text_ids = ids_of(vocabulary);
      return open_corpus(facts, vocabulary);
    };
    gather(open, run.corpus, facts.corpus_fault);
  }
  const auto plan = [&] {
    return plan_first_rank(within_corpus(config, run.corpus.get()), sizes_of(facts), ranks);
  };
  gather(plan, facts.plan, facts.device_fault);
  if (facts.model && !config.train.init && run.text_ids) {
    facts.model = new_model_config(config.train.model_size, *run.text_ids);
  }
  return run;
}

void open_devices_of(RunFacts& facts) {
  if (!facts.plan) return;
  const DevicePlan plan = *std::exchange(facts.plan, {});
  gather([&] { return open_unless_open({plan}).front(); }, facts.plan, facts.device_fault);
}

// A corpus can be looked at without its devices.
void add_corpus(const Corpus& corpus, RunFacts& facts) {
  const DevicePlan plan =
      facts.plan.value_or(DevicePlan{.batch_size = facts.config.train.batch_size.value_or(1)});
  gather([&] { return facts_of_corpus(corpus, facts.config, sizes_of(facts).gpt, plan); },
         facts.corpus, facts.corpus_fault);
}

}  // namespace

// All are planned before the first is opened: afterwards other GPUs are out of sight.
std::vector<RunFacts> gather_run_facts(const std::vector<RunConfig>& parts, int ranks) {
  std::vector<LookedAt> looked_at;
  for (const RunConfig& config : parts) {
    looked_at.push_back(
        look_before_devices(config, ranks, looked_at.empty() ? nullptr : &looked_at.back()));
  }
  std::vector<RunFacts> all;
  for (LookedAt& run : looked_at) {
    open_devices_of(run.facts);
    if (run.corpus) add_corpus(*run.corpus, run.facts);
    add_folder(all, run.facts);
    all.push_back(std::move(run.facts));
  }
  return all;
}

std::string caution_of_disk(const std::vector<RunConfig>& parts) {
  std::vector<RunFacts> all;
  for (const RunConfig& config : parts) {
    RunFacts facts{.config = config, .model = sizes_of_run(config)};
    add_folder(all, facts);
    const Check check = check_disk(facts);
    if (check.verdict == Verdict::Fail) return fmt::format("{}. {}.", check.found, check.remedy);
    all.push_back(std::move(facts));
  }
  return {};
}

namespace {

// The folder that a corpus is, or that its manifest lies in.
fs::path folder_of_corpus(const CorpusSource& source) {
  std::error_code unreadable;
  if (!fs::is_regular_file(source.path, unreadable)) return source.path;
  return source.path.has_parent_path() ? source.path.parent_path() : ".";
}

// A folder one level above runs, among which a run's own files would lie.
void refuse_folder_of_runs(const RunDirectoryConfig& config) {
  const fs::path& folder = config.checkpoint_dir;
  if (!what_a_run_is(folder).empty() || runs_in(folder, 1).empty()) return;
  throw ConfigError(fmt::format(
      "--checkpoint-dir {} is a folder of runs; {}.", folder.string(),
      config.resume ? flag_of_run_near("--checkpoint-dir", folder)
                    : fmt::format("give the new run a folder of its own in it, as in "
                                  "--checkpoint-dir {}",
                                  shell_word((folder / "new").lexically_normal().string()))));
}

}  // namespace

void check_before_run(const EffectiveConfig& settings) {
  const RunConfig& config = settings.values;
  refuse_folder_of_runs(config.run);
  for (const auto* corpora : {&config.data.train_data, &config.data.val_data}) {
    for (const CorpusSource& source : *corpora) {
      std::error_code missing;
      if (!fs::equivalent(folder_of_corpus(source), config.run.checkpoint_dir, missing)) continue;
      throw ConfigError(
          fmt::format("--checkpoint-dir {} is the folder of the corpus {}; give the run a folder "
                      "of its own, as in --checkpoint-dir runs/voice.",
                      config.run.checkpoint_dir.string(), source.path.string()));
    }
  }
  refuse_other_network(settings);
}

void check_files_beside(const RunConfig& config) {
  if (config.run.trace) require_output("--trace", *config.run.trace, Output::GrowingFile);
  if (config.data.cache_dir) require_output("--cache-dir", *config.data.cache_dir, Output::Folder);
  if (config.run.test_sentences) read_test_sentences(*config.run.test_sentences);
}

namespace {

void require_trainable(const EffectiveConfig& settings, const RunFacts& facts) {
  const TrainConfig& train = facts.config.train;
  const bool begins = facts.steps_done == 0;  // later the run's own model counts
  if (begins && train.init && fs::exists(*train.init)) {
    require_fitting(*train.init, facts.model->gpt,
                    ids_of(Vocabulary::load(*train.init / files::kVocabulary)),
                    asked_size(settings));
  }
  if (train.stage != ModelPart::Gpt || !train.freeze) return;
  frozen_parameters(gpt_specs(facts.model->gpt), kGptPrefix, *train.freeze);
}

// The sentence that `check` fails with; empty: it does not.
template <typename Check>
std::string fault_of(const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    return one_line(error.what());
  }
  return {};
}

}  // namespace

void add_faults_of_settings(const EffectiveConfig& settings, RunFacts& facts) {
  facts.settings_fault = fault_of([&] { check_files_beside(facts.config); });
  if (!facts.model) return;
  facts.model_fault = fault_of([&] { require_trainable(settings, facts); });
  if (!facts.model_fault.empty()) facts.model.reset();
}

std::string fault_of_run_directory(const EffectiveConfig& settings) {
  const RunConfig& config = settings.values;
  return fault_of([&] {
    check_before_run(settings);
    if (config.train.stages) {
      PartChain(settings, config.run.checkpoint_dir);
    } else {
      check_folder_of_run(config.run.checkpoint_dir, config.run.resume, config.train.stage);
    }
  });
}

namespace {

constexpr const char* kUsualSize = "tiny";
constexpr std::int64_t kUsualBatch = 2;  // clips
constexpr std::int64_t kWarmUp = 4;      // steps

bool is_default(const EffectiveConfig& settings, const char* key) {
  return settings.origins.empty() || settings.origin_of(key).kind == Origin::Kind::Default;
}

Checks checklist_for(const DevicePlan& plan) {
  SystemProbe probe;
  const CudaPlugin plugin = plan.model.gpu ? cuda_plugin() : find_cuda_plugin();
  Findings findings = measure(probe, plugin, std::filesystem::current_path());
  findings.libtorch = libtorch_facts();
  return make_checklist(findings);
}

std::vector<std::string> cards_shown(const DevicePlan& plan) {
  std::vector<std::string> places;
  if (!plan.model.gpu) return places;
  for (const CudaDevice& device : require_cuda().devices()) places.push_back(device.pci_bus_id);
  return places;
}

TrialReading try_pipeline(EffectiveConfig settings, const DevicePlan& plan, const fs::path& folder,
                          const Interruption& interruption) {
  generate_corpus(folder, 48, 1.5, 3.0);
  settings.values.data.train_data = {{.path = folder.string()}};
  settings.values.data.val_data.clear();
  settings.values.data.val_fraction = 0.0;
  settings.values.data.cache_dataset = false;
  settings.values.data.model_start_delay = 0.0;
  settings.values.train.init.reset();
  return run_trial(settings, plan, {.warm_up = kWarmUp, .steps = kPipelineSteps, .resident = 0},
                   [&interruption] { return interruption.came(); });
}

}  // namespace

EffectiveConfig with_validation_defaults(EffectiveConfig settings) {
  TrainConfig& train = settings.values.train;
  if (is_default(settings, "train.model_size")) train.model_size = kUsualSize;
  if (!train.batch_size) train.batch_size = kUsualBatch;
  train.grad_accum = 1;
  // A placement is tried with the GPT, whichever part the settings are of.
  train.stage = ModelPart::Gpt;
  train.windows_per_clip.reset();
  train.window.reset();
  return settings;
}

std::vector<StepResult> validate_run(const EffectiveConfig& settings, const DevicePlan& plan) {
  const Interruption interruption;
  const ScratchFolder folder("validate");  // first: where it cannot be made, no device is at fault
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const ValidationParts parts{
      .plan = plan,
      .model = model_preset(settings.values.train.model_size),
      .checklist = checklist_for(plan),
      .visible_devices = visible != nullptr ? visible : "",
      .shown = cards_shown(plan),
      .cuda_is_open = cuda_plugin_is_open(),
      .multiprocessors =
          [](const RoleDevice& data) { return require_cuda().multiprocessors_of(data.stream()); },
      .pipeline = [&] { return try_pipeline(settings, plan, folder.path(), interruption); }};
  return run_steps(validation_steps(parts));
}

}  // namespace myxtts
