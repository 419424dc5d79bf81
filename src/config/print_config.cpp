// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "config/effective_config.h"
#include "config/part_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

std::string leaf_of(const Field& field) {
  return field.key.substr(section_of(field.key).size() + 1);
}

// "[corpora/en, \"corpora/fa,language=fa\"]".
std::string yaml_list(const std::vector<Scalar>& items) {
  std::string list;
  for (const Scalar& item : items) {
    list += fmt::format("{}{}", list.empty() ? "[" : ", ", yaml_scalar(item.text, item.quoted));
  }
  return list + "]";
}

// "num_workers: auto".
std::string yaml_line(const Field& field, const RunConfig& values) {
  if (field.is_list()) {
    if (const auto items = field.values_of(values); items.size() > 1) {
      return fmt::format("{}: {}", leaf_of(field), yaml_list(items));
    }
  }
  const Scalar value = field.value_of(values);
  return fmt::format("{}: {}", leaf_of(field), yaml_scalar(value.text, value.quoted));
}

// Calls `begin` at the first field of each section and `print` for every field.
template <typename Begin, typename Print>
void for_each_field(Begin begin, Print print) {
  std::string_view section;
  for (const Field& field : all_fields()) {
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      begin(section);
    }
    print(field);
  }
}

std::string flag_usage(const Field& field) {
  std::string usage = field.flag;
  if (!field.negative_flag.empty()) return fmt::format("{}, {}", usage, field.negative_flag);
  return field.bare_value.empty() ? fmt::format("{} {}", usage, field.placeholder)
                                  : fmt::format("{} [{}]", usage, field.placeholder);
}

// A bar would end the cell.
std::string in_table(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

}  // namespace

namespace {

// "  dvae:\n    lr: 0.0003  # recipe.yaml:12\n".
std::string print_stages(const EffectiveConfig& config) {
  std::string yaml;
  for (const ModelPart stage : kModelParts) {
    bool begun = false;
    for (const Setting& setting : config.stage_settings) {
      if (setting.stage != stage) continue;
      if (!begun) yaml += fmt::format("  {}:\n", name_of(stage));
      begun = true;
      yaml += fmt::format("    {}: {}  # {}\n", leaf_of(*setting.field),
                          yaml_scalar(setting.value.text, setting.value.quoted),
                          one_line(describe(setting.origin)));
    }
  }
  return yaml.empty() ? yaml : "stages:\n" + yaml;
}

constexpr const char* kPartsSentence =
    "What single stages have in place of what stands above: keys of train and run, without their "
    "section.";

}  // namespace

std::string print_config(const EffectiveConfig& config) {
  std::size_t widest = 0;
  for (const Field& field : all_fields()) {
    widest = std::max(widest, std::min<std::size_t>(40, yaml_line(field, config.values).size()));
  }
  std::string yaml;
  for_each_field([&](std::string_view section) { yaml += fmt::format("{}:\n", section); },
                 [&](const Field& field) {
                   yaml += fmt::format("  {:<{}}  # {}\n", yaml_line(field, config.values), widest,
                                       one_line(describe(config.origin_of(field.key))));
                 });
  return yaml + print_stages(config);
}

std::string print_differences(const RunConfig& config) {
  std::string yaml;
  std::string_view section;
  const RunConfig defaults;
  for (const Field& field : all_fields()) {
    const std::string line = yaml_line(field, config);
    if (line == yaml_line(field, defaults)) continue;
    if (section_of(field.key) != section) {
      section = section_of(field.key);
      yaml += fmt::format("{}:\n", section);
    }
    yaml += fmt::format("  {}\n", line);
  }
  return yaml;
}

std::string print_reference() {
  std::string yaml =
      "# Every setting with its default. Copy what you change into a file of your own and read it "
      "with --config FILE.\n";
  const RunConfig defaults;
  for_each_field([&](std::string_view section) { yaml += fmt::format("\n{}:\n", section); },
                 [&](const Field& field) {
                   yaml +=
                       fmt::format("  # {}\n  # Takes {}. Flag: {}\n  {}\n", field.sentence,
                                   field.allowed, flag_usage(field), yaml_line(field, defaults));
                 });
  yaml += fmt::format("\n# {}\n# stages:\n#   dvae:\n#     lr: 0.0003\n", kPartsSentence);
  return yaml;
}

std::string print_markdown() {
  std::string page;
  const RunConfig defaults;
  for_each_field(
      [&](std::string_view section) {
        page += fmt::format(
            "\n## {}\n\n| key | flag | default | takes | |\n|---|---|---|---|---|\n", section);
      },
      [&](const Field& field) {
        page += fmt::format("| `{}` | `{}` | `{}` | {} | {} |\n", field.key,
                            in_table(flag_usage(field)), field.value_of(defaults).text,
                            field.allowed, field.sentence);
      });
  page += fmt::format(
      "\n## stages\n\n{} `stages: {{dvae: {{lr: 0.0003, batch_size: 64}}}}` gives the stage `dvae` "
      "a rate and a batch of its own. A flag wins over it, for every stage.\n",
      kPartsSentence);
  return page;
}

}  // namespace myxtts
