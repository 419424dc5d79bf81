// SPDX-License-Identifier: Apache-2.0
#include "data/index/clip_index.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "audio/phase_filter.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "data/index/clip_index_format.h"

namespace myxtts {
namespace {

using namespace index_format;

std::uint32_t narrow(std::uint64_t value, const char* what) {
  MYXTTS_CHECK(value <= std::numeric_limits<std::uint32_t>::max(), "{} {} has no place in an index",
               what, value);
  return static_cast<std::uint32_t>(value);
}

std::uint32_t narrow(std::int64_t value, const char* what) {
  MYXTTS_CHECK(value >= 0, "{} {} has no place in an index", what, value);
  return narrow(static_cast<std::uint64_t>(value), what);
}

// Fills the tables of an index; see Note [Format of an index].
class IndexWriter {
 public:
  void add(const ClipRow& clip) {
    Row row;
    row.strings = strings_.size();
    row.audio_bytes = narrow(clip.audio.size(), "A path of bytes");
    row.text_bytes = narrow(clip.text.size(), "A text of bytes");
    row.id_bytes = narrow(clip.id.size(), "An id of bytes");
    strings_ += clip.audio;
    strings_ += clip.text;
    if (const auto at = clip.audio.find(clip.id); at != std::string::npos) {
      row.id_at = narrow(at, "A place");
    } else {
      row.id_at = narrow(clip.audio.size() + clip.text.size(), "A text of bytes");
      strings_ += clip.id;
    }
    row.file_size = clip.stamp.size;
    row.file_changed_ns = clip.stamp.changed_ns;
    row.source_frames = narrow(clip.source_frames, "A number of samples");
    row.source_rate = narrow(clip.source_rate, "A sample rate");
    row.text_tokens = narrow(clip.text_tokens, "A number of tokens");
    row.speaker = name(clip.speaker);
    row.language = name(clip.language);
    row.manifest = name(clip.manifest);
    row.line = narrow(clip.line, "Line");
    rows_.push_back(row);
  }

  void add_witness(const std::string& path, const FileStamp& stamp) {
    witnesses_.push_back({text(path), stamp.size, stamp.changed_ns});
  }

  void add(const Skipped& file) {
    skipped_.push_back({.file = text(file.file.string()),
                        .measured = text(file.measured),
                        .file_size = file.stamp.size,
                        .file_changed_ns = file.stamp.changed_ns,
                        .manifest = name(file.manifest.string()),
                        .reason = static_cast<std::uint32_t>(file.reason),
                        .line = narrow(file.line, "Line")});
  }

  std::vector<std::byte> finish(std::uint64_t key) const {
    Header header;
    header.header_bytes = sizeof(Header);
    header.key = key;
    header.clips = rows_.size();
    header.names = names_.size();
    header.witnesses = witnesses_.size();
    header.skipped = skipped_.size();
    header.string_bytes = strings_.size();

    std::vector<std::byte> image(sizeof(Header));
    const auto append = [&image](std::span<const std::byte> bytes) {
      image.insert(image.end(), bytes.begin(), bytes.end());
    };
    append(std::as_bytes(std::span(rows_)));
    append(std::as_bytes(std::span(names_)));
    append(std::as_bytes(std::span(witnesses_)));
    append(std::as_bytes(std::span(skipped_)));
    append(bytes_of(strings_));

    FastChecksum body;
    body.add(std::span(image).subspan(sizeof(Header)));
    header.body_checksum = body.value();
    FastChecksum head;
    head.add(bytes_of_value(header).first(kCheckedHeaderBytes));
    header.header_checksum = head.value();
    std::memcpy(image.data(), &header, sizeof header);
    return image;
  }

 private:
  Text text(const std::string& value) {
    const Text place{strings_.size(), value.size()};
    strings_ += value;
    return place;
  }

  std::uint32_t name(const std::string& value) {
    const auto [place, is_new] = places_.emplace(value, narrow(names_.size(), "Name"));
    if (is_new) names_.push_back(text(value));
    return place->second;
  }

