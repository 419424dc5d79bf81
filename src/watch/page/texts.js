// SPDX-License-Identifier: Apache-2.0
// How numbers, times and elements are shown.

// A cell of a table. The name of its column goes with it, for screens on which a line becomes a card.
function cellOf(column, ...children) {
  const cell = make('td', {}, ...children);
  cell.dataset.name = column;
  return cell;
}

function tableOf(columns, rows, kind = '') {
  const head = make('tr', {}, ...columns.map(name => make('th', {scope: 'col', textContent: name})));
  const body = rows.map(cells => make('tr', {}, ...cells.map((content, i) => cellOf(columns[i], content))));
  return make('table', {className: `stacking ${kind}`}, make('thead', {}, head), make('tbody', {}, ...body));
}

const scrolled = table => make('div', {className: 'scroller'}, table);
const labelOf = (field, textContent) => make('label', {htmlFor: field.id, textContent});
const ticked = (box, text) => make('span', {className: 'check'}, box, labelOf(box, text));
const hintOf = (textContent, properties = {}) => make('p', {className: 'hint', textContent, ...properties});
const smallButton = (textContent, onclick) => make('button', {type: 'button', className: 'small', textContent, onclick});
const codeOf = textContent => make('code', {textContent, dir: 'ltr'});

// Only where it differs: a screen reader is not disturbed, and what is selected stays so.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const isNumber = value => typeof value === 'number' && Number.isFinite(value);

// What is known of a number, as `text` writes it; else a dash.
const ifKnown = (number, text = inWords) => isNumber(number) ? text(number) : '–';

const lossText = number => ifKnown(number, n => inWords(n, 4));
// To a tenth where that tells something: few, or nearly all.
const percentText = number => ifKnown(number, n => say.percent(inWords(100 * n, (n >= 0.0005 && n < 0.0995) || (n > 0.9895 && n < 0.9995) ? 1 : 0)));

// To five digits, small and large ones as powers of ten.
function plainNumber(number) {
  if (!isNumber(number)) return '–';
  const size = Math.abs(number);
  return size && (size < 1e-3 || size >= 1e7) ? powerOfTen(number, 5) : number.toLocaleString(uiLanguage, {maximumSignificantDigits: 5});
}

// 5e-6, as it is typed; from left to right in every language.
function powerOfTen(number, digits) {
  return `\u2066${number.toLocaleString(uiLanguage, {maximumSignificantDigits: digits, notation: 'scientific'}).replace('E', 'e')}\u2069`;
}

// 5k, 100k, 1.2M
function inThousands(number) {
  return number.toLocaleString(uiLanguage, {notation: 'compact', maximumSignificantDigits: 4}).replace('K', 'k');
}

// For the axes of charts.
function shortNumber(number) {
  const size = Math.abs(number);
  if (size && size < 1e-3) return powerOfTen(number, 3);
  return size < 10000 ? number.toLocaleString(uiLanguage, {maximumSignificantDigits: 6}) : inThousands(number);
}

// Of small numbers a tenth, also where it is zero unless `fewest` is.
function sizeText(bytes, fewest = 1) {
  if (!isNumber(bytes)) return '–';
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  const size = bytes / 1000 ** power;
  const hasTenths = power > 0 && size < 100;
  const number = size.toLocaleString(uiLanguage, {minimumFractionDigits: hasTenths ? fewest : 0, maximumFractionDigits: hasTenths ? 1 : 0});
  return `${number}\u00a0${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

// The two largest units: "5 h 12 min".
function durationText(seconds) {
  if (!isNumber(seconds)) return '–';
  const whole = Math.max(0, Math.round(seconds));
  const amounts = [[say.days, Math.floor(whole / 86400)], [say.hours, Math.floor(whole / 3600) % 24],
                   [say.minutes, Math.floor(whole / 60) % 60], [say.seconds, whole % 60]];
  const first = amounts.findIndex(([, amount]) => amount);
  if (first < 0) return say.seconds(inWords(0));
  return amounts.slice(first, first + 2).filter(([, amount]) => amount).map(([text, amount]) => text(inWords(amount))).join(' ');
}

function timeText(time) {
  return ifKnown(time, seconds => new Date(seconds * 1000).toLocaleString(uiLanguage, {dateStyle: 'medium', timeStyle: 'medium'}));
}

function fillInTexts() {
  document.documentElement.lang = uiLanguage;
  document.documentElement.dir = say.direction;
  for (const element of document.querySelectorAll('[data-say]')) element.textContent = say[element.dataset.say];
  for (const element of document.querySelectorAll('[data-label]')) element.ariaLabel = say[element.dataset.label];
}
