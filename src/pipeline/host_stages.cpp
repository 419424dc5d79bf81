// SPDX-License-Identifier: Apache-2.0
#include "pipeline/host_stages.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

// How far the reader is ahead of the clip loaders: enough for a disk to be asked early.
constexpr std::size_t kClipsAhead = 64;

}  // namespace

HostStages::HostStages(BatchSource& source, const PipelineOptions& options)
    : options_(options),
      window_(options.buffer_batches, options.buffer_bytes),
      jobs_(kClipsAhead),
      settled_(1),
      blocks_(options.staging_blocks(), options.allocate),
      staged_(1),
      reader_(source, window_, jobs_, static_cast<std::int64_t>(options.trainers.size())),
      loader_(source, jobs_, window_, options),
      batcher_(source, window_, settled_, [this] { after_batch(); }),
      collator_(source, options, settled_, blocks_),
      autotune_(options) {}

HostStages::~HostStages() {
  close();
  join();
}

void HostStages::start(DataPosition position) {
  threads_.start("reader", [this, position] { reader_.run(position, options_.end); });
  for (std::size_t worker = 0; worker < options_.most_workers; ++worker) {
    threads_.start(fmt::format("decoder {}", worker), [this, worker] { loader_.run(worker); });
  }
  threads_.start("batcher", [this] { batcher_.run(); });
  threads_.start("collator", [this] { collator_.run(staged_); });
}

void HostStages::close() {
  staged_.stop();
  blocks_.stop();
  settled_.stop();
  window_.stop();
  jobs_.stop();
  loader_.stop();
}

void HostStages::join() {
  threads_.join();
}

PipelineReading HostStages::read() const {
  PipelineReading reading;
  reading.stages = {{.name = "reader", .load = reader_.load(), .clips = reader_.clips()},
                    {.name = "decoder",
                     .workers = loader_.workers(),
                     .load = loader_.load(),
                     .clips = loader_.clips(),
                     .cpu_seconds = loader_.cpu_seconds()},
                    {.name = "batcher", .load = batcher_.load()},
                    {.name = "collator", .load = collator_.load()}};
  reading.queues = {
      {.name = "clips", .capacity = jobs_.capacity(), .depth = jobs_.depth()},
      {.name = "buffer", .capacity = window_.most_batches(), .depth = window_.depth()},
      {.name = "settled", .capacity = settled_.capacity(), .depth = settled_.depth()},
      {.name = "staged", .capacity = staged_.capacity(), .depth = staged_.depth()}};
  reading.batches = batches_;
  reading.decoded_bytes = window_.bytes();
  reading.decoded_bytes_limit = window_.most_bytes();
  reading.staging_bytes = blocks_.bytes();
  return reading;
}

void HostStages::after_batch() {
  ++batches_;
  const auto now = system_clock().now();
  if (!autotune_.is_due(batches_, now)) return;
  const PipelineReading reading = read();
  trace_reading(reading);
  log_if_bytes_are_the_limit();
  if (const auto decision = autotune_.update(reading, now)) apply(*decision);
}

void HostStages::apply(const TuneDecision& decision) {
  log_info("pipeline", "autotune: {}", decision.reason);
  if (decision.workers) loader_.set_workers(*decision.workers);
  if (decision.buffer) window_.set_batches(*decision.buffer);
}

void HostStages::log_if_bytes_are_the_limit() {
  if (bytes_were_logged_ || window_.waits_for_bytes() == 0) return;
  bytes_were_logged_ = true;
  log_info("pipeline",
           "the buffer holds fewer than --buffer-size {} batches: they would need more than the {} "
           "of memory that decoded clips may take",
           window_.most_batches(), human_size(window_.most_bytes()));
}

}  // namespace myxtts
