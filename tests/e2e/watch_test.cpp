// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "e2e/training_bench.h"
#include "support/http_client.h"
#include "support/program.h"

namespace myxtts::test::watch_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

int port_said(StartedProgram& program, const std::string& mark) {
  EXPECT_TRUE(program.has_said(mark)) << program.said();
  const std::string said = program.said();
  return std::stoi(said.substr(said.find(mark) + mark.size()));
}

HttpReply ask(int port, const std::string& target,
              const std::string& headers = "Host: localhost\r\n",
              const std::string& method = "GET") {
  const HttpTalk client(port);
  client.send(method + " " + target + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n");
  return client.read_answer();
}

class Watch : public TrainingBench {
 protected:
  Watch() : TrainingBench(16) {}

  // What is true of every server of runs.
  void expect_guarded(int port) const {
    EXPECT_EQ(ask(port, "/api/runs", "Host: evil.example\r\n").status, 403);
    EXPECT_EQ(ask(port, "/api/runs", "Host: localhost\r\nOrigin: http://evil.example\r\n").status,
              403);
    EXPECT_EQ(ask(port, "/api/runs", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n").status,
              403);
    EXPECT_EQ(ask(port, "/api/runs", "Host: localhost\r\nContent-Length: 3\r\n", "POST").status,
              413);
    for (const char* target : {"/../../etc/passwd", "/api/run?id=..", "/api/run?id=/etc",
                               "/api/sound?id=../run&step=1&file=x",
                               "/api/sound?id=run&step=2&file=..%2F..%2Fconfig.yaml",
                               "/api/clip?id=run&list=skipped&index=0", "/api/nothing"}) {
      const HttpReply reply = ask(port, target);
      EXPECT_EQ(reply.status, 404) << target;
      EXPECT_TRUE(json::parse(reply.body).contains("detail")) << reply.body;
    }
    for (const char* target : {"/api/run", "/api/curves?id=run&points=5",
                               "/api/curves?id=run&from=x", "/api/compare?id=run"}) {
      EXPECT_EQ(ask(port, target).status, 400) << target;
    }
  }
};

// A run that is watched while it trains, with a server of MLflow that is not there; then the same
// run from outside, and as a file.
TEST_F(Watch, ARunIsShownWhileItTrainsAndAfterwards) {
  StartedProgram training(
      command("run", {"--max-steps", "12", "--eval-steps", "4", "--samples", "1", "--log-steps",
                      "1", "--watch", "--watch-port", "0", "--mlflow", "http://127.0.0.1:9"}));
  const int beside = port_said(training, "watch the run at http://127.0.0.1:");
  const json during = json::parse(ask(beside, "/api/run?id=run").body)["run"];
  const std::string state = during["state"];
  EXPECT_TRUE(state == "preparing" || state == "running") << state;
  EXPECT_TRUE(has(ask(beside, "/").body, "<!doctype html>"));
  const ProgramResult result = training.finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, " at best, at step ")) << result.out;
  EXPECT_TRUE(has(result.out, "samples   1 to hear in ")) << result.out;
  EXPECT_TRUE(has(result.err, "MLflow at http://127.0.0.1:9 does not answer")) << result.err;
  EXPECT_TRUE(has(result.err, "were not delivered")) << result.err;
  const json status = json::parse(contents_of(path("run") / "status.json"));
  EXPECT_EQ(status["state"], "finished");
  EXPECT_EQ(status["step"], 12);
  EXPECT_EQ(status["last_step"], 12);
  EXPECT_GT(status["pipeline"]["stages"].size(), 0U);
  EXPECT_FALSE(status["verdict"]["sentence"].get<std::string>().empty());

  const std::string report = contents_of(path("run") / "report.html");
  EXPECT_LT(report.size(), 8'000'000U);
  EXPECT_TRUE(has(report, "data:audio/"));
  fs::remove(path("run") / "report.html");

  StartedProgram server(Words{"watch", path("").string(), "--port", "0"});
  const int port = port_said(server, "listening at http://127.0.0.1:");
  const json runs = json::parse(ask(port, "/api/runs").body)["runs"];
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["state"], "finished");
  EXPECT_EQ(runs[0]["notes"], json::array());
  const json curves = json::parse(ask(port, "/api/curves?id=run").body)["curves"];
  EXPECT_EQ(curves["train/loss"]["values"].get<std::vector<double>>(), curve("run", "loss"));
  EXPECT_EQ(curves["validation/loss"]["values"].get<std::vector<double>>(),
            curve("run", "loss", "validation"));
  const json facts = json::parse(ask(port, "/api/run?id=run").body);
  EXPECT_TRUE(has(facts["commands"]["resume"], "--resume"));
  const json samples = json::parse(ask(port, "/api/samples?id=run").body)["measurements"];
  ASSERT_FALSE(samples.empty());
  const std::string sound = samples.back()["samples"][0]["synthesis"];
  EXPECT_TRUE(ask(port, sound).body.starts_with("RIFF"));
  expect_guarded(port);

  const HttpTalk stream(port);
  stream.send("GET /api/events?id=run HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string heard = stream.read_some();
  while (!has(heard, "event: run\n")) heard += stream.read_some();
  std::ofstream(path("run") / "metrics.jsonl", std::ios::app)
      << R"({"event":"train","step":13,"loss":1.25})"
         "\n";
  while (!has(heard, "event: points\n")) heard += stream.read_some();
  fs::rename(path("run"), path("renamed"));
  while (!has(heard, "\"gone\":true")) heard += stream.read_some();
  server.send(SIGTERM);
  EXPECT_EQ(server.finish().exit_code, 0);

  const ProgramResult written = run_program({"watch", "--report", path("renamed").string()});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_TRUE(fs::exists(path("renamed") / "report.html"));
}

