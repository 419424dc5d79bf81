// SPDX-License-Identifier: Apache-2.0
#include "synth/speech_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace myxtts {

SpeechQueue::SpeechQueue(Synthesizer& synthesizer, std::size_t most_waiting)
    : synthesizer_(synthesizer),
      most_waiting_(most_waiting),
      places_(as_index(synthesizer.rows())) {
  load_.places = places_.size();
  threads_.start("speech", [this] { work(); });
}

SpeechQueue::~SpeechQueue() {
  const std::lock_guard lock(mutex_);
  is_closing_ = true;
  changed_.notify_all();
}

std::shared_ptr<Speech> SpeechQueue::say(SpeechRequest request) {
  MYXTTS_CHECK(request.settings.sampling.beams == 1, "a request for {} beams",
               request.settings.sampling.beams);
  const auto speech = std::make_shared<Speech>();
  if (request.text.pieces.empty()) {
    speech->finish(0);
    return speech;
  }
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  if (waiting_.size() >= most_waiting_ + load_.places - load_.used) return nullptr;
  waiting_.push_back({.request = std::move(request), .speech = speech, .kept = {}});
  changed_.notify_all();
  return speech;
}

SpeechLoad SpeechQueue::load() const {
  const std::lock_guard lock(mutex_);
  SpeechLoad load = load_;
  load.waiting = waiting_.size();
  return load;
}

bool SpeechQueue::wait_until_idle(std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return waiting_.empty() && load_.talks == 0; });
}

void SpeechQueue::work() {
  try {
    while (wait_for_work()) {
      fill_places();
      synthesizer_.engine().advance();
      for (std::size_t place = 0; place < places_.size(); ++place) {
        if (places_[place]) hear(place);
      }
      end_talks();
    }
    fail_everything(std::make_exception_ptr(DeviceError("The server is ending.")));
  } catch (...) {  // the device is lost: nothing can be said any more, and every request hears why
    fail_everything(std::current_exception());
  }
}

// False: the queue is closing.
bool SpeechQueue::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (talks_.empty()) {
    changed_.notify_all();  // for wait_until_idle()
    changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
  }
  return !is_closing_;
}

// Who waits comes first, then the next pieces of what is spoken already.
void SpeechQueue::fill_places() {
  for (std::size_t place = 0; place < places_.size(); ++place) {
    if (places_[place]) continue;
    Talk* talk = next_talk();
    if (talk == nullptr) return;
    begin_piece(place, *talk);
  }
}

SpeechQueue::Talk* SpeechQueue::next_talk() {
  // One without a place must not wait for those who come after it.
  for (Talk& talk : talks_) {
    if (talk.wants_place() && !has_place(talk)) return &talk;
  }
  if (Talk* talk = admit()) return talk;
  const auto found = std::ranges::find_if(talks_, &Talk::wants_place);
  return found == talks_.end() ? nullptr : &*found;
}

// The first of those who wait and still want to hear it; null: there is none.
SpeechQueue::Talk* SpeechQueue::admit() {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && waiting_.front().is_over()) waiting_.pop_front();
  if (waiting_.empty()) return nullptr;
  talks_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  load_.talks = talks_.size();
  return &talks_.back();
}

void SpeechQueue::begin_piece(std::size_t place, Talk& talk) {
  const SpeechRequest& request = talk.request;
  const std::size_t number = talk.started++;
  const TextPiece& piece = request.text.pieces[number];
  try {
    synthesizer_.engine().start(place,
                                {request.voices.of(piece.voice).latents, piece.ids, piece.number},
                                request.settings.sampling);
    places_[place].emplace(
        Place{&talk, number, synthesizer_.sound_of(piece, request.voices, request.settings.speed)});
  } catch (const DataError&) {  // of this request alone, which hears it
    fail(talk, std::current_exception());
  }
}

// Hands out the sound of a place's new codes, and frees the place at the piece's end.
void SpeechQueue::hear(std::size_t number) {
  Place& place = *places_[number];
  Talk& talk = *place.talk;
  DecodeEngine& engine = synthesizer_.engine();
  const auto take = [&](const RowSoFar& row) {
    auto samples = place.sound.add(row);
    const bool starts = !std::exchange(place.has_sound, place.has_sound || !samples.empty());
    fade_seams(samples, place.piece, talk.request.text.pieces.size(), synthesizer_.sample_rate(),
               {.starts = starts, .ends = row.ended});
    if (row.ended) talk.codes += static_cast<std::int64_t>(row.codes.size());
    hand_out(talk, place.piece, std::move(samples), row.ended);
    return true;
  };
  if (!talk.is_over()) {
    report_codes(engine, number, {.every = talk.request.chunk_codes, .hear = take}, place.heard);
    if (!engine.progress(number).finished) return;
  }
  engine.stop(number);
  places_[number].reset();
}

// In the order of the pieces.
void SpeechQueue::hand_out(Talk& talk, std::size_t piece, std::vector<float> samples,
                           bool is_whole) {
  auto& kept = talk.kept[piece];
  kept.samples.insert(kept.samples.end(), samples.begin(), samples.end());
  kept.is_whole = is_whole;
  const TextPieces& text = talk.request.text;
  while (talk.kept.contains(talk.sounding)) {
    auto& sound = talk.kept[talk.sounding];
    if (!std::exchange(sound.has_begun, true)) {
      add_silence(talk, text.pieces[talk.sounding].pause_ms);
    }
    talk.speech->add(sound.samples);
    sound.samples.clear();
    if (!sound.is_whole) return;
    talk.kept.erase(talk.sounding++);
    if (talk.sounding == text.pieces.size()) add_silence(talk, text.pause_ms);
  }
}

void SpeechQueue::add_silence(Talk& talk, std::int64_t ms) {
  if (ms == 0) return;
  talk.speech->add(std::vector<float>(as_index(synthesizer_.sample_rate() * ms / 1000)));
}

// Whoever hears the end of a speech finds its place free.
void SpeechQueue::end_talks() {
  std::list<Talk> ended;
  for (auto talk = talks_.begin(); talk != talks_.end();) {
    const auto here = talk++;
    if (here->is_over() && !has_place(*here)) ended.splice(ended.end(), talks_, here);
  }
  {
    const std::lock_guard lock(mutex_);
    count_load();
  }
  for (const Talk& talk : ended) {
    if (talk.is_spoken()) talk.speech->finish(talk.codes);
  }
}

bool SpeechQueue::has_place(const Talk& talk) const {
  return std::ranges::any_of(places_, [&](const auto& p) { return p && p->talk == &talk; });
}

void SpeechQueue::count_load() {
  load_.talks = talks_.size();
  load_.used =
      as_index(std::ranges::count_if(places_, [](const auto& p) { return p.has_value(); }));
}

void SpeechQueue::fail(Talk& talk, std::exception_ptr failure) {
  talk.has_failed = true;
  talk.speech->fail(std::move(failure));
}

void SpeechQueue::fail_everything(const std::exception_ptr& failure) {
  for (Talk& talk : talks_) fail(talk, failure);
  for (auto& place : places_) place.reset();
  talks_.clear();
  const std::lock_guard lock(mutex_);
  for (Talk& talk : waiting_) fail(talk, failure);
  waiting_.clear();
  load_.talks = 0;
  load_.used = 0;
  failure_ = failure;
  changed_.notify_all();
}

}  // namespace myxtts
