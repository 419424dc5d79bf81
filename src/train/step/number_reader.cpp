// SPDX-License-Identifier: Apache-2.0
#include "train/step/number_reader.h"

#include <algorithm>
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
  return {.memory = device_.host_memory(sizeof(UpdateReport)), .arrived = device_.make_event()};
}

void NumberReader::read(const Stream& stream, const UpdateReport* report) {
  Copy copy = unused_.empty() ? make_copy() : std::move(unused_.back());
  if (!unused_.empty()) unused_.pop_back();
  // The copy only reads; DeviceBytes knows no constant memory.
  device_.copy(stream, {.data = copy.memory.get()},
               {.data = const_cast<UpdateReport*>(report), .gpu = device_.gpu()},
               sizeof(UpdateReport));
  copy.arrived.record(stream);
  under_way_.push_back(std::move(copy));
}

StepNumbers NumberReader::use(Copy copy) {
  UpdateReport report;
  std::memcpy(&report, copy.memory.get(), sizeof report);
  unused_.push_back(std::move(copy));
  return {.step = report.step,
          .losses = {report.losses, report.losses + losses_},
          .loss = report.loss,
          .gradient_norm = report.gradient_norm,
          .skipped = report.skipped != 0,
          .loss_scale = std::max(1.0, static_cast<double>(report.loss_scale))};
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
