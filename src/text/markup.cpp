// SPDX-License-Identifier: Apache-2.0
#include "text/markup.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <expat.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "text/numbers/numbers.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::int64_t kPauseOfMark = 400;       // ms, of [pause] and <break/>
constexpr std::int64_t kPauseOfParagraph = 700;  // ms, at least, between two of them
constexpr std::int64_t kLongestPause = 60'000;   // ms
constexpr double kSlowestRate = 0.25;
constexpr double kFastestRate = 4.0;
constexpr std::size_t kDeepest = 64;  // elements within one another

// Of the same length, and of any bytes.
std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "line 3, column 14" of the byte `at`.
std::string place_in(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, std::min(at, text.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto begin = before.rfind('\n') + 1;  // npos + 1 is the start
  return fmt::format("line {}, column {}", line, count_code_points(before.substr(begin)) + 1);
}

// What holds for words that are read on.
struct Manner {
  Language language = Language::En;
  std::string voice = {};
  double rate = 1.0;

  friend bool operator==(const Manner&, const Manner&) = default;
};

// Collects words and pauses into spans.
class SpanMaker {
 public:
  void say(std::string_view words, const Manner& manner) {
    if (words_.empty() || manner != manner_) end_span();
    manner_ = manner;
    words_ += words;
  }
  // Words after it are another span.
  void end_span() {
    std::string text(strip_spaces(words_));
    words_.clear();
    if (text.empty()) return;
    result_.spans.push_back({.text = std::move(text),
                             .language = manner_.language,
                             .voice = manner_.voice,
                             .rate = manner_.rate,
                             .pause_ms = std::exchange(result_.pause_ms, 0)});
  }
  // False: silence would become longer than it may be.
  bool pause(std::int64_t ms) {
    end_span();
    result_.pause_ms += ms;
    return result_.pause_ms <= kLongestPause;
  }
  void end_paragraph() {
    end_span();
    if (!result_.spans.empty()) result_.pause_ms = std::max(result_.pause_ms, kPauseOfParagraph);
    ends_in_paragraph_ = result_.spans.size();
  }
  MarkedText finish() {
    end_span();
    // The silence between paragraphs is not one after the last.
    const bool is_after_last = ends_in_paragraph_ == result_.spans.size();
    if (is_after_last && result_.pause_ms == kPauseOfParagraph) result_.pause_ms = 0;
    return std::move(result_);
  }

 private:
  MarkedText result_;
  Manner manner_;
  std::string words_;
  std::size_t ends_in_paragraph_ = 0;  // spans that were there at its end
};

// "500ms" or "1.5s", in milliseconds.
std::optional<std::int64_t> read_duration(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !std::isfinite(number) || number < 0) return {};
  if (unit != "ms" && unit != "s") return {};
  const double ms = unit == "s" ? 1000.0 * number : number;
  if (ms > static_cast<double>(kLongestPause)) return {};
  return std::llround(ms);
}

// Marks in plain text.

// Elements that nobody means to have read aloud.
void refuse_elements(std::string_view text, const std::string& subject) {
  for (const std::string_view element : {"<break", "<prosody", "<say-as"}) {
    const auto at = text.find(element);
    if (at == text.npos) continue;
    throw DataError(fmt::format("{}, {}: {}> is SSML; put the whole text into <speak>...</speak>.",
                                subject, place_in(text, at), element));
  }
}

MarkedText read_plain(std::string_view text, Language language, const std::string& subject) {
  constexpr std::string_view kMark = "[pause";
  refuse_elements(text, subject);
  const std::string lower = ascii_lower(text);
  SpanMaker spans;
  const Manner manner{.language = language};
  std::size_t said = 0;
  for (std::size_t at = lower.find(kMark); at != lower.npos; at = lower.find(kMark, at + 1)) {
    const auto end = text.find(']', at);
    if (end == text.npos) break;
    const auto inside = text.substr(at + kMark.size(), end - at - kMark.size());
    const auto value = strip_spaces(inside);
    if (!value.empty() && (value.size() == inside.size() || !is_digit(code_point_at(value, 0)))) {
      continue;  // "[pauses]" and "[pause for breath]" are words
    }
    const auto ms = value.empty() ? kPauseOfMark : read_duration(value);
    spans.say(text.substr(said, at - said), manner);
    if (!ms || !spans.pause(*ms)) {
      throw DataError(fmt::format(
          "{}, {}: {} is not a pause of up to 60 seconds; write [pause 500ms] or [pause 1.5s].",
          subject, place_in(text, at), printable(text.substr(at, end + 1 - at))));
    }
    said = end + 1;
  }
  spans.say(text.substr(said), manner);
  return spans.finish();
}

