// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <unordered_map>

#include "base/checksum.h"
#include "base/error.h"
#include "data/index/clip_index.h"
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

  void add(const Witness& witness) {
    witnesses_.push_back({text(witness.path), witness.stamp.size, witness.stamp.changed_ns});
  }

  void add(const SkippedFile& file) {
    skipped_.push_back({.file = text(file.skipped.file.string()),
                        .measured = text(file.skipped.measured),
                        .file_size = file.stamp.size,
                        .file_changed_ns = file.stamp.changed_ns,
                        .manifest = name(file.skipped.manifest.string()),
                        .reason = static_cast<std::uint32_t>(file.skipped.reason),
                        .line = narrow(file.skipped.line, "Line")});
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
  for (const Witness& witness : content.witnesses) writer.add(witness);
  for (const SkippedFile& file : content.skipped) writer.add(file);
  return writer.finish(content.key);
}

}  // namespace myxtts
