// SPDX-License-Identifier: Apache-2.0
#include "weights/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/message_text.h"
#include "weights/byte_reader.h"
#include "weights/dtype.h"

namespace myxtts {
namespace {

// A tensor in the JSON object that a safetensors file begins with.
struct HeaderEntry {
  Dtype dtype = Dtype::F32;
  Shape shape;
  std::uint64_t begin = 0;  // bytes from the end of the header
  std::uint64_t end = 0;
};

using HeaderEntries = std::map<std::string, HeaderEntry, std::less<>>;

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// Takes the events of nlohmann's parser and accepts this shape only:
//   {"__metadata__": {text: text, ...}, name: {"dtype": text, "shape": [n...], "data_offsets": [b,
//   e]}, ...}
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderHandler(const std::string& subject) : subject_(subject) {}

  HeaderEntries tensors;
  TextMap metadata;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a truth value"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a fraction"); }
  bool binary(binary_t&) override { return refuse("bytes"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (!in_array_) return refuse("a number");
    constexpr std::size_t kMostDimensions = 16;
    if (numbers_.size() == kMostDimensions) return refuse("a seventeenth number");
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse("a number beyond 2^63");
    }
    numbers_.push_back(static_cast<std::int64_t>(number));
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ != 2 || in_array_) return refuse("text");
    if (in_metadata_) {
      if (!metadata.emplace(std::move(field_), std::move(text)).second) {
        return refuse("a second value for the same name");
      }
      return true;
    }
    const auto dtype = dtype_of_safetensors(text);
    if (field_ != "dtype") return refuse("text");
    if (!dtype)
      return fail(fmt::format("has an element type {} that is not read", printable(text)));
    entry_.dtype = *dtype;
    return see(kDtype);
  }

  bool start_object(std::size_t) override {
    if (depth_ >= 2 || in_array_) return refuse("an object");
    ++depth_;
    seen_ = 0;
    entry_ = {};
    in_metadata_ = depth_ == 2 && name_ == kMetadata;
    return true;
  }

  bool key(string_t& text) override {
    (depth_ == 1 ? name_ : field_) = std::move(text);
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ == 0 || std::exchange(in_metadata_, false)) return true;
    if (seen_ != (kDtype | kShape | kOffsets)) {
      return fail(fmt::format("describes '{}' by half", printable(name_)));
    }
    std::string shown = printable(name_);
    if (!tensors.emplace(std::move(name_), std::move(entry_)).second) {
      return fail(fmt::format("names '{}' twice", shown));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_array_ || in_metadata_) return refuse("a list");
    in_array_ = true;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    if (field_ == "shape") {
      entry_.shape = numbers_;
      return see(kShape);
    }
    if (field_ != "data_offsets" || numbers_.size() != 2) return refuse("a list");
    entry_.begin = static_cast<std::uint64_t>(numbers_[0]);
    entry_.end = static_cast<std::uint64_t>(numbers_[1]);
    return see(kOffsets);
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    return fail(fmt::format("is not valid JSON at byte {}", position));
  }

 private:
  enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4 };

  bool see(Field field) {
    if ((seen_ & field) != 0) return refuse("a second value for the same field");
    seen_ |= field;
    return true;
  }

  bool refuse(std::string_view what) {
    return fail(fmt::format("has {} where it does not belong, near '{}'", what, printable(name_)));
  }

  [[noreturn]] bool fail(const std::string& what) {
    throw DataError(fmt::format("{}: its header {}.", subject_, what));
  }

  const std::string& subject_;
  int depth_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
  unsigned seen_ = 0;
  std::string name_;   // at depth 1
  std::string field_;  // at depth 2
  HeaderEntry entry_;
  Shape numbers_;
};

// The parser collects a text or a number whole, and quotes it in its error: neither may be long.
void refuse_long_tokens(std::string_view json, const std::string& subject) {
  constexpr std::size_t kLongestToken = 32 << 10;
  constexpr std::string_view kBetween = "{}[]:, \n\t\r";
  bool in_text = false;
  bool escaped = false;
  std::size_t length = 0;
  for (const char letter : json) {
    const bool quote = letter == '"' && !escaped;
    escaped = in_text && letter == '\\' && !escaped;
    if (quote) in_text = !in_text;
    const bool between = !in_text && kBetween.find(letter) != std::string_view::npos;
    length = quote || between ? 0 : length + 1;
    if (length > kLongestToken) {
      throw DataError(
          fmt::format("{}: its header has a name, text or number of more than {} bytes.", subject,
                      kLongestToken));
    }
  }
}

// Reads the header as it streams by, without building a document of it, so that a hostile one
// cannot ask for more memory than a true one of its size. Throws DataError; `subject` opens every
// message.
HeaderHandler parse_safetensors_header(std::string_view json, const std::string& subject) {
  refuse_long_tokens(json, subject);
  HeaderHandler handler(subject);
  if (!json.starts_with('{')) {
    throw DataError(fmt::format("{}: its header is not a JSON object.", subject));
  }
  Json::sax_parse(json.begin(), json.end(), &handler);
  return handler;
}

