// SPDX-License-Identifier: Apache-2.0
// What the server has to do: the tab Load.

const kSeen = 60;       // readings in a line
const kPaceOver = 10;   // readings that the pace is taken over
const readings = [];    // {time (s), metrics: name with labels -> number}
const figures = {};     // by name: {value, drawing}

function addFigure(name) {
  const value = make('p', {className: 'figure', textContent: '–'});
  const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  drawing.setAttribute('preserveAspectRatio', 'none');
  drawing.setAttribute('viewBox', '0 0 100 100');
  drawing.ariaHidden = 'true';
  $('figures').append(make('div', {className: 'card'}, make('h2', {textContent: say[name]}), value, drawing));
  figures[name] = {value, drawing};
}

function drawShape(drawing, tag, attributes) {
  const shape = document.createElementNS(drawing.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
  drawing.append(shape);
}

function showLine(name, text, values) {
  const {value, drawing} = figures[name];
  value.textContent = text;
  const most = Math.max(...values, 1);
  const from = kSeen - values.length;
  drawing.replaceChildren();
  drawShape(drawing, 'polyline', {points: values.map((v, i) => `${(from + i) * 100 / (kSeen - 1)},${100 - 100 * v / most}`).join(' ')});
}

// How many values a histogram has in each bucket: [upper bound, count].
function bucketsOf(metrics, name) {
  let before = 0;
  return Object.keys(metrics).filter(key => key.startsWith(`${name}_bucket`)).map(key => {
    const count = metrics[key] - before;
    before = metrics[key];
    return [Number(/le="(.*)"/.exec(key)[1].replace('+Inf', 'Infinity')), count];
  });
}

// Where the middle one is, as if the values of its bucket lay evenly; nothing where there are none.
function medianOf(buckets) {
  let left = buckets.reduce((sum, [, count]) => sum + count, 0) / 2;
  let lower = 0;
  if (!left) return null;
  for (const [upper, count] of buckets) {
    if (left <= count) return {seconds: upper === Infinity ? lower : lower + (upper - lower) * left / count, isOver: upper === Infinity};
    left -= count;
    lower = upper;
  }
}

function showMedian(metrics) {
  const buckets = bucketsOf(metrics, 'myxtts_first_sound_seconds');
  const median = medianOf(buckets);
  const {value, drawing} = figures.median;
  value.textContent = median ? (median.isOver ? say.over : say.second)(inWords(median.seconds, 2)) : '–';
  const most = Math.max(...buckets.map(([, count]) => count), 1);
  drawing.replaceChildren();
  buckets.forEach(([, count], i) => {
    const height = Math.max(2, 100 * count / most);
    drawShape(drawing, 'rect', {x: i * 100 / buckets.length, y: 100 - height, width: 80 / buckets.length, height});
  });
}

function paceAt(i) {
  const [first, last] = [readings[Math.max(0, i - kPaceOver)], readings[i]];
  const seconds = last.time - first.time;
  return seconds ? Math.max(0, last.metrics.myxtts_audio_seconds_total - first.metrics.myxtts_audio_seconds_total) / seconds : 0;
}

function showLoad() {
  const {metrics} = readings.at(-1);
  const line = name => readings.map(reading => reading.metrics[name]);
  showLine('speaking', inWords(metrics.myxtts_requests_speaking), line('myxtts_requests_speaking'));
  showLine('queued', inWords(metrics.myxtts_requests_waiting), line('myxtts_requests_waiting'));
  showLine('places', say.of(inWords(metrics.myxtts_places_used), inWords(metrics.myxtts_places)), line('myxtts_places_used'));
  const pace = readings.map((_, i) => paceAt(i));
  showLine('pace', inWords(pace.at(-1), 1), pace);
  showMedian(metrics);
}

async function readLoad() {
  const text = await (await ask('/metrics')).text();
  const lines = text.split('\n').filter(line => line && !line.startsWith('#'));
  const metrics = Object.fromEntries(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]));
  readings.push({time: performance.now() / 1000, metrics});
  if (readings.length > kSeen) readings.shift();
  showLoad();
}

let watches = 0;  // times that the tab was opened; only the last one goes on

async function watchLoad() {
  const mine = ++watches;
  while (!$('load-view').hidden && mine === watches) {
    await readLoad().then(() => { $('error').textContent = ''; }, showError);
    await pause(1);
  }
}