// SSML.

// An element, and the attributes that it takes; "*" stands for any.
struct ElementRule {
  std::string_view name;
  std::array<std::string_view, 2> attributes = {};
};
constexpr std::array kElements = {ElementRule{"speak", {"*"}},
                                  ElementRule{"p", {"xml:lang"}},
                                  ElementRule{"s", {"xml:lang"}},
                                  ElementRule{"break", {"time", "strength"}},
                                  ElementRule{"prosody", {"rate"}},
                                  ElementRule{"lang", {"xml:lang"}},
                                  ElementRule{"voice", {"name"}},
                                  ElementRule{"sub", {"alias"}},
                                  ElementRule{"say-as", {"interpret-as"}}};

constexpr std::pair<std::string_view, std::int64_t> kStrengths[] = {
    {"none", 0},     {"x-weak", 100},   {"weak", 250}, {"medium", kPauseOfMark},
    {"strong", 700}, {"x-strong", 1000}};
constexpr std::pair<std::string_view, double> kRates[] = {{"x-slow", 0.5}, {"slow", 0.75},
                                                          {"medium", 1.0}, {"default", 1.0},
                                                          {"fast", 1.25},  {"x-fast", 1.5}};

template <typename Value, std::size_t kCount>
std::optional<Value> named(const std::pair<std::string_view, Value> (&table)[kCount],
                           std::string_view name) {
  for (const auto& [known, value] : table) {
    if (known == name) return value;
  }
  return {};
}

// "fast", "120%", "+20%" or "1.2".
std::optional<double> read_rate(std::string_view text) {
  if (const auto known = named(kRates, text)) return known;
  const bool is_change = text.starts_with('+') || text.starts_with('-');
  const double sign = text.starts_with('-') ? -1.0 : 1.0;
  if (is_change) text.remove_prefix(1);
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || !(unit == "%" || (unit.empty() && !is_change))) return {};
  if (unit == "%") number /= 100.0;
  return is_change ? 1.0 + sign * number : number;
}

bool spells_numbers(Language language) {
  return !language.is_other() && language != Language::Zh && language != Language::Ja &&
         language != Language::Fa;
}

// Characters one by one: "A B C".
std::string spelt_out(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t sign = code_point_at(text, at);
    if (!is_space(sign)) {
      if (!result.empty()) result += ' ';
      append_code_point(result, sign);
    }
    at += static_cast<std::size_t>(U8_LENGTH(sign));
  }
  return result;
}

// Digits one by one in words; what stands between them is a comma: "555-01" has two groups.
std::string digit_by_digit(std::string_view text, Language language) {
  if (!spells_numbers(language)) return spelt_out(text);
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.find_first_of("0123456789", at);
    if (begin == text.npos) break;
    at = std::min(text.find_first_not_of("0123456789", begin), text.size());
    if (!result.empty()) result += ", ";
    result += spell_digits(text.substr(begin, at - begin), number_words(language).cardinal);
  }
  return result;
}

std::optional<std::string> ordinal_of(std::string_view text, Language language) {
  constexpr std::size_t kMostDigits = 15;  // below kLargestSpelled
  const auto digits = strip_spaces(text);
  if (digits.empty() || digits.size() > kMostDigits || !spells_numbers(language)) return {};
  if (digits.find_first_not_of("0123456789") != digits.npos) return {};
  return number_words(language).ordinal(to_integer(digits));
}

