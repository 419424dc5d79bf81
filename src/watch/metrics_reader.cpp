// SPDX-License-Identifier: Apache-2.0
#include "watch/metrics_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::size_t kBlock = 1 << 20;        // bytes read at once
constexpr std::size_t kLongestLine = 1 << 20;  // bytes; a longer one is damaged
constexpr std::size_t kMostMarks = 8192;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Takes the numbers of one flat object; what is nested in it is passed over.
class LineHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit LineHandler(ReadLine& line) : line_(line) {}

  bool is_whole() const { return has_event_ && has_step_; }

  bool null() override { return number(kNoNumber); }
  bool boolean(bool value) override { return number(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override {
    if (depth_ == 1 && key_ == "step") return set_step(value);
    return number(static_cast<double>(value));
  }
  bool number_unsigned(std::uint64_t value) override {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (depth_ == 1 && key_ == "step") {
      return value <= kMost && set_step(static_cast<std::int64_t>(value));
    }
    return number(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool string(std::string& value) override {
    if (depth_ != 1 || key_ != "event") return true;
    line_.event = value;
    has_event_ = true;
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ < kDeepest; }
  bool key(std::string& name) override {
    if (depth_ == 1) key_ = name;
    return true;
  }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return depth_ > 0 && ++depth_ < kDeepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static constexpr int kDeepest = 100;

  bool set_step(std::int64_t step) {
    line_.step = step;
    has_step_ = true;
    return true;
  }
  bool number(double value) {
    if (depth_ == 1) line_.values.emplace_back(key_, value);
    return depth_ > 0;
  }

  ReadLine& line_;
  std::string key_;
  int depth_ = 0;
  bool has_event_ = false;
  bool has_step_ = false;
};

OpenFile open_for_reading(const std::filesystem::path& path) {
  return OpenFile(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// Calls `take` for each whole line of the file from `from` to `end`; how far it came. Stops when
// `take` says false.
template <typename Take>
std::uint64_t for_each_line(int file, std::uint64_t from, std::uint64_t end, Take take) {
  std::string block;
  std::uint64_t position = from;  // of the block's first byte
  bool is_too_long = false;       // its rest is passed over
  while (position + block.size() < end) {
    const std::size_t kept = block.size();
    const auto more =
        static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - position - kept));
    block.resize(kept + more);
    const ssize_t count =
        ::pread(file, block.data() + kept, more, static_cast<off_t>(position + kept));
    block.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count <= 0) return position;
    std::size_t begin = 0;
    for (auto line_end = block.find('\n', kept); line_end != std::string::npos;
         line_end = block.find('\n', begin)) {
      const auto line = std::string_view(block).substr(begin, line_end - begin);
      begin = line_end + 1;
      const bool goes_on = take(is_too_long ? std::string_view() : line, position + begin);
      is_too_long = false;
      if (!goes_on) return position + begin;
    }
    block.erase(0, begin);
    position += begin;
    if (block.size() <= kLongestLine) continue;
    position += block.size();
    block.clear();
    is_too_long = true;
  }
  return position;
}

// False: it is no line of ours.
bool parse_metrics_line(std::string_view text, ReadLine& line) {
  line.values.clear();
  LineHandler handler(line);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &handler) && handler.is_whole();
}

}  // namespace

void MetricsReader::begin_anew() {
  if (position_ > 0) ++generation_;
  position_ = 0;
  damaged_ = lines_ = last_step_ = 0;
  curves_.clear();
  last_steps_.clear();
  marks_.clear();
  lines_a_mark_ = 32;
  last_line_.clear();
}

void MetricsReader::look() {
  const OpenFile file = open_for_reading(path_);
  struct stat facts {};
  is_there_ = file.get() >= 0 && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  if (!is_there_) return begin_anew();
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  // What was read last must still stand there: a resumed run cuts the file and writes on.
  std::string there(last_line_.size(), '\0');
  const bool is_same =
      facts.st_ino == inode_ && size >= position_ &&
      ::pread(file.get(), there.data(), there.size(),
              static_cast<off_t>(position_ - there.size())) == static_cast<ssize_t>(there.size()) &&
      there == last_line_;
  if (!is_same) begin_anew();
  inode_ = facts.st_ino;
  position_ =
      for_each_line(file.get(), position_, size, [&](std::string_view line, std::uint64_t end) {
        take(line);
        remember(line);
        position_ = end;
        set_mark();
        return true;
      });
}

// A line that was too long is empty here: the byte behind it is all that is compared.
void MetricsReader::remember(std::string_view last_line) {
  last_line_.assign(
      last_line.substr(last_line.size() - std::min<std::size_t>(last_line.size(), 4096)));
  last_line_ += '\n';
}

void MetricsReader::take(std::string_view text) {
  ++lines_;
  if (!parse_metrics_line(text, line_)) {
    ++damaged_;
    return;
  }
  auto& last = last_steps_.try_emplace(line_.event, line_.step).first->second;
  if (line_.step < last) {
    ++damaged_;
    return;
  }
  last = line_.step;
  last_step_ = std::max(last_step_, line_.step);
  std::string name;
  for (const auto& [key, value] : line_.values) {
    name.assign(line_.event).append("/").append(key);
    curves_[name].add(line_.step, value);
  }
}

void MetricsReader::set_mark() {
  if (lines_ % lines_a_mark_ != 0) return;
  marks_.push_back({position_, last_step_, lines_});
  if (marks_.size() < kMostMarks) return;
  lines_a_mark_ *= 2;
  std::erase_if(marks_, [this](const Mark& mark) { return mark.line % lines_a_mark_ != 0; });
}

std::uint64_t MetricsReader::read_again(std::uint64_t from,
                                        const std::function<bool(const ReadLine&)>& take) const {
  const OpenFile file = open_for_reading(path_);
  if (file.get() < 0) return from;
  ReadLine line;
  return for_each_line(file.get(), from, position_, [&](std::string_view text, std::uint64_t) {
    return !parse_metrics_line(text, line) || take(line);
  });
}

std::map<std::string, std::vector<CurveBucket>> MetricsReader::between(std::int64_t from,
                                                                       std::int64_t to,
                                                                       const Wanted& wanted) const {
  std::map<std::string, std::vector<CurveBucket>> found;
  // Lines of the step `from` itself may stand on both sides of a mark of that step.
  const auto begin = std::ranges::lower_bound(marks_, from, {}, &Mark::step);
  const auto end = std::ranges::upper_bound(marks_, to, {}, &Mark::step);
  const Mark first = begin == marks_.begin() ? Mark{0, 0, 0} : *std::prev(begin);
  const std::int64_t last_line = end == marks_.end() ? lines_ : end->line;
  if (last_line - first.line > kMostExact) {
    for (const auto& [name, curve] : curves_) {
      if (!wanted(name)) continue;
      const auto buckets = curve.between(from, to);
      if (!buckets.empty()) found[name].assign(buckets.begin(), buckets.end());
    }
    return found;
  }
  std::map<std::string, std::int64_t, std::less<>> last_steps;
  std::int64_t lines = first.line;
  read_again(first.position, [&](const ReadLine& line) {
    auto& last = last_steps.try_emplace(line.event, line.step).first->second;
    const bool goes_back = line.step < last;
    last = std::max(last, line.step);
    if (goes_back || line.step < from || line.step > to) return ++lines <= last_line;
    for (const auto& [key, value] : line.values) {
      const std::string name = line.event + "/" + key;
      if (wanted(name)) found[name].push_back(CurveBucket::of_line(line.step, value));
    }
    return ++lines <= last_line;
  });
  return found;
}

}  // namespace myxtts
