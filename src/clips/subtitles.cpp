// SPDX-License-Identifier: Apache-2.0
#include "clips/subtitles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestSubtitles = 64'000'000;  // bytes
constexpr std::size_t kLongestSubtitle = 4'000;        // bytes; nobody reads more at once
constexpr std::string_view kArrow = "-->";
constexpr const char* kTooLongToRead = "It is longer than anybody reads at once.";

// At \n, \r\n and \r.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    const bool is_pair = text.substr(end).starts_with("\r\n");
    text.remove_prefix(std::min(text.size(), end + (is_pair ? 2 : 1)));
  }
  return lines;
}

bool is_number(std::string_view line) {
  line = strip_spaces(line);
  return !line.empty() && std::ranges::all_of(line, [](char c) { return c >= '0' && c <= '9'; });
}

// A number of at most `most` digits at the start, which it takes away.
std::optional<int> take_number(std::string_view& text, std::size_t most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits > most || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

// "01:02:03,450", "02:03.450" or "1:02:03": seconds. Takes it away.
std::optional<double> take_time(std::string_view& text) {
  constexpr std::size_t kMostDigits = 4;
  constexpr int kSixty = 60;
  std::array<int, 3> parts{};  // the last is seconds
  std::size_t count = 0;
  text = strip_left(text);
  for (;;) {
    const auto part = take_number(text, kMostDigits);
    if (!part || count == parts.size()) return std::nullopt;
    parts[count++] = *part;
    if (!text.starts_with(':')) break;
    text.remove_prefix(1);
  }
  if (count < 2) return std::nullopt;
  int whole = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && parts[i] >= kSixty) return std::nullopt;
    whole = whole * kSixty + parts[i];
  }
  double fraction = 0;
  if (text.starts_with('.') || text.starts_with(',')) {
    text.remove_prefix(1);
    const std::size_t before = text.size();
    constexpr std::size_t kMostPlaces = 9;
    const auto places = take_number(text, kMostPlaces);
    if (!places) return std::nullopt;
    fraction = *places;
    for (std::size_t i = text.size(); i < before; ++i) fraction /= 10;
  }
  return whole + fraction;
}

// Begin and end; what follows them (places on the screen) is not for us.
std::optional<std::pair<double, double>> times_in(std::string_view line) {
  const auto begin = take_time(line);
  line = strip_left(line);
  if (!begin || !line.starts_with(kArrow)) return std::nullopt;
  line.remove_prefix(kArrow.size());
  const auto end = take_time(line);
  if (!end || !(line.empty() || is_space(static_cast<unsigned char>(line.front())))) {
    return std::nullopt;
  }
  return std::pair(*begin, *end);
}

// The length of the tag that the text starts with: <i>, </v>, <00:01.000>, {\an8}; 0: none.
std::size_t tag_at(std::string_view text) {
  const auto end_at = [&](char close) {
    const auto end = text.find(close);
    return end == std::string_view::npos ? 0 : end + 1;
  };
  if (text.starts_with("{\\")) return end_at('}');
  if (text.size() < 3 || text[0] != '<') return 0;
  const char next = text[1];
  const bool is_letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
  const bool is_digit = next >= '0' && next <= '9';
  return is_letter || is_digit || next == '/' ? end_at('>') : 0;
}

constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
    {"&amp;", "&"}, {"&lt;", "<"},   {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"},
    {"&#39;", "'"}, {"&nbsp;", " "}, {"&lrm;", ""}, {"&rlm;", ""}};

// Marks that nobody reads: byte order, widths of nothing, directions. A zero-width non-joiner is
// spelling.
bool is_invisible(char32_t c) {
  return c == 0xFEFF || c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

// In lines, without tags, entities, notes in brackets ("[door slams]") and what is invisible.
std::string readable(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    if (const std::size_t length = tag_at(text); length > 0) {
      text.remove_prefix(length);
      continue;
    }
    const auto close = text.front() == '[' ? text.find(']') : std::string_view::npos;
    if (close != std::string_view::npos) {
      text.remove_prefix(close + 1);
      continue;
    }
    const auto entity = std::ranges::find_if(
        kEntities, [&](const auto& known) { return text.starts_with(known.first); });
    if (entity != std::end(kEntities)) {
      made += entity->second;
      text.remove_prefix(entity->first.size());
      continue;
    }
    const char32_t c = code_point_at(text, 0);
    const auto length = static_cast<std::size_t>(U8_LENGTH(static_cast<UChar32>(c)));
    if (!is_invisible(c)) made += text.substr(0, length);
    text.remove_prefix(length);
  }
  return made;
}

// In one line. Lines that begin with a dash are said by another person each.
std::string in_one_line(const std::string& text) {
  std::string made;
  for (const std::string_view line : lines_of(text)) {
    std::string_view rest = strip_left(line);
    for (const std::string_view dash : {"- ", "– ", "— "}) {
      if (rest.starts_with(dash)) rest.remove_prefix(dash.size());
    }
    made += " ";
    made += rest;
  }
  return collapse_spaces(made);
}

class SubtitleReader {
 public:
  SubtitleReader(std::string_view text, const std::string& subject)
      : lines_(lines_of(text)), subject_(subject) {
    is_vtt_ = !lines_.empty() && lines_[0].starts_with("WEBVTT");
  }

