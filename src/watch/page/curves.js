// SPDX-License-Identifier: Apache-2.0
// The curves of a run: the whole of each in about a thousand points, and the steps that are zoomed into in as many again.

const kPoints = 1000;       // the most for a curve; above that the server sends buckets
const kMostAdded = 1500;    // live points after which the whole is asked for again
const kZoomMargin = 0.25;   // of what is shown, loaded on either side

// Where the first number above a limit stands in rising numbers.
function firstAbove(numbers, limit) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Where the number nearest to a step stands; -1 where there is none.
function nearest(steps, step) {
  const after = firstAbove(steps, step);
  if (!steps.length) return -1;
  if (after === 0) return 0;
  return after < steps.length && steps[after] - step < step - steps[after - 1] ? after : after - 1;
}

const numbersOf = list => list.map(value => value ?? NaN);

// A curve to draw: x and y; of buckets also their first and last step, the least and the most in each, and how many lines it stands for.
// `added` live points are at its end.
function curveOf({exact, steps, values, last, mean, min, max, count}) {
  if (exact) return {x: steps, y: numbersOf(values), added: 0};
  return {x: steps.map((step, i) => (step + last[i]) / 2), y: numbersOf(mean), first: steps, last, least: numbersOf(min), most: numbersOf(max), count,
          added: 0};
}

function addPoints(curve, {steps, values}) {
  for (let i = 0; i < steps.length; ++i) {
    if (steps[i] <= (curve.last ?? curve.x).at(-1)) continue;  // came with the whole
    const value = values[i] ?? NaN;
    curve.x.push(steps[i]);
    curve.y.push(value);
    for (const list of [curve.first, curve.last]) list?.push(steps[i]);
    for (const list of [curve.least, curve.most]) list?.push(value);
    curve.count?.push(1);
    ++curve.added;
  }
}

// An average over about `steps` steps around each point, those far away counting less; a gap stays a gap.
function smoothed({x, y, count}, steps) {
  if (!steps) return y;
  const sums = new Float64Array(y.length);
  const weights = new Float64Array(y.length);
  const walk = (from, to, by) => {  // what lies on one side, without the point itself
    let [sum, weight] = [0, 0];
    for (let i = from; i !== to; i += by) {
      const share = i === from ? 0 : Math.exp(-2 * Math.abs(x[i] - x[i - by]) / steps);
      sum *= share;
      weight *= share;
      sums[i] += sum;
      weights[i] += weight;
      if (Number.isNaN(y[i])) continue;
      const lines = count?.[i] ?? 1;
      sum += lines * y[i];
      weight += lines;
    }
  };
  walk(0, y.length, 1);
  walk(y.length - 1, -1, -1);
  return y.map((value, i) => (sums[i] + (count?.[i] ?? 1) * value) / (weights[i] + (count?.[i] ?? 1)));
}

// Where the smallest number stands; -1 where there is none.
function smallestAt(values) {
  let found = -1;
  values.forEach((value, i) => { if (!Number.isNaN(value) && (found < 0 || value < values[found])) found = i; });
  return found;
}

class Curves {
  // `onChange` is called when there is something new to draw.
  constructor(id, onChange) {
    Object.assign(this, {id, onChange, whole: new Map(), zoomed: null, wanted: new Set(), asked: 0, loads: new Set()});
  }

  // What the server sends by itself while an answer is under way may or may not be in it.
  async load(names) {
    const meanwhile = [];
    this.loads.add(meanwhile);
    for (const name of names) this.wanted.add(name);
    try {
      const answer = await ask('/api/curves', {id: this.id, names: names.join(','), points: kPoints});
      for (const name of names) {
        const curve = answer.curves[name];
        if (curve) this.whole.set(name, curveOf(curve));
        else this.whole.delete(name);
      }
      for (const points of meanwhile) this.put(points);
    } finally {
      this.loads.delete(meanwhile);
    }
    this.onChange();
  }

  async again() {
    if (this.wanted.size) await this.load([...this.wanted]);
    if (this.zoomed) await this.zoom(this.zoomed.shown);
  }

  // Asks for more of the steps that are looked at, where there is more. Only the last question counts.
  async zoom(shown) {
    const mine = ++this.asked;
    if (!shown) {
      this.zoomed = null;
      return;
    }
    if (report) return;
    const names = [...this.wanted].filter(name => this.whole.get(name)?.least);
    const margin = (shown[1] - shown[0]) * kZoomMargin;
    const [from, to] = [Math.max(0, Math.floor(shown[0] - margin)), Math.ceil(shown[1] + margin)];
    if (!names.length) return;
    const answer = await ask('/api/curves', {id: this.id, names: names.join(','), from, to, points: kPoints});
    if (mine !== this.asked) return;
    this.zoomed = {shown, from, to, curves: new Map(Object.entries(answer.curves).map(([name, curve]) => [name, curveOf(curve)]))};
    this.onChange();
  }

  put(points) {
    for (const [name, more] of Object.entries(points)) {
      if (!this.wanted.has(name)) continue;
      if (!this.whole.has(name)) this.whole.set(name, {x: [], y: [], added: 0});
      addPoints(this.whole.get(name), more);
      const near = this.zoomed?.curves.get(name);
      if (near && this.zoomed.to >= more.steps[0]) addPoints(near, more);
    }
  }

  add(points) {
    for (const meanwhile of this.loads) meanwhile.push(points);
    this.put(points);
    if (!this.isReloading && [...this.whole.values()].some(curve => curve.added > kMostAdded)) {
      this.isReloading = true;
      this.again().catch(() => {}).finally(() => { this.isReloading = false; });
    }
    this.onChange();
  }

  // The best there is for the steps that are shown.
  of(name, shown) {
    const near = this.zoomed;
    if (near && shown && near.from <= shown[0] && near.to >= shown[1] && near.curves.get(name)) return near.curves.get(name);
    return this.whole.get(name) ?? null;
  }
}
