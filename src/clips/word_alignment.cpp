// SPDX-License-Identifier: Apache-2.0
// The part of spoken_words.h that finds the words of one sequence in another.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "clips/spoken_words.h"

namespace myxtts {
namespace {

using Words = std::span<const std::int32_t>;

constexpr std::size_t kLongestRun = 4;   // words of an anchor
constexpr std::size_t kShortestRun = 3;  // where the passage can be compared without
constexpr std::size_t kTableAtOnce =
    250'000;  // cells that are compared without looking for anchors
constexpr std::size_t kLargestTable = 4'000'000;  // cells that are compared at all
constexpr std::size_t kMostParts = 8;             // words that one may be written as
// What a letter that is the same is worth, and what it costs to change one, to begin to leave words
// out, and for each letter left out. Up to some three words that differ are taken for words heard
// wrongly, more for words that one side lacks. Whole numbers, so that equal ways are equal.
constexpr std::int32_t kSame = 100;
constexpr std::int32_t kChange = 60;
constexpr std::int32_t kGap = 300;
constexpr std::int32_t kLeftOut = 12;
// A stretch of matches between gaps that has fewer right letters than this is chance. A wrong
// letter weighs as two right ones, and a stretch ends where the sum of letters falls that deep.
constexpr std::int64_t kFewLetters = 16;
constexpr std::int64_t kWeightOfWrong = 2;
constexpr std::int64_t kDeepFall = 25;
constexpr std::size_t kWideGap = 4;  // words

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// Places where a run of words stands that occurs once in the range; by the run's hash. Equal hashes
// of different runs make them occur twice, which does no harm.
std::unordered_map<std::uint64_t, std::size_t> lone_runs(Words words, Range range,
                                                         std::size_t length) {
  constexpr std::size_t kTwice = static_cast<std::size_t>(-1);
  std::unordered_map<std::uint64_t, std::size_t> runs;
  for (std::size_t at = range.begin; at + length <= range.end; ++at) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (std::size_t i = 0; i < length; ++i) {
      hash = (hash ^ static_cast<std::uint64_t>(words[at + i])) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29U;
    }
    const auto [found, is_new] = runs.emplace(hash, at);
    if (!is_new) found->second = kTwice;
  }
  std::erase_if(runs, [](const auto& run) { return run.second == kTwice; });
  return runs;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// The longest part of pairs, sorted by the first, in which the second grows too.
Pairs longest_growing(const Pairs& pairs) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> ends;  // of the growing parts of each length, the pair with the least
  std::vector<std::size_t> before(pairs.size(), kNone);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto place = std::ranges::lower_bound(ends, pairs[i].second, {},
                                                [&](std::size_t end) { return pairs[end].second; });
    if (place != ends.begin()) before[i] = *(place - 1);
    if (place == ends.end()) {
      ends.push_back(i);
    } else {
      *place = i;
    }
  }
  Pairs growing;
  for (std::size_t at = ends.empty() ? kNone : ends.back(); at != kNone; at = before[at]) {
    growing.push_back(pairs[at]);
  }
  std::ranges::reverse(growing);
  return growing;
}

class WordMatcher {
 public:
  WordMatcher(Words first, Words second, const SpokenWords& spoken)
      : first_(first), second_(second), spoken_(spoken) {}

  std::vector<WordMatch> match() {
    match_ranges({0, first_.size()}, {0, second_.size()}, kLongestRun);
    std::ranges::sort(matches_, {}, &WordMatch::first);
    for (std::size_t i = 1; i < matches_.size(); ++i) take_later(i);
    drop_chance();
    return std::move(matches_);
  }

 private:
  void add_equal(std::size_t first, std::size_t second) {
    const auto letters = std::ssize(spoken_.letters(first_[first]));
    matches_.push_back({.first = first, .second = second, .letters = letters});
  }

  // Equal words at both ends; the end first, so that the later of two equal passages is taken.
  void match_ends(Range& first, Range& second) {
    while (first.size() > 0 && second.size() > 0 &&
           first_[first.end - 1] == second_[second.end - 1]) {
      add_equal(--first.end, --second.end);
    }
    while (first.size() > 0 && second.size() > 0 && first_[first.begin] == second_[second.begin]) {
      add_equal(first.begin++, second.begin++);
    }
  }

