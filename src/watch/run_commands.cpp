// SPDX-License-Identifier: Apache-2.0
#include "watch/run_commands.h"

#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/message_text.h"
#include "config/model_json.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/public_folder.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLongestHeard = 100;  // bytes

// Enough to hear.
std::string opening_of(const std::string& text) {
  if (text.size() <= kLongestHeard) return text;
  const auto space = text.rfind(' ', kLongestHeard);
  return space == std::string::npos ? text : text.substr(0, space);
}

std::string why_silent(const LatestModel& latest) {
  return fmt::format("The model cannot speak yet: its {} {} not trained.",
                     fmt::join(latest.untrained, " and "),
                     latest.untrained.size() == 1 ? "was" : "were");
}

}  // namespace

LatestModel look_at_latest(const fs::path& run) {
  const fs::path folder = run / "latest";
  LatestModel latest;
  std::error_code gone;
  if (!fs::exists(folder / files::kConfig, gone)) return latest;
  try {
    for (const ModelPart part : untrained_parts(folder)) {
      latest.untrained.emplace_back(name_of(part));
    }
    latest.can_be_exported =
        coqui_can_hold(parse_model_config(read_config_text(folder), folder.string()));
    latest.is_there = true;
  } catch (const std::exception&) {  // damaged, or it has just been removed
    return {};
  }
  return latest;
}

Json commands_json(const fs::path& run, const LatestModel& latest, const HeardClip& clip) {
  std::error_code gone;
  const fs::path named = run / (fs::exists(run / "best", gone) ? "best" : "latest");
  const std::string model = "--model " + shell_word(named.string());
  Json commands{{"hear", nullptr}, {"export", nullptr}};
  Json missing{{"hear", nullptr}, {"export", nullptr}, {"resume", nullptr}, {"report", nullptr}};
  commands["resume"] =
      fmt::format("myxtts train --config {} --resume", shell_word((run / "config.yaml").string()));
  commands["report"] = "myxtts watch --report " + shell_word(run.string());
  if (!fs::exists(run / "config.yaml", gone)) {
    commands["resume"] = nullptr;
    missing["resume"] = "config.yaml is missing, so the run cannot be resumed.";
  }
  const bool speaks = latest.is_there && latest.untrained.empty();
  if (!latest.is_there) {
    missing["hear"] = missing["export"] = "No model was saved yet.";
  } else if (!speaks) {
    missing["hear"] = missing["export"] = why_silent(latest);
  } else {
    commands["hear"] =
        fmt::format("myxtts synthesize {} --reference {} --language {} --text {} --out hello.wav",
                    model, shell_word(clip.audio.empty() ? "CLIP.wav" : clip.audio),
                    clip.language.empty() ? "en" : clip.language,
                    shell_word(clip.text.empty() ? "Hello." : opening_of(clip.text)));
    if (latest.can_be_exported) {
      commands["export"] = fmt::format("myxtts export {} --format coqui --out {}", model,
                                       shell_word((run / "export").string()));
    } else {
      missing["export"] =
          "coqui-tts, which fixes the sizes of the network, cannot hold this model.";
    }
  }
  return {{"commands", std::move(commands)},
          {"commands_missing", std::move(missing)},
          {"model", {{"untrained", latest.untrained}, {"can_speak", speaks}}}};
}

}  // namespace myxtts