  std::vector<Row> rows_;
  std::vector<Text> names_;
  std::vector<WitnessRow> witnesses_;
  std::vector<SkippedRow> skipped_;
  std::string strings_;
  std::unordered_map<std::string, std::uint32_t> places_;  // of names
};

}  // namespace

std::vector<std::byte> make_clip_index(const ClipIndexContent& content) {
  IndexWriter writer;
  for (const ClipRow& row : content.rows) writer.add(row);
  for (const auto& [path, stamp] : content.witnesses) writer.add_witness(path, stamp);
  for (const Skipped& file : content.skipped) writer.add(file);
  return writer.finish(content.key);
}

namespace {

// Beyond any sound that a computer can hold; what is computed from lengths stays in range.
constexpr std::uint64_t kMostFrames = std::uint64_t{1} << 32U;
constexpr std::uint32_t kHighestRate = 10'000'000;
constexpr std::uint32_t kLastReason = static_cast<std::uint32_t>(SkipReason::DuplicateId);

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  FastChecksum checksum;
  checksum.add(bytes);
  return checksum.value();
}

// One table of the file. Copies out what is asked for: nothing is assumed about alignment.
template <typename T>
class Table {
 public:
  Table() = default;
  // Takes the table's bytes from the front of `rest`; false when there are not enough.
  bool take(std::span<const std::byte>& rest, std::uint64_t count) {
    if (count > rest.size() / sizeof(T)) return false;
    bytes_ = rest.first(static_cast<std::size_t>(count) * sizeof(T));
    rest = rest.subspan(bytes_.size());
    return true;
  }
  std::size_t size() const { return bytes_.size() / sizeof(T); }
  T operator[](std::size_t number) const {
    T value;
    std::memcpy(&value, bytes_.data() + number * sizeof(T), sizeof value);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

struct ClipIndex::State {
  std::shared_ptr<const MappedFile> file;  // or
  std::vector<std::byte> image;            // what was never a file
  Header header;
  Table<Row> rows;
  Table<Text> names;
  Table<WitnessRow> witnesses;
  Table<SkippedRow> skipped;
  std::string_view strings;

  // What is wrong with the bytes; empty: nothing, and every access below is in range.
  std::string attach(std::span<const std::byte> bytes);
  std::string fault_of_tables() const;

  bool holds(const Text& text) const {
    return text.at <= strings.size() && text.bytes <= strings.size() - text.at;
  }
  bool holds(const Row& row) const;
  std::string_view text(const Text& place) const {
    return strings.substr(static_cast<std::size_t>(place.at),
                          static_cast<std::size_t>(place.bytes));
  }
};

std::string ClipIndex::State::attach(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Header)) return "it is too short";
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic) return "it is something else";
  if (header.version != kVersion) {
    return fmt::format("it has version {}, this program writes {}", header.version, kVersion);
  }
  if (checksum_of(bytes.first(kCheckedHeaderBytes)) != header.header_checksum ||
      header.header_bytes != sizeof(Header)) {
    return "its header is damaged";
  }
  auto rest = bytes.subspan(sizeof(Header));
  const bool whole = rows.take(rest, header.clips) && names.take(rest, header.names) &&
                     witnesses.take(rest, header.witnesses) && skipped.take(rest, header.skipped) &&
                     rest.size() == header.string_bytes;
  if (!whole) return "it was cut short";
  strings = {reinterpret_cast<const char*>(rest.data()), rest.size()};
  if (checksum_of(bytes.subspan(sizeof(Header))) != header.body_checksum) return "it is damaged";
  return fault_of_tables();
}

// A checksum finds accidents; a file that was made to do harm has a right one.
std::string ClipIndex::State::fault_of_tables() const {
  bool sound = true;
  for (std::size_t i = 0; i < names.size(); ++i) sound = sound && holds(names[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) sound = sound && holds(rows[i]);
  for (std::size_t i = 0; i < witnesses.size(); ++i) sound = sound && holds(witnesses[i].path);
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    const SkippedRow row = skipped[i];
    sound = sound && holds(row.file) && holds(row.measured) && row.manifest < names.size() &&
            row.reason <= kLastReason && row.line <= kMostFrames;
  }
  return sound ? "" : "it contradicts itself";
}

bool ClipIndex::State::holds(const Row& row) const {
  const std::uint64_t own = std::uint64_t{row.audio_bytes} + row.text_bytes;
  const std::uint64_t id_end = std::uint64_t{row.id_at} + row.id_bytes;
  return holds(Text{row.strings, std::max(own, id_end)}) && row.speaker < names.size() &&
         row.language < names.size() && row.manifest < names.size() &&
         row.source_frames <= kMostFrames && row.source_rate >= 1 &&
         row.source_rate <= kHighestRate;
}