class SsmlReader {
 public:
  // The document begins at text[begin].
  SsmlReader(std::string_view text, std::size_t begin, Language language,
             const std::string& subject)
      : text_(text),
        begin_(begin),
        subject_(subject),
        parser_(XML_ParserCreate("UTF-8"), XML_ParserFree) {
    open_.push_back({.element = {}, .manner = {.language = language}});
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_start, on_end);
    XML_SetCharacterDataHandler(parser_.get(), on_words);
    XML_SetStartDoctypeDeclHandler(parser_.get(), on_doctype);
  }

  MarkedText read() {
    const auto document = text_.substr(begin_);
    const auto status =
        XML_Parse(parser_.get(), document.data(), static_cast<int>(document.size()), 1);
    if (!fault_.empty()) throw DataError(fault_);
    if (status != XML_STATUS_OK) {
      throw DataError(message(
          fmt::format("this is not XML: {}", XML_ErrorString(XML_GetErrorCode(parser_.get())))));
    }
    MarkedText result = spans_.finish();
    for (MarkedSpan& span : result.spans) span.text = collapse_spaces(span.text);
    return result;
  }

 private:
  using Attributes = std::span<const XML_Char* const>;

  struct Open {
    std::string element;
    Manner manner;
    std::string value = {};  // of sub and say-as: the attribute
    std::string words = {};  // of say-as: what stands in it
  };

  static void on_start(void* self, const XML_Char* name, const XML_Char** attributes) {
    std::size_t count = 0;
    while (attributes[count] != nullptr) ++count;
    auto& reader = *static_cast<SsmlReader*>(self);
    reader.guarded([&] { reader.start(name, {attributes, count}); });
  }
  static void on_end(void* self, const XML_Char*) {
    auto& reader = *static_cast<SsmlReader*>(self);
    reader.guarded([&] { reader.end(); });
  }
  static void on_words(void* self, const XML_Char* words, int length) {
    auto& reader = *static_cast<SsmlReader*>(self);
    reader.guarded([&] { reader.words({words, static_cast<std::size_t>(length)}); });
  }
  static void on_doctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    auto& reader = *static_cast<SsmlReader*>(self);
    reader.guarded([&] { reader.refuse("a DOCTYPE is not read; leave it out"); });
  }

  // No exception may pass through the parser, which is C: the first one ends it.
  template <typename Work>
  void guarded(const Work& work) {
    if (!fault_.empty()) return;
    try {
      work();
    } catch (const DataError& error) {
      fault_ = error.what();
      XML_StopParser(parser_.get(), XML_FALSE);
    }
  }

  std::string message(const std::string& fault) const {
    const auto at = std::max<XML_Index>(XML_GetCurrentByteIndex(parser_.get()), 0);
    return fmt::format("{}, {}: {}.", subject_,
                       place_in(text_, begin_ + static_cast<std::size_t>(at)), fault);
  }
  [[noreturn]] void refuse(const std::string& fault) const { throw DataError(message(fault)); }

  void start(std::string_view name, Attributes attributes);
  void end();
  void words(std::string_view words);
  void check(std::string_view name, Attributes attributes) const;
  // Of an attribute that there must be.
  std::string_view value_of(std::string_view name, Attributes attributes) const;
  void start_break(Attributes attributes);
  Manner manner_of(std::string_view name, Attributes attributes) const;
  double rate_of(std::string_view text) const;
  Language language_of(std::string_view text) const;
  void say_as(const Open& element);

  std::string_view text_;
  std::size_t begin_;
  const std::string& subject_;
  std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser_;
  std::vector<Open> open_;
  SpanMaker spans_;
  std::string fault_;
};

std::optional<std::string_view> find_value(std::string_view name,
                                           std::span<const XML_Char* const> attributes) {
  for (std::size_t at = 0; at + 1 < attributes.size(); at += 2) {
    if (name == attributes[at]) return attributes[at + 1];
  }
  return {};
}

void SsmlReader::check(std::string_view name, Attributes attributes) const {
  const auto rule = std::ranges::find(kElements, name, &ElementRule::name);
  if (rule == kElements.end()) {
    std::vector<std::string_view> known;
    for (const auto& element : kElements) known.push_back(element.name);
    refuse(fmt::format("<{}> is not known; there are {}", printable(name), fmt::join(known, ", ")));
  }
  if ((name == "speak") != (open_.size() == 1)) {
    refuse(name == "speak" ? "<speak> stands in another element; it is the outermost alone"
                           : fmt::format("<{}> stands where <speak> must", name));
  }
  const auto& outer = open_.back().element;
  if (outer == "sub" || outer == "say-as" || outer == "break") {
    refuse(fmt::format("<{}> stands in <{}>, which takes words alone", name, outer));
  }
  if (rule->attributes.front() == "*") return;
  for (std::size_t at = 0; at < attributes.size(); at += 2) {
    if (std::ranges::find(rule->attributes, attributes[at]) != rule->attributes.end()) continue;
    refuse(fmt::format("\"{}\" of <{}> cannot be followed; it takes {}", printable(attributes[at]),
                       name,
                       rule->attributes[1].empty()
                           ? std::string(rule->attributes[0])
                           : fmt::format("{} and {}", rule->attributes[0], rule->attributes[1])));
  }
}

std::string_view SsmlReader::value_of(std::string_view name, Attributes attributes) const {
  const auto value = find_value(name, attributes);
  if (!value || value->empty()) refuse(fmt::format("the attribute \"{}\" is missing", name));
  return *value;
}

void SsmlReader::start(std::string_view name, Attributes attributes) {
  if (open_.size() > kDeepest)
    refuse(fmt::format("more than {} elements within one another", kDeepest));
  check(name, attributes);
  Open element{.element = std::string(name), .manner = manner_of(name, attributes)};
  if (name == "break") start_break(attributes);
  if (name == "p") spans_.end_paragraph();
  if (name == "s") spans_.end_span();
  if (name == "say-as") element.value = value_of("interpret-as", attributes);
  if (name == "sub") {
    element.value = value_of("alias", attributes);
    spans_.say(element.value, element.manner);
  }
  open_.push_back(std::move(element));
}

