// SPDX-License-Identifier: Apache-2.0
#include "parallel/world.h"

#include <netdb.h>
#include <sched.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/error.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

// A number at the beginning, which is taken away.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

constexpr int kMostRanks = 1'000'000;
constexpr int kHighestPort = 65535;
constexpr const char* kThisHost = "127.0.0.1";

// The variables by which a launcher sets the rank of a process.
struct Names {
  std::string rank;
  std::string size;
  std::string local_rank;
  std::string local_size;
};

const Names kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
const Names kSlurm{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
const Names kPmi{"PMI_RANK", "PMI_SIZE", "", ""};

// In this order: mpirun may start its own helpers with srun, whose variables are not the ranks'.
const std::vector<Names> kMpirun{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},  // MPICH, Intel MPI
    {"PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},    // Cray
};

// Nothing where it is not set. `why` is what the limits come from.
std::optional<int> number(const Environment& environment, const std::string& name, int low,
                          int high, const std::string& why = {}) {
  const auto text = name.empty() ? std::nullopt : environment(name);
  if (!text) return std::nullopt;
  const auto value = parse_integer(*text);
  if (value && *value >= low && *value <= high) return static_cast<int>(*value);
  throw ConfigError(fmt::format(
      "The environment variable {} is {}, but must be a whole number from {} to {}{}; the launcher "
      "of this process sets it, or unset it to train in one process.",
      name, quote(*text), low, high, why.empty() ? "" : " as " + why));
}

// Throws where `name` is not set though `other` is.
void require_set(const Environment& environment, const std::string& name,
                 const std::string& other) {
  if (environment(name)) return;
  throw ConfigError(
      fmt::format("The environment variable {} is {}, but {} is not set; set both, as torchrun "
                  "does, or neither.",
                  other, quote(environment(other).value_or("")), name));
}

// Everything but where rank 0 listens.
World read_world(const Environment& environment, const Names& names) {
  World world;
  require_set(environment, names.size, names.rank);
  world.size = *number(environment, names.size, 1, kMostRanks);
  const std::string size_is = fmt::format("{} is {}", names.size, world.size);
  require_set(environment, names.rank, names.size);
  world.rank = *number(environment, names.rank, 0, world.size - 1, size_is);
  const auto local_size = number(environment, names.local_size, 1, world.size, size_is);
  const int most = local_size.value_or(world.size) - 1;
  const std::string why =
      local_size ? fmt::format("{} is {}", names.local_size, *local_size) : size_is;
  world.local_rank = number(environment, names.local_rank, 0, most, why).value_or(0);
  world.local_size = local_size.value_or(world.local_rank + 1);
  return world;
}

// `known` is where rank 0 listens as far as the launcher says; empty: it does not.
void find_rank_zero(const Environment& environment, const std::string& known, World& world) {
  world.port = number(environment, "MASTER_PORT", 1, kHighestPort).value_or(world.port);
  world.address = environment("MASTER_ADDR").value_or("");
  if (!world.address.empty()) return;
  world.address = world.local_size == world.size ? kThisHost : known;
  if (!world.address.empty()) return;
  throw ConfigError(fmt::format(
      "This process is rank {} of {} on several hosts, but the environment variable "
      "MASTER_ADDR is not set; set it to the name or address of rank 0's host for every "
      "rank, as in MASTER_ADDR=10.0.0.1 (mpirun: -x MASTER_ADDR=10.0.0.1).",
      world.rank, world.size));
}

World torchrun_world(const Environment& environment) {
  World world = read_world(environment, kTorchrun);
  world.restarts =
      number(environment, "TORCHELASTIC_RESTART_COUNT", 0, kMostRanks).value_or(world.restarts);
  find_rank_zero(environment, "", world);
  return world;
}

std::optional<World> mpirun_world(const Environment& environment, const Names& names) {
  World world = read_world(environment, names);
  if (world.size == 1) return std::nullopt;
  find_rank_zero(environment, "", world);
  return world;
}

// srun names the host that it was typed on, which may be a login node. Rank 0 is on the first host
// of the step.
std::string slurm_address(const Environment& environment) {
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    if (const auto hosts = environment(list)) return first_host(*hosts);
  }
  return environment("SLURM_LAUNCH_NODE_IPADDR").value_or("");
}

// Runs that share a host must not meet; below the ports that the system gives to connections.
int slurm_port(const Environment& environment, int otherwise) {
  const auto job = parse_integer(environment("SLURM_JOB_ID").value_or(""));
  if (!job) return otherwise;
  const auto step = parse_integer(environment("SLURM_STEP_ID").value_or("")).value_or(0);
  return static_cast<int>(20000 + static_cast<std::uint64_t>(*job + step) % 10000);
}

