// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/skipped.h"

namespace myxtts {

// How often values fall into each of some steps of equal width.
struct Histogram {
  double first = 0.0;                // where the first step begins
  double width = 1.0;                // of a step: 1, 2 or 5 times a power of ten
  std::vector<std::int64_t> counts;  // none where there was no value

  double end_of(std::size_t step) const { return first + width * static_cast<double>(step + 1); }
  std::int64_t highest() const;
};

// At most `most_steps` steps of `least_width` or more with round borders, from the least value to
// the greatest. Values that are not finite are left out.
Histogram make_histogram(std::span<const double> values, std::size_t most_steps = 24,
                         double least_width = 0.1);

// What `prepare` learnt of one kept clip. The views are those of its corpus.
struct ClipFacts {
  std::string_view id = {};
  std::string_view audio = {};
  std::string_view text = {};
  std::string_view speaker = {};
  std::string_view language = {};
  std::int64_t sample_rate = 0;
  double seconds = 0.0;
  double chars_per_second = 0.0;
  double loudness_db = 0.0;  // RMS below full scale
};

struct ClipGroup {
  std::int64_t clips = 0;
  double hours = 0.0;
};

// A clip whose text is likely another clip's.
struct SuspiciousClip {
  std::string id = {};
  std::string audio = {};
  std::string text = {};
  double chars_per_second = 0.0;
  double usual = 0.0;     // the median of its language
  double distance = 0.0;  // from it, in robust standard deviations; negative: too slow
};

struct CorpusReport {
  std::string title;
  ClipGroup all;
  std::map<std::string, ClipGroup> languages;
  std::map<std::string, ClipGroup> speakers;  // "" for clips without one
  std::map<std::int64_t, ClipGroup> sample_rates;
  Histogram seconds;
  Histogram loudness;
  Histogram pace;                          // characters a second
  std::vector<SuspiciousClip> suspicious;  // the farthest out first
  std::vector<Skipped> skipped;

  // An epoch over the clips.
  std::int64_t batch_size = 0;
  std::int64_t steps_per_epoch = 0;
  std::vector<std::int64_t> token_counts = {};  // smallest first
  double useful_share = 0.0;

  // A feature cache of them.
  std::string cache_folder = {};  // empty: none was named
  std::uint64_t cache_bytes = 0;
  std::uint64_t free_bytes = 0;

  std::map<std::string, std::int64_t> skipped_by_reason() const;
};

// Everything but the epoch, the cache and the skipped.
CorpusReport make_corpus_report(std::string title, std::span<const ClipFacts> clips);

// Clips far from the pace of their language, by median and median distance of log characters a
// second, which neither fast readers nor a few wrong texts move. Languages with fewer than 20 clips
// say nothing.
std::vector<SuspiciousClip> find_suspicious(std::span<const ClipFacts> clips);

// A line of suspicious.jsonl for each: {"id", "file", "text", "chars_per_second", ...}.
std::string json_lines(const std::vector<SuspiciousClip>& clips);

std::string describe(const CorpusReport& report);  // for people, in lines
std::string to_json(const CorpusReport& report);   // one object on a line

// The report as one page that needs nothing else: pictures are inline SVG, there is no script, and
// whatever the corpus holds is shown as text. Clips that are suspicious or left out are named and
// can be played, from where they lie on this machine. Reads well from a telephone to a wide screen.
std::string to_html(const CorpusReport& report);

}  // namespace myxtts
