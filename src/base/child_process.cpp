// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "base/error.h"

extern char** environ;

namespace myxtts {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Signals do to it what they do to any program, whatever they do to us; and a terminal's Ctrl-C is
// ours alone, to pass on.
struct Attributes {
  Attributes() {
    ::posix_spawnattr_init(&value);
    sigset_t usual;
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGINT);
    ::sigaddset(&usual, SIGTERM);
    ::sigaddset(&usual, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&value, &usual);
    ::posix_spawnattr_setpgroup(&value, 0);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&value); }

  posix_spawnattr_t value;
};

// What it writes goes to a file, which is made anew; empty: where ours goes.
struct Files {
  explicit Files(const std::string& output) {
    ::posix_spawn_file_actions_init(&value);
    if (output.empty()) return;
    ::posix_spawn_file_actions_addopen(&value, STDOUT_FILENO, output.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::posix_spawn_file_actions_adddup2(&value, STDOUT_FILENO, STDERR_FILENO);
  }
  Files(int output, int errors) {
    ::posix_spawn_file_actions_init(&value);
    ::posix_spawn_file_actions_addopen(&value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&value, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&value, errors, STDERR_FILENO);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { ::posix_spawn_file_actions_destroy(&value); }

  posix_spawn_file_actions_t value;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& output) {
  const Files files(output);
  start(command, &files.value);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, int output, int errors,
                           std::int64_t most_bytes) {
  const Files actions(output, errors);
  start(command, &actions.value);
  const rlimit most{.rlim_cur = static_cast<rlim_t>(most_bytes),
                    .rlim_max = static_cast<rlim_t>(most_bytes)};
  ::prlimit(process_, RLIMIT_FSIZE, &most, nullptr);
}

void ChildProcess::start(const std::vector<std::string>& command, const void* file_actions) {
  std::vector<std::string> words = command;
  const Attributes attributes;
  const int failure = ::posix_spawnp(&process_, words.front().c_str(),
                                     static_cast<const posix_spawn_file_actions_t*>(file_actions),
                                     &attributes.value, pointers_to(words).data(), environ);
  if (failure == 0) handle_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  if (failure == 0 && handle_ >= 0) return;
  const int code = failure != 0 ? failure : errno;
  if (failure == 0) wait();
  throw DataError(fmt::format("{} cannot be started: {}.", command.front(),
                              std::generic_category().message(code)));
}

ChildProcess::~ChildProcess() {
  wait();
  ::close(handle_);
}

std::optional<int> ChildProcess::wait_for(std::chrono::milliseconds time) {
  if (exit_code_) return exit_code_;
  pollfd ended{.fd = handle_, .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, static_cast<int>(time.count())) <= 0) return std::nullopt;
  return wait();
}

int ChildProcess::wait() {
  if (exit_code_) return *exit_code_;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *exit_code_;
}

void ChildProcess::send(int signal) {
  if (!exit_code_) ::kill(process_, signal);
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace myxtts
