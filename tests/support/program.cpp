// SPDX-License-Identifier: Apache-2.0
#include "support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace myxtts::test {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
};

[[noreturn]] void become_program(const std::vector<std::string>& arguments,
                                 const ProgramInput& input) {
  signal(SIGHUP, SIG_DFL);  // ignored where the tests run under nohup
  for (const auto& variable : input.environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> argv{const_cast<char*>(MYXTTS_PROGRAM)};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(MYXTTS_PROGRAM, argv.data());
  _exit(127);
}

// Feeds standard input and collects both outputs at once, so that no pipe can fill up and block.
void exchange(Pipe& in, Pipe& out, Pipe& err, const std::string& text, ProgramResult& result) {
  std::size_t written = 0;
  bool out_open = true;
  bool err_open = true;
  const auto drain = [](int file, std::string& into) {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0;
  };
  const auto close_input = [&in] {
    if (in.write_end >= 0) close(in.write_end);
    in.write_end = -1;
  };
  if (text.empty()) close_input();
  while (out_open || err_open) {
    std::array<pollfd, 3> files{{{out_open ? out.read_end : -1, POLLIN, 0},
                                 {err_open ? err.read_end : -1, POLLIN, 0},
                                 {in.write_end, POLLOUT, 0}}};
    if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) break;
    if (files[0].revents != 0) out_open = drain(out.read_end, result.out);
    if (files[1].revents != 0) err_open = drain(err.read_end, result.err);
    if (files[2].revents != 0) {
      const ssize_t count = write(in.write_end, text.data() + written, text.size() - written);
      if (count > 0) written += static_cast<std::size_t>(count);
      if (count <= 0 || written == text.size()) close_input();
    }
  }
  close_input();
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const ProgramInput& input) {
  signal(SIGPIPE, SIG_IGN);  // a program that does not read its input is not our end
  Pipe in;
  Pipe out;
  Pipe err;
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    dup2(in.read_end, STDIN_FILENO);
    dup2(out.write_end, STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    for (const Pipe* used : {&in, &out, &err}) {
      close(used->read_end);
      close(used->write_end);
    }
    become_program(arguments, input);
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);

  ProgramResult result;
  exchange(in, out, err, input.standard_input, result);
  close(out.read_end);
  close(err.read_end);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

StartedProgram::StartedProgram(const std::vector<std::string>& arguments,
                               const ProgramInput& input) {
  const std::string out = (folder_ / "out").string();
  const std::string err = (folder_ / "err").string();
  process_ = fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    const auto redirect = [](const std::string& path, int file) {
      dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), file);
    };
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    become_program(arguments, input);
  }
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
  if (handle_ < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
}

StartedProgram::~StartedProgram() {
  if (!exit_code_) {
    send(SIGKILL);
    finish();
  }
  close(handle_);
}

bool StartedProgram::ends_within(std::chrono::milliseconds time) {
  if (exit_code_) return true;
  pollfd ended{handle_, POLLIN, 0};
  return poll(&ended, 1, static_cast<int>(time.count())) > 0;
}

bool StartedProgram::ends_soon() {
  using std::chrono::milliseconds;
  const auto since = std::chrono::steady_clock::now() - began_;
  return ends_within(milliseconds(10'000) + 5 * std::chrono::ceil<milliseconds>(since));
}

bool StartedProgram::has_said(const std::string& words) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    const bool ended = ends_within(std::chrono::milliseconds(5));
    if (std::filesystem::exists(folder_ / "err") &&
        contents_of(folder_ / "err").find(words) != std::string::npos) {
      return true;
    }
    if (ended) return false;
  }
  return false;
}

std::string StartedProgram::said() const {
  return contents_of(folder_ / "err");
}

void StartedProgram::send(int signal) const {
  kill(process_, signal);
}

ProgramResult StartedProgram::finish() {
  if (!exit_code_) {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return {.exit_code = *exit_code_,
          .out = contents_of(folder_ / "out"),
          .err = contents_of(folder_ / "err")};
}

}  // namespace myxtts::test
