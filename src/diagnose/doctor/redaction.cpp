// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/redaction.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace myxtts {
namespace {

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Replaces `name` where no letter or digit touches it.
void replace_word(std::string& text, const std::string& name, const std::string& by) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const auto end = at + name.size();
    const bool alone =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (alone) text.replace(at, name.size(), by);
    at += alone ? by.size() : 1;
  }
}

void add_variable(const char* name, std::vector<std::string>& to) {
  const char* value = std::getenv(name);
  if (value != nullptr) to.emplace_back(value);
}

// Longest first, so that a name within another does not leave half of it; "/" is nobody's home.
void tidy(std::vector<std::string>& names) {
  for (std::string& name : names) {
    while (name.size() > 1 && name.back() == '/') name.pop_back();
  }
  std::erase_if(names, [](const std::string& name) { return name.size() < 2; });
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

}  // namespace

Identity Identity::of_this_process() {
  Identity identity;
  add_variable("HOME", identity.homes);
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
    add_variable(variable, identity.users);
  }
  if (const passwd* user = getpwuid(getuid())) {
    identity.homes.emplace_back(user->pw_dir);
    identity.users.emplace_back(user->pw_name);
  }
  add_variable("HOSTNAME", identity.hosts);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    const std::string full = host.data();
    identity.hosts.push_back(full);
    identity.hosts.push_back(full.substr(0, full.find('.')));
  }
  return identity;
}

std::string redact(std::string text, const Identity& identity) {
  Identity names = identity;
  for (auto* list : {&names.homes, &names.users, &names.hosts}) tidy(*list);
  for (const auto& home : names.homes) replace_word(text, home, "~");
  for (const auto& host : names.hosts) replace_word(text, host, "<host>");
  for (const auto& user : names.users) replace_word(text, user, "<user>");
  return text;
}

}  // namespace myxtts
