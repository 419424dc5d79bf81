// SPDX-License-Identifier: Apache-2.0
// The list of clips, some at a time: to play, to correct, to accept or to reject. One of them is the current one.

const kOnPage = 50;

class ClipList {
  constructor(corpus, corrections) {
    Object.assign(this, {corpus, corrections, page: 0, current: 0, rows: []});
    for (const id of ['order', 'filter']) $(id).onchange = () => this.choose();
    $('search').oninput = () => this.choose();
    $('before').textContent = say.before;
    $('behind').textContent = say.behind;
    $('before').onclick = () => this.turn(this.page - 1);
    $('behind').onclick = () => this.turn(this.page + 1);
    const player = $('player');
    player.onplay = player.onpause = player.onended = () => this.showPlaying();
    player.onerror = () => { $('error').textContent = player.dataset.clip ? say.not_played(player.dataset.clip) : ''; };
    this.choose();
  }

  isDoubtful(clip) {
    return !clip.corrected && (clip.confidence < this.corpus.limits.sure || Boolean(clip.doubt));
  }

  // Which clips are shown, and in which order.
  choose() {
    const wanted = {
      all: () => true, doubtful: clip => this.isDoubtful(clip), touched: clip => this.corrections.changes.has(clip.name),
      rejected: clip => this.corrections.of(clip.name).accepted === false,
    }[$('filter').value];
    const search = $('search').value.trim().toLowerCase();
    const holds = clip => `${clip.name} ${this.corrections.textOf(clip.name)}`.toLowerCase().includes(search);
    this.shown = this.corpus.clips.filter(clip => wanted(clip) && holds(clip));
    if ($('order').value === 'doubt') this.shown.sort((a, b) => a.corrected - b.corrected || this.isDoubtful(b) - this.isDoubtful(a) || a.confidence - b.confidence);
    this.turn(0, 0);
  }

  pages() {
    return Math.max(1, Math.ceil(this.shown.length / kOnPage));
  }

  turn(page, current = 0) {
    this.page = Math.min(Math.max(page, 0), this.pages() - 1);
    const clips = this.shown.slice(this.page * kOnPage, (this.page + 1) * kOnPage);
    this.rows = clips.map((clip, at) => new ClipRow(this, clip, at));
    $('clips').replaceChildren(...this.rows.map(row => row.element));
    if (!clips.length) $('clips').append(make('li', {className: 'card hint', textContent: say.no_clips}));
    $('page-number').textContent = say.page(inWords(this.page + 1), inWords(this.pages()));
    $('before').setAttribute('aria-disabled', this.page === 0);
    $('behind').setAttribute('aria-disabled', this.page === this.pages() - 1);
    this.current = Math.min(current, Math.max(0, clips.length - 1));
    this.mark();
    this.showPlaying();
  }

  mark() {
    for (const [at, row] of this.rows.entries()) row.element.classList.toggle('current', at === this.current);
  }

  // To another clip, over the borders of pages.
  go(by) {
    const at = this.page * kOnPage + this.current + by;
    if (at < 0 || at >= this.shown.length) return;
    const page = Math.floor(at / kOnPage);
    if (page === this.page) {
      this.current = at % kOnPage;
      this.mark();
    } else {
      this.turn(page, at % kOnPage);
    }
    this.rows[this.current].play.focus();
    this.rows[this.current].element.scrollIntoView({block: 'center'});
  }

  row() {
    return this.rows[this.current];
  }

  play(row = this.row()) {
    if (!row) return;
    this.current = this.rows.indexOf(row);
    this.mark();
    const player = $('player');
    if (player.dataset.clip === row.clip.name && !player.paused) return player.pause();
    $('error').textContent = '';
    if (player.dataset.clip !== row.clip.name) {
      player.dataset.clip = row.clip.name;
      player.src = `wavs/${encodeURIComponent(row.clip.name)}.wav`;
    }
    player.play().catch(() => {});  // what cannot be played is said by onerror
  }

  showPlaying() {
    const player = $('player');
    for (const row of this.rows) row.showPlaying(!player.paused && player.dataset.clip === row.clip.name);
  }

  judge(accepted, row = this.row()) {
    if (!row) return;
    const before = this.corrections.of(row.clip.name).accepted;
    this.corrections.set(row.clip.name, {accepted: before === accepted ? undefined : accepted});
    row.showState();
    if (before !== accepted) this.go(1);
  }

  // Every change may come from elsewhere: all rows are shown anew.
  refresh() {
    for (const row of this.rows) row.showState();
  }
}

class ClipRow {
  constructor(list, clip, at) {
    Object.assign(this, {list, clip});
    this.play = make('button', {type: 'button', onclick: () => list.play(this)});
    this.text = make('textarea', {value: list.corrections.textOf(clip.name), dir: 'auto', lang: list.corpus.language, rows: 2, ariaLabel: say.text_of(clip.name)});
    this.text.oninput = () => list.corrections.set(clip.name, {text: this.text.value.replace(/\s+/g, ' ').trim() || clip.text});
    this.text.onfocus = () => { list.current = at; list.mark(); };
    const judging = (name, accepted) => make('button', {type: 'button', className: name, textContent: say[name], onclick: () => list.judge(accepted, this)});
    this.accept = judging('accept', true);
    this.reject = judging('reject', false);
    this.badge = make('span', {className: 'badge'});
    const facts = [say.sources[clip.source], clip.speaker && say.speaker(clip.speaker)].filter(Boolean).join(', ');
    this.element = make('li', {className: 'card stack clip'},
      make('div', {className: 'row'}, this.play, make('span', {className: 'name', dir: 'ltr', textContent: clip.name}), this.badge,
           make('span', {className: 'hint', dir: 'auto', textContent: facts}), make('bdi', {className: 'hint', dir: 'ltr', textContent: placeOf(clip)})),
      this.text);
    if (clip.doubt) this.element.append(make('p', {className: 'doubt', dir: 'auto', textContent: say.doubts(clip.doubt)}));
    if (clip.heard && clip.heard !== clip.text) this.element.append(make('p', {className: 'hint', dir: 'auto', textContent: say.heard(clip.heard)}));
    this.element.append(make('div', {className: 'row'}, this.accept, this.reject));
    this.element.onclick = () => { list.current = at; list.mark(); };
    this.showState();
  }

  showPlaying(isPlaying) {
    this.play.textContent = isPlaying ? say.pause : say.play;
  }

  showState() {
    const {clip, list} = this;
    const {accepted} = list.corrections.of(clip.name);
    this.accept.setAttribute('aria-pressed', accepted === true);
    this.reject.setAttribute('aria-pressed', accepted === false);
    this.element.classList.toggle('rejected', accepted === false);
    const isCorrected = clip.corrected || list.corrections.of(clip.name).text !== undefined;
    this.badge.textContent = isCorrected ? say.corrected : say.sure(percent(clip.confidence));
    this.badge.className = `badge ${isCorrected ? 'corrected' : list.isDoubtful(clip) ? 'doubtful' : ''}`;
    const text = list.corrections.textOf(clip.name);
    if (document.activeElement !== this.text && this.text.value !== text) this.text.value = text;
  }
}
