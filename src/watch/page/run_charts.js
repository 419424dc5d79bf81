// SPDX-License-Identifier: Apache-2.0
// Which charts a run has, and what is turned above them: smoothing, scale, zoom.

const bytesTick = bytes => sizeText(bytes, 0);
const similarityText = cosine => ifKnown(cosine, n => inWords(n, 2));
const secondsText = seconds => ifKnown(seconds, n => say.seconds(inWords(n, n < 10 ? 3 : 1)));
const percentTick = share => say.percent(inWords(100 * share));

// In order. `names`: of curves; one of them makes the chart appear.
const kCharts = [
  {id: 'loss', names: ['train/loss', 'validation/loss'], format: lossText, mayBeLog: true, marksLeast: true, isMain: true},
  {id: 'sample_cer', names: ['samples/sample_cer'], format: percentText, tick: percentTick, floor: 0, marksLeast: true},
  {id: 'sample_similarity', names: ['samples/sample_similarity'], format: similarityText, floor: 0, ceiling: 1},
  {id: 'lr', names: ['train/lr'], format: plainNumber, floor: 0, isExact: true},
  {id: 'speed', names: ['train/audio_hours_per_hour'], format: plainNumber, floor: 0},
  {id: 'ready', names: ['train/readiness', 'train/monitor.waited_share'], format: percentText, tick: percentTick, floor: 0, ceiling: 1, isExact: true},
  {id: 'waited', names: ['train/waited_seconds'], format: secondsText, floor: 0, ceiling: 1, isExact: true},
  {id: 'gpu', names: ['train/gpu.data.use', 'train/gpu.model.use'], format: percentText, tick: percentTick, floor: 0, ceiling: 1},
  {id: 'memory', names: ['train/memory.data', 'train/memory.model'], format: sizeText, tick: bytesTick, floor: 0, isExact: true},
  {id: 'variation', names: ['train/monitor.step_variation'], format: percentText, tick: percentTick, floor: 0},
  {id: 'watts', names: ['train/gpu.data.watts', 'train/gpu.model.watts'], format: plainNumber, floor: 0, isExact: true},
  {id: 'grad_norm', names: ['train/grad_norm'], format: plainNumber, mayBeLog: true},
  {id: 'skipped', names: ['train/skipped_steps'], format: plainNumber, floor: 0, isExact: true, isCount: true},
];
// Curves that are no subject of their own here.
const kNotShown = /^(train\/(epoch|loss_scale|clips_per_second|memory\..*_peak|pipeline\..*)|validation\/(clips|seconds|best|epoch)|samples\/samples|(skipped|unrecorded)\/.*)$/;

const kFirstCharts = 3;  // of them stand before the terms of the loss

const shortName = name => name.replace(/^[^/]*\//, '');

// The charts above, and one for every other number that a run has: the terms of its loss, and what is measured.
function chartsFor(names) {
  const known = new Set(kCharts.flatMap(chart => chart.names));
  const others = [...new Set(names.filter(name => !known.has(name) && !kNotShown.test(name)).map(shortName))];
  const terms = others.map(name => ({id: name, names: [`train/${name}`, `validation/${name}`], format: plainNumber, mayBeLog: /loss/.test(name)}));
  const isThere = chart => chart.names.some(name => names.includes(name));
  return [...kCharts.slice(0, kFirstCharts), ...terms, ...kCharts.slice(kFirstCharts)].filter(isThere);
}

// Of a measurement now and then, not of each step.
const isMeasurement = name => /^(validation|samples)\//.test(name);

function titleOf(id) {
  return say.charts[id] ?? [id, ''];
}

// What a line is called beside others; alone in its chart, the title says it.
function lineLabel(name) {
  return say.lines[shortName(name)] ?? (name.startsWith('validation/') ? say.validation_line : say.train_line);
}

// Turns the knobs of a Span. Its values are kept for the next view.
class SpanControls {
  constructor(place, span) {
    this.span = span;
    const [id, scaleId] = [`${place.id}-smoothing`, `${place.id}-log`];
    this.slider = make('input', {type: 'range', id, min: 0, max: 100, value: kept('smoothing') ?? 20});
    this.output = make('output', {className: 'hint'});
    this.output.htmlFor = id;
    this.scale = make('input', {type: 'checkbox', id: scaleId, checked: kept('log') === 'true'});
    this.reset = smallButton(say.zoom_all, () => span.zoom(null));
    const zoom = [smallButton(say.zoom_in, () => span.zoomBy(0.5)), smallButton(say.zoom_out, () => span.zoomBy(2)), this.reset];
    place.replaceChildren(make('div', {className: 'row controls'}, labelOf(this.slider, say.smoothing), this.slider, this.output,
                               ticked(this.scale, say.log_scale), ...zoom), hintOf(say.chart_keys));
    this.slider.oninput = this.scale.onchange = () => this.turn();
    this.turn();
  }

  turn() {
    this.span.smoothing = this.slider.value / 100;
    this.span.isLog = this.scale.checked;
    keep('smoothing', this.slider.value);
    keep('log', this.scale.checked);
    this.show();
    this.span.draw();
  }

  show() {
    const steps = this.span.smoothedSteps();
    setText(this.output, steps ? say.smoothing_over(inWords(Math.round(steps))) : say.smoothing_none);
    this.reset.setAttribute('aria-disabled', String(!this.span.range));
  }
}