  void match_ranges(Range first, Range second, std::size_t run) {
    // Ends are equal by chance where nothing holds them: not those of the whole.
    const bool is_whole = first.size() == first_.size() && second.size() == second_.size();
    if (!is_whole) match_ends(first, second);
    if (first.size() == 0 || second.size() == 0) return;
    const std::size_t cells = first.size() * second.size();
    if (cells <= kTableAtOnce) {
      compare(first, second);
      return;
    }
    const std::size_t shortest = cells <= kLargestTable ? kShortestRun : 1;
    for (; run >= shortest; --run) {
      const Pairs anchors = anchors_of(first, second, run);
      if (anchors.empty()) continue;
      Range left_first{first.begin, 0};
      Range left_second{second.begin, 0};
      for (const auto& [in_first, in_second] : anchors) {
        if (in_first < left_first.begin || in_second < left_second.begin) continue;  // overlaps
        left_first.end = in_first;
        left_second.end = in_second;
        match_ranges(left_first, left_second, run);
        for (std::size_t i = 0; i < run; ++i) add_equal(in_first + i, in_second + i);
        left_first.begin = in_first + run;
        left_second.begin = in_second + run;
      }
      match_ranges({left_first.begin, first.end}, {left_second.begin, second.end}, run);
      return;
    }
    if (cells <= kLargestTable) compare(first, second);
  }

  Pairs anchors_of(Range first, Range second, std::size_t run) const {
    const auto in_second = lone_runs(second_, second, run);
    Pairs pairs;
    for (const auto& [hash, at] : lone_runs(first_, first, run)) {
      const auto found = in_second.find(hash);
      if (found == in_second.end()) continue;
      if (std::equal(first_.begin() + static_cast<std::ptrdiff_t>(at),
                     first_.begin() + static_cast<std::ptrdiff_t>(at + run),
                     second_.begin() + static_cast<std::ptrdiff_t>(found->second))) {
        pairs.emplace_back(at, found->second);
      }
    }
    std::ranges::sort(pairs);
    return longest_growing(pairs);
  }

  // --- The table: words of the first down, of the second across -------------------------------

  enum Way : std::uint8_t { Match, SkipFirst, SkipSecond };
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::min() / 2;

  std::size_t length_of(Words words, std::size_t begin, std::size_t count) const {
    std::size_t length = 0;
    for (std::size_t i = 0; i < count; ++i) length += spoken_.letters(words[begin + i]).size();
    return length;
  }

  std::int32_t left_out(std::int32_t word) const {
    return kLeftOut * static_cast<std::int32_t>(spoken_.letters(word).size());
  }

  // Words that are compared as a whole: how many on each side, and what that is worth.
  struct Candidate {
    std::uint8_t first_count = 1;
    std::uint8_t second_count = 1;
    std::int32_t worth = 0;
    std::int32_t errors = 0;
    std::int32_t letters = 0;
  };

  static Candidate worth_of(std::uint8_t first_count, std::uint8_t second_count,
                            std::int64_t errors, std::int64_t letters) {
    const auto wrong = static_cast<std::int32_t>(errors);
    const auto all = static_cast<std::int32_t>(letters);
    return {first_count, second_count, kSame * std::max(0, all - wrong) - kChange * wrong, wrong,
            all};
  }

  Candidate one_and_one(std::int32_t first, std::int32_t second) {
    if (first == second) return worth_of(1, 1, 0, std::ssize(spoken_.letters(first)));
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32U |
                     static_cast<std::uint32_t>(second);
    const auto [found, is_new] = compared_.try_emplace(key);
    if (is_new) {
      const auto [errors, letters] = spoken_.difference(first, second);
      found->second = worth_of(1, 1, errors, letters);
    }
    return found->second;
  }

  // One word on a side and several on the other that end at (first, second), both exclusive; only
  // what is nearly equal.
  void several(std::size_t first, std::size_t second, Range first_range, Range second_range,
               const auto& take) const {
    const auto whole_first = first_[first - 1];
    const auto whole_second = second_[second - 1];
    for (const std::u32string* one : {&spoken_.letters(whole_first), &spoken_.other(whole_first)}) {
      in_parts(*one, second_, second_range.begin, second,
               [&](auto parts, auto errors, auto all) { take(worth_of(1, parts, errors, all)); });
    }
    for (const std::u32string* one :
         {&spoken_.letters(whole_second), &spoken_.other(whole_second)}) {
      in_parts(*one, first_, first_range.begin, first,
               [&](auto parts, auto errors, auto all) { take(worth_of(parts, 1, errors, all)); });
    }
  }

