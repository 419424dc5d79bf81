// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "parallel/world.h"

namespace myxtts {
namespace {

constexpr std::size_t kLongestLine = 65536;  // bytes; what is longer is shown as several lines

bool is_error(std::string_view line) {
  return line.starts_with("myxtts: ") || line.starts_with("error: ");
}

constexpr int kCannotBeStarted = 127;  // as shells say it

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string name_of(const std::string& variable) {
  return variable.substr(0, variable.find('=') + 1);
}

// Ours, with the rank's own variables in place of any that have their names.
std::vector<std::string> environment_of(const World& world) {
  std::vector<std::string> variables = variables_of(world);
  const std::size_t own = variables.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = name_of(*variable);
    bool is_ours = false;
    for (std::size_t i = 0; i < own; ++i) is_ours = is_ours || name == name_of(variables[i]);
    if (!is_ours) variables.emplace_back(*variable);
  }
  return variables;
}

sigset_t usual_signals() {
  sigset_t usual;
  ::sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&usual, signal);
  return usual;
}

// Holds signals back until a child has become another program: one that came to it before would be
// taken for ours.
class HeldSignals {
 public:
  HeldSignals() {
    const sigset_t usual = usual_signals();
    ::pthread_sigmask(SIG_BLOCK, &usual, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Signals do to it what they do to any program, whatever they do to us; a hang-up that is ignored
// stays so.
void take_usual_signals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) std::signal(SIGHUP, SIG_DFL);
  const sigset_t usual = usual_signals();
  ::sigprocmask(SIG_UNBLOCK, &usual, nullptr);
}

void use_files_of_a_follower(int errors) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
}

struct Program {
  explicit Program(const World& world, const std::vector<std::string>& command)
      : words(command), variables(environment_of(world)), cores(own_cores(world)) {}

  // In the child: only what is safe after fork().
  [[noreturn]] void become(pid_t parent, int errors) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kCannotBeStarted);  // it ended before we asked
    if (errors >= 0) use_files_of_a_follower(errors);
    take_usual_signals();
    keep_to_cores(cores);
    ::execve(arguments.front(), arguments.data(), environment.data());
    const char* reason = ::strerrordesc_np(errno);
    for (const char* text : {"myxtts: ", words.front().c_str(), " cannot be started: ",
                             reason == nullptr ? "unknown" : reason, ".\n"}) {
      if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
    }
    ::_exit(kCannotBeStarted);
  }

  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<int> cores;
  std::vector<char*> arguments = pointers_to(words);
  std::vector<char*> environment = pointers_to(variables);
};

[[noreturn]] void refuse(int rank, int code) {
  throw DeviceError(
      fmt::format("Rank {} cannot be started: {}; start fewer ranks, or raise the "
                  "limits that 'ulimit -u' and 'ulimit -n' show.",
                  rank, std::generic_category().message(code)));
}

}  // namespace

RankOutput::RankOutput(int rank, ShowLine show) : rank_(rank), show_(std::move(show)) {}

void RankOutput::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    unfinished_ += piece.substr(0, end);
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
    if (end != std::string_view::npos || unfinished_.size() >= kLongestLine) {
      show_line(std::exchange(unfinished_, {}));
    }
  }
}

void RankOutput::finish() {
  if (!unfinished_.empty()) show_line(std::exchange(unfinished_, {}));
}

void RankOutput::show_line(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  show_(fmt::format("[rank {}] {}", rank_, line));
  if (line.empty()) return;
  if (is_error(line)) last_error_ = line;
  last_line_ = std::move(line);
}

}  // namespace myxtts

extern char** environ;

namespace myxtts {
std::string describe(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("ended with exit code {}", end.code);
  const char* name = ::sigabbrev_np(end.signal);
  return name == nullptr ? fmt::format("was killed by signal {}", end.signal)
                         : fmt::format("was killed by SIG{}", name);
}

RankProcess::RankProcess(const World& world, const std::vector<std::string>& command) {
  Program program(world, command);
  std::array<int, 2> pipe{-1, -1};
  if (!world.leads() && ::pipe2(pipe.data(), O_CLOEXEC) != 0) refuse(world.rank, errno);
  const pid_t parent = ::getpid();
  int failure = 0;
  {
    const HeldSignals held;
    process_ = ::fork();
    failure = errno;
    if (process_ == 0) program.become(parent, pipe[1]);
  }
  if (pipe[1] >= 0) ::close(pipe[1]);
  errors_ = pipe[0];
  if (process_ > 0) handle_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  if (handle_ >= 0) {
    ::setpgid(process_, process_);  // here too: kill() may come before it has done so itself
    if (errors_ >= 0) ::fcntl(errors_, F_SETFL, O_NONBLOCK);
    return;
  }
  const int code = process_ < 0 ? failure : errno;
  close_errors();
  if (process_ > 0) {
    kill();
    wait();
  }
  refuse(world.rank, code);
}

RankProcess::~RankProcess() {
  if (!end_) {
    kill();
    wait();
  }
  close_errors();
  ::close(handle_);
}

std::optional<std::string> RankProcess::read_errors() {
  std::array<char, 65536> buffer{};
  ssize_t count = 0;
  while ((count = ::read(errors_, buffer.data(), buffer.size())) < 0 && errno == EINTR) {
  }
  if (count > 0) return std::string(buffer.data(), static_cast<std::size_t>(count));
  if (count < 0 && errno == EAGAIN) return std::string();
  return std::nullopt;
}

void RankProcess::close_errors() {
  if (errors_ >= 0) ::close(errors_);
  errors_ = -1;
}

void RankProcess::wait() {
  if (end_) return;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  end_ = WIFEXITED(status) ? ProcessEnd{.code = WEXITSTATUS(status)}
                           : ProcessEnd{.signal = WTERMSIG(status)};
}

bool RankProcess::is_stopped() const {
  siginfo_t state{};
  const int looking = WSTOPPED | WNOHANG | WNOWAIT;
  return !end_ && ::waitid(P_PID, static_cast<id_t>(process_), &state, looking) == 0 &&
         state.si_pid == process_;
}

void RankProcess::send(int signal) const {
  if (!end_) ::kill(process_, signal);
}

void RankProcess::kill() const {
  if (!end_) ::kill(-process_, SIGKILL);
}

}  // namespace myxtts
