// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "diagnose/report/report.h"

namespace myxtts {

using Json = nlohmann::ordered_json;

// A report as JSON, with an end of line. Names from libraries, drivers and corpora need not be
// UTF-8: what is not is replaced.
std::string json_text(const Json& json, int indent = 2);

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Text that is only text in a page, whatever it holds.
std::string escaped(std::string_view text);

// A page that needs nothing but itself, light or dark as its reader likes. `body` is HTML, and
// `more_style` is added to the style of all our pages.
std::string html_page(std::string_view title, std::string_view body,
                      std::string_view more_style = {});

// A number and what it is, in a frame. Both are HTML, as in the functions below.
std::string html_figure(std::string_view value, std::string_view name);

// A cell of a table, and one with a number, which stands to the right.
std::string html_cell(std::string_view text, std::string_view attributes = {});
std::string number_cell(std::string_view text);

// A table of cells under a heading, `above` between them.
std::string html_table(std::string_view heading, std::string_view above,
                       const std::vector<std::string>& titles, const Rows& rows);

}  // namespace myxtts
