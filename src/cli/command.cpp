// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <chrono>
#include <csignal>

#include "base/message_text.h"
#include "base/process.h"
#include "session/console.h"

namespace myxtts {

std::unique_ptr<ChildProcess> start_command(std::vector<std::string> words) {
  std::string line = "\n$ myxtts";
  for (const std::string& word : words) line += " " + shell_word(word);
  print(line + "\n");
  words.insert(words.begin(), own_program());
  return std::make_unique<ChildProcess>(words);
}

int finish_command(ChildProcess& program, const Interruption& interruption,
                   const std::function<bool()>& until) {
  using namespace std::chrono_literals;
  bool asked = false;
  for (;;) {
    if (const auto code = program.wait_for(200ms)) return *code;
    if (asked || !(interruption.came() || until())) continue;
    program.send(interruption.came() ? interruption.signal() : SIGTERM);
    asked = true;
  }
}

}  // namespace myxtts
