// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/help.h"
#include "config/value_text.h"
#include "session/console.h"

namespace myxtts {
namespace {

// What may stand for a value: these words, and paths or what pull fetched.
struct Completion {
  enum class Place { None, Files, Folders, Models } place = Place::None;
  std::string words = {};  // with blanks between
  auto operator<=>(const Completion&) const = default;
};
using Place = Completion::Place;

bool is_typed_as_it_stands(std::string_view word) {
  return !word.empty() && word.find(' ') == word.npos &&
         (std::islower(static_cast<unsigned char>(word[0])) != 0 ||
          std::isdigit(static_cast<unsigned char>(word[0])) != 0);
}

// "gpt", "dvae" and "auto" of "dvae, gpt or auto": of "a number from 0 to 1, or auto" the last.
void add_listed_words(std::string& words, std::string list) {
  for (const std::string_view between : {", or ", ", ", " or ", "|"}) {
    for (std::size_t at = 0; (at = list.find(between)) != list.npos;) {
      list.replace(at, between.size(), "\n");
    }
  }
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    const std::string word = list.substr(at, end - at);
    if (is_typed_as_it_stands(word)) words += (words.empty() ? "" : " ") + word;
    at = end + 1;
  }
}

// The value of a flag, or what stands without one, by what the help says of it.
Completion completion_of(const HelpEntry& entry) {
  static const std::set<std::string_view> files = {"FILE",      "PATH", "CLIP",     "STEP|PATH",
                                                   "RECORDING", "TEXT", "whisper=", "FILE|-"};
  static const std::set<std::string_view> folders = {"DIR", "RUN", "RUNS", "CORPUS"};
  const bool has_flag = entry.option->nonpositional();
  const std::string kind = has_flag ? placeholder(*entry.option) : entry.option->get_name(true);
  Completion completion;
  add_listed_words(completion.words, kind);
  if (const auto takes = entry.description.find("Takes "); takes != std::string::npos) {
    const std::string list = entry.description.substr(takes + 6) + " ";
    add_listed_words(completion.words, list.substr(0, list.find(". ")));
  }
  if (kind == "MODEL") completion.words = "xtts-v2";
  if (entry.typed.starts_with("--model ") || entry.typed.starts_with("--init ")) {
    completion.place = Place::Models;
  } else if (folders.contains(kind)) {
    completion.place = Place::Folders;
  } else if (files.contains(kind) || (!has_flag && completion.words.empty())) {
    completion.place = Place::Files;
  }
  return completion;
}

std::vector<std::string> flags_of_entry(const HelpEntry& entry) {
  std::vector<std::string> flags;
  if (entry.option == nullptr) return flags;
  for (const auto& name : entry.option->get_snames()) flags.push_back("-" + name);
  for (const auto& name : entry.option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

bool takes_value(const HelpEntry& entry) {
  return entry.option != nullptr && entry.option->nonpositional() &&
         !placeholder(*entry.option).empty();
}

// "vocab extend" of "myxtts vocab extend"; empty for the program.
std::string command_of(const HelpPage& page) {
  const auto blank = page.name.find(' ');
  return blank == std::string::npos ? "" : page.name.substr(blank + 1);
}

void for_each_entry(const HelpPage& page, const std::function<void(const HelpEntry&)>& visit) {
  for (const auto& section : page.sections) {
    for (const auto& entry : section.entries) visit(entry);
  }
}

// How a command is found in a line: "' vocab' | 'vocab extend'", what was found before it first.
std::string steps_to_commands(const std::vector<HelpPage>& pages, std::string_view between) {
  std::vector<std::string> steps;
  for (const HelpPage& page : pages) {
    const std::string command = command_of(page);
    if (command.empty()) continue;
    steps.push_back(command.find(' ') == command.npos ? fmt::format("' {}'", command)
                                                      : fmt::format("'{}'", command));
  }
  return fmt::format("{}", fmt::join(steps, between));
}

std::string in_single_quotes(std::string_view text) {
  std::string result = "'";
  for (const char letter : text)
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

// The first sentence.
std::string in_short(const std::string& text) {
  const auto end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string_view name_of(Place place) {
  switch (place) {
    case Place::Files:
      return "files";
    case Place::Folders:
      return "folders";
    case Place::Models:
      return "models";
    case Place::None:
      break;
  }
  return "";
}

constexpr std::string_view kBashHead =
    R"(# Completion of myxtts for bash; to load it: source <(myxtts completion bash)
_myxtts() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
    local command='' words='' place=''
    if [[ $word == '=' ]]; then
        word=''
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
            @STEPS@) command="${command:+$command }${COMP_WORDS[i]}" ;;
            'launch --') command='' ;;
        esac
    done
    case "$command $before" in
)";
constexpr std::string_view kBashTail = R"(    COMPREPLY=()
    [[ $place == nothing ]] && return
    mapfile -t COMPREPLY < <(
        compgen -W "$words" -- "$word"
        case $place in
            files) compgen -f -- "$word" ;;
            folders | models) compgen -d -- "$word" ;;
        esac
        if [[ $place == models ]]; then
            cd "${XDG_DATA_HOME:-$HOME/.local/share}/myxtts/models" 2>/dev/null && compgen -d -- "$word"
        fi
    )
    if [[ -n $place ]]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _myxtts myxtts
)";

