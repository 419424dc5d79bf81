// SPDX-License-Identifier: Apache-2.0
#include "run/training_state.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "config/json.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStateVersion = 3;
constexpr int kOldVersion = 2;  // without `division` and `rest`; `rows` were a part of `batches`
constexpr std::size_t kLargestState = 64 << 10;  // bytes
constexpr std::size_t kFields = 18;
constexpr std::size_t kOldFields = 15;

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
    constexpr auto kMost = std::uint64_t{1} << 48U;  // sums and products of counts stay numbers
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

  // An object with this many fields.
  StateReader object(const char* name, std::size_t fields) const {
    const StateReader inner(at(name), file_);
    if (!inner.json_.is_object()) {
      refuse(fmt::format("gives \"{}\" a value that is no object", name));
    }
    inner.expect_fields(fields);
    return inner;
  }

  void expect_fields(std::size_t fields) const {
    if (json_.size() == fields) return;
    refuse(fmt::format("has {} fields in place of {}", json_.size(), fields));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(fmt::format("{} is no state of a training run: it {}.", file_.string(), what));
  }

 private:
  const Json& json_;
  const std::filesystem::path& file_;
};

Json parse_object(const std::filesystem::path& file) {
  const std::string text = read_text_file(file, "state of the run", kLargestState);
  auto json = parse_shallow_json<Json>(text);
  const StateReader reader(json, file);
  if (!json.is_object()) reader.refuse("is not a JSON object");
  const Json& version = reader.at("version");
  if (version != kStateVersion && version != kOldVersion) {
    reader.refuse(fmt::format("has the version {}, and this program knows {} and {}",
                              version.dump().substr(0, 20), kOldVersion, kStateVersion));
  }
  reader.expect_fields(version == kOldVersion ? kOldFields : kFields);
  return json;
}

Json json_of(const std::optional<EpochOrder>& order) {
  if (!order) return {};
  return {{"attempt", order->attempt}, {"dealt", order->dealt}};
}

Json division_of(const TrainingState& state) {
  return {{"step", state.division_step},
          {"epoch", state.division.epoch},
          {"visits", state.division.visits},
          {"order", json_of(state.division.order)}};
}

Json rest_of(const TrainingState& state) {
  if (!state.rest) return {};
  MYXTTS_CHECK(state.rest->epoch == state.position.epoch, "what is left is of epoch {}, not of {}",
               state.rest->epoch, state.position.epoch);
  return {{"visits", state.rest->visits}, {"order", json_of(state.rest->order)}};
}

std::optional<EpochOrder> read_order(const StateReader& from) {
  if (from.at("order").is_null()) return {};
  const StateReader order = from.object("order", 2);
  return EpochOrder{.attempt = order.count<std::int64_t>("attempt"),
                    .dealt = order.count<std::int64_t>("dealt")};
}

// The settings of batches, and how far an epoch is.
void read_division(const StateReader& from, TrainingState& state) {
  const StateReader division = from.object("division", 4);
  state.division = {.epoch = division.count<std::int64_t>("epoch"),
                    .visits = division.count<std::int64_t>("visits"),
                    .order = read_order(division)};
  state.division_step = division.count<std::int64_t>("step");
  state.rows = from.text("rows");
  if (from.at("rest").is_null()) return;
  const StateReader rest = from.object("rest", 2);
  state.rest = {.epoch = state.position.epoch,
                .visits = rest.count<std::int64_t>("visits"),
                .order = read_order(rest)};
}

// Behind the settings that may change stood those that may not.
void divide_old_settings(const StateReader& from, TrainingState& state) {
  const std::size_t end = state.batches.find(" seed=");
  if (end == std::string::npos) from.refuse("names no seed in \"batches\"");
  state.rows = state.batches.substr(end + 1);
  state.batches.resize(end);
  if (state.position.step == 0) state.rest = EpochStart{.epoch = state.position.epoch};
}

// JSON knows no infinity; a loss that is none is as good as no loss.
Json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

}  // namespace

void write_training_state(const std::filesystem::path& file, const TrainingState& state) {
  const Json json{{"version", kStateVersion},
                  {"stage", state.stage},
                  {"step", state.step},
                  {"epoch", state.position.epoch},
                  {"epoch_batches", state.position.step},
                  {"division", division_of(state)},
                  {"rest", rest_of(state)},
                  {"skipped_steps", state.skipped_steps},
                  {"bad_steps", state.bad_steps},
                  {"metrics_position", state.metrics_position},
                  {"mean_loss", state.mean_loss},
                  {"validation_loss", or_null(state.validation_loss)},
                  {"best_validation_loss", or_null(state.best_validation_loss)},
                  {"evaluations_since_best", state.evaluations_since_best},
                  {"seconds", state.seconds},
                  {"corpus", state.corpus},
                  {"rows", state.rows},
                  {"batches", state.batches}};
  MYXTTS_CHECK(std::isfinite(state.mean_loss), "the running mean of the losses is not finite");
  MYXTTS_CHECK(json.size() == kFields, "state.json has {} fields", json.size());
  write_file_atomically(file, bytes_of(json.dump(2) + "\n"));
}

TrainingState read_training_state(const std::filesystem::path& file) {
  const Json json = parse_object(file);
  const StateReader from(json, file);
  TrainingState state{.step = from.count<std::int64_t>("step"),
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
  if (json["version"] == kOldVersion) {
    divide_old_settings(from, state);
  } else {
    read_division(from, state);
  }
  return state;
}

}  // namespace myxtts
