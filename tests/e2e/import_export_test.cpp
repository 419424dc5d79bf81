// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/public_model.h"
#include "support/random_tensors.h"
#include "support/temporary_folder.h"
#include "weights/pth.h"
#include "weights/safetensors.h"

namespace myxtts::test::import_export_test {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A folder of a scaled model with everything that import needs.
class ImportExport : public ::testing::Test {
 protected:
  static constexpr std::int64_t kIds = 40;

  ImportExport() {
    config_ = small_public_config(kIds);
    fs::create_directories(from_);
    write_folder();
  }

  void write_folder() {
    write_text(from_ / "config.json", print_model_config(config_));
    write_text(from_ / "vocab.json", small_vocabulary(kIds));
    model_ = {};
    model_.add(checkpoint_specs(config_));
  }

  ProgramResult import(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"import", "--from", from_.string(), "--out",
                                          out_.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  TemporaryFolder folder_;
  fs::path from_ = folder_ / "public";
  fs::path out_ = folder_ / "ours";
  ModelConfig config_;
  RandomTensors model_;
};

TEST_F(ImportExport, AnImportHoldsEveryTensorAndLeavesNothingElseBehind) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  fs::create_directory(folder_ / fmt::format(".{}.part-999999999", out_.filename().string()));
  const auto result = import();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const SafetensorsReader read(out_ / "model.safetensors");
  ASSERT_EQ(read.tensors().size(), model_.views().size());
  for (const auto& [name, view] : model_.views()) EXPECT_TRUE(equal(read.at(name), view)) << name;
  EXPECT_EQ(parse_model_config(contents_of(out_ / "config.json"), "x"), config_);
  EXPECT_EQ(contents_of(out_ / "vocab.json"), contents_of(from_ / "vocab.json"));
  EXPECT_FALSE(fs::exists(out_ / "dvae.safetensors"));
  EXPECT_TRUE(contains(result.err, "no dvae.pth")) << result.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2)
      << "no temporary folder, nor one of a process that is no more";
}

TEST_F(ImportExport, ATrainersCheckpointGivesModelAndDvaeUnderTheirPublicNames) {
  RandomTensors trainer;
  trainer.add(checkpoint_specs(config_), "xtts.");
  trainer.add(dvae_specs(config_.dvae), "dvae.");
  trainer.add({{.name = "torch_mel_spectrogram_dvae.mel_stft.mel_scale.fb", .shape = {2}},
               {.name = "xtts.gpt.gpt.wte.weight", .shape = {2}}});
  write_public_checkpoint(from_ / "checkpoint_9.pth", {});
  write_public_checkpoint(from_ / "checkpoint_10.pth", trainer.views());
  const auto result = import();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "checkpoint_10.pth")) << result.err;
  const SafetensorsReader model(out_ / "model.safetensors");
  EXPECT_EQ(model.tensors().size(), checkpoint_specs(config_).size());
  EXPECT_TRUE(equal(model.at("mel_stats"), trainer.views().at("xtts.mel_stats")));
  const SafetensorsReader dvae(out_ / "dvae.safetensors");
  EXPECT_EQ(dvae.tensors().size(), dvae_specs(config_.dvae).size());
  EXPECT_TRUE(equal(dvae.at("codebook.embed"), trainer.views().at("dvae.codebook.embed")));
}

TEST_F(ImportExport, EveryTensorAtFaultIsListedAndNothingIsWritten) {
  model_.views().erase("gpt.gpt.h.1.ln_2.bias");
  model_.views()["gpt.surplus"] = model_.views().at("mel_stats");
  model_.views()["gpt.text_head.bias"].shape = {kIds - 1};
  model_.views()["gpt.text_head.bias"].bytes =
      model_.views()["gpt.text_head.bias"].bytes.first(4 * (kIds - 1));
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const auto result = import();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err,
                       "1 tensor is missing, 1 is not known, 1 has another shape or type than the "
                       "config asks for: missing gpt.gpt.h.1.ln_2.bias [128] "
                       "(model_args.gpt_n_model_channels)"))
      << result.err;
  EXPECT_TRUE(contains(result.err, "not known gpt.surplus [80]")) << result.err;
  EXPECT_TRUE(contains(result.err, "gpt.text_head.bias is [39]")) << result.err;
  EXPECT_TRUE(contains(result.err, "vocab.json")) << result.err;
  expect_one_sentence(result.err.substr(result.err.rfind("myxtts: ")));
  EXPECT_EQ(result.err.find("\\x0a"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ImportExport, ADamagedCheckpointIsRefusedByItsChecksum) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  std::string content = contents_of(from_ / "model.pth");
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  write_text(from_ / "model.pth", content);
  const auto result = import();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "checksum")) << result.err;
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ImportExport, AFolderThatExistsIsReplacedOnlyWhenToldToAndOnlyIfItIsOurs) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  ASSERT_EQ(import().exit_code, 0);
  const auto again = import();
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_TRUE(contains(again.err, "--force")) << again.err;
  EXPECT_EQ(import({"--force"}).exit_code, 0);
  write_text(out_ / "thesis.doc", "years of work");
  EXPECT_EQ(import({"--force"}).exit_code, 2);
  EXPECT_TRUE(fs::exists(out_ / "thesis.doc"));
}