std::string bash_case(const std::vector<std::string>& patterns, const Completion& completion) {
  const bool is_nothing = completion == Completion();
  return fmt::format("        {})\n            words={} place={} ;;\n",
                     fmt::join(patterns, " | \\\n            "), in_single_quotes(completion.words),
                     is_nothing ? "nothing" : name_of(completion.place));
}

// The values of flags: one case for all flags that take the same.
std::string bash_values(const std::vector<HelpPage>& pages) {
  std::map<Completion, std::vector<std::string>> patterns;
  for (const HelpPage& page : pages) {
    for_each_entry(page, [&](const HelpEntry& entry) {
      if (!takes_value(entry)) return;
      for (const auto& flag : flags_of_entry(entry)) {
        patterns[completion_of(entry)].push_back(
            in_single_quotes(fmt::format("{} {}", command_of(page), flag)));
      }
    });
  }
  std::string cases;
  for (const auto& [completion, flags] : patterns) cases += bash_case(flags, completion);
  return cases;
}

// What a command takes where no value of a flag is due.
std::string bash_arguments(const HelpPage& page) {
  Completion completion;
  for_each_entry(page, [&](const HelpEntry& entry) {
    const bool is_command = entry.option == nullptr;
    if (is_command) completion.words += entry.typed + " ";
    if (!is_command && !entry.option->nonpositional()) completion = completion_of(entry);
  });
  return bash_case({in_single_quotes(command_of(page))}, completion);
}

std::string bash_flags(const HelpPage& page) {
  std::vector<std::string> flags;
  for_each_entry(page, [&](const HelpEntry& entry) {
    for (auto& flag : flags_of_entry(entry)) flags.push_back(std::move(flag));
  });
  return fmt::format("            {}) words={} ;;\n", in_single_quotes(command_of(page)),
                     in_single_quotes(fmt::format("{}", fmt::join(flags, " "))));
}

std::string replaced(std::string_view text, std::string_view mark, const std::string& by) {
  std::string result(text);
  return result.replace(result.find(mark), mark.size(), by);
}

std::string bash_script(const std::vector<HelpPage>& pages) {
  std::string script = replaced(kBashHead, "@STEPS@", steps_to_commands(pages, " | "));
  script +=
      bash_values(pages) +
      "    esac\n    if [[ $word == -* ]]; then\n        place=''\n        case $command in\n";
  for (const HelpPage& page : pages) script += bash_flags(page);
  script += "        esac\n    elif [[ -z $words$place ]]; then\n        case $command in\n";
  for (const HelpPage& page : pages) script += bash_arguments(page);
  return script + "        esac\n    fi\n" + std::string(kBashTail);
}

// Of zsh's _arguments: what stands in brackets and between colons.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (std::string_view(":[]\\").find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

// With a blank before it, so that _arguments adds nothing to the words.
std::string zsh_action(const Completion& completion) {
  return fmt::format(" _myxtts_values '{}' {}", name_of(completion.place), completion.words);
}

std::string zsh_entry(const HelpEntry& entry) {
  std::string specs;
  const std::string text = zsh_text(in_short(entry.description));
  const auto add = [&specs](const std::string& spec) {
    specs += " \\\n        " + in_single_quotes(spec);
  };
  if (!entry.option->nonpositional()) {
    add(fmt::format("*:{}:{}", zsh_text(entry.typed), zsh_action(completion_of(entry))));
    return specs;
  }
  const bool is_optional = entry.option->get_items_expected_min() == 0;
  for (const auto& flag : flags_of_entry(entry)) {
    if (takes_value(entry)) {
      add(fmt::format("*{}=[{}]{}:{}:{}", flag, text, is_optional ? ":" : "",
                      zsh_text(placeholder(*entry.option)), zsh_action(completion_of(entry))));
    } else {
      add(fmt::format("{}[{}]", flag, text));
    }
  }
  return specs;
}

