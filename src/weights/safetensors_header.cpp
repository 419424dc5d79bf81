// SPDX-License-Identifier: Apache-2.0
#include "weights/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "weights/byte_reader.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// Takes the events of nlohmann's parser and accepts this shape only:
//   {"__metadata__": {text: text, ...}, name: {"dtype": text, "shape": [n...], "data_offsets": [b,
//   e]}, ...}
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderHandler(const std::string& subject) : subject_(subject) {}

  SafetensorsHeader header;

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
      if (!header.metadata.emplace(std::move(field_), std::move(text)).second) {
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
    if (!header.tensors.emplace(std::move(name_), std::move(entry_)).second) {
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
  SafetensorsHeader::Entry entry_;
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

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& subject) {
  refuse_long_tokens(json, subject);
  HeaderHandler handler(subject);
  if (!json.starts_with('{')) {
    throw DataError(fmt::format("{}: its header is not a JSON object.", subject));
  }
  Json::sax_parse(json.begin(), json.end(), &handler);
  return std::move(handler.header);
}

void check_layout(const SafetensorsHeader& header, std::uint64_t data_bytes,
                  const std::string& subject) {
  using Named = std::pair<const std::string, SafetensorsHeader::Entry>;
  std::vector<const Named*> by_place;
  by_place.reserve(header.tensors.size());
  for (const Named& named : header.tensors) {
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

std::string print_safetensors_header(const SafetensorsHeader& header) {
  constexpr std::size_t kAlignment = 64;
  Json json = Json::object();
  if (!header.metadata.empty()) json[std::string(kMetadata)] = header.metadata;
  for (const auto& [name, entry] : header.tensors) {
    json[name] = {{"dtype", safetensors_name(entry.dtype)},
                  {"shape", entry.shape},
                  {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  while ((text.size() + sizeof(std::uint64_t)) % kAlignment != 0) text.push_back(' ');
  return text;
}

}  // namespace myxtts
