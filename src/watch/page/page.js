// SPDX-License-Identifier: Apache-2.0
// The page as a whole: what is shown is in its address, so that it can be reloaded, kept and sent.

let view = null;  // what is open: {close()}

// The same error is not read out again.
function showError(error) {
  if (error.name === 'AbortError' || error instanceof NoAnswer) return;
  setText($('error'), error.message);
  $('loading').hidden = true;
}

// An address may have been mangled on its way.
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// Where the reader is, from the part of the address after #: {run, tab}, {compare: [ids]}, or {} for the overview.
function placeNow() {
  if (report) return {run: report.id, tab: new URLSearchParams(location.hash.slice(1)).get('tab') ?? 'curves'};
  const parts = Object.fromEntries(location.hash.slice(1).split('&').filter(Boolean).map(part => part.split('=')));
  if (parts.compare !== undefined) return {compare: parts.compare.split(',').filter(Boolean).map(decoded)};
  return parts.run === undefined ? {} : {run: decoded(parts.run), tab: parts.tab ?? 'curves'};
}

function goTo({run, tab}) {
  location.hash = report ? `#tab=${tab}` : `#run=${encodeURIComponent(run)}&tab=${tab}`;
}

function openPlace() {
  const place = placeNow();
  const tab = kTabs.includes(place.tab) ? place.tab : 'curves';
  if (place.run !== undefined && shownRun?.id === place.run) return shownRun.open(tab);
  setText($('error'), '');
  view?.close();
  view = shownRun = null;
  $('loading').hidden = false;
  $('to-overview').hidden = Boolean(report) || (place.run === undefined && !place.compare);
  if (place.run !== undefined) {
    view = shownRun = new RunView(place.run);
    shownRun.open(tab);
  } else if (place.compare) {
    view = new CompareView(place.compare);
  } else {
    openOverview();
    view = {close: closeOverview};
  }
  showLanguageLink();
}

function showLanguageLink() {
  const address = new URL(location.href);
  address.searchParams.set('lang', say.other);
  Object.assign($('other-language'), {href: address.href, lang: say.other, textContent: say.other_name});
}

// Light, dark, or as the system has it; charts are drawn anew in the other colours.
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $('theme').value = theme;
  view?.span?.draw();
}

function showReportNote() {
  if (!report) return;
  const note = [say.report_of(report['/api/run'].run.name, timeText(report.written))];
  if (report.left_out?.sounds) note.push(say.report_left_out(inWords(report.left_out.sounds), report.left_out.why));
  $('report-note').textContent = note.join(' ');
  $('report-note').hidden = false;
}

// For tests and for the curious: the curve of a name as it is drawn now, and what is being shown.
window.myxtts = {
  curve: name => shownRun?.curves.of(name, shownRun.span.range) ?? null,
  get span() { return view?.span ?? null; },
};

fillInTexts();
$('words').append(...say.words.map(([word, meaning]) => make('div', {}, make('dt', {textContent: word}), make('dd', {textContent: meaning}))));
prepareRunView();
showReportNote();
applyTheme(kept('theme') ?? '');
$('theme').onchange = () => {
  keep('theme', $('theme').value);
  applyTheme($('theme').value);
};
$('skip').onclick = event => {  // the part of the address after # is taken
  event.preventDefault();
  $('main').focus();
};
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => view?.span?.draw());
addEventListener('hashchange', () => {
  openPlace();
  showLanguageLink();
});
openPlace();