  // Tells of two and more words before `end` that are together nearly `one`: how many, with how
  // many errors in how many letters.
  void in_parts(const std::u32string& one, Words words, std::size_t begin, std::size_t end,
                const auto& tell) const {
    constexpr std::size_t kShareWrong = 4;
    std::size_t length = 0;
    for (std::size_t count = 1; count <= std::min(kMostParts, end - begin); ++count) {
      length += spoken_.letters(words[end - count]).size();
      const std::size_t all = std::max(one.size(), length);
      const std::size_t most = all / kShareWrong;
      if (length > one.size() + most) return;
      if (count < 2 || length + most < one.size()) continue;
      std::u32string joined;
      for (std::size_t i = end - count; i < end; ++i) joined += spoken_.letters(words[i]);
      if (one.front() != joined.front() && one.back() != joined.back()) continue;
      const auto limit = static_cast<std::int64_t>(most);
      const std::int64_t errors = letter_errors(one, joined, limit);
      if (errors > limit) continue;
      tell(static_cast<std::uint8_t>(count), errors, static_cast<std::int64_t>(all));
    }
  }

  struct Cell {
    // The best sum that ends here by a match, with a word of the first left out, of the second.
    std::int32_t best[3] = {kNever, kNever, kNever};
    std::uint8_t from[3] = {Match, Match, Match};  // the way before
    std::uint8_t first_count = 1;
    std::uint8_t second_count = 1;
    std::int32_t errors = 0;
    std::int32_t letters = 0;
  };

  // The best way into a cell, where going on as `way` costs nothing and anything else `gap`.
  static std::pair<std::uint8_t, std::int32_t> best_into(const Cell& cell, std::uint8_t way,
                                                         std::int32_t gap) {
    std::uint8_t best = Match;
    std::int32_t sum = kNever;
    for (std::uint8_t from = Match; from <= SkipSecond; ++from) {
      const std::int32_t reached = cell.best[from] - (from == way ? 0 : gap);
      if (reached > sum) {
        sum = reached;
        best = from;
      }
    }
    return {best, sum};
  }

  void fill(std::vector<Cell>& cells, Range first, Range second, std::size_t i, std::size_t j) {
    const std::size_t width = second.size() + 1;
    Cell& here = cells[i * width + j];
    if (i > 0) {
      const auto [way, sum] = best_into(cells[(i - 1) * width + j], SkipFirst, kGap);
      here.from[SkipFirst] = way;
      here.best[SkipFirst] = sum - left_out(first_[first.begin + i - 1]);
    }
    if (j > 0) {
      const auto [way, sum] = best_into(cells[i * width + j - 1], SkipSecond, kGap);
      here.from[SkipSecond] = way;
      here.best[SkipSecond] = sum - left_out(second_[second.begin + j - 1]);
    }
    if (i == 0 || j == 0) return;
    const auto take = [&](const Candidate& candidate) {
      const Cell& before = cells[(i - candidate.first_count) * width + j - candidate.second_count];
      const auto [way, sum] = best_into(before, Match, 0);
      if (sum + candidate.worth <= here.best[Match]) return;
      here.best[Match] = sum + candidate.worth;
      here.from[Match] = way;
      here.first_count = candidate.first_count;
      here.second_count = candidate.second_count;
      here.errors = candidate.errors;
      here.letters = candidate.letters;
    };
    take(one_and_one(first_[first.begin + i - 1], second_[second.begin + j - 1]));
    several(first.begin + i, second.begin + j, first, second, take);
  }

  // Of ways that are worth the same the one back through matches is taken, so that a gap is before
  // a passage that is said twice.
  void compare(Range first, Range second) {
    const std::size_t width = second.size() + 1;
    std::vector<Cell> cells((first.size() + 1) * width);
    cells[0].best[Match] = 0;
    for (std::size_t i = 0; i <= first.size(); ++i) {
      for (std::size_t j = 0; j <= second.size(); ++j) fill(cells, first, second, i, j);
    }
    std::size_t i = first.size();
    std::size_t j = second.size();
    std::uint8_t way = best_into(cells.back(), Match, 0).first;
    while (i > 0 || j > 0) {
      const Cell& here = cells[i * width + j];
      const std::uint8_t before = here.from[way];
      if (way == SkipFirst) {
        --i;
      } else if (way == SkipSecond) {
        --j;
      } else {
        i -= here.first_count;
        j -= here.second_count;
        matches_.push_back({.first = first.begin + i,
                            .first_count = here.first_count,
                            .second = second.begin + j,
                            .second_count = here.second_count,
                            .errors = here.errors,
                            .letters = here.letters});
      }
      way = before;
    }
  }

