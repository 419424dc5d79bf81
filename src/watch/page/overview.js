// SPDX-License-Identifier: Apache-2.0
// All runs: a line for each, kept up to date; two to eight of them can be chosen for comparing.

const kMostCompared = 8;
const kSparkPoints = 60;
const kSparkPause = 5000;  // ms between two looks at the curve of a run

const runLines = new Map();  // id -> RunRow
const chosen = new Set();    // ids
let overviewEvents = null;

function stateText(run) {
  return say.states[run.state] ?? run.state;
}

// What happened to a run, in the reader's language where the page knows it; an error has only its own words.
function sentenceOf(run) {
  return run.state === 'failed' ? run.sentence : say.sentences[run.state] ?? run.sentence;
}

// What is wrong or missing, each as the properties of its element.
function notesOf(run) {
  return run.notes.map((sentence, i) => {
    const note = run.note_codes?.[i];
    const translated = say.notes[note?.code]?.(note);
    return translated ? {textContent: translated, dir: say.direction} : {textContent: sentence, dir: 'auto'};
  });
}

const progressText = run => isNumber(run.last_step) ? say.of(ifKnown(run.step), inWords(run.last_step)) : ifKnown(run.step);
const bestText = run => run.best ? say.best_at(lossText(run.best.loss), inWords(run.best.step)) : '–';
const stepOf = measured => isNumber(measured?.step) ? say.at_step(inWords(measured.step)) : '';
const speedNumber = hours => inWords(hours, hours < 10 ? 1 : 0);
const speedText = run => ifKnown(run.hours_per_hour, hours => say.speed_value(speedNumber(hours)));

// A curve so small that it fits beside a number.
class Spark {
  constructor(id, title) {
    this.id = id;
    this.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const attributes = {class: 'spark', viewBox: '0 0 100 100', preserveAspectRatio: 'none', role: 'img'};
    for (const [name, value] of Object.entries(attributes)) this.svg.setAttribute(name, value);
    this.svg.ariaLabel = say.curve_of(title);
    this.line = document.createElementNS(this.svg.namespaceURI, 'polyline');
    this.svg.append(this.line);
    new IntersectionObserver(entries => {
      this.isSeen = entries.at(-1).isIntersecting;
      this.load();
    }).observe(this.svg);
  }

  // A run that went on has another curve; looked at now and then only.
  want(step) {
    this.step = step;
    this.load();
  }

  async load() {
    if (!this.isSeen || this.shown === this.step || this.isLoading) return;
    this.isLoading = true;
    const step = this.step;
    try {
      const curve = (await ask('/api/curves', {id: this.id, names: 'train/loss', points: kSparkPoints})).curves['train/loss'];
      if (curve) this.draw(curveOf(curve));
      this.shown = step;
    } catch { /* the line above says what is wrong with the run; the next change tries again */ }
    setTimeout(() => {
      this.isLoading = false;
      this.load();
    }, kSparkPause);
  }

  draw({x, y}) {
    const known = y.filter(value => !Number.isNaN(value));
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const [from, to] = [x[0], x.at(-1)];
    const points = x.map((step, i) => [(step - from) / (to - from || 1) * 100, 96 - (y[i] - low) / (high - low || 1) * 92]);
    this.line.setAttribute('points', points.filter(([, at]) => Number.isFinite(at)).map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(' '));
  }
}

class RunRow {
  constructor(run) {
    const cell = (name, ...children) => cellOf(say[name], ...children);
    this.box = make('input', {type: 'checkbox', ariaLabel: say.choose(run.name), checked: chosen.has(run.id),
                              onchange: () => choose(run.id, this.box.checked)});
    this.link = make('a', {href: `#run=${encodeURIComponent(run.id)}`, textContent: run.name, dir: 'auto'});
    this.state = make('span', {className: 'state'});
    this.sentence = make('p', {className: 'hint', dir: 'auto'});
    this.notes = make('ul', {className: 'notes'});
    this.bar = make('progress', {max: 1, ariaLabel: `${say.progress}: ${run.name}`});
    this.steps = make('span');
    this.spark = new Spark(run.id, run.name);
    this.figures = Object.fromEntries(['part', 'loss', 'validation', 'best', 'speed', 'left'].map(name => [name, cell(name, make('span'))]));
    const {part, loss, ...others} = this.figures;
    loss.append(this.spark.svg);
    this.element = make('tr', {}, cell('compare', this.box), cell('run', make('div', {className: 'row'}, this.link, this.state), this.sentence, this.notes),
                        part, cell('progress', this.steps, this.bar), loss, ...Object.values(others));
  }