TEST_F(Watch, ARunThatWasKilledSaysSoToThoseWhoHaveTheKey) {
  StartedProgram training(command("killed", {"--max-steps", "100000", "--save-steps", "1"}));
  ASSERT_TRUE(training.has_said("Training:")) << training.said();
  training.send(SIGKILL);
  training.finish();
  StartedProgram server(
      Words{"watch", path("killed").string(), "--port", "0", "--api-key", "word"});
  const int port = port_said(server, "listening at http://127.0.0.1:");
  EXPECT_EQ(ask(port, "/api/runs").status, 401);
  EXPECT_EQ(ask(port, "/").status, 200) << "the page asks for the key";
  const std::string key = "Host: localhost\r\nAuthorization: Bearer word\r\n";
  const json run = json::parse(ask(port, "/api/run?id=killed", key).body)["run"];
  EXPECT_EQ(run["state"], "killed");
  EXPECT_TRUE(has(run["sentence"], "without saying how")) << run["sentence"];
  EXPECT_EQ(ask(port, "/api/run?id=corpus", key).status, 404) << "it is outside of what was named";
}

TEST_F(Watch, WhatCannotBeWatchedIsRefusedWithASentence) {
  const ProgramResult no_folder = run_program({"watch", path("nowhere").string()});
  EXPECT_EQ(no_folder.exit_code, 3);
  EXPECT_TRUE(has(no_folder.err, "is no folder")) << no_folder.err;
  const ProgramResult no_run = run_program({"watch", "--report", path("").string()});
  EXPECT_EQ(no_run.exit_code, 3);
  EXPECT_TRUE(has(no_run.err, "is no run directory")) << no_run.err;
  const ProgramResult open = run_program({"watch", path("").string(), "--host", "0.0.0.0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_TRUE(has(open.err, "--api-key")) << open.err;
  const ProgramResult address = train("run", {"--mlflow", "server"});
  EXPECT_EQ(address.exit_code, 2);
  EXPECT_TRUE(has(address.err, "http://")) << address.err;
}

}  // namespace
}  // namespace myxtts::test::watch_test
