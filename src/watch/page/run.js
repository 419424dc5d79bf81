// SPDX-License-Identifier: Apache-2.0
// One run: its figures, its tabs, and what the server tells of it while it goes on.

const kTabs = ['curves', 'pipeline', 'samples', 'clips', 'settings', 'checkpoints', 'log'];
const kFigures = ['progress', 'loss', 'validation', 'best', 'speed', 'left', 'ready', 'updated'];

let shownRun = null;  // the RunView that is open

class RunView {
  constructor(id) {
    Object.assign(this, {id, tab: 'curves', charts: new Map()});
    this.curves = new Curves(id, () => this.span.draw());
    this.span = new Span(range => {
      this.controls.show();
      this.curves.zoom(range).then(() => this.span.draw(), showError);
    });
    this.controls = new SpanControls($('curve-controls'), this.span);
    this.tabs = {pipeline: new PipelineTab(this), samples: new SamplesTab(this), clips: new ClipsTab(this), settings: new SettingsTab(this),
                 checkpoints: new CheckpointsTab(this), log: new LogTab(this)};
    for (const tab of kTabs) $(`${tab}-view`).classList.add('stack');
    $('charts').replaceChildren();
    this.events = new Events({id}, {
      run: details => this.take(details),
      points: ({curves}) => this.curves.add(curves),
      again: () => this.curves.again().catch(showError),
      samples: () => this.tabs.samples.again(),
      log: lines => this.tabs.log.add(lines),
    }, {onReturn: () => this.curves.again().catch(showError), onMissing: () => this.awaitRun()});
    this.start();
  }

  async start() {
    try {
      this.take(await ask('/api/run', {id: this.id}));
    } catch (error) {
      if (error.status !== 404) showError(error);  // of a run that is missing the events tell, too
    }
  }

  // Says that there is no such run, and opens it should it come: one that began a moment ago is not found yet.
  awaitRun() {
    if (this.isClosed) return;
    $('run').hidden = true;
    showError(new Error(say.no_such_run));
    this.events = new Events({}, {runs: ({runs}) => {
      if (this.isClosed || !runs.some(run => run.id === this.id)) return;
      this.close();
      shownRun = null;
      openPlace();
    }});
  }

  close() {
    this.isClosed = true;
    this.events.stop();
    this.tabs.samples.stop();
    $('run').hidden = true;
  }

  take(details) {
    if (this.isClosed) return;
    if (details.gone) return setText($('error'), say.run_gone);
    if ($('error').textContent === say.run_gone) setText($('error'), '');
    $('run').hidden = false;
    $('loading').hidden = true;
    this.details = details;
    showRunHead(details);
    this.addCharts(details.curves.map(curve => curve.name));
    this.tabs[this.tab]?.show(details);
  }

  // New names appear while a run goes on: the first validation, the first whole minute of the GPUs.
  addCharts(names) {
    $('no-curves').hidden = names.length > 0;
    const fresh = [];
    chartsFor(names).forEach((chart, place) => {
      const wanted = chart.names.filter(name => names.includes(name));
      if (this.charts.get(chart.id) === wanted.join()) return;
      this.charts.set(chart.id, wanted.join());
      fresh.push(...wanted);
      this.putChart(chart, wanted, place);
    });
    const unknown = fresh.filter(name => !this.curves.wanted.has(name));
    if (unknown.length) this.curves.load(unknown).then(() => this.controls.show(), showError);
  }

  putChart(chart, names, place) {
    const [title, hint] = titleOf(chart.id);
    const lines = names.map((name, i) =>
      ({name, curves: this.curves, label: chart.names.length > 1 ? lineLabel(name) : '', colour: i + 1, isMeasured: isMeasurement(name)}));
    const made = new Chart(this.span, {...chart, title, hint}, lines);
    made.element.dataset.chart = chart.id;
    const old = $('charts').querySelector(`[data-chart="${CSS.escape(chart.id)}"]`);
    if (old) {
      this.span.charts = this.span.charts.filter(other => other.element !== old);
      old.replaceWith(made.element);
    } else {
      $('charts').insertBefore(made.element, $('charts').children[place] ?? null);
    }
  }

