// SPDX-License-Identifier: Apache-2.0
#include "pipeline/collator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/trace.h"
#include "pipeline/clip_loader.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

StepTargets::StepTargets(const BatchSource& source, const RowOptions& options)
    : source_(source), options_(options) {
  MYXTTS_CHECK(options.batches_a_step >= 1, "a step of {} batches is none", options.batches_a_step);
}

bool StepTargets::ends_step(DataPosition position) const {
  return (position.step + 1) % options_.batches_a_step == 0 ||
         source_.next(position).epoch != position.epoch;
}

DataPosition StepTargets::first_of_step(DataPosition position) const {
  return {position.epoch, position.step - position.step % options_.batches_a_step};
}

TargetCounts StepTargets::planned(DataPosition position) {
  const DataPosition first = first_of_step(position);
  if (known_ && known_->first == first) return known_->counts;
  TargetCounts sum;
  for (DataPosition at = first;; at = source_.next(at)) {
    for (const PlannedBatch& batch : source_.batches_of_ranks(at)) {
      const TargetCounts own = of_batch(batch);
      sum.text += own.text;
      sum.audio += own.audio;
    }
    if (ends_step(at)) break;
  }
  known_ = {first, sum};
  return sum;
}

TargetCounts StepTargets::of_batch(const PlannedBatch& planned) const {
  TargetCounts sum;
  for (std::size_t i = 0; i < planned.clips.size(); ++i) {
    const ClipView clip = source_.clip(planned.clips[i]);
    const std::uint32_t repeat = planned.repeats.empty() ? 0 : planned.repeats[i];
    const TargetCounts own =
        count_targets(options_.gpt,
                      {.text_tokens = clip.text_tokens,
                       .codes = codes_of(clip.samples, options_.gpt.code_stride),
                       .prompt = source_.prompt(planned.position.epoch, clip, repeat),
                       .is_last = i + 1 == planned.clips.size()},
                      options_.mask);
    sum.text += own.text;
    sum.audio += own.audio;
  }
  return sum;
}

WindowArrays lay_out_windows(const BatchSource& source, const WindowPlan& plan,
                             const SettledBatch& settled, std::span<const HostClip> clips) {
  if (plan.empty()) return {};
  const auto count = static_cast<std::size_t>(plan.count());
  WindowArrays out{.weights = std::vector<float>(count),
                   .clips = std::vector<std::int64_t>(count),
                   .starts = std::vector<std::int64_t>(count),
                   .speakers = std::vector<std::int64_t>(count)};
  MYXTTS_CHECK(static_cast<std::int64_t>(clips.size()) <= plan.slots, "{} clips in {} slots",
               clips.size(), plan.slots);
  std::size_t place = 0;
  for (std::size_t row = 0; row < clips.size(); ++row) {
    const ClipView view = source.clip(clips[row].number);
    const std::int64_t speaker = source.speaker(view);
    const bool counts = plan.stage != Stage::Speaker || speaker >= 0;
    const std::int64_t last =
        std::max<std::int64_t>(units_of(plan, view.samples, clips[row].codes) - plan.length, 0);
    for (std::int64_t window = 0; window < plan.per_clip; ++window, ++place) {
      const WindowDraw draw{.epoch = settled.planned.position.epoch,
                            .clip_id = view.id,
                            .repeat = settled.clips[row].repeat,
                            .window = window};
      out.weights[place] = counts ? 1.0F : 0.0F;
      out.clips[place] = static_cast<std::int64_t>(row);
      out.starts[place] = source.window(draw, plan.per_clip, last);
      out.speakers[place] = std::max<std::int64_t>(speaker, 0);
    }
  }
  return out;
}

