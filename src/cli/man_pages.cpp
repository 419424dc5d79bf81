// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "cli/help.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// A line that roff takes as it stands.
std::string roff(std::string_view text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char letter : text) {
    if (letter == '-') {
      result += "\\-";
    } else if (letter == '\\') {
      result += "\\e";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string with_dashes(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

std::string examples_section(const std::string& examples) {
  if (examples.empty()) return {};
  std::string section = ".SH EXAMPLES\n.nf\n";
  std::istringstream lines(examples);
  for (std::string line; std::getline(lines, line);) {
    section += roff(line.substr(std::min(line.size(), line.find_first_not_of(' ')))) + "\n";
  }
  return section + ".fi\n";
}

// The program's page names those of its commands, each of these the program's.
std::string see_also(const HelpPage& page, std::span<const HelpPage> pages) {
  std::string names;
  for (const HelpPage& other : pages) {
    const bool is_below = other.name.starts_with(page.name + " ");
    if (!is_below && !page.name.starts_with(other.name + " ")) continue;
    names += fmt::format("{}.BR {} (1)", names.empty() ? "" : ",\n", roff(with_dashes(other.name)));
  }
  return names.empty() ? "" : ".SH SEE ALSO\n" + names + "\n";
}

std::string man_page(const HelpPage& page, std::span<const HelpPage> pages) {
  const std::string name = with_dashes(page.name);
  std::string text = fmt::format(
      ".TH \"{}\" \"1\" \"\" \"myxtts {}\" \"MyXTTS\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n",
      roff(in_capitals(name)), MYXTTS_VERSION, roff(name), roff(page.description),
      roff(page.usage));
  for (const auto& [heading, entries] : page.sections) {
    text += fmt::format(".SH \"{}\"\n", roff(in_capitals(heading)));
    for (const HelpEntry& entry : entries) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(entry.typed), roff(entry.description));
    }
  }
  return text + examples_section(page.examples) + see_also(page, pages);
}

void write_page(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  write_file_atomically(path, bytes_of(text));
}

}  // namespace

void write_shared_pages(const CLI::App& program, const fs::path& prefix) {
  const fs::path share = prefix / "share";
  const auto pages = help_pages(program);
  for (const HelpPage& page : pages) {
    write_page(share / "man/man1" / (with_dashes(page.name) + ".1"), man_page(page, pages));
  }
  write_page(share / "bash-completion/completions/myxtts", completion_script(program, "bash"));
  write_page(share / "zsh/site-functions/_myxtts", completion_script(program, "zsh"));
  write_page(share / "fish/vendor_completions.d/myxtts.fish", completion_script(program, "fish"));
}

}  // namespace myxtts
