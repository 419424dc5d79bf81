// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace myxtts {

// Text that is only text in a page, whatever it holds.
std::string escaped(std::string_view text);

// The beginning of a page that needs nothing but itself, light or dark as its reader likes, up to
// and with <body>. `more_style` is added to the style of all our pages.
std::string page_head(std::string_view title, std::string_view more_style = {});

}  // namespace myxtts
