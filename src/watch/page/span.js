// SPDX-License-Identifier: Apache-2.0
// What the charts of one view share: the steps that are shown, the step that is read, smoothing and scale. And round numbers for axes.

const kMostSmoothing = 0.25;  // of the steps shown
const kFewestShown = 4;       // steps; nothing is to be seen in less

class Span {
  // `onZoom` is told the steps that are shown now, null for all.
  constructor(onZoom) {
    Object.assign(this, {onZoom, range: null, cursor: null, smoothing: 0, isLog: false, charts: []});
  }

  // The steps that there are.
  all() {
    let [low, high] = [Infinity, -Infinity];
    for (const line of this.charts.flatMap(chart => chart.lines)) {
      const curve = line.curves.whole.get(line.name);
      if (!curve?.x.length) continue;
      low = Math.min(low, (curve.first ?? curve.x)[0]);
      high = Math.max(high, (curve.last ?? curve.x).at(-1));
    }
    return low > high ? [0, 1] : low === high ? [low - 1, high + 1] : [low, high];
  }

  shown() {
    return this.range ?? this.all();
  }

  // Steps that the smoothing of 0 to 1 averages over: few at first; 0 where there would be but one.
  smoothedSteps() {
    const [low, high] = this.shown();
    const steps = this.smoothing ** 2 * kMostSmoothing * (high - low);
    return steps < 2 ? 0 : steps;
  }

  zoom(range) {
    const [low, high] = this.all();
    if (range) {
      const width = Math.min(Math.max(range[1] - range[0], kFewestShown), high - low);
      const first = Math.min(Math.max(range[0], low), high - width);
      range = width >= high - low ? null : [first, first + width];
    }
    this.range = range;
    this.onZoom(range);
    this.draw();
  }

  // Around the step that is read, or the middle.
  zoomBy(factor) {
    const [low, high] = this.shown();
    const middle = this.cursor !== null && this.cursor >= low && this.cursor <= high ? this.cursor : (low + high) / 2;
    this.zoom([middle - (middle - low) * factor, middle + (high - middle) * factor]);
  }

  pan(share) {
    const [low, high] = this.shown();
    if (this.range) this.zoom([low + share * (high - low), high + share * (high - low)]);
  }

  point(step) {
    if (step === this.cursor) return;
    this.cursor = step;
    this.draw();
  }

  draw() {
    for (const chart of this.charts) chart.draw();
  }
}

// Rising round numbers, about `count` of them, in [low, high].
function ticksOf(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const width = [1, 2, 5, 10].find(factor => factor * power >= rough * 0.75) * power;
  const ticks = [];
  for (let i = Math.ceil(low / width - 1e-9); i * width <= high + width * 1e-9; ++i) ticks.push(Number((i * width).toPrecision(12)));
  return ticks;
}

function logTicksOf(low, high) {
  const factors = Math.log10(high / low) > 2 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  const inside = ticks.filter(tick => tick >= low && tick <= high);
  return inside.length > 2 ? inside : ticksOf(low, high, 4);
}
