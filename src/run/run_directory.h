// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace myxtts {

// The folder of one training run (docs/reference/run-directory.md), held by one process at a time.
//
//   RUN/config.yaml  plan.json  log.txt  metrics.jsonl  skipped.jsonl  events.out.tfevents.*
//   RUN/checkpoints/step-NNNNNNN/   RUN/latest   RUN/lock
//
// The lock goes with the process, however that ends.
class RunDirectory {
 public:
  // Makes the folder where it is missing, and takes the lock. Throws DataError when it cannot be
  // written to, or when another process holds it (with that process' number).
  explicit RunDirectory(std::filesystem::path folder);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

  // Whether a run was here before: it has checkpoints.
  bool has_checkpoints() const;

 private:
  std::filesystem::path folder_;
  int lock_ = -1;
};

// The same of a folder that need not be there.
bool holds_checkpoints(const std::filesystem::path& run);

}  // namespace myxtts
