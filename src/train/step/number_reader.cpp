// SPDX-License-Identifier: Apache-2.0
#include "train/step/number_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

NumberReader::~NumberReader() {
  // The device may still write into the memory of these.
  if (under_way_.empty()) return;
  try {
    under_way_.back().arrived.wait();
  } catch (const std::exception& error) {
    log_warning("train", "The numbers of the last steps were lost: {}", error.what());
  }
}

NumberReader::Copy NumberReader::make_copy() const {
  return {.memory = device_.host_memory(losses_.size() * sizeof(UpdateReport)),
          .arrived = device_.make_event()};
}

void NumberReader::read(const Stream& stream, std::span<const UpdateReport* const> reports) {
  MYXTTS_CHECK(reports.size() == losses_.size(), "{} reports in place of {}", reports.size(),
               losses_.size());
  Copy copy = unused_.empty() ? make_copy() : std::move(unused_.back());
  if (!unused_.empty()) unused_.pop_back();
  auto* place = static_cast<std::byte*>(copy.memory.get());
  for (const UpdateReport* report : reports) {
    // The copy only reads; DeviceBytes knows no constant memory.
    device_.copy(stream, {.data = place},
                 {.data = const_cast<UpdateReport*>(report), .gpu = device_.gpu()},
                 sizeof(UpdateReport));
    place += sizeof(UpdateReport);
  }
  copy.arrived.record(stream);
  under_way_.push_back(std::move(copy));
}

StepNumbers NumberReader::use(Copy copy) {
  const auto* place = static_cast<const std::byte*>(copy.memory.get());
  StepNumbers numbers;
  for (const std::int64_t losses : losses_) {
    UpdateReport report;
    std::memcpy(&report, place, sizeof report);
    place += sizeof report;
    numbers.step = report.step;
    numbers.losses.insert(numbers.losses.end(), report.losses, report.losses + losses);
    numbers.loss += report.loss;
    numbers.gradient_norm = std::hypot(numbers.gradient_norm, report.gradient_norm);
    numbers.skipped = numbers.skipped || report.skipped != 0;
    numbers.loss_scale = std::max(numbers.loss_scale, static_cast<double>(report.loss_scale));
  }
  unused_.push_back(std::move(copy));
  return numbers;
}

std::vector<StepNumbers> NumberReader::take() {
  std::vector<StepNumbers> numbers;
  while (!under_way_.empty() && under_way_.front().arrived.completed()) {
    numbers.push_back(use(std::move(under_way_.front())));
    under_way_.pop_front();
  }
  return numbers;
}

std::vector<StepNumbers> NumberReader::finish() {
  if (!under_way_.empty()) under_way_.back().arrived.wait();
  return take();
}

}  // namespace myxtts
