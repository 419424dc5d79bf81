// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/validation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.h"
#include "device/role_device.h"
#include "device/torch_device.h"
#include "pipeline/batch_transfer.h"

namespace myxtts {
namespace {

// A device that remembers between which GPUs its copies went; everything is the given device's,
// which outlives it. One thread.
class WatchedDevice final : public RoleDevice {
 public:
  explicit WatchedDevice(RoleDevice& device) : device_(device) {}

  std::string name() const override { return device_.name(); }
  int gpu() const override { return device_.gpu(); }
  Stream stream() const override { return device_.stream(); }
  Stream make_stream() override { return device_.make_stream(); }
  Event make_event() const override { return device_.make_event(); }
  HostMemory host_memory(std::size_t bytes) const override { return device_.host_memory(bytes); }
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override {
    ways_.emplace(from.gpu, to.gpu);
    device_.copy(stream, to, from, bytes);
  }
  std::unique_ptr<Scope> enter(const Stream& stream) override { return device_.enter(stream); }
  const RoleMemory& memory() const override { return device_.memory(); }
  void rethrow() const override { device_.rethrow(); }

  // Pairs of LibTorch's numbers, from and to; -1 is host memory.
  const std::set<std::pair<int, int>>& ways() const { return ways_; }

 private:
  RoleDevice& device_;
  mutable std::set<std::pair<int, int>> ways_;
};

// Gigabytes a second below which something is broken, not slow: the poorest PCI slot has a
// multiple of the first.
constexpr double kLeastBetweenGpus = 0.5;
constexpr double kLeastOnCpu = 0.1;
constexpr int kSends = 20;  // of the largest size, for the bandwidth

at::Tensor random_bytes(std::int64_t count, std::uint64_t first) {
  const RandomStream random(1, "validate/transfer");
  const auto words = at::empty({(count + 7) / 8}, at::kLong);
  auto* word = words.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < words.numel(); ++i) {
    word[i] = static_cast<std::int64_t>(random.bits(first + static_cast<std::uint64_t>(i)));
  }
  return words.view(at::kByte).narrow(0, 0, count);
}

// One direction. Host tensors come and go by LibTorch's own copies, so that only what is between
// the devices goes through BatchTransfer.
class Direction {
 public:
  Direction(RoleDevice& from, RoleDevice& to, BatchPath path, std::size_t largest)
      : from_(from), to_(to), transfer_(from_, to_, path, rounded(largest)) {}

  // The number of the first wrong byte of these pieces, sent together; nothing: all arrived.
  std::optional<std::int64_t> first_wrong(const std::vector<at::Tensor>& pieces) {
    std::vector<at::Tensor> there;
    std::vector<at::Tensor> here;
    for (const at::Tensor& piece : pieces) {
      here.push_back(placed(from_, piece));
      there.push_back(placed(to_, piece.bitwise_not()));
    }
    send(here, there);
    std::int64_t before = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto wrong = fetched(there[i]).ne(pieces[i]).nonzero();
      if (wrong.size(0) > 0) return before + wrong[0][0].item<std::int64_t>();
      before += pieces[i].numel();
    }
    return std::nullopt;
  }

  // Gigabytes a second, by the receiving device's clock.
  double bandwidth(std::int64_t bytes, int sends) {
    const std::vector<at::Tensor> here = {placed(from_, at::zeros({bytes}, at::kByte))};
    const std::vector<at::Tensor> there = {placed(to_, at::zeros({bytes}, at::kByte))};
    Event first = send(here, there);
    std::optional<Event> last;
    for (int i = 0; i < sends; ++i) last.emplace(queue(here, there));
    last->wait();
    return static_cast<double>(bytes) * sends / last->milliseconds_since(first) / 1e6;
  }

  CopyWays ways() const {
    CopyWays all = from_.ways();
    all.insert(to_.ways().begin(), to_.ways().end());
    return all;
  }

 private:
  static std::size_t rounded(std::size_t bytes) { return bytes + 8 * 64; }  // of each of 8 pieces

  static at::Tensor placed(WatchedDevice& device, const at::Tensor& host) {
    const auto scope = device.enter(device.stream());
    const auto on =
        at::empty(host.sizes(), at::TensorOptions(torch_device(device)).dtype(at::kByte));
    on.copy_(host);
    Event done = device.make_event();
    done.record(device.stream());
    done.wait();
    return on;
  }

  at::Tensor fetched(const at::Tensor& on_device) {
    const auto scope = to_.enter(to_.stream());
    return on_device.cpu();
  }

