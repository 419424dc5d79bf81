// SPDX-License-Identifier: Apache-2.0
#include "clips/clips_page.h"

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"

namespace myxtts {

extern const std::string_view kClipsPage;  // made of the files in page/ when the program is built

namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::string_view kCorpusPlace =
    R"(<script type="application/json" id="corpus">null</script>)";

PageJson json_of(const PageClip& clip) {
  return {{"name", clip.name},
          {"recording", clip.recording},
          {"begin", clip.begin},
          {"end", clip.end},
          {"text", clip.text.text},
          {"heard", clip.text.heard},
          {"source", name_of(clip.text.source)},
          {"confidence", clip.text.confidence},
          {"doubt", clip.text.doubt},
          {"speaker", clip.speaker},
          {"corrected", clip.is_corrected}};
}

PageJson json_of(const PageLeftOut& stretch) {
  return {{"recording", stretch.recording},
          {"begin", stretch.begin},
          {"end", stretch.end},
          {"reason", stretch.reason},
          {"text", stretch.text}};
}

// No tag of the page can end or begin in it.
std::string in_script(const PageJson& json) {
  std::string made;
  for (const char c : json.dump(-1, ' ', false, PageJson::error_handler_t::replace)) {
    if (c == '<') {
      made += "\\u003c";
    } else {
      made += c;
    }
  }
  return made;
}

}  // namespace

void write_clips_page(const std::filesystem::path& file, const ClipsPage& page) {
  PageJson corpus{{"title", page.title},
                  {"language", page.language},
                  {"limits", {{"kept", page.limits.kept}, {"sure", page.limits.sure}}},
                  {"clips", PageJson::array()},
                  {"left_out", PageJson::array()},
                  {"unread", page.unread}};
  for (const PageClip& clip : page.clips) corpus["clips"].push_back(json_of(clip));
  for (const PageLeftOut& stretch : page.left_out) corpus["left_out"].push_back(json_of(stretch));
  std::string html(kClipsPage);
  const auto at = html.find(kCorpusPlace);
  MYXTTS_CHECK(at != std::string::npos, "the page has no place for a corpus");
  html.replace(at + kCorpusPlace.find("null"), 4, in_script(corpus));
  write_file_atomically(file, std::as_bytes(std::span(html)));
}

}  // namespace myxtts
