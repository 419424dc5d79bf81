// SPDX-License-Identifier: Apache-2.0
#include "pipeline/collator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/trace.h"
#include "pipeline/clip_loader.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

StepTargets::StepTargets(const BatchSource& source, const PipelineOptions& options)
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
  if (known_ && known_->first == first) return known_->second;
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

namespace {

constexpr std::int64_t kStopTargets = 4;  // of each row, as pack_rows makes them

// Hands out the front of what is left of a block as an array.
template <typename T>
std::span<T> take(std::span<std::byte>& rest, std::size_t count) {
  const std::size_t size = aligned(count * sizeof(T));
  MYXTTS_CHECK(size <= rest.size(), "a batch does not fit into its block: {} of {} bytes are left",
               rest.size(), size);
  T* const first = reinterpret_cast<T*>(rest.data());
  rest = rest.subspan(size);
  return {first, count};
}

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
    clips[row].prompt_row = source.swaps_prompts() ? other_of_speaker(clips, speakers, row) : row;
  }
}

// Behind the latents, [START], the text and the start of the codes.
std::int64_t first_code_token(const GptConfig& gpt, const LoadedBatch& loaded,
                              const LaidOutBatch& out, std::size_t row) {
  return out.rows.segment_ends[row] + gpt.perceiver_latents + 1 +
         static_cast<std::int64_t>(loaded.clips[row].text.size()) + 1;
}

void add_noise(const BatchSource& source, const GptConfig& gpt, const LoadedBatch& loaded,
               LaidOutBatch& out) {
  for (std::size_t row = 0; row < loaded.clips.size(); ++row) {
    const LoadedClip& clip = loaded.clips[row];
    const std::int64_t token = first_code_token(gpt, loaded, out, row);
    for (const auto& [place, code] :
         source.noise(out.position.epoch, source.clip(clip.number), clip.repeat,
                      out.host_clips[row].codes, gpt.start_audio)) {
      out.noise_tokens.push_back(token + place);
      out.noise_ids.push_back(gpt.text_ids + code);
    }
  }
}

