// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fetch/http.h"
#include "model/network_specs.h"
#include "support/model_server.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/public_model.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::test::pull_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool are_equal(const fs::path& a, const fs::path& b) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(a)) {
    const fs::path other = b / entry.path().filename();
    if (!fs::exists(other) || contents_of(entry.path()) != contents_of(other)) return false;
    ++count;
  }
  return count == static_cast<std::size_t>(std::distance(fs::directory_iterator(b), {}));
}

// A small public model on a server, what import makes of it, and an empty place for models. The
// first two are for all tests of a suite.
class Pull : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<TemporaryFolder>();
    const fs::path files = *shared_ / "files";
    fs::create_directories(files);
    const ModelConfig config = small_public_config(40);
    RandomTensors model;
    model.add(checkpoint_specs(config));
    write_public_checkpoint(files / "model.pth", model.views());
    RandomTensors dvae;
    dvae.add(dvae_specs(config.dvae));
    PthWriter writer(files / "dvae.pth");
    writer.dict(dvae.views());
    writer.commit();
    write_voices(files / "speakers_xtts.pth", config);
    write_text(files / "config.json", print_model_config(config));
    write_text(files / "vocab.json", small_vocabulary(40));
    write_text(files / "LICENSE.txt", "# Some Model License 1.0\nYou may not.\n");
    server_ = std::make_unique<ModelServer>(files);
    const auto made = run_program(
        {"import", "--from", files, "--out", *shared_ / "imported", "--accept-licence"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  static void TearDownTestSuite() {
    server_.reset();
    shared_.reset();
  }

  static void write_voices(const fs::path& path, const ModelConfig& config) {
    const auto width = static_cast<std::size_t>(config.gpt.width);
    const std::vector<float> latent(32 * width, 0.5F);
    const std::vector<float> speaker(static_cast<std::size_t>(config.speaker_encoder.output_dim),
                                     0.5F);
    PthWriter voices(path);
    voices.open_dict();
    voices.key("Ana B. Clark");
    voices.dict({{"gpt_cond_latent",
                  {Dtype::F32, {1, 32, config.gpt.width}, std::as_bytes(std::span(latent))}},
                 {"speaker_embedding",
                  {Dtype::F32,
                   {1, config.speaker_encoder.output_dim, 1},
                   std::as_bytes(std::span(speaker))}}});
    voices.close_dict();
    voices.commit();
  }

  // myxtts pull FAULT/m --name voice ...
  static std::vector<std::string> command(const std::string& fault) {
    return {"pull", fault + "/m", "--name", "voice", "--from", server_->url(), "--accept-licence"};
  }

  ProgramInput environment(std::vector<std::string> more = {}) const {
    more.push_back("XDG_DATA_HOME=" + folder_.path().string());
    return {.environment = more};
  }

  ProgramResult run(const std::vector<std::string>& arguments,
                    std::vector<std::string> more = {}) const {
    return run_program(arguments, environment(std::move(more)));
  }

  fs::path models() const { return folder_ / "myxtts" / "models"; }
  fs::path model() const { return models() / "voice"; }
  fs::path part() const { return models() / ".voice.download" / "model.pth.part"; }
  bool is_whole() const { return fs::exists(model()) && are_equal(*shared_ / "imported", model()); }

  static bool was_asked_for(const std::string& path) {
    HttpClient client;
    return contains(client.text(server_->url() + "/log", 64U << 20U), path);
  }

  void kill_at_random_moments(int times);

  static std::unique_ptr<TemporaryFolder> shared_;
  static std::unique_ptr<ModelServer> server_;
  TemporaryFolder folder_;
};

std::unique_ptr<TemporaryFolder> Pull::shared_;
std::unique_ptr<ModelServer> Pull::server_;

TEST_F(Pull, MakesWhatImportMakesAndNamesTheCommandThatSpeaks) {
  const auto pulled = run(command("none"));
  ASSERT_EQ(pulled.exit_code, 0) << pulled.err;
  EXPECT_TRUE(is_whole());
  EXPECT_EQ(std::distance(fs::directory_iterator(models()), {}), 1) << "nothing else is left";
  EXPECT_TRUE(contains(pulled.err, "myxtts synthesize --model voice --speaker 'Ana B. Clark'"))
      << pulled.err;

  const auto list = run({"pull", "--list"});
  EXPECT_TRUE(contains(list.out, "voice ")) << list.out;
  EXPECT_TRUE(contains(list.out, "Some Model License 1.0")) << list.out;

  const auto again = run({"pull", "none/m", "--name", "voice", "--from", "https://hub.invalid"});
  EXPECT_EQ(again.exit_code, 0) << "nobody is asked: " << again.err;
  EXPECT_TRUE(contains(again.err, "here already")) << again.err;
  auto forced = command("none");
  forced.emplace_back("--force");
  EXPECT_EQ(run(forced).exit_code, 0);
  EXPECT_TRUE(is_whole());
}

TEST_F(Pull, AModelIsNamedWithoutAPathUnlessTheWorkingDirectoryHasThatName) {
  ASSERT_EQ(run(command("none")).exit_code, 0);
  const std::vector<std::string> speak = {
      "synthesize", "--model", "voice", "--speaker", "Nobody",         "--language",
      "en",         "--text",  "Hi.",   "--out",     folder_ / "a.wav"};
  const auto found = run(speak);
  EXPECT_TRUE(contains(found.err, "Ana B. Clark")) << "it was opened: " << found.err;
  const auto dry = run({"train", "--dry-run", "--init", "voice", "--train-data", folder_.path()});
  EXPECT_FALSE(contains(dry.err + dry.out, "not a model folder")) << dry.err;

  const fs::path before = fs::current_path();
  fs::create_directories(folder_ / "work" / "voice");
  fs::current_path(folder_ / "work");
  const auto other = run(speak);
  fs::current_path(before);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_TRUE(contains(other.err, "--model voice is not a model folder")) << other.err;
}

TEST_F(Pull, ThePublicModelThatIsNotHereYetIsNamedWithTheCommandThatFetchesIt) {
  const auto absent = run({"synthesize", "--model", "xtts-v2", "--speaker", "Nobody", "--language",
                           "en", "--text", "Hi.", "--out", folder_ / "a.wav"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_TRUE(contains(absent.err, "is not here yet; type: myxtts pull xtts-v2")) << absent.err;
}

TEST_F(Pull, WhoeverDoesNotAcceptTheLicenceIsNotSentTheModel) {
  const auto refused = run({"pull", "none/refused", "--from", server_->url()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(contains(refused.err, "You may not.")) << refused.err;
  EXPECT_TRUE(contains(refused.err, "--accept-licence")) << refused.err;
  EXPECT_TRUE(
      was_asked_for("none/refused/resolve/0123456789abcdef0123456789abcdef01234567/LICENSE"));
  EXPECT_FALSE(
      was_asked_for("none/refused/resolve/0123456789abcdef0123456789abcdef01234567/model"));
  EXPECT_FALSE(fs::exists(models() / "refused"));
}

TEST_F(Pull, AKnownModelWithOtherFilesThanItsPinnedOnesIsRefused) {
  const auto refused = run({"pull", "xtts-v2", "--from", server_->url(), "--accept-licence"});
  EXPECT_EQ(refused.exit_code, 3);
  expect_one_sentence(refused.err);
  EXPECT_TRUE(contains(refused.err, "is not the one of xtts-v2")) << refused.err;
  EXPECT_FALSE(fs::exists(models() / "xtts-v2"));
}

TEST_F(Pull, FailuresAreOneSentenceWithTheirExitCode) {
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    const char* says;
  };
  const auto from_server = [](const char* repository) {
    return std::vector<std::string>{"pull", repository, "--from", server_->url()};
  };
  const std::vector<Case> cases = {
      {{"pull"}, 2, "Name the model to pull"},
      {{"pull", "a/b/c"}, 2, "is no model to pull"},
      {{"pull", "a/..", "--name", "x"}, 2, "is no model to pull"},
      {{"pull", "xtts"}, 2, "'xtts' is no model to pull; did you mean xtts-v2?"},
      {{"pull", "XTTS_v2"}, 2, "'XTTS_v2' is no model to pull; did you mean xtts-v2?"},
      {{"pull", "a/b", "--name", "../x"}, 2, "is no name for a model"},
      {{"pull", "a/b", "--from", "hub"}, 2, "no address of a hub"},
      {{"pull", "a/b", "--from", "http://127.0.0.1:1"}, 3, "does not accept a connection"},
      {{"pull", "a/b", "--from", "http://hub.invalid"}, 3, "no address for hub.invalid"},
      {{"pull", "xtts-v2", "--from", "http://hub.invalid"},
       3,
       "xtts-v2 for a folder xtts-v2 that holds config.json, vocab.json and model.pth, and where "
       "there are LICENSE.txt, dvae.pth, mel_stats.pth and speakers_xtts.pth, of "
       "https://huggingface.co/coqui/XTTS-v2/tree/"},
      {from_server("api-status-404/m"), 3, "Check the name"},
      {from_server("api-status-401/m"), 3, "HF_TOKEN"},
      {from_server("api-gated/m"), 3, "HF_TOKEN"},
      {from_server("list-html/m"), 3, "does not answer as a hub does"},
      {from_server("redirect-loop/m"), 3, "redirects in a circle"},
  };
  for (const auto& [arguments, exit_code, says] : cases) {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << says;
    expect_one_sentence(result.err);
    EXPECT_TRUE(contains(result.err, says)) << result.err;
  }
  EXPECT_TRUE(!fs::exists(models()) || fs::is_empty(models())) << "nothing came, nothing is left";
}

TEST_F(Pull, AHomeWithoutRoomForModelsNamesTheVariableThatHelps) {
  const auto said = [](const std::string& home, int code) {
    const auto result = run_program({"pull", "a/b", "--from", "http://127.0.0.1:1"},
                                    {.environment = {"HOME=" + home, "XDG_DATA_HOME="}});
    EXPECT_EQ(result.exit_code, code) << result.err;
    expect_one_sentence(result.err);
    return result.err;
  };
  const std::string remedy = "export XDG_DATA_HOME=\"$PWD\"";
  const auto refused = said("/proc", 3);
  EXPECT_TRUE(contains(refused, "Models cannot be kept in /proc/.local/share/myxtts/models: "))
      << refused;
  EXPECT_TRUE(contains(refused, remedy)) << refused;
  EXPECT_EQ(refused.find("chmod"), std::string::npos) << refused;
  EXPECT_TRUE(contains(said("", 2), remedy));
}

TEST_F(Pull, TheTokenIsInNoMessageAndNoFile) {
  auto arguments = command("redirect-host");
  arguments.insert(arguments.end(), {"--verbose", "--log-file", folder_ / "log"});
  const auto result = run(arguments, {"HF_TOKEN=hf_secret"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(was_asked_for("Bearer hf_secret"));
  EXPECT_FALSE(contains(result.out + result.err, "hf_secret"));
  EXPECT_FALSE(contains(contents_of(folder_ / "log"), "hf_secret"));
}

TEST_F(Pull, CertificatesAreChecked) {
  const std::string pem = folder_ / "both.pem";
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext "
      "subjectAltName=IP:127.0.0.1 -keyout " +
      pem + " -out " + pem + ".crt 2>/dev/null && cat " + pem + ".crt >>" + pem;
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "there is no openssl here";
  const ModelServer secure(*shared_ / "files", pem);
  auto arguments = command("none");
  arguments[5] = secure.url();
  const auto refused = run(arguments);
  EXPECT_EQ(refused.exit_code, 3);
  expect_one_sentence(refused.err);
  EXPECT_TRUE(contains(refused.err, "certificate")) << refused.err;
  const auto trusted = run(arguments, {"SSL_CERT_FILE=" + pem + ".crt"});
  EXPECT_EQ(trusted.exit_code, 0) << trusted.err;
  EXPECT_TRUE(is_whole());
}

TEST_F(Pull, ADiskWithoutRoomIsSaidBeforeAnythingLargeIsFetched) {
  const SmallDisk disk(512);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk";
  const auto result = run_program({"pull", "none/large", "--from", server_->url()},
                                  {.environment = {"XDG_DATA_HOME=" + disk.path().string()}});
  EXPECT_EQ(result.exit_code, 3);
  expect_one_sentence(result.err);
  EXPECT_TRUE(contains(result.err, "Free some space")) << result.err;
  EXPECT_FALSE(was_asked_for("none/large/resolve"));
}

// The sentence's own command, word by word, ends what Ctrl-C interrupted.
TEST_F(Pull, CtrlCKeepsWhatCameAndNamesTheCommandThatGoesOn) {
  StartedProgram program(command("model-throttle-500"), environment());
  while (!fs::exists(part()) && !program.ends_within(0ms)) {
  }
  const auto second = run(command("none"));
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_TRUE(contains(second.err, "Another myxtts pull")) << second.err;
  program.send(SIGINT);
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_TRUE(fs::exists(part()));
  EXPECT_TRUE(contains(run({"pull", "--list"}).out, "not whole yet"));
  const auto at = result.err.find("type: myxtts ");
  ASSERT_NE(at, std::string::npos) << result.err;
  std::istringstream words(result.err.substr(at + 13));
  std::vector<std::string> typed(std::istream_iterator<std::string>(words), {});
  typed[1] = "none/m";  // the same model from a faster server
  typed.emplace_back("--accept-licence");
  EXPECT_EQ(run(typed).exit_code, 0);
  EXPECT_TRUE(is_whole());
}

// A slow server, so that the moments fall into the fetching, and a fast one for what comes after.
void Pull::kill_at_random_moments(int times) {
  std::mt19937 random(static_cast<unsigned>(times));
  for (int round = 0; round < times; ++round) {
    const bool is_slow = round % 2 == 0;
    StartedProgram program(command(is_slow ? "model-throttle-1000" : "none"), environment());
    program.ends_within(std::chrono::milliseconds(random() % 1200));
    program.send(SIGKILL);
    program.finish();
    if (!fs::exists(model())) continue;
    EXPECT_TRUE(is_whole()) << "it is there whole or not at all; round " << round;
    fs::remove_all(model());
  }
  const auto last = run(command("none"));
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_TRUE(is_whole());
  EXPECT_EQ(std::distance(fs::directory_iterator(models()), {}), 1) << "nothing else is left";
}

TEST_F(Pull, KilledAtEightMomentsItEndsWhole) {
  kill_at_random_moments(8);
}

class PullLong : public Pull {};

TEST_F(PullLong, KilledAtFiftyMomentsItEndsWhole) {
  kill_at_random_moments(50);
}

}  // namespace
}  // namespace myxtts::test::pull_test
