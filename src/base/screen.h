// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace myxtts {

// What a place to write to can do.
struct ScreenAbilities {
  bool terminal = false;  // lines can be redrawn
  bool colours = false;   // a terminal, and NO_COLOR is not set
  bool progress = true;   // progress is wanted (not --quiet)

  // Asks the system. TERM=dumb is no terminal; NO_COLOR counts when it is set and not empty.
  static ScreenAbilities of(int file, bool progress);
};

// Standard error as the person sees it: lines, and below them at most one progress bar, which is
// redrawn in place. Log and progress write through the same screen, so that neither tears the
// other. Any thread may call; the file outlives the screen.
class Screen {
 public:
  Screen(int file, const ScreenAbilities& abilities);

  // Say again what the screen can do. Removes a bar.
  void set_abilities(const ScreenAbilities& abilities);
  ScreenAbilities abilities() const;
  int width() const;  // columns; 80 where the terminal does not say

  // Writes `text` and a line end, above the bar.
  void write_line(std::string_view text);

  // Draws the owner's bar in place of its last one. While another owner has a bar, nothing happens:
  // the outer of two nested bars stays.
  void draw_bar(const void* owner, std::string_view bar);

  // Removes the owner's bar, if it has one.
  void remove_bar(const void* owner);

 private:
  void write_all(std::string_view text);

  const int file_;

  // Everything below is guarded by mutex_; so is the writing itself.
  mutable std::mutex mutex_;
  ScreenAbilities abilities_;
  std::string bar_;
  const void* bar_owner_ = nullptr;
};

// Standard error of this process; lives until its end.
Screen& standard_screen();

}  // namespace myxtts
