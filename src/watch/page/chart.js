// SPDX-License-Identifier: Apache-2.0
// A chart on a canvas, with its legend, which is also where values are read.

const kMargin = {left: 58, right: 10, top: 10, bottom: 24};
const kLeastDrag = 6;   // pixels; less is a click
const kManySteps = 10_000;
const kColours = 8;     // --line-1 to --line-8 of the style sheet

// `options`: title, hint, format (a number as text), tick? (the same, on the axis), floor? and ceiling? (the axis reaches them), mayBeLog?,
// isExact? (nothing to smooth), isCount? (of whole things), marksLeast? (a ring around the least measurement), isMain? (wide), hasNoBand? (least and most
// of buckets are not painted).
// A line: {label, colour (from 1), curves, name (in curves), isMeasured? (dots, not smoothed), isDashed?}.
class Chart {
  constructor(span, options, lines) {
    Object.assign(this, {span, options, lines, isDrawing: false, isSeen: false, drag: null});
    span.charts.push(this);
    this.canvas = make('canvas', {ariaHidden: 'true'});
    this.plot = make('div', {className: 'plot', tabIndex: 0, role: 'application', ariaRoleDescription: say.chart, ariaLabel: options.title,
                             dir: 'ltr'}, this.canvas);
    this.plot.setAttribute('aria-describedby', 'chart-keys');
    this.step = make('li', {className: 'at'});
    this.legend = make('ul', {className: 'legend'}, this.step, ...lines.map(line => this.legendOf(line)));
    this.said = make('p', {className: 'unseen', ariaLive: 'polite'});
    const caption = make('figcaption', {}, make('h3', {textContent: options.title}), hintOf(options.hint ?? ''));
    this.element = make('figure', {className: `card chart${options.isMain ? ' main' : ''}`}, caption, this.legend, this.plot, this.said);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.plot);
    new IntersectionObserver(entries => {
      this.isSeen = entries.at(-1).isIntersecting;
      this.draw();
    }, {rootMargin: '200px'}).observe(this.element);
  }

  legendOf(line) {
    const swatch = make('span', {className: `swatch${line.isDashed ? ' dashed' : ''}`});
    swatch.style.color = `var(--line-${(line.colour - 1) % kColours + 1})`;
    line.swatch = swatch;
    line.value = make('b', {dir: say.direction});
    return make('li', {}, swatch, make('bdi', {textContent: line.label}), ' ', line.value);
  }

  // Many calls, one drawing; none where nobody looks.
  draw() {
    this.element.hidden = !this.lines.some(line => line.curves.whole.get(line.name)?.x.length);
    if (this.isDrawing || !this.isSeen) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      if (this.plot.clientWidth) this.paint();
    });
  }

  // What is drawn now: of each line its curve, and y smoothed.
  drawn() {
    const steps = this.span.smoothedSteps();
    return this.lines.map(line => ({line, curve: line.curves.of(line.name, this.span.range)})).filter(({curve}) => curve?.x.length)
      .map(({line, curve}) => ({line, curve, y: line.isMeasured || this.options.isExact ? curve.y : smoothed(curve, steps)}));
  }

  // ------------------------------------------------------------ what is read

  // Where the value to read stands: at the cursor, else the last one in sight.
  indexAt({x}) {
    return nearest(x, this.span.cursor ?? this.span.shown()[1]);
  }

  // A measurement is seldom of the very step that is read; then its own is named.
  reading({line, curve, y}) {
    const {format} = this.options;
    const i = this.indexAt(curve);
    const [least, most] = curve.least ? [format(curve.least[i]), format(curve.most[i])] : [];
    const parts = [least === most ? format(curve.y[i]) : say.mean_of(format(curve.y[i]), least, most)];
    if (line.isMeasured && this.span.cursor !== null && curve.x[i] !== this.span.cursor) parts.push(say.at_step(inWords(curve.x[i])));
    if (y !== curve.y) parts.push(say.smoothed_to(format(y[i])));
    return parts.join(' · ');
  }

  stepReading({curve}) {
    const i = this.indexAt(curve);
    const [first, last] = [(curve.first ?? curve.x)[i], (curve.last ?? curve.x)[i]];
    return first === last ? say.at_step(inWords(first)) : say.at_steps(inWords(first), inWords(last));
  }

  fillLegend(drawn) {
    for (const line of this.lines) line.value.textContent = '';
    for (const one of drawn) one.line.value.textContent = this.reading(one);
    this.step.textContent = drawn.length ? this.stepReading(drawn[0]) : '';
  }

  sayReading() {
    const drawn = this.drawn();
    if (drawn.length) setText(this.said, [this.stepReading(drawn[0]), ...drawn.map(one => `${one.line.label} ${this.reading(one)}`)].join(', '));
  }

  // ------------------------------------------------------------ mouse, finger and keys

  stepAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - kMargin.left) / (box.width - kMargin.left - kMargin.right);
    const [low, high] = this.span.shown();
    return low + Math.min(Math.max(share, 0), 1) * (high - low);
  }

  // The steps that can be read: those of the first line.
  steps() {
    return this.drawn()[0]?.curve.x ?? [];
  }

  listen() {
    const {plot, span} = this;
    plot.onpointerdown = event => {
      if (event.button) return;
      this.drag = {from: this.stepAt(event), at: event.clientX};
      plot.setPointerCapture(event.pointerId);
    };
    plot.onpointermove = event => {
      const step = this.stepAt(event);
      if (this.drag) this.drag.to = Math.abs(event.clientX - this.drag.at) < kLeastDrag ? undefined : step;
      const steps = this.steps();
      span.point(steps.length ? steps[nearest(steps, step)] : null);
      this.draw();
    };
    plot.onpointerup = () => {
      const drag = this.drag;
      this.drag = null;
      if (drag?.to !== undefined) span.zoom([Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]);
    };
    plot.onpointercancel = () => { this.drag = null; this.draw(); };
    plot.onpointerleave = () => { if (!this.drag) span.point(null); };
    plot.onblur = () => span.point(null);
    plot.ondblclick = () => span.zoom(null);
    plot.onkeydown = event => this.followKey(event);
  }

  moveCursor(by) {
    const steps = this.steps();
    const [low, high] = this.span.shown();
    const [first, last] = [nearest(steps, low), nearest(steps, high)];
    const from = this.span.cursor === null ? (by > 0 ? first - 1 : last + 1) : nearest(steps, this.span.cursor);
    this.span.point(steps[Math.min(Math.max(from + by, first), last)]);
    this.sayReading();
  }

  followKey(event) {
    const steps = this.steps();
    if (event.ctrlKey || event.altKey || event.metaKey || !steps.length) return;
    const [low, high] = this.span.shown();
    const stride = event.shiftKey ? Math.max(1, Math.round((firstAbove(steps, high) - firstAbove(steps, low)) / 20)) : 1;
    const keys = {
      ArrowLeft: () => this.moveCursor(-stride), ArrowRight: () => this.moveCursor(stride),
      Home: () => this.moveCursor(-Infinity), End: () => this.moveCursor(Infinity),
      '+': () => this.span.zoomBy(0.5), '=': () => this.span.zoomBy(0.5), '-': () => this.span.zoomBy(2), '−': () => this.span.zoomBy(2),
      PageUp: () => this.span.pan(-0.5), PageDown: () => this.span.pan(0.5),
      0: () => this.span.zoom(null), Escape: () => { this.span.point(null); this.span.zoom(null); },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  // ------------------------------------------------------------ painting

  // The lowest and highest value in sight, with some air.
  valuesIn(drawn, low, high, isLog) {
    let [least, most] = [Infinity, -Infinity];
    for (const {curve, y} of drawn) {
      const [from, to] = [Math.max(0, firstAbove(curve.x, low) - 1), Math.min(curve.x.length, firstAbove(curve.x, high) + 1)];
      const band = this.options.hasNoBand ? [curve.y] : [curve.least ?? curve.y, curve.most ?? curve.y];
      for (const values of [...band, y]) {
        for (let i = from; i < to; ++i) {
          if (Number.isNaN(values[i]) || (isLog && values[i] <= 0)) continue;
          least = Math.min(least, values[i]);
          most = Math.max(most, values[i]);
        }
      }
    }
    if (least > most) return isLog ? [0.1, 1] : [0, 1];
    if (isLog) return least === most ? [least / 2, most * 2] : [least / 1.05, most * 1.05];
    const {floor, ceiling} = this.options;
    const air = least === most ? Math.abs(most) / 10 || 1 : (most - least) * 0.06;
    return [floor === undefined ? least - air : Math.min(floor, least), ceiling === undefined ? most + air : Math.max(ceiling, most)];
  }

  cleanCanvas() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
    const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== columns || this.canvas.height !== rows) Object.assign(this.canvas, {width: columns, height: rows});
    const brush = this.canvas.getContext('2d');
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, width, height);
    return {brush, inner: {left: kMargin.left, right: width - kMargin.right, top: kMargin.top, bottom: height - kMargin.bottom}};
  }

  paint() {
    const {brush, inner} = this.cleanCanvas();
    const drawn = this.drawn();
    const isLog = this.span.isLog && Boolean(this.options.mayBeLog);
    const [low, high] = this.span.shown();
    const [least, most] = this.valuesIn(drawn, low, high, isLog);
    const height = isLog ? value => value > 0 ? Math.log(value) : NaN : value => value;
    const place = {
      inner, low, high,
      x: step => inner.left + (step - low) / (high - low) * (inner.right - inner.left),
      y: value => inner.bottom - (height(value) - height(least)) / (height(most) - height(least)) * (inner.bottom - inner.top),
    };
    const ticks = isLog ? logTicksOf(least, most) : ticksOf(least, most, 4);
    this.paintAxes(brush, place, this.options.isCount ? ticks.filter(Number.isInteger) : ticks);
    brush.save();
    brush.beginPath();
    brush.rect(inner.left, 0, inner.right - inner.left + kMargin.right, inner.bottom + 2);  // rings at the last step are whole
    brush.clip();
    for (const one of drawn) this.paintLine(brush, place, one);
    this.paintMarks(brush, place);
    brush.restore();
    this.fillLegend(drawn);
  }

  paintAxes(brush, {inner, low, high, x, y}, ticks) {
    const style = getComputedStyle(this.plot);
    Object.assign(brush, {font: `${style.fontSize} ${style.fontFamily}`, fillStyle: style.color, lineWidth: 1, textBaseline: 'middle', textAlign: 'right', direction: say.direction,
                          strokeStyle: getComputedStyle(this.element).borderTopColor});
    brush.beginPath();
    for (const tick of ticks) {
      const at = Math.round(y(tick)) + 0.5;
      brush.moveTo(inner.left, at);
      brush.lineTo(inner.right, at);
      brush.fillText((this.options.tick ?? shortNumber)(tick), inner.left - 6, at);
    }
    brush.stroke();
    Object.assign(brush, {textBaseline: 'alphabetic', textAlign: 'center'});
    const count = Math.max(2, Math.floor((inner.right - inner.left) / 90));
    const steps = ticksOf(low, high, count).filter(Number.isInteger);
    const write = steps.at(-1) >= kManySteps ? inThousands : shortNumber;  // all of them in the same way
    for (const tick of steps) {
      brush.fillText(write(tick), Math.min(Math.max(x(tick), inner.left + 8), inner.right - 14), inner.bottom + 17);
    }
  }

  paintLine(brush, place, {line, curve, y}) {
    brush.strokeStyle = brush.fillStyle = getComputedStyle(line.swatch).color;
    brush.lineJoin = 'round';
    const [from, to] = [Math.max(0, firstAbove(curve.x, place.low) - 2), Math.min(curve.x.length, firstAbove(curve.x, place.high) + 1)];
    if (curve.least && !this.options.hasNoBand) this.fillBand(brush, place, curve, from, to);
    if (y !== curve.y) {
      brush.globalAlpha = 0.35;
      brush.lineWidth = 1;
      this.stroke(brush, place, curve.x, curve.y, from, to);
      brush.globalAlpha = 1;
    }
    brush.lineWidth = 1.75;
    brush.setLineDash(line.isDashed ? [5, 3] : []);
    this.stroke(brush, place, curve.x, y, from, to);
    brush.setLineDash([]);
    const fewEnough = to - from <= (line.isMeasured ? 100 : 2);
    if (fewEnough) for (let i = from; i < to; ++i) this.dot(brush, place.x(curve.x[i]), place.y(y[i]), 2.75, true);
    const best = line.isMeasured ? smallestAt(curve.y) : -1;
    if (best >= 0 && this.options.marksLeast) this.dot(brush, place.x(curve.x[best]), place.y(curve.y[best]), 6, false);
  }

  dot(brush, x, y, radius, isFull) {
    if (!Number.isFinite(y)) return;
    brush.beginPath();
    brush.arc(x, y, radius, 0, 2 * Math.PI);
    if (isFull) brush.fill();
    else brush.stroke();
  }

  // From the least to the most of each bucket.
  fillBand(brush, {x, y}, curve, from, to) {
    brush.globalAlpha = 0.16;
    brush.beginPath();
    for (let i = from; i < to; ++i) if (Number.isFinite(y(curve.most[i]))) brush.lineTo(x(curve.x[i]), y(curve.most[i]));
    for (let i = to - 1; i >= from; --i) if (Number.isFinite(y(curve.least[i]))) brush.lineTo(x(curve.x[i]), y(curve.least[i]));
    brush.fill();
    brush.globalAlpha = 1;
  }

  stroke(brush, place, x, y, from, to) {
    brush.beginPath();
    for (let i = from; i < to; ++i) {
      const at = place.y(y[i]);
      if (Number.isFinite(at)) brush.lineTo(place.x(x[i]), at);
    }
    brush.stroke();
  }

  // The step that is read, and what is being selected.
  paintMarks(brush, {inner, x}) {
    brush.fillStyle = brush.strokeStyle = getComputedStyle(this.plot).color;
    if (this.drag?.to !== undefined) {
      const [from, to] = [x(this.drag.from), x(this.drag.to)];
      brush.globalAlpha = 0.15;
      brush.fillRect(Math.min(from, to), inner.top, Math.abs(to - from), inner.bottom - inner.top);
      brush.globalAlpha = 1;
    }
    if (this.span.cursor === null) return;
    const at = Math.round(x(this.span.cursor)) + 0.5;
    brush.lineWidth = 1;
    brush.beginPath();
    brush.moveTo(at, inner.top);
    brush.lineTo(at, inner.bottom);
    brush.stroke();
  }
}
