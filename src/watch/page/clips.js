// SPDX-License-Identifier: Apache-2.0
// Clips that were left out of the training, with the reason, and those that look wrong, each to be heard.

const kClipsAtOnce = 100;

// A list of clips with what is asked of the server for it.
class ClipList {
  constructor(view, {path, title, hint, none}) {
    Object.assign(this, {view, path, none, shown: 0, reason: ''});
    this.filter = make('select', {id: `${path}-reason`, onchange: () => { this.reason = this.filter.value; this.load(0); }});
    this.filterRow = make('div', {className: 'row'}, labelOf(this.filter, say.reason), this.filter);
    this.table = Object.assign(tableOf([say.reason, say.measured, say.clip, say.play], []), {ariaLabel: title});
    this.rows = this.table.tBodies[0];
    this.empty = make('p', {textContent: none});
    this.more = make('button', {type: 'button', hidden: true, onclick: () => this.load(this.shown)});
    this.element = make('section', {className: 'card stack'}, make('h3', {textContent: title}), hintOf(hint), this.filterRow, this.empty,
                        scrolled(this.table), this.more);
  }

  async load(from) {
    try {
      const answer = await ask(this.path, {id: this.view.id, from, count: kClipsAtOnce, reason: this.reason});
      this.show(answer, from);
    } catch (error) {
      showError(error);
    }
  }

  show({total, reasons, clips}, from) {
    const wanted = report && this.reason ? clips.filter(clip => clip.reason === this.reason) : clips;  // a report has one answer for all questions
    if (!from) this.rows.replaceChildren();
    this.rows.append(...wanted.map(clip => this.row(clip)));
    this.shown = from + clips.length;
    this.empty.hidden = total > 0;
    this.table.hidden = !total;
    this.more.hidden = Boolean(report) || this.shown >= total;
    setText(this.more, say.more(inWords(total - this.shown)));
    const all = Object.values(reasons).reduce((sum, count) => sum + count, 0);
    this.filterRow.hidden = Object.keys(reasons).length < 2;
    if (!this.reason) {
      const options = Object.entries(reasons).sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, `${say.reasons[name] ?? name} (${inWords(count)})`]);
      this.filter.replaceChildren(...[['', say.any_reason(inWords(all))], ...options].map(([value, textContent]) => make('option', {value, textContent})));
    }
  }

  row(clip) {
    const where = make('div', {}, make('bdi', {className: 'path', textContent: clip.file ?? '–'}));
    if (clip.text) where.append(make('p', {textContent: clip.text, dir: 'auto'}));
    if (clip.manifest) where.append(hintOf(clip.line ? say.line(clip.manifest, inWords(clip.line)) : clip.manifest, {dir: 'auto'}));
    return make('tr', {}, cellOf(say.reason, say.reasons[clip.reason] ?? clip.reason), cellOf(say.measured, make('bdi', {textContent: clip.measured ?? '–'})),
                cellOf(say.clip, where), cellOf(say.play, this.player(clip)));
  }

  // The sound is asked for when it is wanted.
  player(clip) {
    if (!clip.sound || !isHere(clip.sound)) return make('span', {className: 'hint', textContent: say.no_sound});
    const ariaLabel = say.play_clip(clip.file);
    const button = smallButton(say.play, async () => {
      const failed = () => make('span', {className: 'hint', textContent: say.sound_failed});
      const sound = await soundAt(clip.sound).catch(showError);
      if (!sound) return;
      const audio = make('audio', {controls: true, src: sound.player, ariaLabel, onerror: () => audio.replaceWith(failed())});
      button.replaceWith(audio);
      audio.focus();
      audio.play().catch(() => {});  // onerror says it
    });
    return Object.assign(button, {ariaLabel});
  }
}

class ClipsTab {
  constructor(view) {
    this.lists = [new ClipList(view, {path: '/api/skipped', title: say.skipped_clips, hint: say.skipped_hint, none: say.none_skipped}),
                  new ClipList(view, {path: '/api/suspicious', title: say.suspicious_clips, hint: say.suspicious_hint, none: say.none_suspicious})];
    $('clips-view').replaceChildren(...this.lists.map(list => list.element));
  }

  // Clips may be left out while the run goes on.
  show({totals}) {
    const seen = JSON.stringify([totals.skipped_clips, totals.suspicious_clips]);
    if (seen !== this.seen) for (const list of this.lists) list.load(0);
    this.seen = seen;
  }
}