// Checks that each tensor has the bytes its shape needs and that all of them fill `data_bytes`
// without gap or overlap. Throws DataError.
void check_layout(const HeaderEntries& tensors, std::uint64_t data_bytes,
                  const std::string& subject) {
  using Named = HeaderEntries::value_type;
  std::vector<const Named*> by_place;
  by_place.reserve(tensors.size());
  for (const Named& named : tensors) {
    const auto& [name, entry] = named;
    const auto bytes = dense_bytes(entry.dtype, entry.shape);
    if (entry.begin > entry.end || !bytes || *bytes != entry.end - entry.begin) {
      throw DataError(fmt::format("{} gives '{}' of shape {} the bytes {} to {}.", subject,
                                  printable(name), describe_shape(entry.shape), entry.begin,
                                  entry.end));
    }
    by_place.push_back(&named);
  }
  std::ranges::sort(by_place, {}, [](const Named* named) {
    return std::pair(named->second.begin, named->second.end);
  });
  std::uint64_t place = 0;
  for (const Named* named : by_place) {
    if (named->second.begin != place) {
      throw DataError(fmt::format("{} has a gap or an overlap before '{}', at byte {} of its data.",
                                  subject, printable(named->first), place));
    }
    place = named->second.end;
  }
  if (place != data_bytes) {
    throw DataError(fmt::format("{} has {} bytes of data where its header describes {}.", subject,
                                data_bytes, place));
  }
}

// Compact JSON, padded with spaces to a multiple of 64 bytes less the 8 of its length.
std::string print_safetensors_header(const HeaderEntries& tensors, const TextMap& metadata) {
  constexpr std::size_t kAlignment = 64;
  Json json = Json::object();
  if (!metadata.empty()) json[std::string(kMetadata)] = metadata;
  for (const auto& [name, entry] : tensors) {
    json[name] = {{"dtype", safetensors_name(entry.dtype)},
                  {"shape", entry.shape},
                  {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  while ((text.size() + sizeof(std::uint64_t)) % kAlignment != 0) text.push_back(' ');
  return text;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path)
    : file_(MappedFile::open(path)) {
  constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
  const std::string subject = path.string();
  require_no_placeholder(*file_);
  ByteReader reader(file_->bytes(), subject);
  const auto header_bytes = reader.number<std::uint64_t>();
  if (header_bytes > kLongestHeader) {
    throw DataError(fmt::format("{} claims a header of {} bytes; safetensors allows {}.", subject,
                                header_bytes, kLongestHeader));
  }
  HeaderHandler header = parse_safetensors_header(reader.text(header_bytes), subject);
  const auto data = reader.take(reader.remaining());
  check_layout(header.tensors, data.size(), subject);
  while (!header.tensors.empty()) {
    auto node = header.tensors.extract(header.tensors.begin());
    HeaderEntry& entry = node.mapped();
    const auto bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin));
    tensors_.emplace_hint(tensors_.end(), std::move(node.key()),
                          TensorView{entry.dtype, std::move(entry.shape), bytes});
  }
  metadata_ = std::move(header.metadata);
}

const TensorView& SafetensorsReader::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw DataError(fmt::format("{} holds no tensor '{}'.", file_->path().string(), name));
  }
  return found->second;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, const TensorKinds& tensors,
                                     const TextMap& metadata)
    : file_(path) {
  for (const auto& [name, kind] : tensors) order_.push_back(name);
  std::ranges::stable_sort(order_, std::ranges::greater(), [&](const std::string& name) {
    return element_bytes(tensors.at(name).dtype);
  });
  HeaderEntries entries;
  std::uint64_t place = 0;
  for (const std::string& name : order_) {
    const TensorKind& kind = tensors.at(name);
    const auto bytes = dense_bytes(kind.dtype, kind.shape);
    MYXTTS_CHECK(bytes, "the tensor {} has the shape {}", name, describe_shape(kind.shape));
    entries[name] = {kind.dtype, kind.shape, place, place + *bytes};
    sizes_.push_back(static_cast<std::size_t>(*bytes));
    place += *bytes;
  }
  const std::string text = print_safetensors_header(entries, metadata);
  const auto length = static_cast<std::uint64_t>(text.size());
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(bytes_of(text));
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  MYXTTS_CHECK(written_ < order_.size(), "all {} tensors are written", order_.size());
  MYXTTS_CHECK(bytes.size() <= sizes_[written_] - begun_, "{} has {} bytes, not {}",
               order_[written_], sizes_[written_], begun_ + bytes.size());
  file_.write(bytes);
  begun_ += bytes.size();
  if (begun_ < sizes_[written_]) return;
  ++written_;
  begun_ = 0;
}

void SafetensorsWriter::commit() {
  MYXTTS_CHECK(written_ == order_.size(), "{} of {} tensors are written", written_, order_.size());
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                       const TextMap& metadata,
                       const std::function<void(const TensorView&)>& after) {
  TensorKinds kinds;
  for (const auto& [name, view] : tensors) kinds[name] = {view.dtype, view.shape};
  SafetensorsWriter writer(path, kinds, metadata);
  for (const std::string& name : writer.order()) {
    const TensorView& view = tensors.at(name);
    writer.write(view.bytes);
    if (after) after(view);
  }
  writer.commit();
}

}  // namespace myxtts
