// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/audio_file.h"
#include "support/http_client.h"
#include "support/program.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "weights/tensor_files.h"

namespace myxtts::test::serve_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;

class Serve : public testing::Test {
 protected:
  Serve() {
    auto model = write_tiny_model(folder_ / "model");
    // It stops after some words, so that lengths differ.
    auto& bias = model.model.at("gpt.mel_head.bias");
    bias[model.config.gpt.stop_audio] = bias.max() + 3.5;
    write_tensors(folder_ / "model" / "model.safetensors", model.model);
    fs::create_directories(folder_ / "voices" / "bob");
    write_tone(folder_ / "voices" / "anna.wav", 140, 3);
    write_tone(folder_ / "voices" / "bob" / "1.wav", 220, 2);
    write_tone(folder_ / "voices" / "bob" / "2.wav", 260, 2);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void start(std::vector<std::string> more = {}, std::string voices = {}) {
    if (voices.empty()) voices = path("voices");
    std::vector<std::string> words = {
        "serve", "--model", "tiny=" + path("model"), "--voices", voices, "--port", "0"};
    words.insert(words.end(), {"--device", "cpu", "--threads", "1"});
    words.insert(words.end(), more.begin(), more.end());
    server_.emplace(words);
    ASSERT_TRUE(server_->has_said("listening at http://127.0.0.1:"));
    const std::string said = server_->said();
    const std::string mark = "listening at http://127.0.0.1:";
    port_ = std::stoi(said.substr(said.find(mark) + mark.size()));
  }

  HttpReply ask(const std::string& method, const std::string& target, const std::string& body = {},
                const std::string& headers = "Host: localhost\r\n") const {
    const HttpTalk client(port_);
    client.send(method + " " + target + " HTTP/1.1\r\nConnection: close\r\n" + headers +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read_answer();
  }

  static std::string order(const std::string& text, int seed, const std::string& voice = "anna",
                           const std::string& format = "pcm") {
    return json{{"input", text}, {"voice", voice}, {"seed", seed}, {"response_format", format}}
        .dump();
  }

  HttpReply say(const std::string& body) const { return ask("POST", "/v1/audio/speech", body); }

  HttpReply upload(const std::string& name, const std::string& sound) const {
    const std::string body = "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n" + name +
                             "\r\n--b\r\nContent-Disposition: form-data; name=\"audio_sample\"; "
                             "filename=\"../../x.wav\"\r\nContent-Type: audio/wav\r\n\r\n" +
                             sound + "\r\n--b--\r\n";
    return ask("POST", "/v1/audio/voices", body,
               "Host: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n");
  }

  // Hidden ones too.
  std::size_t entries_of(const std::string& folder) const {
    const fs::directory_iterator entries(folder_ / folder);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  // The command line's sound of the same.
  std::string spoken(const std::string& text, int seed, const std::string& voice) const {
    std::vector<std::string> words = {
        "synthesize", "--model", path("model"),        "--language", "en",
        "--device",   "cpu",     "--threads",          "1",          "--text",
        text,         "--seed",  std::to_string(seed), "--stream",   "--out",
        "-"};
    if (voice == "anna") {
      words.insert(words.end(), {"--reference", path("voices/anna.wav")});
    } else {
      words.insert(words.end(), {"--reference", path("voices/bob/1.wav"), "--reference",
                                 path("voices/bob/2.wav")});
    }
    return run_program(words).out;
  }

  std::int64_t metric(const std::string& name) const {
    const std::string text = ask("GET", "/metrics").body;
    return std::stoll(text.substr(text.find("\n" + name + " ") + name.size() + 2));
  }

  TemporaryFolder folder_;
  std::optional<StartedProgram> server_;
  int port_ = 0;
};

constexpr const char* kTexts[] = {"Hello there. How are you today?", "One.",
                                  "A longer sentence that goes on for a while, and then some."};

TEST_F(Serve, EightAtOnceEachHearTheCommandLinesBytesForTheirSeed) {
  start();
  const auto voice_of = [](int text) { return text == 1 ? "bob" : "anna"; };
  std::array<std::string, 3> wanted;
  for (int text = 0; text < 3; ++text) {
    wanted[static_cast<std::size_t>(text)] = spoken(kTexts[text], text, voice_of(text));
  }
  EXPECT_TRUE(wanted[0] != wanted[2]);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 6; ++i) {
        const int text = (client + i) % 3;
        const auto answer = say(order(kTexts[text], text, voice_of(text)));
        const auto& right = wanted[static_cast<std::size_t>(text)];
        wrong += answer.status == 200 && !right.empty() && answer.body == right ? 0 : 1;
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(metric("myxtts_places_used"), 0);
}

TEST_F(Serve, SpeaksOpenAisWayAndXttsApiServers) {
  start();
  const auto plain = say(order(kTexts[0], 1));
  EXPECT_NE(plain.head.find("Content-Type: audio/pcm;rate=24000"), std::string::npos) << plain.head;
  for (const char* format : {"mp3", "opus", "flac"}) {
    std::ofstream(folder_ / format, std::ios::binary)
        << say(order(kTexts[0], 1, "anna", format)).body;
    const auto sound = read_audio(folder_ / format);
    EXPECT_EQ(sound.sample_rate, 24000) << format;
    EXPECT_GE(sound.frames() + 3000, static_cast<std::int64_t>(plain.body.size() / 2)) << format;
  }
  EXPECT_TRUE(say(order(kTexts[0], 1, "anna", "wav")).body.substr(44) == plain.body);

  auto events = json::parse(order("One.", 1));
  events["stream_format"] = "sse";
  events["instructions"] = "kindly";
  const auto streamed = say(events.dump());
  EXPECT_NE(streamed.head.find("text/event-stream"), std::string::npos);
  EXPECT_NE(streamed.head.find("X-MyXTTS-Ignored: instructions"), std::string::npos);
  EXPECT_NE(streamed.body.find("\"type\":\"speech.audio.delta\""), std::string::npos);
  EXPECT_NE(streamed.body.find("\"type\":\"speech.audio.done\""), std::string::npos);

  EXPECT_EQ(json::parse(ask("GET", "/v1/models").body)["data"][0]["id"], "tiny");
  // As curl sends it, and with the name of a model that every client of OpenAI's knows.
  auto form = json::parse(order(std::string(9000, ' ') + "One.", 1));
  form["model"] = "tts-1";
  EXPECT_TRUE(ask("POST", "/v1/audio/speech", form.dump(),
                  "Host: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n")
                  .body == say(order("One.", 1)).body);
  EXPECT_EQ(json::parse(ask("GET", "/speakers_list").body), (json{"anna", "bob"}));
  EXPECT_EQ(json::parse(ask("GET", "/speakers").body)[1]["voice_id"], "bob");
  EXPECT_TRUE(json::parse(ask("GET", "/languages").body)["languages"].contains("en"));
  const std::string xtts = R"({"text":"One.","speaker_wav":"anna.wav","language":"en"})";
  const auto whole = ask("POST", "/tts_to_audio/", xtts);
  std::ofstream(folder_ / "whole.wav", std::ios::binary) << whole.body;
  EXPECT_EQ(read_audio(folder_ / "whole.wav").sample_rate, 24000);
  const auto piece = ask("GET", "/tts_stream/?text=One.&speaker_wav=anna&language=en");
  EXPECT_TRUE(piece.body.substr(44) == whole.body.substr(44));
  EXPECT_EQ(ask("POST", "/set_tts_settings", R"({"speed":"2","temperature":"0.5"})").status, 200);
  EXPECT_EQ(json::parse(ask("GET", "/get_tts_settings").body)["speed"], 2.0);
  EXPECT_LT(ask("POST", "/tts_to_audio/", xtts).body.size(), whole.body.size());
  EXPECT_EQ(ask("POST", "/tts_to_file", xtts).status, 403);
  EXPECT_TRUE(ask("GET", "/sample/anna.wav").body == contents_of(path("voices/anna.wav")));
}

TEST_F(Serve, SynthesizeUsesARunningOne) {
  start({"--api-key", "secret"});
  const std::string url = "http://127.0.0.1:" + std::to_string(port_);
  const auto by_server = [&](std::vector<std::string> more, const std::string& key = "secret") {
    std::vector<std::string> line = {"synthesize", "--server", url, "--language", "en"};
    line.insert(line.end(), more.begin(), more.end());
    return run_program(line, {.environment = {"MYXTTS_API_KEY=" + key}});
  };
  const auto said = by_server(
      {"--speaker", "anna", "--text", kTexts[0], "--seed", "4", "--stream", "--out", "-"});
  EXPECT_TRUE(said.out == spoken(kTexts[0], 4, "anna")) << said.err;
  std::ofstream(folder_ / "lines.txt") << "One.\n\nTwo.\n";
  const auto joined = by_server({"--speaker", "bob", "--text-file", path("lines.txt"), "--join",
                                 "--out", path("joined.flac")});
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_GT(read_audio(folder_ / "joined.flac").frames(), 9600);  // the pause alone
  EXPECT_EQ(by_server({"--speaker", "bob", "--text-file", path("lines.txt"), "--out", path("many")})
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(folder_ / "many" / "0003.wav"));

  const auto refused = [&](const ProgramResult& result, const std::string& words) {
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  const std::vector<std::string> plain = {"--speaker", "zoe",   "--text",
                                          "Hi.",       "--out", path("x.wav")};
  refused(by_server(plain), "there is anna, bob");
  refused(by_server(plain, "wrong"), "wants an API key");
  refused(
      by_server({"--reference", path("voices/anna.wav"), "--text", "Hi.", "--out", path("x.wav")}),
      "--reference would change nothing");
  server_.reset();
  refused(by_server(plain), "No server answers at " + url);
  EXPECT_FALSE(fs::exists(folder_ / "x.wav"));
}

TEST_F(Serve, WhatIsWrongWithARequestIsSaid) {
  start({"--max-text", "50"});
  const auto refused = [&](const HttpReply& answer, int status, const std::string& words) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(words), std::string::npos) << answer.body;
  };
  refused(say("x"), 400, "not a JSON object");
  refused(say(order("Hi.", 1, "zoe")), 400, "there is anna, bob");
  refused(say(order(std::string(60, 'x'), 1)), 413, "--max-text");
  refused(say(R"({"input":"Hi.","voice":"anna","model":"other"})"), 404, "there is tiny");
  refused(say(R"({"input":"Hi.","voice":"anna","top_k":-1})"), 400, "\"top_k is -1; it must");
  refused(say(R"({"input":"Hi.","voice":"anna","language":"ro"})"), 400, "; it speaks en, es");
  refused(ask("GET", "/nothing"), 404, "POST /v1/audio/speech");
  refused(ask("GET", "/v1/audio/speech"), 405,
          "{\"error\":{\"code\":\"method_not_allowed\",\"message\":\"/v1/audio/speech takes POST, "
          "and the request is a GET.\"");
  refused(ask("GET", "/tts_to_audio/"), 405, "{\"detail\":\"/tts_to_audio/ takes POST, and");
  refused(ask("POST", "/v1/models", "{}"), 405, "takes GET");
  const auto voice = ask("PUT", "/v1/audio/voices/anna", "{}");
  refused(voice, 405, "takes DELETE, PATCH");
  EXPECT_NE(voice.head.find("Allow: DELETE, PATCH\r\n"), std::string::npos) << voice.head;
  refused(ask("GET", "/sample/..%2f..%2fmodel%2fconfig.json"), 404, "");
  refused(ask("DELETE", "/v1/audio/voices/zoe"), 404, "no voice");
  refused(ask("GET", "/" + std::string(600, 'x')), 431, "too long");
  refused(ask("POST", "/v1/audio/speech", "x", "Host: localhost\r\nContent-Encoding: gzip\r\n"),
          415, "uncompressed");
  refused(ask("GET", "/v1/models", "", "Host: evil.example\r\n"), 403, "127.0.0.1");
  refused(ask("GET", "/v1/models", "", "Host: localhost\r\nOrigin: http://evil.example\r\n"), 403,
          "--allow-origin");
  EXPECT_EQ(ask("GET", "/health").status, 200);
}

TEST_F(Serve, AKeyOpensItAndNothingElseDoes) {
  std::ofstream(folder_ / "keys") << "first-key\n\nsecond-key\r\n";
  start({"--api-key-file", path("keys"), "--allow-origin", "http://localhost:8000"});
  const auto with = [&](const std::string& header) {
    return ask("GET", "/v1/models", "", "Host: localhost\r\n" + header);
  };
  EXPECT_EQ(with("").status, 401);
  EXPECT_EQ(with("Authorization: Bearer third-key\r\n").status, 401);
  EXPECT_EQ(with("Authorization: Bearer second-key\r\n").status, 200);
  const auto page = with("Authorization: Bearer first-key\r\nOrigin: http://localhost:8000\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("Access-Control-Allow-Origin: http://localhost:8000"),
            std::string::npos);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  EXPECT_EQ(ask("GET", "/").status, 200);
}

TEST_F(Serve, VoicesAreSentRenamedAndDeletedAndBadOnesLeaveNothing) {
  start();
  const std::string sound = contents_of(path("voices/anna.wav"));
  EXPECT_EQ(upload("carl", sound).status, 201);
  EXPECT_EQ(upload("carl", sound).status, 409);
  EXPECT_TRUE(say(order("One.", 1, "carl")).body == say(order("One.", 1, "anna")).body);
  EXPECT_EQ(ask("PATCH", "/v1/audio/voices/carl", R"({"name":"dan"})").status, 200);
  EXPECT_EQ(json::parse(ask("GET", "/speakers_list").body), (json{"anna", "bob", "dan"}));
  EXPECT_EQ(ask("DELETE", "/v1/audio/voices/dan").status, 200);
  for (const std::string& bad : {std::string("no sound"), std::string(), sound.substr(0, 50),
                                 std::string("RIFF\xff\xff\xff\xffWAVEfmt ", 16)}) {
    const auto refused = upload("bad", bad);
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("Clip 1 "), std::string::npos) << refused.body;
    EXPECT_EQ(refused.body.find(".adding-"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(upload("../evil", sound).status, 400);
  EXPECT_EQ(json::parse(ask("GET", "/speakers_list").body), (json{"anna", "bob"}));
  EXPECT_EQ(entries_of("voices"), 2U);
}

TEST_F(Serve, EveryHostileSoundIsAVoiceOrRefusedAndTheServerStays) {
  start();
  std::mt19937 random(3);
  int taken = 0;
  std::vector<fs::path> seeds = {path("voices/anna.wav")};
  for (const auto& seed : fs::directory_iterator(fs::path(std::getenv("MYXTTS_TEST_DATA")) /
                                                 "fuzz" / "seeds" / "sound_file")) {
    seeds.push_back(seed.path());
  }
  for (const auto& seed : seeds) {
    const std::string whole = contents_of(seed);
    for (int i = 0; i < 4; ++i) {
      std::string sound = whole;
      for (int changes = 0; changes < 3 * i; ++changes) {
        sound[random() % std::min<std::size_t>(sound.size(), 100)] = static_cast<char>(random());
      }
      const auto answer = upload("hostile", sound);
      EXPECT_TRUE(answer.status == 201 || answer.status == 400)
          << seed << i << answer.status << answer.body;
      if (answer.status != 201) continue;
      ++taken;
      EXPECT_EQ(ask("DELETE", "/v1/audio/voices/hostile").status, 200);
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_EQ(entries_of("voices"), 2U);
  EXPECT_EQ(say(order("One.", 1)).status, 200);
}

TEST_F(Serve, AFullDiskIsSaidAndLeavesNothingAndTheServerStays) {
  const SmallDisk disk(1024);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk";
  fs::create_directories(disk / "voices");
  fs::copy(path("voices"), disk / "voices", fs::copy_options::recursive);
  std::ofstream(disk / "filler") << std::string(2'000'000, 'x');
  start({"--outputs", (disk / "out").string()}, (disk / "voices").string());
  const auto voice = upload("carl", contents_of(path("voices/anna.wav")));
  EXPECT_EQ(voice.status, 507) << voice.body;
  EXPECT_NE(voice.body.find("disk"), std::string::npos) << voice.body;
  const auto file = ask("POST", "/tts_to_file",
                        json{{"text", kTexts[0]},
                             {"speaker_wav", "anna"},
                             {"language", "en"},
                             {"file_name_or_path", "hello.wav"}}
                            .dump());
  EXPECT_EQ(file.status, 507) << file.body;
  EXPECT_TRUE(fs::is_empty(disk / "out"));
  EXPECT_EQ(json::parse(ask("GET", "/speakers_list").body), (json{"anna", "bob"}));
  EXPECT_EQ(say(order("One.", 1)).status, 200);
}

// Killed while voices come in and texts are spoken: the next server finds the voices that were
// whole, and no debris.
TEST_F(Serve, KilledUnderLoadItLeavesWholeVoicesAlone) {
  const std::string sound = contents_of(path("voices/anna.wav"));
  for (int round = 0; round < 3; ++round) {
    start();
    std::atomic<bool> is_over = false;
    std::vector<std::thread> clients;
    clients.emplace_back([&] {
      for (int i = 0; !is_over; ++i) upload(fmt::format("new-{}-{}", round, i), sound);
    });
    clients.emplace_back([&] {
      while (!is_over) say(order(kTexts[2], 1));
    });
    std::this_thread::sleep_for(150ms + round * 70ms);
    server_->send(SIGKILL);
    is_over = true;
    for (auto& client : clients) client.join();
    server_->finish();
  }
  start();
  const auto voices = json::parse(ask("GET", "/speakers_list").body);
  EXPECT_EQ(entries_of("voices"), voices.size());
  for (const auto& voice : voices) {
    EXPECT_EQ(say(order("One.", 1, voice.get<std::string>())).status, 200) << voice;
  }
}

TEST_F(Serve, AReaderThatTakesNothingHoldsNobodyUpAndHearsAllInTheEnd) {
  start({"--streams", "1"});
  std::string text;
  for (int i = 0; i < 20; ++i) text += kTexts[2] + std::string(" ");
  const std::string body = order(text, 4);
  const HttpTalk slow(port_);
  slow.send(
      "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  for (int i = 0; i < 1000 && metric("myxtts_places_used") == 0; ++i) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(say(order("One.", 1)).status, 200);
  EXPECT_TRUE(slow.read_answer().body == say(body).body);
}

// What a process has open, and how many threads it has.
std::pair<std::size_t, std::size_t> held_by(int process) {
  const auto count = [&](const char* what) {
    const fs::path folder = "/proc/" + std::to_string(process) + "/" + what;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  };
  return {count("fd"), count("task")};
}

TEST_F(Serve, ClientsThatLeaveAtAnyMomentTakeNothingWithThem) {
  start({"--streams", "3"});
  const std::string text = kTexts[2];
  const std::string body = order(text, 2);
  const std::string request =
      "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  const auto wanted = say(body).body;
  const auto before = held_by(server_->process());
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    const HttpTalk client(port_);
    switch (random() % 4) {
      case 0:
        client.send(request.substr(0, random() % request.size()));
        break;  // half a request
      case 1:
        client.send(request);
        break;  // leaves at once
      case 2:
        client.send(request);
        client.read_some();
        break;
      default:
        client.send(std::string(1 + random() % 50, static_cast<char>(random())));
        break;
    }
  }
  EXPECT_TRUE(say(body).body == wanted);
  const auto is_quiet = [&] {
    return metric("myxtts_places_used") == 0 && metric("myxtts_requests_waiting") == 0;
  };
  for (int i = 0; i < 200 && !is_quiet(); ++i) std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(is_quiet());
  for (int i = 0; i < 200 && held_by(server_->process()).first > before.first; ++i) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LE(held_by(server_->process()).first, before.first);
  EXPECT_EQ(held_by(server_->process()).second, before.second);
}

TEST_F(Serve, AWholeSoundIsNotMadeToItsEndForAClientThatHasLeft) {
  start({"--streams", "3", "--max-text", "200000"});
  {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += kTexts[2] + std::string(" ");
    const std::string body =
        json{{"text", text}, {"speaker_wav", "anna"}, {"language", "en"}}.dump();
    const HttpTalk client(port_);
    client.send("POST /tts_to_audio/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    for (int i = 0; i < 1000 && metric("myxtts_places_used") == 0; ++i) {
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_GT(metric("myxtts_places_used"), 0);
  }
  const auto is_over = [&] {
    return metric("myxtts_clients_left_total") == 1 && metric("myxtts_places_used") == 0;
  };
  for (int i = 0; i < 200 && !is_over(); ++i) std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(is_over());
}

TEST_F(Serve, AFullQueueSaysSoAndSigtermLetsWhatIsSpokenEnd) {
  start({"--streams", "1", "--queue", "1"});
  const std::string body = order(kTexts[2] + std::string(" ") + kTexts[2], 3);
  const auto wanted = say(body).body;
  std::vector<HttpReply> answers(6);
  std::vector<std::thread> clients;
  for (auto& answer : answers) clients.emplace_back([&] { answer = say(body); });
  for (int i = 0; i < 400 && metric("myxtts_places_used") == 0; ++i)
    std::this_thread::sleep_for(2ms);
  server_->send(SIGTERM);
  for (auto& client : clients) client.join();
  int whole = 0;
  for (const auto& answer : answers) {
    if (answer.status == 200) {
      EXPECT_TRUE(answer.body == wanted) << answer.body.size() << " " << wanted.size();
      ++whole;
    } else if (answer.status != 0) {
      EXPECT_TRUE(answer.status == 429 || answer.status == 503) << answer.status;
      EXPECT_NE(answer.head.find("Retry-After"), std::string::npos);
    }
  }
  EXPECT_GE(whole, 1);
  EXPECT_LE(whole, 3);
  EXPECT_TRUE(server_->ends_within(60s));
  EXPECT_EQ(server_->finish().exit_code, 0);
}

TEST_F(Serve, AModelThatNobodyAsksForIsPutAwayAndLoadedAgain) {
  start({"--unload-after", "0.01"});
  const auto first = say(order("One.", 1));
  for (int i = 0; i < 200 && metric("myxtts_models_loaded") > 0; ++i) {
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(metric("myxtts_models_loaded"), 0);
  EXPECT_TRUE(say(order("One.", 1)).body == first.body);
}

TEST_F(Serve, CommandLinesThatCannotBeMeantAreRefused) {
  const auto refused = [&](std::vector<std::string> more, const std::string& words) {
    std::vector<std::string> line = {"serve", "--model", path("model"), "--device", "cpu"};
    line.insert(line.end(), more.begin(), more.end());
    const auto result = run_program(line);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  refused({"--host", "0.0.0.0"}, "--no-api-key to let everybody in");
  refused({"--host", "0.0.0.0", "--api-key", "k", "--wyoming-port", "0"}, "Wyoming has no keys");
  refused({"--api-key", "k", "--no-api-key"}, "contradict");
  refused({"--api-key", ""}, "--api-key is empty");
  refused({"--voices", path("nothing")}, "mkdir -p");
  refused({"--port", "70000"}, "--port is 70000");
  refused({"--streams", "0"}, "--streams is 0");
  refused({"--model", "other/model"}, "other/model");
  start();
  refused({"--port", std::to_string(port_)}, "the port is taken");
}

}  // namespace
}  // namespace myxtts::test::serve_test
