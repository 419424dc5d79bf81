// SPDX-License-Identifier: Apache-2.0
#include "e2e/training_bench.h"

#include <algorithm>
#include <sstream>

#include "support/one_sentence.h"
#include "support/tone_corpus.h"

namespace myxtts::test {

namespace fs = std::filesystem;

TrainingBench::TrainingBench(int clips) {
  write_tone_corpus(folder_ / "corpus", clips);
}

Words TrainingBench::command(const std::string& run, const Words& more) const {
  const std::vector<std::pair<std::string, std::string>> usual{{"--device", "cpu"},
                                                               {"--model-size", "tiny"},
                                                               {"--train-data", path("corpus")},
                                                               {"--checkpoint-dir", path(run)},
                                                               {"--batch-size", "4"},
                                                               {"--lr", "0.001"},
                                                               {"--schedule", "constant"},
                                                               {"--val-fraction", "0.2"},
                                                               {"--log-steps", "1"},
                                                               {"--max-steps", "6"},
                                                               {"--samples", "0"},
                                                               {"--model-threads", "1"},
                                                               {"--data-threads", "1"}};
  Words words{"train"};
  const auto is_given = [&more](const std::string& flag) {
    return std::ranges::find(more, flag) != more.end();
  };
  for (const auto& [flag, value] : usual) {
    // A model brings its own size.
    if (is_given(flag) || (flag == "--model-size" && is_given("--init"))) continue;
    words.insert(words.end(), {flag, value});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

ProgramResult TrainingBench::trained(const std::string& run, const Words& more) const {
  auto result = train(run, more);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_plain_figures(result.out + result.err);
  return result;
}

std::vector<nlohmann::json> TrainingBench::metrics(const std::string& run,
                                                   const std::string& event) const {
  std::vector<nlohmann::json> lines;
  std::istringstream text(contents_of(path(run) / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    auto json = nlohmann::json::parse(line);
    if (json.at("event") == event) lines.push_back(std::move(json));
  }
  return lines;
}

std::vector<double> TrainingBench::curve(const std::string& run, const std::string& name,
                                         const std::string& event) const {
  std::vector<double> values;
  for (const auto& line : metrics(run, event)) values.push_back(line.at(name));
  return values;
}

std::string TrainingBench::latest(const std::string& run, const std::string& file) const {
  return contents_of(path(run) / "latest" / file);
}

std::vector<std::string> TrainingBench::checkpoints(const std::string& run) const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path(run) / "checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace myxtts::test