TEST_F(ImportExport, TheFolderThatIsReadIsNeverReplaced) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const std::string same = from_ / "../public/";
  const auto imported = run_program({"import", "--from", from_, "--out", same, "--force"});
  EXPECT_EQ(imported.exit_code, 2);
  EXPECT_TRUE(contains(imported.err, "is the folder that is read")) << imported.err;
  EXPECT_TRUE(fs::exists(from_ / "model.pth"));
  ASSERT_EQ(import().exit_code, 0);
  const auto exported =
      run_program({"export", "--model", out_, "--format", "coqui", "--out", out_ / ".", "--force"});
  EXPECT_EQ(exported.exit_code, 2);
  EXPECT_TRUE(contains(exported.err, "is the folder that is read")) << exported.err;
  EXPECT_TRUE(fs::exists(out_ / "model.safetensors"));
}

TEST_F(ImportExport, ALicenceMustBeAcceptedAndIsRecordedAndCarriedAlong) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  write_text(from_ / "LICENSE.txt", "\n# Some Model License 1.0\nYou may not.\n");
  const auto refused = import();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "You may not.")) << refused.err;
  EXPECT_TRUE(contains(refused.err, "--accept-licence")) << refused.err;
  EXPECT_FALSE(fs::exists(out_));
  ASSERT_EQ(import({"--accept-licence"}).exit_code, 0);
  const Licence licence = parse_licence(contents_of(out_ / "config.json"), "x");
  EXPECT_EQ(licence.name, "Some Model License 1.0");
  EXPECT_TRUE(licence.accepted);
  EXPECT_EQ(contents_of(out_ / licence.file), contents_of(from_ / "LICENSE.txt"));
}

TEST_F(ImportExport, MelStatisticsThatDisagreeAreSaid) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  PthWriter writer(from_ / "mel_stats.pth");
  std::vector<float> ones(80, 1.0F);
  writer.tensor({Dtype::F32, {80}, std::as_bytes(std::span(ones))});
  writer.commit();
  const auto result = import();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "mel_stats.pth differs")) << result.err;
}

TEST_F(ImportExport, AScaledModelIsNotExportedAndWhatStandsInTheWayIsNamed) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  ASSERT_EQ(import().exit_code, 0);
  const auto result = run_program({"export", "--model", out_.string(), "--format", "coqui", "--out",
                                   (folder_ / "back").string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "coqui-tts loads the sizes normal, big and xtts-v2. Train"))
      << result.err;
  EXPECT_TRUE(contains(result.err, "dvae.hidden 64 in place of 512")) << result.err;
  EXPECT_TRUE(contains(result.err, "speaker_encoder.filters [8, 16, 32, 64]")) << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "back"));
}

TEST_F(ImportExport, ALayoutThatIsNotWrittenIsNamedWithTheOneThatIs) {
  const auto result = run_program({"export", "--model", out_.string(), "--format", "onnx", "--out",
                                   (folder_ / "back").string()});
  EXPECT_EQ(result.exit_code, 2);
  expect_one_sentence(result.err);
  EXPECT_TRUE(contains(result.err, "--format onnx is not written here; coqui is the only layout"))
      << result.err;
}

