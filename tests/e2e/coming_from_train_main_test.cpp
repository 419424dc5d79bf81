// SPDX-License-Identifier: Apache-2.0
//
// What users of the TensorFlow predecessor type and bring along: its published config files, and
// the command lines of its documents as docs/guides/coming-from-train-main.md translates them.
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <utility>

#include "config/field.h"
#include "config/predecessor.h"
#include "e2e/training_bench.h"
#include "support/corpus_maker.h"
#include "support/one_sentence.h"
#include "support/tone_corpus.h"

namespace myxtts::test::coming_from_train_main_test {
namespace {

namespace fs = std::filesystem;

// Files with the keys of those it has published.
fs::path its_file(const std::string& name) {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")) / "e2e/predecessor" / name;
}

// Without a GPU, wherever the tests run.
const Words kNoGpu{"MYXTTS_NVML_LIBRARY=libabsent-ml.so.1"};
const Words kTwoGpus{"MYXTTS_NVML_LIBRARY=" FAKE_NVML, "FAKE_NVML_NAMES=NVIDIA L4;NVIDIA L4",
                     "MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN, "MYXTTS_CUDA_DRIVER=" FAKE_NVML,
                     "FAKE_NVML_ANCESTOR=10"};

ProgramResult run(const Words& words, const Words& environment = kNoGpu) {
  return run_program(words, {.standard_input = {}, .environment = environment});
}

class ComingFromTrainMain : public TrainingBench {};

TEST_F(ComingFromTrainMain, ItsPublishedConfigFilesAreRead) {
  for (const char* name : {"full.yaml", "saved.yaml", "example.yaml"}) {
    const auto result = run({"config", "--config", its_file(name)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    // A line for each reason, and none of them long enough to hide the others.
    EXPECT_LE(std::ranges::count(result.err, '\n'), 14) << result.err;
    for (const char* piece :
         {"training.learning_rate (train.lr)", "data.batch_size (train.batch_size)", "model.n_mels",
          "data.sample_rate", "training.mel_loss_weight", "no meaning here: the losses",
          "without effect: training.scheduler 'noam' (train.schedule takes"}) {
      EXPECT_TRUE(has(result.err, piece)) << name << ": " << piece << "\n" << result.err;
    }
    for (const char* piece : {"train_data: corpora/voice", "checkpoint_dir: runs/voice",
                              "val_fraction: 0.1", " as training.learning_rate\n"}) {
      EXPECT_TRUE(has(result.out, piece)) << name << ": " << piece << "\n" << result.out;
    }
    const auto checked = run({"train", "--config", its_file(name), "--dry-run", "--device", "cpu",
                              "--model-size", "tiny", "--batch-size", "2", "--train-data",
                              path("corpus"), "--checkpoint-dir", path("run")});
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  }
}

TEST_F(ComingFromTrainMain, OfTwoKeysForOneSettingTheOneWithoutEffectIsSaid) {
  write_text(path("two.yaml"), "training: {learning_rate: 0.001, lr: 0.002, epochs: 3}\n");
  const auto result = run({"config", "--config", path("two.yaml")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "lr: 0.002 ")) << result.out;
  EXPECT_TRUE(has(result.err,
                  "without effect: training.learning_rate '0.001' (training.lr, further down, sets "
                  "train.lr too)."))
      << result.err;
  EXPECT_TRUE(has(result.err, "in brackets: training.lr (train.lr), training.epochs"))
      << result.err;
}

struct Line {
  Words flags;
  Words shown;  // lines of the effective configuration
};

// Each was a line of train_main.py, with the flags that mean something else or nothing here
// translated as the page says.
const std::vector<Line> kTrainLines = {
    {{"--train-data", "data/train", "--val-data", "data/val"},
     {"train_data: data/train", "val_data: data/val", "pipeline_buffer_size: auto"}},
    {{"--train-data", "data/train", "--val-data", "data/val", "--data-gpu", "0", "--model-gpu", "1",
      "--buffer-size", "75", "--model-start-delay", "3.5"},
     {"data_gpu: 0", "model_gpu: 1", "pipeline_buffer_size: 75", "model_start_delay: 3.5"}},
    {{"--data-gpu", "0", "--model-gpu", "1", "--buffer-size", "100", "--batch-size", "64",
      "--num-workers", "16", "--epochs", "500"},
     {"batch_size: 64", "num_workers: 16", "epochs: 500"}},
    {{"--buffer-size", "25", "--batch-size", "16", "--grad-accum", "4", "--num-workers", "4"},
     {"pipeline_buffer_size: 25", "grad_accum: 4"}},
    {{"--data-gpu", "0", "--model-gpu", "1", "--enable-memory-isolation", "--data-gpu-memory",
      "8192", "--model-gpu-memory", "16384", "--batch-size", "32", "--lr", "8e-5"},
     {"enable_memory_isolation: true", "data_gpu_memory: 8192", "model_gpu_memory: 16384",
      "lr: 8e-05"}},
    {{"--batch-size", "128", "--num-workers", "32", "--enable-memory-isolation", "--data-gpu", "0",
      "--model-gpu", "1", "--enable-static-shapes", "--prefetch-buffer-size", "16"},
     {"enable_static_shapes: true", "prefetch_buffer_size: 16", "# flag --enable-static-shapes"}},
    {{"--enable-static-shapes", "--max-text-tokens", "150", "--max-seconds", "7", "--batch-size",
      "8", "--model-size", "tiny"},
     {"max_text_tokens: 150", "max_seconds: 7.0", "model_size: tiny"}},
    {{"--disable-static-shapes"},
     {"enable_static_shapes: false", "# flag --disable-static-shapes"}},
    {{"--model-size", "small", "--batch-size", "auto", "--num-workers", "auto"},
     {"model_size: small", "batch_size: auto", "num_workers: auto"}},
    {{"--model-size", "normal", "--checkpoint-dir", "checkpointsmain", "--max-steps", "200"},
     {"model_size: normal", "checkpoint_dir: checkpointsmain", "max_steps: 200"}},
    {{"--lr", "1.2e-5", "--batch-size", "32", "--grad-clip", "0.25", "--resume",
      "run/checkpoints/step-0000050", "--epochs", "150"},
     {"grad_clip: 0.25", "resume: run/checkpoints/step-0000050"}},
    {{"--gpus", "0,1", "--batch-size", "32", "--grad-accum", "2"}, {"gpus: \"0,1\""}},
    {{"--eval-steps", "500", "--samples", "2", "--test-sentences", "texts.txt"},
     {"eval_steps: 500", "samples: 2", "test_sentences: texts.txt"}},
    {{"--stages", "dvae,gpt,decoder", "--stage-budget", "dvae=100,gpt=100,decoder=100"},
     {"stages: \"dvae,gpt,decoder\"", "lr: 0.0002  # default: the part starts from nothing"}},
    {{"--device", "gpu", "--cache-dataset", "--precision", "bf16"},
     {"device: cuda", "cache_dataset: true", "precision: bf16"}},
};

TEST_F(ComingFromTrainMain, TheTrainingLinesOfItsDocumentsAreAcceptedAndMeanSomething) {
  for (const Line& line : kTrainLines) {
    Words words{"config"};
    words.insert(words.end(), line.flags.begin(), line.flags.end());
    const auto result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const std::string& shown : line.shown) {
      EXPECT_TRUE(has(result.out, shown)) << shown << "\n" << result.out;
    }
  }
}

TEST_F(ComingFromTrainMain, ItsTwoGpuLinesPlanTwoGpus) {
  for (const Words& more : {Words{"--buffer-size", "25", "--batch-size", "4"},
                            Words{"--enable-memory-isolation", "--data-gpu-memory", "4096",
                                  "--model-gpu-memory", "8192", "--batch-size", "4"}}) {
    Words words{"train",        "--dry-run", "--data-gpu",       "0",
                "--model-gpu",  "1",         "--train-data",     path("corpus"),
                "--model-size", "tiny",      "--checkpoint-dir", path("run")};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run(words, kTwoGpus);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_TRUE(has(result.out, "Device plan: dual")) << result.out;
  }
}

// Of its other scripts: each ends at what is not there, with every flag taken.
TEST_F(ComingFromTrainMain, TheOtherScriptsHaveTheirCommands) {
  const std::string nowhere = path("nowhere");
  write_tiny_model(path("model"));
  const struct {
    Words words;
    int exit_code;
    std::string said;
  } table[] = {
      {{"validate", "--data-gpu", "0", "--model-gpu", "1"}, 4, "--data-gpu 0 --model-gpu 1 needs"},
      {{"profile", "--data-gpu", "0", "--model-gpu", "1", "--batch-size", "16", "--num-steps",
        "100"},
       4,
       "--data-gpu 0 --model-gpu 1 needs"},
      {{"profile", "--train-data", nowhere, "--batch-size", "16", "--num-steps", "50", "--device",
        "cpu"},
       3,
       "nowhere"},
      {{"profile", "--config", its_file("full.yaml"), "--train-data", nowhere, "--device", "cpu"},
       3,
       "nowhere"},
      {{"prepare", nowhere}, 3, "nowhere"},
      {{"evaluate", "--model", nowhere, "--data", nowhere}, 3, "nowhere"},
      {{"synthesize", "--model", nowhere, "--text", "Hello world", "--language", "en",
        "--reference", "speaker.wav", "--out", path("hello.wav")},
       3,
       "nowhere"},
      {{"synthesize", "--model", path("model"), "--text", "Hello", "--language", "en",
        "--reference", "speaker.wav", "--out", path("hello.wav"), "--device", "gpu"},
       4,
       "--device gpu needs a GPU"},
      {{"evaluate", "--model", path("model"), "--data", path("corpus"), "--device", "gpu"},
       4,
       "or give --device cpu in place of --device gpu."},
      {{"prepare", path("corpus"), "--model", path("model"), "--codes", "--cache-dir",
        path("cache"), "--device", "gpu"},
       4,
       "or give --device cpu in place of --device gpu."},
      {{"export", "--model", nowhere, "--format", "coqui", "--out", path("public")}, 3, "nowhere"},
  };
  for (const auto& each : table) {
    const auto result = run(each.words);
    EXPECT_EQ(result.exit_code, each.exit_code) << each.words[0] << "\n" << result.err;
    EXPECT_TRUE(has(result.err, each.said)) << result.err;
  }
}

using Rows = std::vector<std::pair<std::string, std::string>>;

// The rows of a table of the page: what it was there, and what it is here.
Rows rows_of_page(const std::string& section) {
  const fs::path tests = std::getenv("MYXTTS_TEST_DATA");
  std::istringstream page(
      contents_of(tests.parent_path() / "docs/guides/coming-from-train-main.md"));
  Rows rows;
  bool is_in_section = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_in_section = line == "## " + section;
    const auto middle = line.find(" | ");
    if (!is_in_section || !line.starts_with("| ") || middle == std::string::npos) continue;
    rows.emplace_back(line.substr(2, middle - 2), line.substr(middle + 3));
  }
  return rows;
}

Words found_in(const std::string& text, const char* pattern) {
  const std::regex each(pattern);
  return {std::sregex_token_iterator(text.begin(), text.end(), each), {}};
}

// Whoever types a line of old is led to what the page says: by the name of the flag that it has
// here, or by the reason why there is none.
TEST_F(ComingFromTrainMain, EveryFlagOfThePagesTableIsAnsweredWithWhatThePageSays) {
  int answered = 0;
  for (const auto& [there, here] : rows_of_page("Flags of train_main.py")) {
    const Words ours = found_in(here, "--[a-z][a-z-]*[a-z]");
    for (const std::string& flag : found_in(there, "--[a-z][a-z-]*[a-z]")) {
      const bool is_ours = has(there, "without a value") || flag == "--resume";
      if (is_ours) continue;
      const bool is_family = has(there, flag + "-...");
      const auto result = run({"train", is_family ? flag + "-x" : flag, "1"});
      EXPECT_EQ(result.exit_code, 2) << flag;
      expect_one_sentence(result.err);
      const bool is_named = std::ranges::any_of(ours, [&](const std::string& name) {
        return has(result.err, "did you mean " + name + "?");
      });
      EXPECT_TRUE(is_named || has(result.err, "docs/guides/coming-from-train-main.md"))
          << flag << ": " << here << "\n"
          << result.err;
      ++answered;
    }
  }
  EXPECT_GT(answered, 30);
  for (const auto& [there, here] :
       {std::pair("--checkpoint", "--model"), std::pair("--output", "--out"),
        std::pair("--reference-audio", "--reference"), std::pair("--speaker-audio", "--reference"),
        std::pair("--speaker-id", "--speaker")}) {
    const auto result = run({"synthesize", there, "x"});
    EXPECT_EQ(result.exit_code, 2) << there;
    EXPECT_TRUE(has(result.err, std::string("did you mean ") + here + "?")) << result.err;
  }
}

// `data.a`, `.b` and so on, each with its section.
Words keys_in(const std::string& text) {
  Words keys;
  for (std::string key : found_in(text, "`[a-z]*\\.[a-z_*]+")) {
    key.erase(0, 1);
    if (key.starts_with('.')) key.insert(0, keys.back().substr(0, keys.back().find('.')));
    keys.push_back(key);
  }
  return keys;
}

TEST_F(ComingFromTrainMain, EveryKeyOfThePagesTableMeansWhatThePageSays) {
  std::size_t known = 0;
  for (const auto& [there, here] : rows_of_page("Config keys")) {
    const Words keys = keys_in(there);
    const Words ours = keys_in(here);
    known += keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto meaning = predecessor_key(keys[i]);
      ASSERT_TRUE(meaning) << keys[i];
      if (here.starts_with("nothing")) {
        EXPECT_EQ(meaning->field, nullptr) << keys[i];
        continue;
      }
      ASSERT_NE(meaning->field, nullptr) << keys[i];
      const bool is_same = here.starts_with("the same in `train`");
      const std::string said = is_same ? "train" + keys[i].substr(keys[i].find('.'))
                               : ours.size() == keys.size() ? ours[i]
                                                            : ours.front();
      EXPECT_EQ(meaning->field->key, said) << keys[i];
    }
  }
  EXPECT_GT(known, 30U);
}

// What has no equal is answered with the reason and the page, not with a guess.
TEST_F(ComingFromTrainMain, FlagsWithoutAnEqualSayWhy) {
  for (const auto& [flag, reason] : std::vector<std::pair<std::string, std::string>>{
           {"--optimization-level", "or by a recipe"},
           {"--max-mel-frames", "--max-seconds S leaves out longer clips"},
           {"--preprocessing-mode", "--cache-dataset keeps computed features"},
           {"--gst-num-heads", "no such part"},
           {"--no-prefetch-to-gpu", "always wait on the model device"}}) {
    const auto result = run({"train", flag, "x"});
    EXPECT_EQ(result.exit_code, 2);
    expect_one_sentence(result.err);
    EXPECT_TRUE(has(result.err, reason)) << result.err;
    EXPECT_TRUE(has(result.err, "docs/guides/coming-from-train-main.md")) << result.err;
  }
}

}  // namespace
}  // namespace myxtts::test::coming_from_train_main_test