namespace {

constexpr std::size_t kArrays = 15;
constexpr std::int64_t kStopTargets = 4;  // of each row, as pack_rows makes them

// Hands out the bytes of a block, one array after another.
class BlockWriter {
 public:
  explicit BlockWriter(std::span<std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  std::span<T> take(std::size_t count) {
    const std::size_t size = aligned(count * sizeof(T));
    MYXTTS_CHECK(used_ + size <= bytes_.size(), "a batch does not fit into its block of {} bytes",
                 bytes_.size());
    T* const first = reinterpret_cast<T*>(bytes_.data() + used_);
    used_ += size;
    return {first, count};
  }

  template <typename T>
  std::span<const T> write(const std::vector<T>& values) {
    const std::span<T> array = take<T>(values.size());
    std::ranges::copy(values, array.begin());
    return array;
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t used_ = 0;
};

// What pack_rows is given of a clip: codes that are not known are zeros.
std::vector<std::int64_t> known_codes(const LoadedClip& clip, std::int64_t count) {
  std::vector<std::int64_t> codes(static_cast<std::size_t>(count), 0);
  if (const auto* cached = std::get_if<CachedClip>(&clip.sound)) {
    std::ranges::copy(cached->codes, codes.begin());
  }
  return codes;
}

std::int64_t shift_of(const BatchSource& source, std::int64_t epoch, const ClipView& view,
                      const LoadedClip& clip) {
  const std::int64_t wanted =
      source.shift(epoch, view, clip.repeat) * view.source_rate / kModelRate;
  return std::min(wanted, static_cast<std::int64_t>(clip.samples().size()));
}

HostClip host_clip(const BatchSource& source, const GptConfig& gpt, std::int64_t epoch,
                   const LoadedClip& clip) {
  const ClipView view = source.clip(clip.number);
  const PromptSpan prompt = source.prompt(epoch, view, clip.repeat);
  const bool cached = clip.is_cached();
  return {.number = clip.number,
          .identity = view.identity,
          .samples = view.samples,
          .prompt = prompt,
          .source_samples = cached ? prompt.last - prompt.first
                                   : static_cast<std::int64_t>(clip.samples().size()),
          .source_rate = cached ? kModelRate : view.source_rate,
          .shift = cached ? 0 : shift_of(source, epoch, view, clip),
          .codes = codes_of(view.samples, gpt.code_stride),
          .codes_known = cached};
}

// The part of a clip's sound that its batch takes along.
std::span<const std::int16_t> wanted_sound(const LoadedClip& clip, const HostClip& host) {
  const std::int64_t first = host.codes_known ? host.prompt.first : 0;
  return clip.samples().subspan(static_cast<std::size_t>(first),
                                static_cast<std::size_t>(host.source_samples));
}

void write_sound(const LoadedClip& clip, const HostClip& host, std::span<std::int16_t> samples) {
  const auto own = samples.subspan(static_cast<std::size_t>(host.first_sample - host.shift),
                                   static_cast<std::size_t>(host.source_samples + host.shift));
  const auto behind = std::ranges::copy(wanted_sound(clip, host), own.begin()).out;
  std::fill(behind, own.end(), std::int16_t{0});
}

std::vector<float> divisors(const HostBatch& batch) {
  return {static_cast<float>(std::max<std::int64_t>(batch.text_count, 1)),
          static_cast<float>(std::max<std::int64_t>(batch.audio_count, 1))};
}

// The next row, round the batch, of another clip of the same speaker; where there is none, itself.
std::size_t other_of_speaker(std::span<const HostClip> clips,
                             std::span<const std::int64_t> speakers, std::size_t row) {
  for (std::size_t step = 1; step < clips.size(); ++step) {
    const std::size_t other = (row + step) % clips.size();
    if (speakers[other] == speakers[row] && clips[other].number != clips[row].number) return other;
  }
  return row;
}

void choose_prompts(const BatchSource& source, std::vector<HostClip>& clips) {
  std::vector<std::int64_t> speakers;
  for (const HostClip& clip : clips) speakers.push_back(source.speaker(source.clip(clip.number)));
  for (std::size_t row = 0; row < clips.size(); ++row) {
    clips[row].hears = source.swaps_prompts() ? other_of_speaker(clips, speakers, row) : row;
  }
}

// Behind the latents, [START], the text and the start of the codes.
std::int64_t first_code_token(const GptConfig& gpt, const SettledBatch& settled,
                              const LaidOutBatch& out, std::size_t row) {
  return out.rows.segment_ends[row] + gpt.perceiver_latents + 1 +
         static_cast<std::int64_t>(settled.clips[row].text.size()) + 1;
}

void add_noise(const BatchSource& source, const GptConfig& gpt, const SettledBatch& settled,
               LaidOutBatch& out) {
  const std::int64_t epoch = settled.planned.position.epoch;
  for (std::size_t row = 0; row < settled.clips.size(); ++row) {
    const LoadedClip& clip = settled.clips[row];
    const std::int64_t token = first_code_token(gpt, settled, out, row);
    for (const ReplacedCode& each : source.noise(epoch, source.clip(clip.number), clip.repeat,
                                                 out.batch.clips[row].codes, gpt.start_audio)) {
      out.noise_tokens.push_back(token + each.place);
      out.noise_ids.push_back(gpt.text_ids + each.code);
    }
  }
}

// Where the codes of the rows that the DVAE has to complete stand.
void find_unknown_codes(const GptConfig& gpt, const SettledBatch& settled, LaidOutBatch& out) {
  std::int64_t target = 0;  // the first one of the row among the audio targets
  for (std::size_t row = 0; row < out.batch.clips.size(); ++row) {
    HostClip& clip = out.batch.clips[row];
    const std::int64_t token = first_code_token(gpt, settled, out, row);
    if (!clip.codes_known) {
      clip.first_code = static_cast<std::int64_t>(out.code_tokens.size());
      for (std::int64_t code = 0; code < clip.codes; ++code) {
        out.code_tokens.push_back(token + code);
        if (out.rows.audio_targets[static_cast<std::size_t>(target + code)] < 0) continue;
        out.code_targets.push_back(target + code);
        out.code_target_codes.push_back(clip.first_code + code);
      }
    }
    target += clip.codes + kStopTargets;
  }
}

}  // namespace

std::size_t LaidOutBatch::block_bytes() const {
  const auto size = [](const auto& values) { return aligned(values.size() * sizeof(values[0])); };
  std::size_t bytes = aligned(static_cast<std::size_t>(samples) * sizeof(std::int16_t));
  bytes += size(rows.segment_ends) + size(rows.tokens) + size(rows.positions);
  bytes += size(rows.target_rows) + size(rows.text_targets) + size(rows.text_clips);
  bytes += size(rows.audio_targets) + size(rows.audio_clips);
  bytes += aligned(2 * sizeof(float));  // the counts
  bytes += size(code_tokens) + size(code_targets) + size(code_target_codes);
  bytes += size(noise_tokens) + size(noise_ids);
  bytes += size(windows.weights) + size(windows.clips);
  bytes += size(windows.starts) + size(windows.speakers);
  return bytes;
}

LaidOutBatch lay_out(const BatchSource& source, const GptConfig& gpt, PromptMask mask,
                     const SettledBatch& settled, const WindowPlan& windows) {
  LaidOutBatch out;
  out.batch.number = settled.number;
  out.batch.position = settled.planned.position;
  std::vector<std::vector<std::int64_t>> codes;
  std::vector<GptClip> clips;
  for (const LoadedClip& clip : settled.clips) {
    HostClip host = host_clip(source, gpt, settled.planned.position.epoch, clip);
    host.first_sample = out.samples + host.shift;
    out.samples += host.source_samples + host.shift;
    codes.push_back(known_codes(clip, host.codes));
    clips.push_back({.text = clip.text, .codes = codes.back(), .prompt = host.prompt});
    out.batch.clips.push_back(host);
  }
  choose_prompts(source, out.batch.clips);
  out.rows = pack_rows(gpt, clips, mask, settled.planned.sizes);
  out.batch.longest = out.rows.longest;
  out.batch.lengths = out.rows.lengths;
  out.batch.text_count = out.rows.text_count;
  out.batch.audio_count = out.rows.audio_count;
  find_unknown_codes(gpt, settled, out);
  add_noise(source, gpt, settled, out);
  out.windows = lay_out_windows(source, windows, settled, out.batch.clips);
  return out;
}

HostBatch write_into(StagingPool::Block block, LaidOutBatch laid_out, const SettledBatch& settled) {
  BlockWriter writer(block.bytes());
  HostBatch batch = std::move(laid_out.batch);
  const std::span<std::int16_t> samples =
      writer.take<std::int16_t>(static_cast<std::size_t>(laid_out.samples));
  for (std::size_t row = 0; row < settled.clips.size(); ++row) {
    write_sound(settled.clips[row], batch.clips[row], samples);
  }
  batch.samples = samples;
  batch.segment_ends = writer.write(laid_out.rows.segment_ends);
  batch.tokens = writer.write(laid_out.rows.tokens);
  batch.positions = writer.write(laid_out.rows.positions);
  batch.target_rows = writer.write(laid_out.rows.target_rows);
  batch.text_targets = writer.write(laid_out.rows.text_targets);
  batch.text_clips = writer.write(laid_out.rows.text_clips);
  batch.audio_targets = writer.write(laid_out.rows.audio_targets);
  batch.audio_clips = writer.write(laid_out.rows.audio_clips);
  batch.counts = writer.write(divisors(batch));
  batch.code_tokens = writer.write(laid_out.code_tokens);
  batch.code_targets = writer.write(laid_out.code_targets);
  batch.code_target_codes = writer.write(laid_out.code_target_codes);
  batch.noise_tokens = writer.write(laid_out.noise_tokens);
  batch.noise_ids = writer.write(laid_out.noise_ids);
  batch.window_weights = writer.write(laid_out.windows.weights);
  batch.window_clips = writer.write(laid_out.windows.clips);
  batch.window_starts = writer.write(laid_out.windows.starts);
  batch.window_speakers = writer.write(laid_out.windows.speakers);
  batch.block.emplace(std::move(block));
  return batch;
}

std::size_t most_block_bytes(const GptConfig& gpt, const RowSizes& sizes, std::int64_t most_rate) {
  if (sizes.tokens == 0 || sizes.audio_targets == 0) return 0;
  const auto samples =
      sizes.audio_targets * gpt.code_stride * std::max(most_rate, kModelRate) / kModelRate;
  const auto integers = 2 * sizes.tokens + 3 * sizes.text_targets + 8 * sizes.audio_targets;
  return static_cast<std::size_t>(samples) * sizeof(std::int16_t) +
         static_cast<std::size_t>(integers + sizes.tokens) * sizeof(std::int64_t) +
         kArrays * kAlignment;
}

Collator::Collator(const BatchSource& source, const RowOptions& options,
                   BoundedQueue<SettledBatch>& input, StagingPool& blocks)
    : source_(source), options_(options), steps_(source, options), input_(input), blocks_(blocks) {}

void Collator::run(BoundedQueue<HostBatch>& output) {
  try {
    work(output);
    output.finish();
  } catch (...) {
    output.fail(std::current_exception());
  }
  input_.stop();  // after the last batch this changes nothing
}

void Collator::work(BoundedQueue<HostBatch>& output) {
  const auto busy = meter_.busy();
  while (true) {
    std::optional<SettledBatch> settled;
    {
      const auto waiting = meter_.waiting_for_input();
      settled = input_.pop();
    }
    if (!settled) return;
    LaidOutBatch laid_out =
        lay_out(source_, options_.gpt, options_.mask, *settled, options_.windows);
    address(laid_out.batch);
    set_step(laid_out.batch);
    std::optional<StagingPool::Block> block;
    {
      const auto waiting = meter_.waiting_for_output();
      block = blocks_.claim(laid_out.block_bytes());
    }
    if (!block) return;
    const TraceScope trace("collate", settled->number);
    HostBatch batch = write_into(std::move(*block), std::move(laid_out), *settled);
    settled.reset();  // its samples are not needed twice while the output is full
    const auto waiting = meter_.waiting_for_output();
    if (!output.push(std::move(batch))) return;
  }
}

// See Note [Batches of several trainers].
void Collator::address(HostBatch& batch) const {
  batch.trainer = static_cast<std::size_t>(batch.number % options_.trainers);
  batch.number /= options_.trainers;
}

// See Note [Steps of several batches].
void Collator::set_step(HostBatch& batch) {
  batch.ends_step = steps_.ends_step(batch.position);
  if (steps_.are_single_batches()) return;
  const TargetCounts counts = steps_.planned(batch.position);
  batch.text_count = counts.text;
  batch.audio_count = counts.audio;
}

}  // namespace myxtts