  Subtitles read() {
    if (is_vtt_) skip_block();
    while (next_ < lines_.size()) read_block();
    if (found_.cues.empty() && found_.skipped.empty()) {
      throw DataError(
          fmt::format("{} holds no subtitles: SubRip (.srt) and WebVTT (.vtt) have lines such as "
                      "00:00:01,000 --> 00:00:02,500.",
                      subject_));
    }
    std::ranges::stable_sort(found_.cues, {}, &Subtitle::begin);
    return std::move(found_);
  }

 private:
  std::string_view text() const { return lines_[next_]; }
  std::int64_t number() const { return static_cast<std::int64_t>(next_) + 1; }
  bool is_blank() const { return strip_spaces(text()).empty(); }
  bool is_times() const { return text().find(kArrow) != std::string_view::npos; }

  void skip_block() {
    while (next_ < lines_.size() && !is_blank()) ++next_;
  }

  // From a line that is in no subtitle to behind the subtitle that it opens.
  void read_block() {
    if (is_blank()) {
      ++next_;
    } else if (is_times()) {
      read_cue();
    } else if (is_vtt_ && (text().starts_with("NOTE") || text().starts_with("STYLE") ||
                           text().starts_with("REGION"))) {
      skip_block();
    } else if (opens_cue()) {
      ++next_;
    } else if (!found_.cues.empty() && !is_vtt_) {
      read_rest();
    } else {
      throw DataError(
          fmt::format("{}, line {}: \"{}\" stands where a number or times such as 00:00:01,000 --> "
                      "00:00:02,500 belong.",
                      subject_, number(), printable(text())));
    }
  }

  // A number, or in WebVTT any name, before times.
  bool opens_cue() const {
    if (is_number(text())) return true;
    return is_vtt_ && next_ + 1 < lines_.size() &&
           lines_[next_ + 1].find(kArrow) != std::string_view::npos;
  }

  // Of the subtitle before, behind a blank line within.
  void read_rest() {
    Subtitle& cue = found_.cues.back();
    cue.text += " " + read_text();
    if (cue.text.size() <= kLongestSubtitle) return;
    skip(cue.line, kTooLongToRead);
    found_.cues.pop_back();
  }

  // Until a blank line, or the next subtitle where that is missing. What is too long stays so.
  std::string read_text() {
    std::string joined;
    for (; next_ < lines_.size() && !is_blank() && !is_times(); ++next_) {
      const bool is_next = is_number(text()) && next_ + 1 < lines_.size() &&
                           lines_[next_ + 1].find(kArrow) != std::string_view::npos;
      if (is_next) break;
      joined += text().substr(0, kLongestSubtitle + 1);
      joined += '\n';
      if (joined.size() > kLongestSubtitle) {
        skip_block();
        return joined;
      }
    }
    return in_one_line(readable(joined));
  }

  void read_cue() {
    const std::int64_t line = number();
    const auto times = times_in(text());
    if (!times) {
      throw DataError(
          fmt::format("{}, line {}: \"{}\" are no times such as 00:00:01,000 --> "
                      "00:00:02,500.",
                      subject_, line, printable(text())));
    }
    ++next_;
    Subtitle cue{.begin = times->first, .end = times->second, .text = read_text(), .line = line};
    if (cue.end <= cue.begin) {
      skip(line, "It ends before it begins.");
    } else if (cue.text.empty() || cue.text.find("♪") != std::string::npos) {
      skip(line, "It has nothing that is spoken.");
    } else if (cue.text.size() > kLongestSubtitle) {
      skip(line, kTooLongToRead);
    } else {
      found_.cues.push_back(std::move(cue));
    }
  }

  void skip(std::int64_t line, const char* reason) {
    found_.skipped.push_back(fmt::format("line {}: {}", line, reason));
  }

  std::vector<std::string_view> lines_;
  const std::string& subject_;
  bool is_vtt_ = false;
  std::size_t next_ = 0;
  Subtitles found_;
};

}  // namespace

std::string text_of(const Subtitles& subtitles) {
  std::string text;
  for (const Subtitle& cue : subtitles.cues) text += cue.text + "\n";
  return text;
}

Subtitles parse_subtitles(std::string_view bytes, const std::string& subject) {
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    throw DataError(fmt::format(
        "{} is text in UTF-16; write it in UTF-8, as with iconv -f UTF-16 -t UTF-8.", subject));
  }
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  if (const auto bad = first_invalid_utf8(bytes)) {
    const auto before = bytes.substr(0, *bad);
    throw DataError(fmt::format(
        "{}, line {}: this is no text in UTF-8; write the file in UTF-8, as with iconv -f "
        "ISO-8859-1 -t UTF-8.",
        subject, lines_of(before).size() + (before.empty() || before.back() == '\n' ? 1 : 0)));
  }
  return SubtitleReader(bytes, subject).read();
}

Subtitles read_subtitles(const std::filesystem::path& file) {
  return parse_subtitles(read_text_file(file, "file of subtitles", kLargestSubtitles),
                         file.string());
}

}  // namespace myxtts
