// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "e2e/speaking_bench.h"
#include "synth/synthesizer.h"
#include "weights/tensor_files.h"

namespace myxtts::test::synthesize_test {
namespace {

namespace fs = std::filesystem;

class Synthesize : public SpeakingBench {};

TEST_F(Synthesize, SpeaksAndSaysHowFast) {
  in_one_thread_ = false;
  const auto result = say("Hello there.", {"--dump", file("d.safetensors"), "--speed", "0.8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto sound = read_audio(file("a.wav"));
  EXPECT_EQ(sound.sample_rate, 24000);
  const auto dump = read_tensors(file("d.safetensors"));
  const auto codes = dump.at("codes").size(0);
  EXPECT_EQ(codes, 60);
  EXPECT_EQ(dump.at("latents").size(0), 75) << "60 codes at 0.8 of the speed";
  EXPECT_EQ(dump.at("wav").size(0), sound.frames());
  for (const char* part :
       {"s of speech in", "real-time factor", "60 codes at", "first sound after"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << "\n" << result.err;
  }
  EXPECT_NE(result.err.find("did not come to an end by itself"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("never taught"), std::string::npos) << result.err;
}

TEST_F(Synthesize, APartThatNobodyTrainedIsWarnedOfWithTheCommandThatTrainsIt) {
  EXPECT_EQ(say("Hello.").err.find("never trained"), std::string::npos);
  auto tensors = new_model();
  tensors.at("hifigan_decoder.waveform_decoder.conv_post.weight").mul_(0.1);  // as it began
  write_tensors(model_folder() / "model.safetensors", tensors);
  const auto result = say("Hello.");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(
      result.err.find("the decoder of " + model_folder().string() +
                      " was never trained, so what you hear is noise; to train it, type: "
                      "myxtts train --stage decoder --init " +
                      model_folder().string() + " --train-data CORPUS --checkpoint-dir RUN\n"),
      std::string::npos)
      << result.err;
}

TEST_F(Synthesize, SignsThatTheModelWasNeverTaughtAreWarnedOf) {
  const auto result = say("ʘʘʘ ꙮ.");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("never taught 'ʘ' (U+0298), 'ꙮ' (U+A66E); is this its language"),
            std::string::npos)
      << result.err;
}

// With a voice that was saved, by all cores; as one of several that speak at once, by one each: not
// a byte differs. Another seed is another sound.
TEST_F(Synthesize, TheSameSeedGivesTheSameBytesByASavedVoiceAndBesideOthersAndAnotherDoesNot) {
  in_one_thread_ = false;
  ASSERT_EQ(say("Good morning.", {"--save-voice", file("v.safetensors")}).exit_code, 0);
  const auto by_all_cores = contents_of(file("a.wav"));
  const auto again = speak({"--voice", file("v.safetensors"), "--language", "en", "--text",
                            "Good morning.", "--out", file("b.wav")});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(contents_of(file("b.wav")), by_all_cores);

  in_one_thread_ = true;
  ASSERT_EQ(say("Good morning.").exit_code, 0);
  const auto first = contents_of(file("a.wav"));
  ASSERT_EQ(say("Good morning.", {"--seed", "2"}).exit_code, 0);
  EXPECT_NE(contents_of(file("a.wav")), first);

  std::array<ProgramResult, 6> results;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = speak({"--reference", file("me.wav"), "--language", "en", "--text",
                          "Good morning.", "--out", file("p" + std::to_string(i) + ".wav")});
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].exit_code, 0) << results[i].err;
    EXPECT_EQ(contents_of(file("p" + std::to_string(i) + ".wav")), first) << i;
  }
}

TEST_F(Synthesize, AStreamOfRawPcmIsTheSameSoundUpToItsFades) {
  ASSERT_EQ(say("Good morning.", {"--dump", file("whole")}).exit_code, 0);
  const auto result = speak({"--reference", file("me.wav"), "--language", "en", "--text",
                             "Good morning.", "--out", "-", "--dump", file("stream"), "--stream"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.size(), read_audio(file("a.wav")).samples.size() * 2);
  const auto whole = read_tensors(file("whole"));
  const auto stream = read_tensors(file("stream"));
  EXPECT_TRUE(stream.at("codes").equal(whole.at("codes")));
  ASSERT_EQ(stream.at("wav").sizes(), whole.at("wav").sizes());
  const auto apart = (stream.at("wav") - whole.at("wav")).abs().gt(1e-4).sum().item<std::int64_t>();
  EXPECT_LT(apart, 3 * 2 * 1024 + 3 * 4096) << "more than the ends of three chunks differ";
  EXPECT_GT(whole.at("wav").std().item<float>(), 1e-3F);
}

TEST_F(Synthesize, AtHighSpeedTheFirstCodesOfAStreamAreNoSoundYet) {
  ASSERT_EQ(say("Hello there.", {"--speed", "3"}).exit_code, 0);
  const auto whole = read_audio(file("a.wav")).frames();
  const auto result = say("Hello there.", {"--speed", "3", "--stream", "--stream-chunk", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_audio(file("a.wav")).frames(), whole);
}

TEST_F(Synthesize, APieceThatStopsAtOnceIsSilentAtHighSpeedAndSaid) {
  auto tensors = new_model();
  tensors.at("gpt.mel_head.bias")[config_.gpt.stop_audio] = 1e3;
  write_tensors(model_folder() / "model.safetensors", tensors);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--speed", "1.2"}, {"--speed", "1.2", "--stream"}}) {
    const auto result = say("Hello.", more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("gave no speech"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("0.00 s of speech"), std::string::npos) << result.err;
  }
}

// Or a file would wait for the longest text that is spoken beside it.
TEST_F(Synthesize, APieceIsHandedOverWhenItEndsAndNotWhenAllDo) {
  auto tensors = new_model();
  tensors.at("gpt.mel_head.bias")[config_.gpt.stop_audio] = 4.0;  // stops by chance, at any code
  write_tensors(model_folder() / "model.safetensors", tensors);
  const SpeakingModel model = open_speaking_model(model_folder());
  Synthesizer synthesizer(model, at::kCPU, 8);
  const Voice voice{.latents = at::randn({config_.gpt.perceiver_latents, config_.gpt.width}),
                    .speaker = at::randn({config_.decoder.speaker_dim})};
  std::vector<TextPiece> pieces;
  for (std::uint32_t number = 0; number < 8; ++number) {
    pieces.push_back({.text = "a", .ids = {30, 31, 32}, .number = number});
  }
  std::vector<std::size_t> lengths;  // in the order in which they came
  std::vector<std::size_t> spoken_at_each_report;
  synthesizer.speak(
      pieces, voice, {.sampling = model.sampling},
      [&](std::int64_t) {
        spoken_at_each_report.push_back(lengths.size());
        return true;
      },
      [&](std::size_t, const SpokenPiece& spoken) { lengths.push_back(spoken.codes.size()); });
  ASSERT_EQ(lengths.size(), pieces.size()) << "each comes once";
  ASSERT_NE(lengths.front(), lengths.back()) << "the model does not stop by chance";
  EXPECT_TRUE(std::ranges::is_sorted(lengths)) << "the shorter come first";
  EXPECT_LT(spoken_at_each_report.front(), pieces.size()) << "codes came after the first piece";
}

TEST_F(Synthesize, AnMp3IsWrittenWhereDoctorSaysSo) {
  const bool is_known = run_program({"doctor"}).out.find(", MP3") != std::string::npos;
  const auto result = speak({"--reference", file("me.wav"), "--language", "en", "--text", "Hello.",
                             "--out", file("hello.mp3")});
  ASSERT_EQ(result.exit_code, is_known ? 0 : 2) << result.err;
  ASSERT_EQ(fs::exists(file("hello.mp3")), is_known);
  EXPECT_TRUE(!is_known || read_audio(file("hello.mp3")).frames() > 4000);
}

TEST_F(Synthesize, LinesBecomeNumberedFilesThatSoundAsTheyDoAlone) {
  std::ofstream(file("lines.txt")) << "Good morning.\n\nOne more line here.\nThe third.\n";
  const auto result = speak({"--reference", file("me.wav"), "--language", "en", "--text-file",
                             file("lines.txt"), "--out", file("out.wav"), "--dump", file("d")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto dump = read_tensors(file("d"));
  ASSERT_EQ(dump.at("pieces").size(0), 3) << "a row for each text";
  EXPECT_EQ(dump.at("pieces").select(1, 0).sum().item<std::int64_t>(), dump.at("text_ids").size(0));
  EXPECT_EQ(dump.at("pieces").select(1, 1).sum().item<std::int64_t>(), dump.at("codes").size(0));
  EXPECT_NE(result.err.find(file("out-0001.wav") + " to " + file("out-0004.wav") + " (3 files): "),
            std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find(file("out.wav")), std::string::npos) << "there is no such file";
  EXPECT_TRUE(fs::exists(file("out-0001.wav")));
  EXPECT_FALSE(fs::exists(file("out-0002.wav"))) << "a blank line is nothing to say";
  EXPECT_TRUE(fs::exists(file("out-0004.wav")));
  ASSERT_EQ(say("One more line here.").exit_code, 0);
  EXPECT_EQ(contents_of(file("out-0003.wav")), contents_of(file("a.wav")));
}

// From standard input, by a model that is named by its run.
TEST_F(Synthesize, LinesAreJoinedIntoOneFileWithPausesBetweenThem) {
  fs::create_directory(file("run"));
  fs::create_directory_symlink(model_folder(), file("run/latest"));
  const auto join = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "synthesize", "--model",     file("run"), "--reference", file("me.wav"), "--language",
        "en",         "--text-file", "-",         "--join",      "--threads",    "1"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all, {.standard_input = "Good morning.\n\nOne more line here.\nThird.\n"});
  };
  const auto result = join({"--out", file("chapter.wav"), "--dump", file("d")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.err.starts_with("model: --model " + file("run") + " means " +
                                     file("run/latest") + ", model\nsynthesize: loading "))
      << result.err;
  EXPECT_NE(result.err.find("synthesize: " + file("chapter.wav") + ": "), std::string::npos)
      << result.err;
  const auto sound = read_audio(file("chapter.wav"));
  const auto dump = read_tensors(file("d"));
  ASSERT_EQ(dump.at("pieces").size(0), 3);
  EXPECT_EQ(sound.frames(), dump.at("wav").size(0) + 2 * 9600) << "two pauses of 0.4 s";
  const auto first_line = dump.at("pieces")[0][3].item<std::int64_t>();
  for (std::int64_t i = 0; i < 9600; ++i) {
    ASSERT_EQ(sound.samples[static_cast<std::size_t>(first_line + i)], 0.0F) << i;
  }

  fs::create_directory_symlink(model_folder(), file("run/best"));
  const auto raw = join({"--out", "-"});
  ASSERT_EQ(raw.exit_code, 0) << raw.err;
  EXPECT_NE(raw.err.find("means " + file("run/best")), std::string::npos) << raw.err;
  EXPECT_EQ(raw.out.size(), 2 * sound.samples.size()) << "one sound may go to a pipe";
}

TEST_F(Synthesize, LongTextHasNoJumpsAtItsSeams) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "Number " + std::to_string(i) + " is said aloud here. ";
  const auto result = say(text, {"--dump", file("d.safetensors"), "--stream"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LT(result.err.rfind("Speaking (codes)") + 1, result.err.find("real-time factor"))
      << "progress, if it takes so long, comes before the summary: " << result.err;
  const auto dump = read_tensors(file("d.safetensors"));
  const auto wav = dump.at("wav");
  const auto jumps = wav.diff().abs();
  const auto largest = jumps.max().item<float>();
  ASSERT_GT(dump.at("pieces").size(0), 2);
  std::int64_t at = 0;
  for (std::int64_t piece = 0; piece + 1 < dump.at("pieces").size(0); ++piece) {
    at += dump.at("pieces")[piece][3].item<std::int64_t>();
    EXPECT_EQ(wav[at - 1].item<float>(), 0.0F) << piece;
    EXPECT_LE(jumps[at - 1].item<float>(), largest * 0.5F) << piece;
  }
}

TEST_F(Synthesize, BeamsSpeakToo) {
  const auto result = say("Good morning.", {"--beams", "3", "--greedy"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

pid_t start(const std::vector<std::string>& all) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> argv = {const_cast<char*>(MYXTTS_PROGRAM)};
  for (const auto& argument : all) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(MYXTTS_PROGRAM, argv.data());
  _exit(127);
}

// Of Ctrl-C; -1: it was killed.
int exit_code_after_interrupt(pid_t child) {
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Synthesize, CtrlCWhileStreamingLeavesAValidWav) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Number " + std::to_string(i) + " is said aloud here. ";
  const auto all = arguments({"--reference", file("me.wav"), "--language", "en", "--text", text,
                              "--out", file("a.wav"), "--stream"});
  const pid_t child = start(all);
  // The file grows past its header once the first sound is there.
  std::error_code ignored;
  while (!fs::exists(file("a.wav")) || fs::file_size(file("a.wav"), ignored) < 10'000) {
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it ended before it made a sound";
    std::this_thread::yield();
  }
  EXPECT_EQ(exit_code_after_interrupt(child), 130);
  EXPECT_GT(read_audio(file("a.wav")).frames(), 4000);
}

// Whether a process has a way of its own to take Ctrl-C.
bool catches_interrupts(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return ((std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1)) & 1U) != 0;
  }
  return false;
}

TEST_F(Synthesize, CtrlCBeforeTheFirstSoundLeavesNoDump) {
  std::ofstream lines(file("lines.txt"));
  for (int i = 0; i < 64; ++i) lines << "Number " << i << " is said aloud here.\n";
  lines.close();
  const auto all = arguments({"--reference", file("me.wav"), "--language", "en", "--text-file",
                              file("lines.txt"), "--out", file("a.wav"), "--dump",
                              file("d.safetensors"), "--batch", "64"});
  const pid_t child = start(all);
  while (!catches_interrupts(child)) {
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it ended before it spoke";
    std::this_thread::yield();
  }
  EXPECT_EQ(exit_code_after_interrupt(child), 130);
  EXPECT_FALSE(fs::exists(file("d.safetensors")));
}

TEST_F(Synthesize, CtrlCKeepsTheFilesThatAreDoneAndSaysHowMany) {
  std::ofstream lines(file("lines.txt"));
  for (int i = 0; i < 400; ++i) lines << "Number " << i << " is said aloud here.\n";
  lines.close();
  for (const bool joins : {false, true}) {
    std::vector<std::string> flags = {"--reference", file("me.wav"), "--language",
                                      "en",          "--text-file",  file("lines.txt"),
                                      "--out",       file("a.wav")};
    if (joins) flags.emplace_back("--join");
    StartedProgram program(arguments(flags));
    // A joined file is there under another name until it is whole.
    const auto has_begun = [&] {
      if (!joins) return fs::exists(file("a-0002.wav"));
      for (const auto& entry : fs::directory_iterator(folder_.path())) {
        std::error_code gone;
        if (entry.path().extension() == ".part" && entry.file_size(gone) > 100'000) return true;
      }
      return false;
    };
    while (!has_begun() && !program.ends_within(std::chrono::milliseconds(1))) {
    }
    program.send(SIGINT);
    const auto result = program.finish();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_NE(result.err.find(" of 400 texts are done"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(joins ? file("a.wav") + ": " : file("a-0001.wav") + " to "),
              std::string::npos)
        << result.err;
    EXPECT_GT(read_audio(file(joins ? "a.wav" : "a-0001.wav")).frames(), 4000);
  }
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
}

TEST_F(Synthesize, BadInputIsAnsweredWithASentence) {
  write_tone("short.wav", 200.0, 0.2);
  write_tone("silent.wav", 200.0, 2.0, 0.0);
  std::ofstream(file("noise.wav")) << "this is no sound";
  std::ofstream(file("blank.txt")) << "\n  \n";
  std::ofstream(file("nothing.wav")).flush();
  std::ofstream(file("ids.txt")) << "\nhello-1|Hello.\n";
  std::ofstream(file("talk.ssml")) << "<speak>\n<audio src='a.wav'/></speak>\n";
  std::ofstream(file("words.tsv")) << "alone\n";
  std::ofstream(file("latin.txt")) << "Caf\xe9\n";
  std::ofstream(file("wide.txt")) << "\xff\xfe"
                                  << "H\n";
  const at::Tensor latents = at::zeros({1, config_.gpt.perceiver_latents, config_.gpt.width});
  const at::Tensor speaker = at::zeros({1, config_.decoder.speaker_dim, 1});
  write_tensors(file("nan.voice"),
                {{"gpt_cond_latent", latents}, {"speaker_embedding", at::full_like(speaker, NAN)}});
  write_tensors(file("other.voice"), {{"gpt_cond_latent", latents.transpose(1, 2).contiguous()},
                                      {"speaker_embedding", speaker}});
  const std::string me = file("me.wav");
  const std::string out = file("x.wav");
  struct Row {
    int exit_code;
    std::string says;
    std::vector<std::string> flags;
  };
  const std::vector<std::string> usual = {"--language", "en", "--text", "Hi.", "--out", out};
  const auto with = [](std::vector<std::string> flags, const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  const std::vector<Row> table = {
      {2,
       "There is nothing to say: --text is empty",
       {"--reference", me, "--language", "en", "--text", "  ", "--out", out}},
      {2, "There is nothing to say", {"--reference", me, "--language", "en", "--out", out}},
      {2,
       "blank.txt is empty",
       {"--reference", me, "--language", "en", "--text-file", file("blank.txt"), "--out", out}},
      {3,
       "--text, line 1, column 3: [pause 5] is not a pause",
       {"--reference", me, "--language", "en", "--text", "a [pause 5]", "--out", out}},
      {3,
       "talk.ssml, line 2, column 1: <audio> is not known",
       {"--reference", me, "--language", "en", "--text-file", file("talk.ssml"), "--out", out}},
      {2,
       "is one text in SSML, and --out",
       {"--reference", me, "--language", "en", "--text-file", file("talk.ssml"), "--out",
        file("d")}},
      {3,
       "asks for the voice \"nobody\", which did not come with",
       {"--reference", me, "--language", "en", "--text",
        "<speak><voice name='nobody'>a</voice></speak>", "--out", out}},
      {3, "words.tsv, line 1: write a word, a tab",
       with(usual, {"--reference", me, "--lexicon", file("words.tsv")})},
      {3, "--lexicon none.tsv: there is no such file",
       with(usual, {"--reference", me, "--lexicon", "none.tsv"})},
      {3,
       "latin.txt is not UTF-8 at byte 3; write it in UTF-8, as with iconv",
       {"--reference", me, "--language", "en", "--text-file", file("latin.txt"), "--out", out}},
      {3,
       "wide.txt is text in UTF-16; write it in UTF-8, as with iconv",
       {"--reference", me, "--language", "en", "--text-file", file("wide.txt"), "--out", out}},
      {2, "There is no voice", usual},
      {2, "it knows en, ", {"--reference", me, "--language", "xx", "--text", "Hi.", "--out", out}},
      {2,
       ".wav, .flac, .ogg",
       {"--reference", me, "--language", "en", "--text", "Hi.", "--out", "a.mp4"}},
      {2, "--join joins the lines", with(usual, {"--reference", me, "--join"})},
      {3, "type --reference " + me + " in its place", with(usual, {"--voice", me})},
      {3, "there is no such file", with(usual, {"--reference", file("none.wav")})},
      {3, "short.wav is 0.20 s long", with(usual, {"--reference", file("short.wav")})},
      {3, "silent.wav is silent", with(usual, {"--reference", file("silent.wav")})},
      {3, "cannot be read as audio", with(usual, {"--reference", file("noise.wav")})},
      {3, "nothing.wav is empty: it has 0 bytes",
       with(usual, {"--reference", file("nothing.wav")})},
      {3, "nan.voice is damaged: its tensor speaker_embedding holds numbers that are NaN",
       with(usual, {"--voice", file("nan.voice")})},
      {3, "other.voice holds a voice for another size of model: its gpt_cond_latent is ",
       with(usual, {"--voice", file("other.voice")})},
      {2,
       "Line 2 has the id \"hello-1\", so it becomes a file of that name; give a folder, as in "
       "--out " +
           file("x") + ",",
       {"--reference", me, "--language", "en", "--text-file", file("ids.txt"), "--out", out}},
      {2,
       "Line 2 has the id \"hello-1\", and --join makes one file",
       {"--reference", me, "--language", "en", "--text-file", file("ids.txt"), "--join", "--out",
        out}},
      {3, "came without voices", with(usual, {"--speaker", "Ana"})},
      {3, "none.safetensors", with(usual, {"--voice", file("none.safetensors")})},
      {2, "--temperature is 0", with(usual, {"--reference", me, "--temperature", "0"})},
      {2, "--top-p is 2", with(usual, {"--reference", me, "--top-p", "2"})},
      {2, "--speed is 99", with(usual, {"--reference", me, "--speed", "99"})},
      {2, "leave --beams out", with(usual, {"--reference", me, "--stream", "--beams", "2"})},
      {2, "not several", with(usual, {"--reference", me, "--speaker", "Ana"})},
      {4, "--device gpu needs a GPU", with(usual, {"--reference", me, "--device", "gpu"})},
      {2, "--device is \"tpu\"", with(usual, {"--reference", me, "--device", "tpu"})}};
  for (const auto& row : table) {
    const auto result = speak(row.flags);
    EXPECT_EQ(result.exit_code, row.exit_code) << row.says << "\n" << result.err;
    EXPECT_NE(result.err.find(row.says), std::string::npos) << row.says << "\n" << result.err;
    EXPECT_FALSE(fs::exists(out)) << row.says;
    EXPECT_EQ(result.err.find("loading"), std::string::npos) << "before the model: " << result.err;
  }
}

TEST_F(Synthesize, AModelWithAWeightThatIsNotANumberIsRefused) {
  auto tensors = new_model();
  tensors.at("gpt.mel_head.bias")[3] = INFINITY;
  write_tensors(model_folder() / "model.safetensors", tensors);
  const auto result = say("Hello.");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("model.safetensors is damaged: its tensor gpt.mel_head.bias holds "
                            "numbers that are NaN or infinite"),
            std::string::npos)
      << result.err;
}

TEST_F(Synthesize, AModelWithoutItsDecoderSaysWhatToTrain) {
  auto tensors = new_model();
  std::erase_if(tensors, [](const auto& entry) {
    return entry.first.starts_with("hifigan_decoder.waveform_decoder.");
  });
  write_tensors(model_folder() / "model.safetensors", tensors);
  const auto result = say("Hello.");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("the stage \"decoder\" has not been trained"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("myxtts train --stage decoder"), std::string::npos) << result.err;
}

TEST_F(Synthesize, AModelWithoutItsSpeakerEncoderSaysWhereOneComesFrom) {
  auto tensors = new_model();
  std::erase_if(tensors,
                [](const auto& entry) { return entry.first.starts_with(kSpeakerEncoderPrefix); });
  write_tensors(model_folder() / "model.safetensors", tensors);
  const auto result = say("Hello.");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("such as a training makes, or myxtts import"), std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace myxtts::test::synthesize_test
