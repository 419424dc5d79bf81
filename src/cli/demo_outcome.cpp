// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_outcome.h"

#include <cmath>
#include <map>
#include <sstream>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "audio/clip.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/progress.h"
#include "cli/clip_encoder.h"
#include "data/manifest.h"
#include "run/open_model.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestLog = std::size_t{256} << 20U;  // bytes
constexpr std::int64_t kStops = 4;  // targets behind each clip's codes, see Note [Packed rows]

using CodeCounts = std::map<std::int64_t, std::int64_t>;

CodeCounts count_codes(const fs::path& corpus, const OpenModel& model) {
  const ClipEncoder encoder(model, {});
  CodeCounts counts;
  const auto entries = read_manifest({.path = corpus}).entries;
  Progress progress({.title = "Counting codes", .total = entries.size()});
  for (const ManifestEntry& entry : entries) {
    const auto codes = encoder.features(read_clip(entry.audio, encoder.sample_rate())).codes;
    const auto* code = codes.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < codes.numel(); ++i) ++counts[code[i]];
    counts[model.config.gpt.stop_audio] += kStops;
    progress.advance();
  }
  return counts;
}

double entropy(const CodeCounts& counts) {
  double total = 0;
  for (const auto& [code, count] : counts) total += static_cast<double>(count);
  double sum = 0;
  for (const auto& [code, count] : counts) {
    const double share = static_cast<double>(count) / total;
    sum -= share * std::log(share);
  }
  return sum;
}

void read_metrics(const fs::path& file, DemoOutcome& outcome) {
  std::istringstream lines(read_text_file(file, "metrics", kLargestLog));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("audio_loss") || json["audio_loss"].is_null()) continue;
    const DemoOutcome::Point point{.step = json["step"], .loss = json["audio_loss"]};
    (json["event"] == "validation" ? outcome.validation : outcome.training).push_back(point);
  }
}

}  // namespace

DemoOutcome demo_outcome(const fs::path& corpus, const fs::path& run) {
  const OpenModel model = open_model(run / "latest");
  DemoOutcome outcome{.blind = std::log(static_cast<double>(model.config.gpt.audio_ids)),
                      .by_frequency = entropy(count_codes(corpus, model))};
  read_metrics(run / "metrics.jsonl", outcome);
  return outcome;
}

std::string describe(const DemoOutcome& outcome) {
  std::string text = fmt::format(
      "\nHow well codes are predicted (nats a code; less is better):\n"
      "  guessing blindly among all of them      {:.3f}\n"
      "  knowing how frequent each one is        {:.3f}\n",
      outcome.blind, outcome.by_frequency);
  const auto add = [&text](const char* what, const std::vector<DemoOutcome::Point>& points) {
    if (points.empty()) return;
    text +=
        fmt::format("  {:<38}  {:.3f} at step {}, {:.3f} at step {}\n", what, points.front().loss,
                    points.front().step, points.back().loss, points.back().step);
  };
  add("this run, on batches it trained on", outcome.training);
  add("this run, on clips it never saw", outcome.validation);
  const auto& judged = outcome.validation.empty() ? outcome.training : outcome.validation;
  if (judged.empty()) return text;
  return text + (judged.back().loss < outcome.by_frequency
                     ? "The model has learnt what follows what: it beats the frequencies.\n"
                     : "The model does not beat the frequencies yet: it needs more steps.\n");
}

}  // namespace myxtts
