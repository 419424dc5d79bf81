// SPDX-License-Identifier: Apache-2.0
#include "config/fields/sections.h"

namespace myxtts {
namespace {

std::vector<Field> make_fields() {
  std::vector<Field> fields;
  add_data_fields(fields);
  add_devices_fields(fields);
  add_train_fields(fields);
  add_parallel_fields(fields);
  add_run_fields(fields);
  return fields;
}

}  // namespace

std::span<const Field> all_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

const Field* find_field(std::string_view key) {
  for (const Field& field : all_fields()) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

std::string_view section_of(std::string_view key) {
  return key.substr(0, key.find('.'));
}

}  // namespace myxtts
