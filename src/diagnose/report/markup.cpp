// SPDX-License-Identifier: Apache-2.0
#include "diagnose/report/markup.h"

#include <fmt/format.h>

#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::string_view kPageStyle = R"(
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6577; --line: #d9dee7; --bar: #3566c8;
  --paper: #fff; --card: #f6f8fb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf2; --soft: #9aa5b8; --line: #333c4b;
  --bar: #7fa5f0; --paper: #12161d; --card: #1a202a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.figures, .pictures { display: grid; gap: 1rem; }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(9rem, 100%), 1fr)); }
.pictures { grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.figures div, figure { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem; margin: 0; min-width: 0; }
.figures b { display: block; font-size: 1.3rem; } .figures span, figcaption { color: var(--soft); }
svg { width: 100%; height: auto; display: block; } rect { fill: var(--bar); }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } .number { text-align: right; font-variant-numeric: tabular-nums; }
)";

// A cell without what opens it: "<td" or "<th".
void add_row(std::string& table, std::string_view opening, const std::vector<std::string>& cells) {
  table += "<tr>";
  for (const std::string& cell : cells) table.append(opening).append(cell);
  table += "</tr>\n";
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : repair_utf8(text)) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        // A page may not hold control characters; tabs and line ends are blanks.
        safe += static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ? ' ' : letter;
    }
  }
  return safe;
}

std::string html_page(std::string_view title, std::string_view body, std::string_view more_style) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}{}</style>"
      "</head>\n<body>{}</body></html>\n",
      escaped(title), kPageStyle, more_style, body);
}

std::string html_figure(std::string_view value, std::string_view name) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, name);
}

std::string html_cell(std::string_view text, std::string_view attributes) {
  return fmt::format("{}{}>{}", attributes.empty() ? "" : " ", attributes, text);
}

std::string number_cell(std::string_view text) {
  return html_cell(text, "class=\"number\"");
}

std::string html_table(std::string_view heading, std::string_view above,
                       const std::vector<std::string>& titles, const Rows& rows) {
  std::string table = fmt::format("<h2>{}</h2>\n{}<div class=\"wide\"><table>", heading, above);
  add_row(table, "<th", titles);
  for (const auto& row : rows) add_row(table, "<td", row);
  return table + "</table></div>\n";
}

}  // namespace myxtts