std::optional<World> slurm_world(const Environment& environment) {
  World world = read_world(environment, kSlurm);
  if (world.size == 1) return std::nullopt;
  const int node = number(environment, "SLURM_NODEID", 0, kMostRanks).value_or(0);
  for (const char* list : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    const auto tasks = tasks_on_node(environment(list).value_or(""), node);
    if (!tasks || *tasks <= world.local_rank) continue;
    world.local_size = *tasks;
    break;
  }
  world.port = slurm_port(environment, world.port);
  find_rank_zero(environment, slurm_address(environment), world);
  return world;
}

[[noreturn]] void no_way(const std::string& host, const std::string& reason) {
  throw DeviceError(fmt::format(
      "The host of rank 0, {}, cannot be reached: {}. Give the launcher an address that every host "
      "knows (MASTER_ADDR).",
      host, reason));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) no_way(host, gai_strerror(status));
  return {found, &freeaddrinfo};
}

// Connecting a datagram socket sends nothing: it only chooses the way.
std::string address_of_way(const addrinfo& target) {
  const int socket = ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  const bool known = ::connect(socket, target.ai_addr, target.ai_addrlen) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text.data(),
                                 text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  const int reason = errno;
  ::close(socket);
  errno = reason;
  return known ? std::string(text.data()) : std::string();
}

}  // namespace

std::string first_host(std::string_view hosts) {
  std::string host;
  bool in_brackets = false;
  bool is_first = true;  // of the numbers in the brackets
  for (const char c : hosts) {
    if (c == '[') {
      in_brackets = is_first = true;
    } else if (c == ']') {
      in_brackets = false;
    } else if (in_brackets) {
      is_first = is_first && c != '-' && c != ',';
      if (is_first) host += c;
    } else if (c == ',') {
      break;
    } else {
      host += c;
    }
  }
  return host;
}

std::optional<int> tasks_on_node(std::string_view list, int node) {
  while (!list.empty()) {
    const auto tasks = take_number(list);
    if (!tasks) return std::nullopt;
    int nodes = 1;
    if (take(list, "(x")) {
      const auto times = take_number(list);
      if (!times || !take(list, ")")) return std::nullopt;
      nodes = *times;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (!take(list, ",")) return std::nullopt;
  }
  return std::nullopt;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<World> world_of(const Environment& environment) {
  const auto is_set = [&](const std::string& name) { return environment(name).has_value(); };
  if (is_set(kTorchrun.rank) || is_set(kTorchrun.size)) return torchrun_world(environment);
  for (const Names& names : kMpirun) {
    if (is_set(names.rank) && is_set(names.local_rank)) return mpirun_world(environment, names);
  }
  if (is_set(kSlurm.rank) && is_set(kSlurm.size)) return slurm_world(environment);
  if (is_set(kPmi.rank) && is_set(kPmi.size)) return mpirun_world(environment, kPmi);
  return std::nullopt;
}

std::vector<std::string> variables_of(const World& world) {
  return {fmt::format("RANK={}", world.rank),
          fmt::format("WORLD_SIZE={}", world.size),
          fmt::format("LOCAL_RANK={}", world.local_rank),
          fmt::format("LOCAL_WORLD_SIZE={}", world.local_size),
          fmt::format("MASTER_ADDR={}", world.address),
          fmt::format("MASTER_PORT={}", world.port),
          fmt::format("TORCHELASTIC_RESTART_COUNT={}", world.restarts)};
}

std::string local_address_towards(const std::string& host, int port) {
  const Addresses targets = resolve(host, port);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    const std::string address = address_of_way(*target);
    if (!address.empty()) return address;
  }
  no_way(host, std::generic_category().message(errno));
}

namespace {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;  // more cores than a set holds
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::vector<int> share_of(const std::vector<int>& cores, int local_rank, int local_size) {
  const int count = static_cast<int>(cores.size());
  if (count < local_size) return {cores[static_cast<std::size_t>(local_rank % count)]};
  const auto begin = cores.begin() + count * local_rank / local_size;
  const auto end = cores.begin() + count * (local_rank + 1) / local_size;
  return {begin, end};
}

std::vector<int> own_cores(const World& world) {
  const std::vector<int> cores = usable_cores();
  if (world.local_size < 2 || cores.empty()) return {};
  return share_of(cores, world.local_rank, world.local_size);
}

void keep_to_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

void keep_to_share_of_cores(const World& world) {
  const bool all = static_cast<long>(usable_cores().size()) == sysconf(_SC_NPROCESSORS_ONLN);
  if (all) keep_to_cores(own_cores(world));
}

}  // namespace myxtts
