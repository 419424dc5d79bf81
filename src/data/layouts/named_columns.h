// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace myxtts {

// The columns of a table whose first line names them.
class NamedColumns {
 public:
  explicit NamedColumns(std::vector<std::string> names) : names_(std::move(names)) {}

  std::size_t size() const { return names_.size(); }
  bool has(std::string_view name) const { return place_of(name).has_value(); }
  bool reaches(const std::vector<std::string>& fields, std::string_view name) const {
    const auto place = place_of(name);
    return place && *place < fields.size();
  }

  // The field of a line under that name; empty where there is no such column or field.
  std::string_view field(const std::vector<std::string>& fields, std::string_view name) const {
    const auto place = place_of(name);
    return place && *place < fields.size() ? std::string_view(fields[*place]) : std::string_view();
  }

 private:
  std::optional<std::size_t> place_of(std::string_view name) const {
    for (std::size_t index = 0; index < names_.size(); ++index) {
      if (names_[index] == name) return index;
    }
    return std::nullopt;
  }

  std::vector<std::string> names_;
};

}  // namespace myxtts
