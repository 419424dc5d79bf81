// SPDX-License-Identifier: Apache-2.0
// What is on the page beside the list of clips, and the keys.

const kRowsAtOnce = 200;

function showFigures(corpus, list) {
  const figures = [[say.clip_count, inWords(corpus.clips.length)], [say.speech, say.minutes(minutesOf(corpus.clips))],
                   [say.doubtful, inWords(corpus.clips.filter(clip => list.isDoubtful(clip)).length)],
                   [say.left_out_count, say.minutes(minutesOf(corpus.left_out))]];
  $('figures').replaceChildren(...figures.map(([name, value]) => make('div', {}, make('dt', {textContent: name}), make('dd', {textContent: value}))));
  $('keys').replaceChildren(...say.key_list.flatMap(([key, does]) => [
    make('dt', {}, make('kbd', {textContent: key, dir: 'ltr'})), make('dd', {textContent: does})]));
}

function showLeftOut(corpus) {
  const all = corpus.left_out;
  $('left-out').hidden = !all.length;
  $('left-out-title').textContent = say.left_out(inWords(all.length), minutesOf(all));
  const reasons = Map.groupBy(all, stretch => stretch.reason);
  const bySize = [...reasons].sort((a, b) => b[1].length - a[1].length);
  $('reasons').replaceChildren(...bySize.map(([reason, stretches]) => make('li', {
    dir: 'auto', textContent: say.reason_line(reason, inWords(stretches.length), minutesOf(stretches))})));
  const columns = [say.recording, say.time, say.reason, say.said];
  const body = make('tbody');
  $('left-out-table').replaceChildren(make('table', {}, make('thead', {}, make('tr', {}, ...columns.map(textContent => make('th', {scope: 'col', textContent})))), body));
  const more = $('more-left-out');
  const add = () => {
    const done = body.children.length;
    for (const stretch of all.slice(done, done + kRowsAtOnce)) {
      const values = [stretch.recording, `${clock(stretch.begin)}–${clock(stretch.end)}`, stretch.reason, stretch.text];
      const cells = values.map((textContent, i) => make('td', {}, make('bdi', {textContent, dir: i === 1 ? 'ltr' : 'auto'})));
      cells.forEach((cell, i) => { cell.dataset.name = columns[i]; });
      body.append(make('tr', {}, ...cells));
    }
    const left = all.length - body.children.length;
    more.hidden = left === 0;
    more.textContent = say.more(inWords(Math.min(left, kRowsAtOnce)));
  };
  more.onclick = add;
  add();
}

function showUnread(corpus) {
  $('unread').hidden = !corpus.unread.length;
  $('unread-title').textContent = say.unread(inWords(corpus.unread.length));
  $('unread-list').replaceChildren(...corpus.unread.map(textContent => make('li', {textContent, dir: 'auto', lang: corpus.language})));
}

function showTouched(corrections) {
  const count = corrections.changes.size;
  $('touched').textContent = say.touched(count);
  $('save').setAttribute('aria-disabled', count === 0);
  $('forget').setAttribute('aria-disabled', count === 0);
}

function listenToKeys(list) {
  const actions = {
    ' ': () => list.play(), j: () => list.go(1), ArrowDown: () => list.go(1), k: () => list.go(-1), ArrowUp: () => list.go(-1),
    a: () => list.judge(true), r: () => list.judge(false), e: () => list.row()?.text.focus(),
  };
  document.addEventListener('keydown', event => {
    if (event.target.matches('textarea')) {
      if (event.key === 'Escape') list.row()?.play.focus();
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) list.judge(true);
      return;
    }
    const isTyping = event.target.matches('input, select');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const isPressed = event.key === ' ' && event.target.matches('button, summary, a');  // which the browser does itself
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || isPressed) return;
    event.preventDefault();
    action();
  });
}

function chooseTheme() {
  const select = $('theme');
  const apply = () => { document.documentElement.dataset.theme = select.value; };
  try {
    select.value = localStorage.getItem('myxtts-theme') ?? '';
  } catch {  // no storage here
  }
  select.onchange = () => {
    apply();
    try {
      localStorage.setItem('myxtts-theme', select.value);
    } catch {  // no storage here
    }
  };
  apply();
}

function start() {
  fillTexts();
  chooseTheme();
  const corpus = JSON.parse($('corpus').textContent);
  if (!corpus) {
    $('error').textContent = say.no_corpus;
    return;
  }
  document.title = `${corpus.title} – MyXTTS`;
  $('title').textContent = corpus.title;
  let list = null;
  const corrections = new Corrections(corpus, () => {
    showTouched(corrections);
    list?.refresh();
  });
  list = new ClipList(corpus, corrections);
  showFigures(corpus, list);
  showLeftOut(corpus);
  showUnread(corpus);
  $('saving-hint').textContent = say.saving_hint;
  $('save').textContent = say.save;
  $('forget').textContent = say.forget;
  $('save').onclick = () => {
    if (!corrections.changes.size) return;
    corrections.save();
    $('touched').textContent = say.saved;
  };
  $('forget').onclick = () => {
    if (corrections.changes.size && confirm(say.really_forget)) corrections.forget();
  };
  showTouched(corrections);
  listenToKeys(list);
  addEventListener('beforeunload', event => {
    if (!corrections.isSaved) event.preventDefault();
  });
  globalThis.myxtts = {list, corrections};
}

start();