std::string zsh_function(const HelpPage& page) {
  std::string name = "_" + page.name;
  std::ranges::replace(name, ' ', '_');
  std::string arguments;
  std::string commands;
  for_each_entry(page, [&](const HelpEntry& entry) {
    if (entry.option != nullptr) {
      arguments += zsh_entry(entry);
    } else {
      commands +=
          fmt::format("        {}\n", in_single_quotes(entry.typed + ":" + entry.description));
    }
  });
  if (commands.empty()) return fmt::format("{}() {{\n    _arguments{}\n}}\n", name, arguments);
  return fmt::format(
      "{0}() {{\n    local state line context\n    typeset -A opt_args\n    local -a commands=(\n"
      "{1}    )\n    _arguments -C{2} \\\n        '1:command:->command' '*::argument:->rest'\n"
      "    case $state in\n        command) _describe command commands ;;\n"
      "        rest) (( $+functions[{0}_$words[1]] )) && {0}_$words[1] ;;\n    esac\n}}\n",
      name, commands, arguments);
}

std::string zsh_script(const std::vector<HelpPage>& pages) {
  std::string script =
      "#compdef myxtts\n# Completion of myxtts for zsh; to load it: source <(myxtts completion "
      "zsh)\n"
      "_myxtts_values() {\n    local place=$1\n    shift\n    (( $# )) && compadd -- \"$@\"\n"
      "    case $place in\n        files) _files ;;\n        folders) _files -/ ;;\n        "
      "models)\n"
      "            local -a models=("
      "\"${XDG_DATA_HOME:-$HOME/.local/share}\"/myxtts/models/*(N/:t))\n"
      "            compadd -a models\n            _files -/ ;;\n    esac\n}\n";
  for (const HelpPage& page : pages) script += zsh_function(page);
  return script +
         "if [[ $funcstack[1] == _myxtts ]]; then _myxtts \"$@\"; else compdef _myxtts myxtts; "
         "fi\n";
}

std::string fish_entry(const std::string& condition, const HelpEntry& entry) {
  const std::string start = fmt::format("complete -c myxtts -n \"{}\"", condition);
  if (entry.option == nullptr) {
    return fmt::format("{} -x -a {} -d {}\n", start, entry.typed,
                       in_single_quotes(entry.description));
  }
  const Completion completion = completion_of(entry);
  std::string values = completion.words;
  if (completion.place == Place::Models)
    values += " (__myxtts_models) (__fish_complete_directories)";
  if (completion.place == Place::Folders) values += " (__fish_complete_directories)";
  const std::string words = values.empty() ? "" : " -a " + in_single_quotes(values);
  const bool has_files = completion.place == Place::Files;
  if (!entry.option->nonpositional()) {
    return fmt::format("{} {}{}\n", start, has_files ? "-F" : "-f", words);
  }
  std::string names;
  for (const auto& flag : flags_of_entry(entry)) {
    names += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  const bool needs_value = takes_value(entry) && entry.option->get_items_expected_min() > 0;
  return fmt::format("{}{}{}{}{} -d {}\n", start, names, needs_value ? " -r" : "",
                     has_files && takes_value(entry) ? " -F" : " -f",
                     takes_value(entry) ? words : "",
                     in_single_quotes(in_short(entry.description)));
}

std::string fish_script(const std::vector<HelpPage>& pages) {
  std::string script = fmt::format(
      "# Completion of myxtts for fish; to load it: myxtts completion fish | source\n"
      "function __myxtts_command\n    set -l command\n    set -l typed (commandline -opc)\n"
      "    for word in $typed[2..]\n        switch \"$command $word\"\n            case {}\n"
      "                set -a command $word\n        end\n    end\n    echo \"$command\"\nend\n"
      "function __myxtts_models\n    set -l data ~/.local/share\n"
      "    set -q XDG_DATA_HOME; and set data $XDG_DATA_HOME\n"
      "    for model in $data/myxtts/models/*/\n        path basename $model\n    end\nend\n"
      "complete -c myxtts -f\n",
      steps_to_commands(pages, " "));
  for (const HelpPage& page : pages) {
    const std::string condition = fmt::format("test (__myxtts_command) = '{}'", command_of(page));
    for_each_entry(page, [&](const HelpEntry& entry) { script += fish_entry(condition, entry); });
  }
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  const std::vector<HelpPage> pages = help_pages(program);
  if (shell == "bash") return bash_script(pages);
  if (shell == "zsh") return zsh_script(pages);
  if (shell == "fish") return fish_script(pages);
  throw ConfigError(fmt::format(
      "There is no completion for {}; type myxtts completion bash, zsh or fish.", quote(shell)));
}

Command completion_command() {
  const auto declare = [](CLI::App& app) {
    const auto shell = std::make_shared<std::string>();
    app.add_option("SHELL", *shell, "Takes bash, zsh or fish.")->required();
    return [shell, &app] {
      print(completion_script(*app.get_parent(), *shell));
      return 0;
    };
  };
  return {
      .name = "completion",
      .group = "Setting up",
      .summary = "Prints what lets a shell complete commands, flags and values",
      .declare = declare,
      .examples = {"source <(myxtts completion bash)", "myxtts completion zsh > ~/.zfunc/_myxtts",
                   "myxtts completion fish > ~/.config/fish/completions/myxtts.fish"}};
}

}  // namespace myxtts