ClipIndex ClipIndex::open(const std::filesystem::path& path) {
  auto state = std::make_unique<State>();
  state->file = MappedFile::open(path);
  if (const auto fault = state->attach(state->file->bytes()); !fault.empty()) {
    throw DataError(fmt::format("The index {} cannot be used: {}.", path.string(), fault));
  }
  // The checks above touched every page; a plan needs only some of them.
  state->file->forget(state->file->bytes());
  return ClipIndex(std::move(state));
}

ClipIndex ClipIndex::of(std::vector<std::byte> image) {
  auto state = std::make_unique<State>();
  state->image = std::move(image);
  if (const auto fault = state->attach(state->image); !fault.empty()) {
    throw DataError(fmt::format("The index in memory cannot be used: {}.", fault));
  }
  return ClipIndex(std::move(state));
}

ClipIndex::ClipIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClipIndex::ClipIndex(ClipIndex&&) noexcept = default;
ClipIndex& ClipIndex::operator=(ClipIndex&&) noexcept = default;
ClipIndex::~ClipIndex() = default;

std::uint64_t ClipIndex::key() const {
  return state_->header.key;
}

std::size_t ClipIndex::size() const {
  return state_->rows.size();
}

ClipView ClipIndex::clip(std::size_t number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  const State& state = *state_;
  const Row row = state.rows[number];
  const auto own = state.strings.substr(static_cast<std::size_t>(row.strings));
  ClipView view;
  view.audio = own.substr(0, row.audio_bytes);
  view.text = own.substr(row.audio_bytes, row.text_bytes);
  view.id = own.substr(row.id_at, row.id_bytes);
  view.speaker = state.text(state.names[row.speaker]);
  view.language = state.text(state.names[row.language]);
  view.manifest = state.text(state.names[row.manifest]);
  view.line = row.line;
  view.stamp = {row.file_size, row.file_changed_ns};
  view.source_rate = row.source_rate;
  view.source_frames = static_cast<std::int64_t>(row.source_frames);
  view.samples = resampled_length(view.source_frames, view.source_rate, kModelRate);
  view.text_tokens = row.text_tokens;
  FastChecksum identity;
  identity.add(bytes_of(view.audio));
  identity.add(bytes_of_value(view.stamp));
  view.identity = identity.value();
  return view;
}

std::string_view ClipIndex::id(std::size_t number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  const Row row = state_->rows[number];
  return state_->text({row.strings + row.id_at, row.id_bytes});
}

std::int64_t ClipIndex::samples(std::size_t number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  const Row row = state_->rows[number];
  const auto frames = static_cast<std::int64_t>(row.source_frames);
  return resampled_length(frames, row.source_rate, kModelRate);
}

std::int64_t ClipIndex::text_tokens(std::size_t number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  return state_->rows[number].text_tokens;
}

std::pair<std::string_view, FileStamp> ClipIndex::file(std::size_t number) const {
  MYXTTS_CHECK(number < size(), "clip {} of {} was asked for", number, size());
  const Row row = state_->rows[number];
  const Text audio{row.strings, row.audio_bytes};
  return {state_->text(audio), {row.file_size, row.file_changed_ns}};
}

std::vector<Skipped> ClipIndex::skipped() const {
  std::vector<Skipped> files;
  files.reserve(state_->skipped.size());
  for (std::size_t i = 0; i < state_->skipped.size(); ++i) {
    const SkippedRow row = state_->skipped[i];
    files.push_back({.file = state_->text(row.file),
                     .manifest = state_->text(state_->names[row.manifest]),
                     .line = static_cast<std::int64_t>(row.line),
                     .reason = static_cast<SkipReason>(row.reason),
                     .measured = std::string(state_->text(row.measured)),
                     .stamp = {row.file_size, row.file_changed_ns}});
  }
  return files;
}

Witnesses ClipIndex::witnesses() const {
  Witnesses found;
  for (std::size_t i = 0; i < state_->witnesses.size(); ++i) {
    const WitnessRow row = state_->witnesses[i];
    found.emplace(state_->text(row.path), FileStamp{row.size, row.changed_ns});
  }
  return found;
}

}  // namespace myxtts
