// SPDX-License-Identifier: Apache-2.0
#include "run/training_state.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/paths.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;
constexpr std::size_t kLargestFile = 64 << 10;  // bytes
constexpr std::size_t kFields = 15;

// Reads the fields of one state.json and refuses whatever a writer of ours would not have written.
class StateReader {
 public:
  StateReader(const Json& json, const std::filesystem::path& file) : json_(json), file_(file) {}

  const Json& at(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *found;
  }

  template <typename Count>
  Count count(const char* name) const {
    const Json& value = at(name);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
      refuse(fmt::format("gives \"{}\" a value that is no count", name));
    }
    return value.get<Count>();
  }

  double number(const char* name) const {
    const Json& value = at(name);
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      refuse(fmt::format("gives \"{}\" a value that is no number", name));
    }
    return value.get<double>();
  }

  std::optional<double> number_or_nothing(const char* name) const {
    if (at(name).is_null()) return {};
    return number(name);
  }

  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) refuse(fmt::format("gives \"{}\" a value that is no text", name));
    return value.get<std::string>();
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(fmt::format("{} is no state of a training run: it {}.", file_.string(), what));
  }

 private:
  const Json& json_;
  const std::filesystem::path& file_;
};

Json parse_object(const std::filesystem::path& file) {
  const std::string text = read_text_file(file, "state of the run", kLargestFile);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const StateReader reader(json, file);
  if (!json.is_object()) reader.refuse("is not a JSON object");
  if (reader.at("version") != kVersion) {
    reader.refuse(fmt::format("has the version {}, and this program knows {}",
                              json["version"].dump().substr(0, 20), kVersion));
  }
  if (json.size() != kFields) {
    reader.refuse(fmt::format("has {} fields in place of {}", json.size(), kFields));
  }
  return json;
}

// JSON knows no infinity; a loss that is none is as good as no loss.
Json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

}  // namespace

void write_training_state(const std::filesystem::path& file, const TrainingState& state) {
  const Json json{{"version", kVersion},
                  {"stage", state.stage},
                  {"step", state.step},
                  {"epoch", state.position.epoch},
                  {"epoch_batches", state.position.step},
                  {"skipped_steps", state.skipped_steps},
                  {"bad_steps", state.bad_steps},
                  {"metrics_position", state.metrics_position},
                  {"mean_loss", state.mean_loss},
                  {"validation_loss", or_null(state.validation_loss)},
                  {"best_validation_loss", or_null(state.best_validation_loss)},
                  {"evaluations_since_best", state.evaluations_since_best},
                  {"seconds", state.seconds},
                  {"corpus", state.corpus},
                  {"batches", state.batches}};
  MYXTTS_CHECK(std::isfinite(state.mean_loss), "the running mean of the losses is not finite");
  MYXTTS_CHECK(json.size() == kFields, "state.json has {} fields", json.size());
  write_file_atomically(file, bytes_of(json.dump(2) + "\n"));
}

TrainingState read_training_state(const std::filesystem::path& file) {
  const Json json = parse_object(file);
  const StateReader from(json, file);
  return {.step = from.count<std::int64_t>("step"),
          .position = {.epoch = from.count<std::int64_t>("epoch"),
                       .step = from.count<std::int64_t>("epoch_batches")},
          .skipped_steps = from.count<std::int64_t>("skipped_steps"),
          .bad_steps = from.count<std::int64_t>("bad_steps"),
          .metrics_position = from.count<std::uint64_t>("metrics_position"),
          .mean_loss = from.number("mean_loss"),
          .validation_loss = from.number_or_nothing("validation_loss"),
          .best_validation_loss = from.number_or_nothing("best_validation_loss"),
          .evaluations_since_best = from.count<std::int64_t>("evaluations_since_best"),
          .seconds = from.number("seconds"),
          .stage = from.text("stage"),
          .corpus = from.text("corpus"),
          .batches = from.text("batches")};
}

}  // namespace myxtts
