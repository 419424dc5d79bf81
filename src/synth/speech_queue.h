// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread_group.h"
#include "synth/speech.h"
#include "synth/synthesizer.h"
#include "synth/text_pieces.h"
#include "synth/voice.h"

namespace myxtts {

// A text to be spoken while others are.
struct SpeechRequest {
  TextPieces text;
  Voices voices;
  SpeakSettings settings;         // one beam
  std::int64_t chunk_codes = 20;  // between two parts of the sound
};

// What a queue has to do now.
struct SpeechLoad {
  std::size_t places = 0;   // pieces that can be spoken at once
  std::size_t used = 0;     // places that speak
  std::size_t talks = 0;    // requests that are spoken
  std::size_t waiting = 0;  // requests that wait for a place
};

// Speaks many requests at once with one synthesizer, in a thread of its own.
//
// A request begins as soon as a place of the synthesizer's engine is free, first come, first
// served, and keeps a place until its last piece is spoken. Places that nobody waits for speak the
// next pieces of the same requests in advance. What is said depends on nothing but the request: it
// has the samples of Synthesizer::stream(), whoever is spoken beside it.
//
// say(), load() and close() may be called from any thread. The synthesizer outlives the queue and
// speaks for nobody else.
class SpeechQueue {
 public:
  SpeechQueue(Synthesizer& synthesizer, std::size_t most_waiting);
  SpeechQueue(const SpeechQueue&) = delete;
  SpeechQueue& operator=(const SpeechQueue&) = delete;
  ~SpeechQueue();  // whatever is still spoken fails

  // Null: so many wait already that this one is not taken. Throws what ended the queue, if the
  // device is gone.
  std::shared_ptr<Speech> say(SpeechRequest request);

  SpeechLoad load() const;

  // Waits until everything that was asked for is spoken; false: it was not in this time.
  bool wait_until_idle(std::chrono::milliseconds most) const;

 private:
  // A request, and how far it is.
  struct Talk {
    SpeechRequest request;
    std::shared_ptr<Speech> speech;
    std::size_t started = 0;   // pieces that have or had a place
    std::size_t sounding = 0;  // the piece whose sound is handed out
    struct Sound {
      std::vector<float> samples;
      bool is_whole = false;
      bool has_begun = false;  // to be handed out
    };
    std::map<std::size_t, Sound> kept;  // of pieces that are not handed out yet
    std::int64_t codes = 0;             // of pieces that are whole
    bool has_failed = false;

    bool is_spoken() const { return !has_failed && sounding == request.text.pieces.size(); }
    bool is_over() const { return has_failed || is_spoken() || speech->is_cancelled(); }
    bool wants_place() const { return started < request.text.pieces.size() && !is_over(); }
  };
  // A piece that is being spoken.
  struct Place {
    Talk* talk;
    std::size_t piece;
    PieceStream sound;
    std::int64_t heard = 0;
    bool has_sound = false;
  };

  void work();
  bool wait_for_work();
  void fill_places();
  Talk* next_talk();
  Talk* admit();
  void begin_piece(std::size_t place, Talk& talk);
  void hear(std::size_t place);
  void hand_out(Talk& talk, std::size_t piece, std::vector<float> samples, bool is_whole);
  bool has_place(const Talk& talk) const;
  void add_silence(Talk& talk, std::int64_t ms);
  void end_talks();
  void count_load();  // with the mutex held
  void fail(Talk& talk, std::exception_ptr failure);
  void fail_everything(const std::exception_ptr& failure);

  Synthesizer& synthesizer_;
  const std::size_t most_waiting_;

  // Of the working thread alone.
  std::list<Talk> talks_;
  std::vector<std::optional<Place>> places_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Everything below is guarded by mutex_.
  std::deque<Talk> waiting_;
  SpeechLoad load_;
  bool is_closing_ = false;
  std::exception_ptr failure_;

  ThreadGroup threads_;  // last: its thread uses everything above
};

}  // namespace myxtts