  Event queue(const std::vector<at::Tensor>& here, const std::vector<at::Tensor>& there) {
    std::vector<TransferPiece> pieces;
    for (std::size_t i = 0; i < here.size(); ++i) {
      pieces.push_back({.to = {there[i].mutable_data_ptr(), to_.gpu()},
                        .from = {here[i].mutable_data_ptr(), from_.gpu()},
                        .bytes = here[i].nbytes()});
    }
    Event left = from_.make_event();
    Event arrived = to_.make_event();
    transfer_.send(pieces, {.made = never_, .free = never_, .left = left, .arrived = arrived});
    return arrived;
  }

  Event send(const std::vector<at::Tensor>& here, const std::vector<at::Tensor>& there) {
    Event arrived = queue(here, there);
    arrived.wait();
    return arrived;
  }

  const Event never_;  // holds nothing up
  WatchedDevice from_;
  WatchedDevice to_;
  BatchTransfer transfer_;
};

Check check_bits(const std::string& id, const std::string& name, Direction& direction,
                 std::size_t largest) {
  const auto size = static_cast<std::int64_t>(largest);
  std::int64_t sent = 0;
  // A batch of pieces with odd ends, and one large one.
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{1, 63, 64, 4103, size / 4 + 13}, {size}}) {
    std::vector<at::Tensor> pieces;
    for (const std::int64_t count : sizes) {
      pieces.push_back(random_bytes(count, static_cast<std::uint64_t>(sent)));
      sent += count;
    }
    if (const auto wrong = direction.first_wrong(pieces)) {
      return failed(id, name, fmt::format("byte {} of {} arrived changed", *wrong, sent),
                    "Try --transfer-path host, then another slot or card: this one corrupts data");
    }
  }
  return passed(id, name, fmt::format("{} bytes, every bit as it was sent", sent));
}

CopyWays expected_ways(BatchPath path, int data, int model) {
  switch (path) {
    case BatchPath::PinnedHost:
      return {{data, -1}, {-1, model}, {model, -1}, {-1, data}};
    case BatchPath::P2p:
    case BatchPath::SameDevice:
      return {{data, model}, {model, data}};
    case BatchPath::PlainMemory:
      return {{-1, -1}};
  }
  return {};
}

std::string words_of(const CopyWays& ways) {
  std::vector<std::string> words;
  const auto place = [](int gpu) {
    return gpu < 0 ? std::string("host memory") : fmt::format("cuda:{}", gpu);
  };
  for (const auto& [from, to] : ways) words.push_back(place(from) + " to " + place(to));
  return fmt::format("{}", fmt::join(words, ", "));
}

Check check_bandwidth(double forth, double back, bool on_cpu) {
  const double least = on_cpu ? kLeastOnCpu : kLeastBetweenGpus;
  const std::string found = fmt::format("{:.1f} GB/s forth, {:.1f} back", forth, back);
  if (std::min(forth, back) < least) {
    return failed("transfer.bandwidth", "bandwidth",
                  fmt::format("{}; at least {} is usual", found, least),
                  on_cpu ? "End what else runs on this machine"
                         : "Look at the link with: nvidia-smi -q -d PCIE; try the other "
                           "--transfer-path");
  }
  return passed("transfer.bandwidth", "bandwidth", found);
}

}  // namespace

Check check_path(BatchPath path, const CopyWays& taken, int data_gpu, int model_gpu) {
  if (taken != expected_ways(path, data_gpu, model_gpu)) {
    return failed("transfer.path", "path",
                  fmt::format("planned is {}, but copies went {}", name_of(path), words_of(taken)),
                  "Name the way with --transfer-path; report it with: myxtts doctor --bundle FILE");
  }
  return passed("transfer.path", "path", fmt::format("{}: {}", name_of(path), words_of(taken)));
}

Checks check_transfer(RoleDevice& data, RoleDevice& model, BatchPath path, std::size_t largest) {
  Direction forth(data, model, path, largest);
  Direction back(model, data, path, largest);
  Checks results = {check_bits("transfer.forth", "data to model", forth, largest),
                    check_bits("transfer.back", "model to data", back, largest)};
  CopyWays taken = forth.ways();
  taken.merge(back.ways());
  results.push_back(check_path(path, taken, data.gpu(), model.gpu()));
  const auto bytes = static_cast<std::int64_t>(largest);
  results.push_back(check_bandwidth(forth.bandwidth(bytes, kSends), back.bandwidth(bytes, kSends),
                                    model.gpu() < 0));
  return results;
}

}  // namespace myxtts