  open(tab) {
    if (tab !== this.tab) this.tabs[this.tab]?.leave?.();
    this.tab = tab;
    for (const other of kTabs) {
      $(`${other}-view`).hidden = other !== tab;
      $(`${other}-tab`).ariaSelected = String(other === tab);
      $(`${other}-tab`).tabIndex = other === tab ? 0 : -1;
    }
    if (this.details) this.tabs[tab]?.show(this.details);
    this.span.draw();
  }
}

// Why a command cannot be had, in the reader's language where the page knows it; null: it can.
function whyMissing({commands_missing: missing, commands_missing_codes: codes, model}, name) {
  return say.missing[codes?.[name]]?.(model) ?? missing?.[name] ?? null;
}

function showRunHead(details) {
  const {run, commands} = details;
  document.title = `${run.name} – ${say.at_step(ifKnown(run.step))} – MyXTTS`;
  setText($('run-name'), run.name);
  showState($('run-state'), run);
  setText($('run-part'), run.part ? `${say.part}: ${say.parts[run.part] ?? run.part}` : '');
  setText($('run-sentence'), sentenceOf(run));
  showNotes($('run-notes'), run);
  setText($('run-path'), run.path);
  const values = {progress: progressText(run), loss: lossText(run.loss), validation: lossText(run.validation?.loss), best: bestText(run), speed: speedText(run),
                  left: durationText(run.seconds_left), ready: percentText(run.ready), updated: timeText(run.updated)};
  for (const name of kFigures) setText($(`figure-${name}`), values[name]);
  for (const name of ['hear', 'resume', 'export']) {
    const button = $(`copy-${name}`);
    button.setAttribute('aria-disabled', String(!commands[name]));
    const why = whyMissing(details, name) ?? say.unknown;
    button.title = commands[name] ?? why;
    button.onclick = () => commands[name] ? copyText(commands[name]) : setText($('copy-status'), why);
  }
}

// Puts a command where it can be pasted from. Pages at plain http have only the old way.
async function copyText(text) {
  const isCopied = await (navigator.clipboard?.writeText(text).then(() => true, () => false) ?? false) || copyTheOldWay(text);
  $('copy-status').replaceChildren(isCopied ? say.copied : say.copy_failed, ' ', make('code', {textContent: text, dir: 'ltr'}));
}

function copyTheOldWay(text) {
  const before = document.activeElement;
  const field = make('textarea', {value: text, className: 'unseen'});
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  before?.focus();
  return isCopied;
}

function followTabKeys(event) {
  const at = kTabs.findIndex(tab => $(`${tab}-tab`) === event.target);
  const forward = say.direction === 'rtl' ? 'ArrowLeft' : 'ArrowRight';
  const to = event.key === 'Home' ? 0 : event.key === 'End' ? kTabs.length - 1 : at + (event.key === forward ? 1 : -1);
  if (at < 0 || !/^(Arrow(Left|Right)|Home|End)$/.test(event.key)) return;
  event.preventDefault();
  const tab = kTabs[(to + kTabs.length) % kTabs.length];
  goTo({...placeNow(), tab});
  $(`${tab}-tab`).focus();
}

function prepareRunView() {
  $('tabs').append(...kTabs.map(tab => {
    const button = make('button', {type: 'button', role: 'tab', id: `${tab}-tab`, textContent: say[tab], ariaSelected: 'false', tabIndex: -1,
                                   onclick: () => goTo({...placeNow(), tab})});
    button.setAttribute('aria-controls', `${tab}-view`);
    return button;
  }));
  $('tabs').addEventListener('keydown', followTabKeys);
  $('run-figures').append(...kFigures.map(name =>
    make('div', {}, make('dt', {textContent: say[name]}), make('dd', {id: `figure-${name}`, textContent: '–'}))));
  $('run-commands').append(...['hear', 'resume', 'export'].map(name =>
    Object.assign(smallButton(say.copy_commands[name]), {id: `copy-${name}`})));
}
