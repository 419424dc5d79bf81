// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<int> to_write = -1;  // the end of the pipe that the handler writes to
static_assert(std::atomic<int>::is_always_lock_free);

// In any thread, in the middle of anything: only what is safe there, and errno stays.
void pass_on(int signal) {
  const int before = errno;
  const auto number = static_cast<unsigned char>(signal);
  // A full pipe holds more signals than matter.
  if (to_write >= 0 && ::write(to_write, &number, 1) < 0) errno = before;
}

using SteadyClock = std::chrono::steady_clock;

bool is_readable(int file) {
  pollfd ready{.fd = file, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) > 0;
}

// What a person may not know of an end.
std::string remark(const ProcessEnd& end) {
  return end.signal == SIGKILL ? ", as the kernel does where memory runs out" : "";
}

}  // namespace

CaughtSignals::CaughtSignals() {
  MYXTTS_CHECK(to_write < 0, "signals are caught already");
  const int made = ::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK);
  MYXTTS_CHECK(made == 0, "no pipe: error {}", errno);
  to_write = pipe_[1];
  struct sigaction passing {};
  passing.sa_handler = pass_on;
  passing.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    const bool ignored = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!ignored) ::sigaction(kSignals[i], &passing, nullptr);
  }
}

CaughtSignals::~CaughtSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  to_write = -1;
  for (const int end : pipe_) ::close(end);
}

int CaughtSignals::take() const {
  unsigned char number = 0;
  ssize_t count = 0;
  while ((count = ::read(pipe_[0], &number, 1)) < 0 && errno == EINTR) {
  }
  return count == 1 ? number : 0;
}

int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* address = reinterpret_cast<sockaddr*>(&place);
  const bool found =
      file >= 0 && ::bind(file, address, size) == 0 && ::getsockname(file, address, &size) == 0;
  const int code = errno;
  if (file >= 0) ::close(file);
  if (found) return ntohs(place.sin_port);
  throw DeviceError(fmt::format("No free port was found on 127.0.0.1: {}; name one with --port N.",
                                std::generic_category().message(code)));
}

RankProcesses::Rank::Rank(const World& world, const Settings& settings)
    : number(world.rank), process(world, settings.command), output(world.rank, settings.show) {}

RankProcesses::RankProcesses(Settings settings) : settings_(std::move(settings)) {
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, no process says how it ended
  World world{.size = settings_.ranks, .local_size = settings_.ranks};
  world.port = settings_.port != 0 ? settings_.port : free_port();
  for (world.rank = 0; world.rank < world.size; ++world.rank) {
    world.local_rank = world.rank;
    ranks_.push_back(std::make_unique<Rank>(world, settings_));
  }
}

RankProcesses::Outcome RankProcesses::run() {
  while (some_run()) {
    wait_for_something();
    take_signals();
    for (const auto& rank : ranks_) show_output(*rank);
    take_ends();
    if (asked_to_end_) kill_late();
  }
  if (failed_ != nullptr) {
    return {.exit_code = failed_->process.end()->exit_code(), .cause = cause()};
  }
  const bool all_well = std::ranges::all_of(
      ranks_, [](const auto& rank) { return rank->process.end()->exit_code() == 0; });
  return {.exit_code = all_well ? 0 : 128 + caught_};
}

bool RankProcesses::some_run() const {
  return std::ranges::any_of(ranks_,
                             [](const auto& rank) { return !rank->process.end().has_value(); });
}

void RankProcesses::wait_for_something() const {
  std::vector<pollfd> files{{.fd = signals_.file(), .events = POLLIN, .revents = 0}};
  for (const auto& rank : ranks_) {
    if (rank->process.end()) continue;
    files.push_back({.fd = rank->process.ended_file(), .events = POLLIN, .revents = 0});
    files.push_back({.fd = rank->process.errors_file(), .events = POLLIN, .revents = 0});
  }
  int time = -1;  // in milliseconds; forever
  if (asked_to_end_ && !killed_) {
    const auto passed = SteadyClock::now() - *asked_to_end_;
    const auto next = passed < settings_.patience ? settings_.patience : settings_.time_to_save;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - passed);
    time = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  ::poll(files.data(), files.size(), time);
}

