// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/part_settings.h"
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

std::optional<std::string> parse_web_address(std::string_view text) {
  const bool is_address = text.starts_with("http://") || text.starts_with("https://");
  if (!is_address || text.ends_with("//") || !is_text(text)) return std::nullopt;
  return std::string(text);
}

std::optional<std::vector<std::string>> parse_name_patterns(std::string_view text) {
  std::vector<std::string> patterns;
  for (const std::string_view pattern : split_at_commas(text)) {
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '*';
    };
    if (pattern.empty() || !std::ranges::all_of(pattern, belongs)) return std::nullopt;
    patterns.emplace_back(pattern);
  }
  return patterns;
}

std::optional<GpuNumbers> parse_gpu_numbers(std::string_view text) {
  GpuNumbers gpus;
  if (text == "all") return gpus;
  for (const std::string_view number : split_at_commas(text)) {
    const auto gpu = parse_integer(number);
    if (!gpu || *gpu < 0 || *gpu > kMostGpu || std::ranges::count(gpus, *gpu) > 0) return {};
    gpus.push_back(*gpu);
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

Rule<std::string> web_address() {
  return {.allowed = "an address that begins with http:// or https://",
          .parse = parse_web_address,
          .format = as_is,
          .is_free_text = true};
}

Rule<std::string> resume_point() {
  return {.allowed = "latest, the number of a step, the path of a run or checkpoint",
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

Rule<std::vector<ModelPart>> stage_list() {
  return {.allowed = "stages with commas between, as in dvae,gpt,decoder",
          .parse = parse_parts,
          .format = format_parts};
}

Rule<PartBudgets> stage_budgets() {
  return {.allowed =
              "steps, steps for hours of speech, or minutes, for stages, as in "
              "dvae=3000,gpt=6000@1h or "
              "gpt=8m",
          .parse = parse_part_budgets,
          .format = format_part_budgets};
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

Rule<std::filesystem::path> recogniser() {
  static constexpr std::string_view kWhisper = "whisper=";
  return {
      .allowed = "whisper= and the path of a Whisper model",
      .parse = [](std::string_view text) -> std::optional<std::filesystem::path> {
        if (!text.starts_with(kWhisper) || text.size() == kWhisper.size() || !is_text(text)) {
          return std::nullopt;
        }
        return std::filesystem::path(text.substr(kWhisper.size()));
      },
      .format =
          [](const std::filesystem::path& path) { return std::string(kWhisper) + path.string(); }};
}

Rule<CorpusLayout> corpus_layout() {
  return one_of<CorpusLayout>(corpus_layouts());
}

Field& FieldGroup::append(std::string_view key, std::string sentence) {
  Field& field = fields_.emplace_back();
  field.key = key;
  field.flag = "--" + field.key.substr(section_of(key).size() + 1);
  std::ranges::replace(field.flag, '_', '-');
  field.group = heading_;
  field.sentence = std::move(sentence);
  field.commands = commands_;
  return field;
}

std::string FieldGroup::negative_of(std::string_view flag) {
  constexpr std::string_view kEnable = "--enable-";
  return flag.starts_with(kEnable) ? fmt::format("--disable-{}", flag.substr(kEnable.size()))
                                   : fmt::format("--no-{}", flag.substr(2));
}

void FieldGroup::add_corpora(std::string_view key, std::vector<CorpusSource> DataConfig::*member,
                             std::string sentence) {
  static const std::string kNone = "none";
  const auto scalar_of = [](const CorpusSource& source) {
    std::string written = format_corpus_source(source);
    const bool quoted = written == kNone;
    return Scalar{std::move(written), quoted};
  };
  Field& field = append(key, std::move(sentence));
  field.placeholder = "DIR";
  field.allowed =
      "the path of a folder or of a manifest, alone or with ',language=CODE', ',weight=NUMBER' or "
      "',format=LAYOUT' behind it, or none";
  field.absent_word = kNone;
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
}

}  // namespace myxtts