  // A value, and small below it what belongs to it.
  put(name, text, more = '') {
    const cell = this.figures[name];
    setText(cell.firstChild, text);
    cell.classList.toggle('not-known', text === '–');
    if (!cell.querySelector('.hint') && more) cell.firstChild.after(make('span', {className: 'hint below'}));
    if (cell.querySelector('.hint')) setText(cell.querySelector('.hint'), more);
  }

  show(run) {
    showState(this.state, run);
    setText(this.sentence, sentenceOf(run));
    showNotes(this.notes, run);
    setText(this.steps, progressText(run));
    this.bar.hidden = !isNumber(run.last_step);
    if (isNumber(run.last_step)) this.bar.value = run.last_step ? run.step / run.last_step : 0;
    this.put('part', run.part ?? '–');
    this.figures.part.title = say.parts[run.part] ?? '';
    this.put('loss', lossText(run.loss));
    this.put('validation', lossText(run.validation?.loss), stepOf(run.validation));
    this.put('best', lossText(run.best?.loss), stepOf(run.best));
    this.put('speed', ifKnown(run.hours_per_hour, speedNumber), isNumber(run.hours_per_hour) ? say.speed_unit : '');
    this.put('left', durationText(run.seconds_left));
    this.spark.want(run.step);
  }
}

function showState(element, run) {
  setText(element, stateText(run));
  element.dataset.state = run.state;
}

function showNotes(list, run) {
  const seen = JSON.stringify(run.notes);
  if (seen === list.dataset.seen) return;
  list.dataset.seen = seen;
  list.replaceChildren(...notesOf(run).map(note => make('li', note)));
}

function choose(id, isChosen) {
  if (isChosen) chosen.add(id);
  else chosen.delete(id);
  showChosen();
}

function showChosen() {
  const canCompare = chosen.size >= 2 && chosen.size <= kMostCompared;
  $('compare-button').setAttribute('aria-disabled', String(!canCompare));
  setText($('compare-button'), chosen.size ? say.compare_chosen(inWords(chosen.size)) : say.compare);
  for (const row of runLines.values()) row.box.disabled = !row.box.checked && chosen.size >= kMostCompared;
}

function showRuns({runs, folders}) {
  $('loading').hidden = true;
  const body = $('run-table').tBodies[0];
  $('no-runs').hidden = runs.length > 0;
  setText($('no-runs'), say.no_runs(folders.join(', ')));
  $('run-table').hidden = !runs.length;
  const present = new Set(runs.map(run => run.id));
  for (const [id, row] of runLines) {
    if (present.has(id)) continue;
    row.element.remove();
    runLines.delete(id);
    chosen.delete(id);
  }
  // New runs come first; the others stay where they are, so that no line moves under the reader's hand.
  for (const run of runs.toReversed()) {
    if (!runLines.has(run.id)) {
      runLines.set(run.id, new RunRow(run));
      body.prepend(runLines.get(run.id).element);
    }
    runLines.get(run.id).show(run);
  }
  showChosen();
}

function openOverview() {
  $('overview').hidden = false;
  document.title = `MyXTTS – ${say.runs}`;
  if (!$('run-table').tHead.rows.length) {
    const names = ['compare', 'run', 'part', 'progress', 'loss', 'validation', 'best', 'speed', 'left'];
    $('run-table').tHead.append(make('tr', {}, ...names.map(name => make('th', {scope: 'col', textContent: say[name]}))));
    $('compare-button').onclick = () => {
      if ($('compare-button').ariaDisabled === 'false') location.hash = `#compare=${[...chosen].map(encodeURIComponent).join(',')}`;
    };
    showChosen();
  }
  overviewEvents = new Events({}, {runs: showRuns});
}

function closeOverview() {
  overviewEvents?.stop();
  $('overview').hidden = true;
}
