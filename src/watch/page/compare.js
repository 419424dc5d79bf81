// SPDX-License-Identifier: Apache-2.0
// Two to eight runs over each other, and what differs in their settings.

const kComparePause = 5000;  // ms between two looks at runs that go on

// One curve in a chart, of each run its own colour. First what one compares by.
const kComparedFirst = ['validation/loss', 'train/loss', 'samples/sample_cer'];

class CompareView {
  constructor(ids) {
    this.ids = ids;
    this.curves = ids.map(id => new Curves(id, () => this.span.draw()));
    this.span = new Span(range => {
      this.controls.show();
      Promise.all(this.curves.map(curves => curves.zoom(range))).then(() => this.span.draw(), showError);
    });
    this.controls = new SpanControls($('compare-controls'), this.span);
    $('compare-charts').replaceChildren();
    document.title = `${say.comparing} – MyXTTS`;
    this.start().catch(showError);
  }

  close() {
    this.isClosed = true;
    this.events?.stop();
    $('compare').hidden = true;
  }

  async start() {
    if (this.ids.length < 2) throw new Error(say.compare_few);
    const answer = await ask('/api/compare', {id: this.ids});
    if (this.isClosed) return;
    $('compare').hidden = false;
    $('loading').hidden = true;
    this.showRuns(answer.runs);
    this.showDifferences(answer);
    const names = answer.curves.filter(name => !kNotShown.test(name));
    const order = [...kComparedFirst.filter(name => names.includes(name)), ...names.filter(name => !kComparedFirst.includes(name))];
    for (const name of order) this.putChart(name, answer.runs);
    await Promise.all(this.curves.map(curves => curves.load(order)));
    this.controls.show();
    if (!this.isClosed) this.events = new Events({}, {runs: ({runs}) => this.follow(runs)});
  }

  // Curves of runs that went on are asked for again, now and then.
  follow(runs) {
    const steps = this.ids.map(id => runs.find(run => run.id === id)?.step);
    if (this.steps === undefined) this.steps = steps;
    if (this.isWaiting || steps.every((step, i) => step === this.steps[i])) return;
    this.isWaiting = true;
    setTimeout(() => {
      this.isWaiting = false;
      const moved = this.curves.filter((_, i) => steps[i] !== this.steps[i]);
      this.steps = steps;
      for (const curves of moved) curves.again().catch(() => {});
    }, kComparePause);
  }

  showRuns(runs) {
    $('compare-runs').replaceChildren(...runs.map((run, i) => {
      const swatch = make('span', {className: `swatch${i % 2 ? ' dashed' : ''}`});
      swatch.style.color = `var(--line-${i % kColours + 1})`;
      return make('li', {}, swatch, make('a', {href: `#run=${encodeURIComponent(run.id)}`, textContent: run.name, dir: 'auto'}),
                  make('span', {className: 'hint', textContent: ` ${say.compared(stateText(run), progressText(run), bestText(run))}`}));
    }));
  }

  showDifferences({runs, differences, same}) {
    if (!differences.length) return $('differences').replaceChildren(make('p', {textContent: say.no_differences(inWords(same))}));
    const rows = differences.map(({key, values, origins}) => [codeOf(key), ...values.map((value, i) => value === null
      ? make('span', {className: 'hint', textContent: say.not_there}) : make('span', {title: say.origin_of(origins[i] ?? '')}, codeOf(value)))]);
    $('differences').replaceChildren(scrolled(tableOf([say.setting, ...runs.map(run => run.name)], rows, 'of-settings')), hintOf(say.same(inWords(same))));
  }

  putChart(name, runs) {
    const base = kCharts.find(chart => chart.names.includes(name)) ?? {format: plainNumber, mayBeLog: /loss/.test(name)};
    const several = base.names?.length > 1 || !base.names;
    const [title, hint] = titleOf(base.id ?? shortName(name));
    const lines = runs.map((run, i) => ({name, curves: this.curves[i], label: run.name, colour: i + 1, isMeasured: isMeasurement(name), isDashed: i % 2 === 1}));
    const chart = new Chart(this.span, {...base, title: several ? `${title}: ${lineLabel(name)}` : title, hint, isMain: kComparedFirst.includes(name)}, lines);
    chart.element.dataset.chart = name;
    $('compare-charts').append(chart.element);
  }
}
