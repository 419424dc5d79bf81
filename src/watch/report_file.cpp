// SPDX-License-Identifier: Apache-2.0
#include "watch/report_file.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include "audio/resample.h"
#include "audio/sound_encoder.h"
#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "http/answers.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kPlace = R"(<script type="application/json" id="report">null</script>)";
constexpr std::size_t kPoints = 600;
constexpr std::size_t kListedClips = 100;
constexpr std::int64_t kLogBytes = 65'536;
constexpr std::int64_t kOpusRate = 24'000;
constexpr std::size_t kLargestFile = 64'000'000;  // bytes

// No tag of the page can end or begin in it.
std::string in_script(const Json& json) {
  std::string made;
  for (const char c : text_of(json)) {
    if (c == '<') {
      made += "\\u003c";
    } else {
      made += c;
    }
  }
  return made;
}

std::string opus_of(const fs::path& file) {
  const at::Tensor sound = read_clip(file, kOpusRate).contiguous();
  const auto encoder = make_sound_encoder(SoundFormat::Opus, kOpusRate);
  const std::string bytes =
      encoder->add({sound.const_data_ptr<float>(), static_cast<std::size_t>(sound.numel())});
  return bytes + encoder->finish();
}

// The order in which measurements are given room: the newest, the first, then always the one in the
// middle of the widest gap.
std::vector<std::size_t> order_of(std::size_t count) {
  std::vector<std::size_t> order;
  if (count == 0) return order;
  order.push_back(count - 1);
  std::vector<std::pair<std::size_t, std::size_t>> gaps;  // without their ends
  if (count > 1) {
    order.push_back(0);
    gaps.emplace_back(0, count - 1);
  }
  for (std::size_t next = 0; next < gaps.size(); ++next) {
    const auto [begin, end] = gaps[next];
    const std::size_t middle = (begin + end) / 2;
    if (middle == begin) continue;
    order.push_back(middle);
    gaps.emplace_back(begin, middle);
    gaps.emplace_back(middle, end);
  }
  return order;
}

// What a request for the address would be answered from.
fs::path file_behind(const fs::path& run, const std::string& url) {
  const auto value = [&url](const std::string& name) {
    const auto at = url.find("&" + name + "=") + name.size() + 2;
    return url.substr(at, url.find('&', at) - at);
  };
  const auto file = sample_file(run, value("step"), value("file"));
  return file ? *file : fs::path();
}

FoundRun found_at(const fs::path& run) {
  fs::path folder = fs::absolute(run).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return {.id = folder.filename().string(), .folder = folder};
}

}  // namespace

struct ReportFile::Room {
  std::size_t bytes;  // that are left
  Json data = Json::object();
  std::set<fs::path> used = {};
  bool is_full = false;  // so that nothing more is encoded
  std::int64_t left_out_sounds = 0;
  std::int64_t left_out_pictures = 0;
};

ReportFile::ReportFile(const fs::path& run, std::string version, std::size_t most_bytes)
    : run_(found_at(run)), version_(std::move(version)), most_bytes_(most_bytes) {}

// Each measurement has a copy of the recording; one is enough.
void ReportFile::share_recordings(Json& samples) const {
  std::map<std::pair<std::string, std::int64_t>, Json> first;
  for (Json& measurement : samples["measurements"]) {
    for (Json& sample : measurement["samples"]) {
      for (const char* kind : {"recording", "voice"}) {
        if (sample[kind].is_null()) continue;
        const fs::path file = file_behind(run_.found().folder, sample[kind]);
        const std::string key = std::string(kind) + sample["name"].get<std::string>();
        sample[kind] =
            first.try_emplace({key, FileState::of(file).size}, sample[kind]).first->second;
      }
    }
  }
}

std::string ReportFile::data_url(const fs::path& file) {
  const FileState now = FileState::of(file);
  auto& [state, url] = encoded_[file];
  if (state == now) return url;
  state = now;
  try {
    url = file.extension() == ".wav" ? "data:audio/ogg;base64," + base64(opus_of(file)) : "";
  } catch (const ConfigError&) {  // no encoder on this machine
    url = "data:audio/wav;base64," + base64(read_part(file, 0, kLargestFile).value_or(""));
  } catch (const DataError&) {  // no sound any more
    url.clear();
  }
  if (file.extension() == ".png") {
    url = "data:image/png;base64," + base64(read_part(file, 0, kLargestFile).value_or(""));
  }
  return url;
}

// False: there is no room for it.
bool ReportFile::add(const Json& url, Room& room) {
  if (url.is_null() || room.data.contains(url.get<std::string>())) return true;
  if (room.is_full) return false;
  const fs::path file = file_behind(run_.found().folder, url);
  if (file.empty()) return true;
  const std::string made = data_url(file);
  const std::size_t needed = made.size() + url.get<std::string>().size() + 8;
  if (made.empty()) return true;
  room.is_full = needed > room.bytes;
  if (room.is_full) return false;
  room.bytes -= needed;
  room.used.insert(file);
  room.data[url.get<std::string>()] = made;
  return true;
}

Json ReportFile::data_of(Json& samples, std::size_t bytes, Json& left_out) {
  share_recordings(samples);
  Room room{.bytes = bytes};
  Json& measurements = samples["measurements"];
  for (const std::size_t index : order_of(measurements.size())) {
    for (Json& sample : measurements[index]["samples"]) {
      for (const char* kind : {"synthesis", "copy", "recording", "voice"}) {
        if (!add(sample[kind], room)) ++room.left_out_sounds;
      }
      if (!add(sample["picture"], room)) ++room.left_out_pictures;
    }
  }
  std::erase_if(encoded_, [&room](const auto& each) { return !room.used.contains(each.first); });
  samples["left_out"] = room.left_out_sounds;
  if (room.left_out_sounds + room.left_out_pictures > 0) {
    left_out = {{"sounds", room.left_out_sounds},
                {"pictures", room.left_out_pictures},
                {"why", fmt::format("The file is kept below {:.3g} MB.",
                                    static_cast<double>(most_bytes_) / 1e6)}};
  }
  return std::move(room.data);
}

void ReportFile::write() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json samples = run_.samples();
  Json report{{"version", version_},
              {"written", std::chrono::duration<double>(now).count()},
              {"id", run_.found().id},
              {"/api/run", run_.facts()},
              {"/api/curves", run_.curves({.points = kPoints})},
              {"/api/skipped", run_.clips("skipped", 0, kListedClips, "", false)},
              {"/api/suspicious", run_.clips("suspicious", 0, kListedClips, "", false)},
              {"/api/log", run_.log(-kLogBytes)}};
  const std::string rest = in_script(report) + in_script(samples);
  const std::size_t taken = kWatchPage.size() + rest.size() + 1000;
  Json left_out;
  report["data"] = data_of(samples, most_bytes_ - std::min(most_bytes_, taken), left_out);
  report["/api/samples"] = std::move(samples);
  report["left_out"] = std::move(left_out);
  std::string page(kWatchPage);
  const auto at = page.find(kPlace);
  MYXTTS_CHECK(at != std::string::npos, "the page has no place for a report");
  const std::size_t null = at + kPlace.find("null");
  page.replace(null, 4, in_script(report));
  write_file_atomically(path(), bytes_of(page));
}

}  // namespace myxtts