TEST_F(ImportExport, APublicModelComesBackFromExportAsItWas) {
  config_ = model_preset("xtts-v2");
  config_.gpt.layers = 1;
  config_.gpt.width = 64;
  config_.gpt.heads = 2;
  config_.decoder.input_dim = 64;
  config_.gpt.text_ids = kIds;
  config_.gpt.start_text = 3;
  write_folder();
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const auto latent = std::vector<float>(64, 0.5F);
  const auto bytes = std::as_bytes(std::span(latent));
  PthWriter voices(from_ / "speakers_xtts.pth");
  voices.open_dict();
  voices.key("Ana B. Clark");
  voices.dict({{"gpt_cond_latent", {Dtype::F32, {1, 1, 64}, bytes}},
               {"speaker_embedding", {Dtype::F32, {1, 64, 1}, bytes}}});
  voices.close_dict();
  voices.commit();
  ASSERT_EQ(import().exit_code, 0);
  const fs::path back = folder_ / "back";
  StartedProgram given_up({"export", "--model", out_, "--format", "coqui", "--out", back});
  const auto is_staged = [&] {
    return std::distance(fs::directory_iterator(folder_.path()), {}) > 2;
  };
  while (!is_staged() && !given_up.ends_within(std::chrono::milliseconds(0))) {
  }
  given_up.send(SIGINT);
  EXPECT_EQ(given_up.finish().exit_code, 130);
  EXPECT_FALSE(is_staged()) << "Ctrl-C leaves no temporary folder";
  // The one layout that is written need not be named.
  const auto result = run_program({"export", "--model", out_.string(), "--out", back.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;

  const PthReader model(back / "model.pth");
  const auto items = model.items(model.tree().find(model.tree().root(), "model").value());
  ASSERT_EQ(items.size(), model_.views().size());
  for (const auto& [name, value] : items) {
    std::vector<std::byte> buffer;
    EXPECT_TRUE(
        equal(dense(model.tensor(value, name), buffer), model_.views().at(std::string(name))))
        << name;
  }
  const PthReader stats(back / "mel_stats.pth");
  EXPECT_EQ(stats.tensor(stats.tree().root(), "mel_stats").shape, Shape{80});
  EXPECT_EQ(contents_of(back / "vocab.json"), contents_of(from_ / "vocab.json"));
  EXPECT_FALSE(contains(contents_of(back / "config.json"), "\"myxtts\""));
  const PthReader read_voices(back / "speakers_xtts.pth");
  const auto ana = read_voices.tree().find(read_voices.tree().root(), "Ana B. Clark");
  ASSERT_TRUE(ana);
  EXPECT_EQ(read_voices.items(*ana)[0].first, "gpt_cond_latent") << "the peer takes them by order";
}

// The sentence's own command, word by word.
TEST_F(ImportExport, AFolderThatWasNotImportedNamesTheCommandThatWorks) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const auto speak = [&](const fs::path& model) {
    return run_program({"synthesize", "--model", model, "--reference", folder_ / "me.wav",
                        "--language", "en", "--text", "Hi.", "--out", folder_ / "a.wav"});
  };
  for (const fs::path& given : {from_, from_ / "", from_ / "model.pth"}) {
    const auto refused = speak(given);
    EXPECT_EQ(refused.exit_code, 3);
    const std::string type = "type: myxtts import --from " + from_.string() + " --out ";
    ASSERT_TRUE(contains(refused.err, type)) << refused.err;
    std::istringstream words(refused.err.substr(refused.err.find("import --from")));
    const std::vector<std::string> typed(std::istream_iterator<std::string>(words), {});
    ASSERT_EQ(typed.size(), 5U);
    const auto imported = run_program(typed);
    EXPECT_EQ(imported.exit_code, 0) << imported.err;
    const auto spoken = speak(typed.back());
    EXPECT_TRUE(contains(spoken.err, "me.wav")) << "only the clip is missing now: " << spoken.err;
  }
}

TEST_F(ImportExport, CtrlCWhileImportingLeavesNothing) {
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const fs::path parent = folder_ / "new";
  StartedProgram program({"import", "--from", from_, "--out", parent / "deep" / "ours"});
  while (!fs::exists(parent) && !program.ends_within(std::chrono::milliseconds(0))) {
  }
  program.send(SIGINT);
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_FALSE(fs::exists(parent)) << "neither the staged folder nor those above it";
}

TEST_F(ImportExport, AFolderWithoutACheckpointNamesWhatToDo) {
  for (const char* file : {"notes.txt", "model.safetensors", "best/model.safetensors"}) {
    fs::remove_all(from_);
    fs::create_directories((from_ / file).parent_path());
    write_text(from_ / file, "x");
    const auto result = import();
    EXPECT_EQ(result.exit_code, 3) << result.err;
    expect_one_sentence(result.err);
    EXPECT_NE(
        result.err.find(std::string(file) == "notes.txt" ? "or type myxtts pull xtts-v2"
                                                         : "give it to --model or --init as it is"),
        std::string::npos)
        << result.err;
  }
}

TEST_F(ImportExport, HostileFilesEndWithOneSentenceAndTheirOwnExitCode) {
  const auto exit_code = [&](const std::string& content) {
    write_text(from_ / "model.pth", content);
    const auto result = import();
    EXPECT_TRUE(result.err.starts_with("myxtts: ")) << result.err;
    return result.exit_code;
  };
  EXPECT_EQ(exit_code(""), 3);
  EXPECT_EQ(exit_code("not a zip archive at all"), 3);
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  const std::string page = "\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n";
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const std::string is_pointer =
      " is a git-lfs pointer, which names a large file and does not hold it; type git lfs pull in "
      "its folder";
  const std::string is_page = " is a web page that was saved in place of the file; download";
  for (const auto& [name, content, words] :
       {std::tuple("model.pth", pointer, is_pointer), std::tuple("config.json", page, is_page),
        std::tuple("vocab.json", pointer, is_pointer)}) {
    const std::string real = contents_of(from_ / name);
    write_text(from_ / name, content);
    const auto result = import();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find((from_ / name).string() + words), std::string::npos) << result.err;
    write_text(from_ / name, real);
  }
  write_public_checkpoint(from_ / "model.pth", model_.views());
  const std::string whole = contents_of(from_ / "model.pth");
  EXPECT_EQ(exit_code(whole.substr(0, whole.size() / 2)), 3);
  write_text(from_ / "config.json", "{");
  EXPECT_EQ(exit_code(whole), 3);
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace myxtts::test::import_export_test
