// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/effective_config.h"

namespace myxtts {

// The result of a part of a chain.
struct FinishedPart {
  ModelPart part = ModelPart::Gpt;
  std::string budget = {};  // as --stage-budget wrote it; empty: none
  // The --max-steps and --epochs it had; nothing: a record that does not name them.
  std::optional<std::int64_t> max_steps = {};  // 0: none
  std::optional<std::int64_t> epochs = {};
  std::int64_t steps = 0;
  double seconds = 0;                          // of training, over all resumes
  std::optional<double> validation_loss = {};  // the best

  friend bool operator==(const FinishedPart&, const FinishedPart&) = default;
};

// Parts that are trained one after another in one run directory, each from the model that the one
// before left (docs/guides/from-scratch.md): its latest, or by --hand-on the one that was validated
// best. RUN/best goes with RUN/latest, where the part has one.
//
//   RUN/dvae ──latest──▶ RUN/gpt ──best──▶ RUN/decoder ──▶ RUN/latest
//
// Each part is a run of its own. RUN/chain.json names all and those that are finished; a process
// that is killed at any instant leaves that as it was, and a part that was at its end then finds
// itself there at once. One thread, and one process at a time (RunDirectory sees to that).
class PartChain {
 public:
  // Reads RUN/chain.json. A part that is finished by a smaller budget or --max-steps than it has
  // now goes on as long as no later one has begun; where one has, that is said. Throws DataError
  // when the file is damaged, or when a chain is there and `settings` do not say --resume.
  PartChain(const EffectiveConfig& settings, std::filesystem::path run);

  std::size_t size() const { return parts_.size(); }
  // The first part that is not finished; nothing: all are.
  std::optional<std::size_t> next() const;

  std::filesystem::path folder(std::size_t index) const;  // RUN/gpt
  // What the run of a part is made with.
  EffectiveConfig settings_of(std::size_t index) const;
  // "Training gpt (2 of 3)".
  std::string title(std::size_t index) const;
  // "part 2 of 3: gpt, for 8 minutes, from RUN/dvae/latest".
  std::string opening(std::size_t index) const;

  // From here on the folder is known as that of a chain, and RUN/latest is the model of its first
  // part as soon as that has one.
  void begin() const;
  // RUN/latest and RUN/best become the models of the part, where it has them.
  void show_models(std::size_t index) const;
  // The part is finished, which is recorded before this returns.
  void finish(std::size_t index, std::int64_t steps, double seconds,
              const std::optional<double>& validation_loss);

  // A line for each finished part.
  std::string summary() const;
  // Of a chain whose parts are all finished: that they are, and what trains the last one on.
  std::string how_to_go_on() const;

 private:
  std::string budget_of(ModelPart part) const;
  std::filesystem::path handed_on(std::size_t index) const;
  bool has_begun(std::size_t index) const;
  void refuse_inserted_part() const;
  const FinishedPart* finished(ModelPart part) const;
  bool is_done(std::size_t index) const;
  bool ended_by_what_it_has_now(const FinishedPart& before) const;
  void show(const char* name, std::size_t index) const;
  void write() const;

  const EffectiveConfig& settings_;
  const std::filesystem::path run_;
  const std::vector<ModelPart> parts_;
  std::vector<FinishedPart> finished_;
};

}  // namespace myxtts
