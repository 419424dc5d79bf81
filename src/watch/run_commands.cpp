// SPDX-License-Identifier: Apache-2.0
#include "watch/run_commands.h"

#include <exception>
#include <system_error>
#include <utility>

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

// What can be typed, and of the rest why not: a sentence, and its code for translation.
class Commands {
 public:
  void add(const char* name, std::string command) { commands_[name] = std::move(command); }
  void lack(const char* name, const char* code, std::string why) {
    missing_[name] = std::move(why);
    codes_[name] = code;
  }
  Json json(const LatestModel& latest) {
    return {{"commands", std::move(commands_)},
            {"commands_missing", std::move(missing_)},
            {"commands_missing_codes", std::move(codes_)},
            {"model",
             {{"untrained", latest.untrained},
              {"can_speak", latest.is_there && latest.untrained.empty()}}}};
  }

 private:
  static Json none() {
    return {{"hear", nullptr}, {"resume", nullptr}, {"export", nullptr}, {"report", nullptr}};
  }

  Json commands_ = none();
  Json missing_ = none();
  Json codes_ = none();
};

}  // namespace

LatestModel inspect_latest(const fs::path& run) {
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

Json commands_json(const fs::path& run, const LatestModel& latest, const ExampleClip& clip) {
  std::error_code gone;
  const fs::path named = run / (fs::exists(run / "best", gone) ? "best" : "latest");
  const std::string model = "--model " + shell_word(named.string());
  Commands commands;
  if (fs::exists(run / "config.yaml", gone)) {
    commands.add("resume", fmt::format("myxtts train --config {} --resume",
                                       shell_word((run / "config.yaml").string())));
  } else {
    commands.lack("resume", "no-config", "config.yaml is missing, so the run cannot be resumed.");
  }
  commands.add("report", "myxtts watch --report " + shell_word(run.string()));
  const bool speaks = latest.is_there && latest.untrained.empty();
  if (!speaks) {
    const char* code = latest.is_there ? "untrained" : "no-model";
    const std::string why = latest.is_there ? why_silent(latest) : "No model was saved yet.";
    for (const char* name : {"hear", "export"}) commands.lack(name, code, why);
    return commands.json(latest);
  }
  commands.add("hear",
               fmt::format("myxtts synthesize {} --reference {} --language {} --text {} "
                           "--out hello.wav",
                           model, shell_word(clip.audio.empty() ? "CLIP.wav" : clip.audio),
                           clip.language.empty() ? "en" : clip.language,
                           shell_word(clip.text.empty() ? "Hello." : opening_of(clip.text))));
  if (latest.can_be_exported) {
    commands.add("export", fmt::format("myxtts export {} --format coqui --out {}", model,
                                       shell_word((run / "export").string())));
  } else {
    commands.lack("export", "other-network",
                  "coqui-tts, which fixes the sizes of the network, cannot hold this model.");
  }
  return commands.json(latest);
}

}  // namespace myxtts