// What there is now, and no more: a rank that writes without end must not keep us.
void RankProcesses::show_output(Rank& rank) {
  if (rank.process.errors_file() < 0 || !is_readable(rank.process.errors_file())) return;
  const auto piece = rank.process.read_errors();
  if (piece) rank.output.add(*piece);
  if (!piece) rank.process.close_errors();
}

void RankProcesses::take_signals() {
  while (const int signal = signals_.take()) {
    if (caught_ == 0 && failed_ == nullptr) {
      caught_ = signal;
      send_all(signal);
    } else {
      kill_all();
    }
  }
}

void RankProcesses::finish(Rank& rank) {
  rank.process.wait();
  // A process that it started may still have the file open: what is there is all that we wait for.
  while (rank.process.errors_file() >= 0 && is_readable(rank.process.errors_file())) {
    show_output(rank);
  }
  rank.process.close_errors();
  rank.output.finish();
}

void RankProcesses::take_ends() {
  std::vector<const Rank*> ended;
  for (const auto& rank : ranks_) {
    if (rank->process.end() || !is_readable(rank->process.ended_file())) continue;
    finish(*rank);
    ended.push_back(rank.get());
  }
  // Of several ends, that by a signal was the cause: ranks that lose another end by themselves.
  std::stable_partition(ended.begin(), ended.end(),
                        [](const Rank* rank) { return rank->process.end()->signal != 0; });
  for (const Rank* rank : ended) judge(*rank);
}

void RankProcesses::judge(const Rank& rank) {
  const int code = rank.process.end()->exit_code();
  const bool was_asked_to = caught_ != 0 && code == 128 + caught_;
  if (code == 0 || was_asked_to || failed_ != nullptr || killed_) return;
  failed_ = &rank;
  end_others(rank);
}

void RankProcesses::end_others(const Rank& failed) {
  if (!some_run()) return;
  settings_.show(fmt::format("rank {} {}; the other ranks are told to end", failed.number,
                             describe(*failed.process.end())));
  if (caught_ == 0) send_all(SIGTERM);  // else they were told, and a second signal would kill them
  kill_stopped();
  asked_to_end_ = SteadyClock::now();
}

void RankProcesses::send_all(int signal) {
  for (const auto& rank : ranks_) rank->process.send(signal);
}

// They could not even read that they are to end. The others may have missed them: it is said.
void RankProcesses::kill_stopped() {
  for (const auto& rank : ranks_) {
    if (!rank->process.is_stopped()) continue;
    settings_.show(fmt::format("rank {} is stopped, and is killed", rank->number));
    rank->process.kill();
  }
}

void RankProcesses::kill_late() {
  const auto passed = SteadyClock::now() - *asked_to_end_;
  if (passed >= std::max(settings_.patience, settings_.time_to_save)) return kill_all();
  if (passed < settings_.patience) return;
  for (const auto& rank : ranks_) {
    if (rank->number != 0 && !rank->process.end()) rank->process.kill();
  }
}

void RankProcesses::kill_all() {
  if (killed_) return;
  killed_ = true;
  for (const auto& rank : ranks_) rank->process.kill();
}

std::string RankProcesses::cause() const {
  const ProcessEnd& end = *failed_->process.end();
  const std::string& words = failed_->output.last_words();
  const std::string heard = failed_->number == 0 ? "what it said stands above"
                            : words.empty()      ? "it said nothing"
                                                 : fmt::format("its last words: {}", words);
  return fmt::format("The run ended because rank {} {}{}; {}{}", failed_->number, describe(end),
                     remark(end), heard, heard.ends_with('.') ? "" : ".");
}

}  // namespace myxtts