// Where the codes of the rows that the DVAE has to complete stand.
void find_unknown_codes(const GptConfig& gpt, const LoadedBatch& loaded, LaidOutBatch& out) {
  std::int64_t target = 0;  // the first one of the row among the audio targets
  for (std::size_t row = 0; row < out.host_clips.size(); ++row) {
    HostClip& clip = out.host_clips[row];
    const std::int64_t token = first_code_token(gpt, loaded, out, row);
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

void lay_out_windows(const BatchSource& source, const WindowPlan& plan, const LoadedBatch& loaded,
                     LaidOutBatch& out) {
  if (plan.empty()) return;
  const auto count = static_cast<std::size_t>(plan.count());
  out.windows.weights.resize(count);
  out.windows.clips.resize(count);
  out.windows.starts.resize(count);
  out.windows.speakers.resize(count);
  MYXTTS_CHECK(std::ssize(loaded.clips) <= plan.slots, "{} clips in {} slots", loaded.clips.size(),
               plan.slots);
  std::size_t place = 0;
  for (std::size_t row = 0; row < loaded.clips.size(); ++row) {
    const ClipView view = source.clip(loaded.clips[row].number);
    const std::int64_t speaker = source.speaker(view);
    const std::int64_t last = std::max<std::int64_t>(
        units_of(plan, view.samples, out.host_clips[row].codes) - plan.length, 0);
    const VisitDraw draw{
        .epoch = out.position.epoch, .clip_id = view.id, .repeat = loaded.clips[row].repeat};
    for (std::int64_t window = 0; window < plan.per_clip; ++window, ++place) {
      out.windows.weights[place] = 1.0F;
      out.windows.clips[place] = static_cast<std::int64_t>(row);
      out.windows.starts[place] = source.window(draw, window, plan.per_clip, last);
      out.windows.speakers[place] = speaker;
    }
  }
}

}  // namespace

std::size_t LaidOutBatch::block_bytes() const {
  std::size_t bytes = aligned(static_cast<std::size_t>(sample_count) * sizeof(std::int16_t));
  for_each_host_array(
      [&bytes](const auto& values) { bytes += aligned(values.size() * sizeof(values[0])); }, *this);
  return bytes;
}

LaidOutBatch lay_out(const BatchSource& source, const PipelineOptions& options,
                     const LoadedBatch& loaded) {
  LaidOutBatch out;
  out.number = loaded.number;
  out.position = loaded.planned.position;
  std::vector<std::vector<std::int64_t>> codes;
  std::vector<GptClip> clips;
  std::int64_t samples = 0;  // of the clips at 22,050 Hz
  for (const LoadedClip& clip : loaded.clips) {
    HostClip host = host_clip(source, options.gpt, out.position.epoch, clip);
    host.first_sample = out.sample_count + host.shift;
    out.sample_count += host.source_samples + host.shift;
    samples += host.samples;
    codes.push_back(known_codes(clip, host.codes));
    clips.push_back({.text = clip.text, .codes = codes.back(), .prompt = host.prompt});
    out.clips.push_back(clip.number);
    out.host_clips.push_back(host);
  }
  out.audio_seconds = static_cast<double>(samples) / static_cast<double>(kModelRate);
  choose_prompts(source, out.host_clips);
  out.rows = pack_rows(options.gpt, clips, options.mask, loaded.planned.sizes);
  find_unknown_codes(options.gpt, loaded, out);
  add_noise(source, options.gpt, loaded, out);
  lay_out_windows(source, options.windows, loaded, out);
  return out;
}

HostBatch write_into(StagingPool::Block block, LaidOutBatch laid_out, const LoadedBatch& loaded) {
  std::span<std::byte> rest = block.bytes();
  HostBatch batch;
  const auto samples = take<std::int16_t>(rest, static_cast<std::size_t>(laid_out.sample_count));
  for (std::size_t row = 0; row < loaded.clips.size(); ++row) {
    write_sound(loaded.clips[row], laid_out.host_clips[row], samples);
  }
  const auto write = [&rest]<typename T>(const std::vector<T>& values, SpanOf<T>& array) {
    const std::span<T> place = take<T>(rest, values.size());
    std::ranges::copy(values, place.begin());
    array = place;
  };
  for_each_host_array(write, laid_out, batch);
  batch.samples = samples;
  copy_row_info(laid_out.rows, batch.rows);
  batch.host_clips = std::move(laid_out.host_clips);
  static_cast<BatchInfo&>(batch) = std::move(laid_out);
  batch.block.emplace(std::move(block));
  return batch;
}

Collator::Collator(const BatchSource& source, const PipelineOptions& options,
                   BoundedQueue<LoadedBatch>& input, StagingPool& blocks)
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
    std::optional<LoadedBatch> loaded;
    {
      const auto waiting = meter_.waiting_for_input();
      loaded = input_.pop();
    }
    if (!loaded) return;
    LaidOutBatch laid_out = lay_out(source_, options_, *loaded);
    address(laid_out);
    set_step(laid_out);
    std::optional<StagingPool::Block> block;
    {
      const auto waiting = meter_.waiting_for_output();
      block = blocks_.claim(laid_out.block_bytes());
    }
    if (!block) return;
    const TraceScope trace("collate", loaded->number);
    HostBatch batch = write_into(std::move(*block), std::move(laid_out), *loaded);
    loaded.reset();  // its samples are not needed twice while the output is full
    const auto waiting = meter_.waiting_for_output();
    if (!output.push(std::move(batch))) return;
  }
}

// See Note [Batches of several trainers].
void Collator::address(BatchInfo& batch) const {
  const auto trainers = static_cast<std::int64_t>(options_.trainers.size());
  batch.trainer = static_cast<std::size_t>(batch.number % trainers);
  batch.number /= trainers;
}

// See Note [Steps of several batches].
void Collator::set_step(LaidOutBatch& batch) {
  batch.ends_step = steps_.ends_step(batch.position);
  if (steps_.are_single_batches()) return;
  set_counts(batch.rows, steps_.planned(batch.position));
}

}  // namespace myxtts