void SsmlReader::end() {
  const Open element = std::move(open_.back());
  open_.pop_back();
  if (element.element == "p") spans_.end_paragraph();
  if (element.element == "s") spans_.end_span();
  if (element.element == "say-as") say_as(element);
}

void SsmlReader::words(std::string_view words) {
  Open& element = open_.back();
  if (element.element == "say-as") {
    element.words += words;
  } else if (element.element == "break" && !strip_spaces(words).empty()) {
    refuse("words stand in <break>");
  } else if (element.element != "sub" && element.element != "break") {
    spans_.say(words, element.manner);
  }
}

void SsmlReader::start_break(Attributes attributes) {
  std::int64_t ms = kPauseOfMark;
  if (const auto time = find_value("time", attributes)) {
    const auto read = read_duration(*time);
    if (!read) {
      refuse(fmt::format("\"{}\" is not a pause of up to 60 seconds, such as 500ms or 1.5s",
                         printable(*time)));
    }
    ms = *read;
  } else if (const auto strength = find_value("strength", attributes)) {
    const auto known = named(kStrengths, *strength);
    if (!known) {
      refuse(
          fmt::format("there is no strength \"{}\"; there are none, x-weak, weak, medium, strong "
                      "and x-strong",
                      printable(*strength)));
    }
    ms = *known;
  }
  if (!spans_.pause(ms)) refuse("pauses one after another are longer than 60 seconds");
}

Manner SsmlReader::manner_of(std::string_view name, Attributes attributes) const {
  Manner manner = open_.back().manner;
  if (name == "lang") manner.language = language_of(value_of("xml:lang", attributes));
  if (const auto language = find_value("xml:lang", attributes)) {
    manner.language = language_of(*language);
  }
  if (name == "voice") manner.voice = value_of("name", attributes);
  if (name == "prosody") manner.rate *= rate_of(value_of("rate", attributes));
  if (!(manner.rate >= kSlowestRate && manner.rate <= kFastestRate)) {
    refuse(fmt::format("a rate of {:.3g} cannot be spoken; it must be from {} to {}", manner.rate,
                       kSlowestRate, kFastestRate));
  }
  return manner;
}

double SsmlReader::rate_of(std::string_view text) const {
  const auto rate = read_rate(text);
  if (rate) return *rate;
  refuse(fmt::format("\"{}\" is no rate; write x-slow, slow, medium, fast, x-fast, 120% or +20%",
                     printable(text)));
}

Language SsmlReader::language_of(std::string_view text) const {
  try {
    return parse_language(text);
  } catch (const ConfigError&) {
    refuse(fmt::format("\"{}\" is no language; write a code such as en or pt-BR", printable(text)));
  }
}

void SsmlReader::say_as(const Open& element) {
  const auto& how = element.value;
  const Language language = element.manner.language;
  if (how == "characters" || how == "spell-out" || how == "verbatim") {
    spans_.say(spelt_out(element.words), element.manner);
  } else if (how == "digits" || how == "telephone") {
    spans_.say(digit_by_digit(element.words, language), element.manner);
  } else if (how == "cardinal" || how == "number") {
    spans_.say(element.words, element.manner);
  } else if (how == "ordinal") {
    const auto words = ordinal_of(element.words, language);
    if (!words) {
      refuse(
          fmt::format("\"{}\" cannot be said as an ordinal number in the language {}; write it "
                      "in words",
                      printable(element.words), language_code(language)));
    }
    spans_.say(*words, element.manner);
  } else {
    refuse(
        fmt::format("interpret-as \"{}\" is not known; there are characters, digits, telephone, "
                    "cardinal and ordinal",
                    printable(how)));
  }
}

}  // namespace

bool is_ssml(std::string_view text) {
  const std::string begin = ascii_lower(strip_left(text).substr(0, 6));
  return begin == "<speak" || begin.starts_with("<?xml");
}

MarkedText read_marked_text(std::string_view text, Language language, const std::string& subject) {
  constexpr std::size_t kLargestDocument = std::size_t{256} << 20U;  // bytes, of a parser of ints
  if (!is_ssml(text)) return read_plain(text, language, subject);
  if (text.size() > kLargestDocument) {
    throw DataError(fmt::format("{} is larger than 256 MB; cut it into several.", subject));
  }
  return SsmlReader(text, text.size() - strip_left(text).size(), language, subject).read();
}

}  // namespace myxtts