  // Where words of the second alone stand before a match, and end as the matches before it do, a
  // passage is said again: those matches move there, at least two of them.
  void take_later(std::size_t match) {
    const std::size_t gap = gap_of_second(match);
    if (gap == 0 || gap_of_first(match) > 0) return;
    std::size_t moved = 0;
    for (std::size_t count = 1; count <= std::min(gap, match); ++count) {
      const WordMatch& before = matches_[match - count];
      if (before.first_count != 1 || before.second_count != 1) break;
      if (count > 1 &&
          (gap_of_first(match - count + 1) > 0 || gap_of_second(match - count + 1) > 0))
        break;
      const Candidate again =
          one_and_one(first_[before.first], second_[matches_[match].second - count]);
      if (again.errors == 0) moved = count;
      if (2 * again.errors > again.letters) break;
    }
    if (moved < 2) return;
    for (std::size_t count = 1; count <= moved; ++count) {
      WordMatch& before = matches_[match - count];
      before.second = matches_[match].second - count;
      const Candidate again = one_and_one(first_[before.first], second_[before.second]);
      before.errors = again.errors;
      before.letters = again.letters;
    }
  }

  // --- Chance ---------------------------------------------------------------------------------

  // Keeps stretches of matches, with gaps of a few words at most, in which right letters outweigh
  // wrong ones from each of their ends on.
  void drop_chance() {
    std::vector<WordMatch> kept;
    for (std::size_t begin = 0; begin < matches_.size();) {
      const Range stretch = stretch_from(begin);
      std::int64_t right = 0;
      for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
        right += matches_[i].letters - matches_[i].errors;
      }
      if (right >= kFewLetters || (right > 0 && !is_alone(stretch.begin, stretch.end))) {
        const auto at = matches_.begin();
        kept.insert(kept.end(), at + static_cast<std::ptrdiff_t>(stretch.begin),
                    at + static_cast<std::ptrdiff_t>(stretch.end));
      }
      begin = std::max(stretch.end, begin + 1);
    }
    matches_ = std::move(kept);
  }

  // The part with the highest sum of those that begin at `begin`, or behind what weighs nothing
  // there, and go on until the sum falls far below its highest or a wide gap.
  Range stretch_from(std::size_t begin) const {
    Range stretch{begin, begin};
    std::size_t start = begin;
    std::int64_t sum = 0;
    std::int64_t highest = 0;
    for (std::size_t i = begin; i < matches_.size(); ++i) {
      if (i > begin && gap_before(i) > kWideGap) {
        if (highest > 0) break;
        start = i;
        sum = 0;
      }
      sum += matches_[i].letters - kWeightOfWrong * matches_[i].errors;
      if (i > start) sum -= letters_between(i);
      if (sum > highest) {
        highest = sum;
        stretch = {start, i + 1};
      }
      if (sum <= 0 && highest == 0) {
        start = i + 1;
        sum = 0;
      }
      if (highest - sum > kDeepFall) break;
    }
    if (highest == 0) return {matches_.size(), matches_.size()};
    return stretch;
  }

  // Words of one side, or of that which has more, between a match and the one before.
  std::size_t gap_of_first(std::size_t match) const {
    const WordMatch& before = matches_[match - 1];
    return matches_[match].first - before.first - before.first_count;
  }
  std::size_t gap_of_second(std::size_t match) const {
    const WordMatch& before = matches_[match - 1];
    return matches_[match].second - before.second - before.second_count;
  }
  std::size_t gap_before(std::size_t match) const {
    return std::max(gap_of_first(match), gap_of_second(match));
  }

  std::int64_t letters_between(std::size_t match) const {
    const WordMatch& before = matches_[match - 1];
    const std::size_t first = before.first + before.first_count;
    const std::size_t second = before.second + before.second_count;
    return static_cast<std::int64_t>(
        std::max(length_of(first_, first, matches_[match].first - first),
                 length_of(second_, second, matches_[match].second - second)));
  }

  // Whether words are left out around: a whole sequence may be short.
  bool is_alone(std::size_t begin, std::size_t end) const {
    const WordMatch& last = matches_[end - 1];
    const std::size_t first = matches_[begin].first + first_.size() - last.first - last.first_count;
    const std::size_t second =
        matches_[begin].second + second_.size() - last.second - last.second_count;
    return std::max(first, second) > kWideGap;
  }

  Words first_;
  Words second_;
  const SpokenWords& spoken_;
  std::unordered_map<std::uint64_t, Candidate> compared_;
  std::vector<WordMatch> matches_;
};

}  // namespace

std::vector<WordMatch> match_words(Words first, Words second, const SpokenWords& spoken) {
  return WordMatcher(first, second, spoken).match();
}

}  // namespace myxtts
