// SPDX-License-Identifier: Apache-2.0
#include "config/field.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/field_binding.h"
#include "config/stage_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

std::string as_is(const std::string& text) {
  return text;
}

std::optional<std::string> parse_resume_point(std::string_view text) {
  const auto step = parse_integer(text);
  if (text.empty() || !is_text(text) || (step && *step < 0)) return std::nullopt;
  return std::string(text);
}

std::optional<std::vector<std::string>> parse_name_patterns(std::string_view text) {
  std::vector<std::string> patterns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pattern = text.substr(begin, end - begin);
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '*';
    };
    if (pattern.empty() || !std::ranges::all_of(pattern, belongs)) return std::nullopt;
    patterns.emplace_back(pattern);
    begin = end + 1;
  }
  return patterns;
}

constexpr std::int64_t kMostGpu = 63;

std::optional<GpuNumbers> parse_gpu_numbers(std::string_view text) {
  GpuNumbers gpus;
  if (text == "all") return gpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto gpu = parse_integer(text.substr(begin, end - begin));
    if (!gpu || *gpu < 0 || *gpu > kMostGpu || std::ranges::count(gpus, *gpu) > 0) return {};
    gpus.push_back(*gpu);
    begin = end + 1;
  }
  return gpus;
}

}  // namespace

Rule<std::int64_t> integer_between(std::int64_t least, std::int64_t most) {
  return {.allowed = fmt::format("a whole number from {} to {}", least, most),
          .parse = [=](std::string_view text) -> std::optional<std::int64_t> {
            const auto value = parse_integer(text);
            return value && *value >= least && *value <= most ? value : std::nullopt;
          },
          .format = [](const std::int64_t& value) { return std::to_string(value); }};
}

Rule<double> number_between(double least, double most) {
  return {.allowed = fmt::format("a number from {} to {}", least, most),
          .parse = [=](std::string_view text) -> std::optional<double> {
            const auto value = parse_number(text);
            return value && *value >= least && *value <= most ? value : std::nullopt;
          },
          .format = [](const double& value) { return format_number(value); }};
}

Rule<bool> true_or_false() {
  return {.allowed = "true or false",
          .parse = parse_switch,
          .format = [](const bool& value) { return std::string(value ? "true" : "false"); },
          .choices = {"true", "false"}};
}

Rule<bool> on_or_off() {
  return one_of<bool>({{"on", true}, {"off", false}});
}

Rule<std::string> word_of(std::vector<std::string> words) {
  const auto parse = [words](std::string_view text) -> std::optional<std::string> {
    const auto found = std::find(words.begin(), words.end(), text);
    return found == words.end() ? std::nullopt : std::optional(*found);
  };
  return {.allowed = listed(words), .parse = parse, .format = as_is, .choices = words};
}

Rule<std::string> language_code() {
  return {.allowed = "a language code such as en, fa or zh-cn",
          .parse = [](std::string_view text) -> std::optional<std::string> {
            return is_language_code(text) ? std::optional<std::string>(text) : std::nullopt;
          },
          .format = as_is};
}

Rule<std::string> resume_point() {
  return {.allowed = "latest, the number of a step, the path of a checkpoint",
          .parse = parse_resume_point,
          .format = as_is,
          .is_free_text = true};
}

Rule<SplitGpu> gpu_with_multiprocessors() {
  return {.allowed = "a GPU's number from 0 to 63, alone or with multiprocessors as in 0:16",
          .parse = parse_split_gpu,
          .format = format_split_gpu};
}

Rule<GpuNumbers> gpu_numbers() {
  return {.allowed = "different GPUs' numbers with commas between, as in 0,1, or all",
          .parse = parse_gpu_numbers,
          .format = [](const GpuNumbers& gpus) {
            return gpus.empty() ? std::string("all") : fmt::format("{}", fmt::join(gpus, ","));
          }};
}

Rule<Weights> weights_of(std::string what) {
  return {.allowed = what + ", each with a number above 0 and up to 1000",
          .parse = parse_weights,
          .format = format_weights,
          .is_free_text = true};
}

Rule<std::vector<std::string>> name_patterns() {
  return {.allowed = "names with * for any characters, and commas between",
          .parse = parse_name_patterns,
          .format =
              [](const std::vector<std::string>& patterns) {
                return fmt::format("{}", fmt::join(patterns, ","));
              },
          .is_free_text = true};
}

Rule<std::vector<Stage>> stage_list() {
  return {.allowed = "stages with commas between, as in dvae,gpt,decoder",
          .parse = parse_stages,
          .format = format_stages};
}

Rule<StageBudgets> stage_budgets() {
  return {.allowed = "steps, or minutes with an m, for stages, as in dvae=3000,gpt=8m",
          .parse = parse_stage_budgets,
          .format = format_stage_budgets};
}

Rule<std::filesystem::path> path_of(std::string what) {
  return {.allowed = "the path of " + what,
          .parse = [](std::string_view text) -> std::optional<std::filesystem::path> {
            if (text.empty() || !is_text(text)) return std::nullopt;
            return std::filesystem::path(text);
          },
          .format = [](const std::filesystem::path& path) { return path.string(); },
          .is_free_text = true};
}

Rule<CorpusLayout> corpus_layout() {
  return one_of<CorpusLayout>(corpus_layouts());
}

Field bind_corpora(FieldText text, std::vector<CorpusSource> DataConfig::*member) {
  static const std::string kNone = "none";
  const auto scalar_of = [](const CorpusSource& source) {
    std::string written = format_corpus_source(source);
    const bool quoted = written == kNone;
    return Scalar{std::move(written), quoted};
  };
  Field field{std::move(text),
              "the path of a folder or of a manifest, alone or with ',language=CODE', "
              "',weight=NUMBER' or ',format=LAYOUT' behind it, or none",
              {},
              kNone,
              {},
              {}};
  field.assign = [member](const Scalar& value, RunConfig& config) {
    auto& sources = config.data.*member;
    if (value.text == kNone && !value.quoted) return sources.empty();
    const auto source = parse_corpus_source(value.text);
    if (source) sources.push_back(*source);
    return source.has_value();
  };
  field.values_of = [member, scalar_of](const RunConfig& config) {
    std::vector<Scalar> values;
    for (const CorpusSource& source : config.data.*member) values.push_back(scalar_of(source));
    return values;
  };
  field.value_of = [values_of = field.values_of](const RunConfig& config) {
    const auto values = values_of(config);
    Scalar all = values.empty() ? Scalar{kNone, false} : values.front();
    for (std::size_t index = 1; index < values.size(); ++index) {
      all.text += ", " + values[index].text;
    }
    return all;
  };
  field.clear = [member](RunConfig& config) { (config.data.*member).clear(); };
  field.item_keys = corpus_source_keys();
  return field;
}

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
