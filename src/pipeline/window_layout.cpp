// SPDX-License-Identifier: Apache-2.0
#include "pipeline/window_layout.h"

#include <algorithm>

#include "base/error.h"

namespace myxtts {

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

}  // namespace myxtts
