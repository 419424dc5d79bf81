// SPDX-License-Identifier: Apache-2.0
// Samples of a run: the same sentences at every measurement, so that one hears a voice being learnt.

const kScores = {cer: percentText, similarity: similarityText};
const kSounds = ['recording', 'voice', 'copy', 'synthesis'];  // side by side, in this order

class SamplesTab {
  constructor(view) {
    Object.assign(this, {view, answer: null, at: 0, drawn: 0, playing: null});
    this.slider = make('input', {type: 'range', id: 'measurement', min: 0, step: 1});
    this.label = make('output', {className: 'figure'});
    this.label.htmlFor = 'measurement';
    const button = (text, by) => smallButton(text, () => this.go(this.at + by));
    this.hint = hintOf(say.samples_hint);
    this.controls = make('div', {className: 'card stack'}, this.hint,
                         make('div', {className: 'row'}, labelOf(this.slider, say.measurement), this.label),
                         this.slider, make('div', {className: 'row'}, button(say.earlier, -1), button(say.later, 1)));
    this.list = make('div', {className: 'stack'});
    $('samples-view').replaceChildren(this.controls, this.list);
    this.slider.oninput = () => this.go(Number(this.slider.value));
    this.controls.hidden = true;
  }

  show() {
    if (!this.answer) this.again();
  }

  leave() {
    this.stop();
  }

  // What was looked at stays; who looked at the newest sees the new one.
  async again() {
    const wasLast = !this.answer || this.at === this.answer.measurements.length - 1;
    if (this.view.tab !== 'samples') {
      this.answer = null;
      return;
    }
    try {
      this.answer = await ask('/api/samples', {id: this.view.id});
    } catch (error) {
      return showError(error);
    }
    setText(this.hint, this.answer.picture_rows?.includes('copy') ? say.copies_hint : say.samples_hint);
    const last = this.answer.measurements.length - 1;
    this.controls.hidden = last < 0;
    if (last < 0) return this.list.replaceChildren(make('p', {className: 'card', textContent: say.no_samples}));
    this.slider.max = last;
    this.go(wasLast ? last : this.at, true);
  }

  go(at, isNew = false) {
    const {measurements} = this.answer;
    at = Math.min(Math.max(at, 0), measurements.length - 1);
    const {step} = measurements[at];
    const text = say.measurement_at(inWords(at + 1), inWords(measurements.length), inWords(step));
    setText(this.label, text);
    this.slider.value = at;
    this.slider.setAttribute('aria-valuetext', text);
    if (at === this.at && !isNew) return;
    this.at = at;
    const shown = JSON.stringify(measurements[at]);
    if (shown !== this.shown) this.fill(measurements[at]);
    this.shown = shown;
  }

  fill({step, samples}) {
    const mine = ++this.drawn;
    const before = document.activeElement?.dataset?.learnt;
    this.list.replaceChildren(...samples.map(sample => this.card(sample, step, mine)));
    if (before) this.list.querySelector(`[data-learnt="${CSS.escape(before)}"]`)?.focus();
  }

  card(sample, step, mine) {
    const head = make('div', {className: 'row spread'}, make('h3', {textContent: say.sample(sample.name)}), this.learnButton(sample));
    const text = sample.text ? make('blockquote', {textContent: sample.text, dir: 'auto'}) : hintOf(say.no_text);
    const sounds = kSounds.filter(kind => sample[kind]).map(kind => this.sound(kind, sample, step, mine));
    const card = make('section', {className: 'card stack sample'}, head, text, this.heard(sample), make('div', {className: 'sounds'}, ...sounds));
    if (sample.picture && isHere(sample.picture)) card.append(this.picture(sample));
    return card;
  }

  // What a recogniser made of it, where one listened.
  heard({heard, scores}) {
    const parts = Object.entries(kScores).filter(([name]) => isNumber(scores?.[name])).map(([name, text]) => `${say.scores[name]} ${text(scores[name])}`);
    const place = make('div', {className: 'stack heard', hidden: typeof heard !== 'string' && !parts.length});
    if (typeof heard === 'string') place.append(make('p', {}, `${say.heard} `, make('q', {textContent: heard || say.heard_nothing, dir: 'auto'})));
    place.append(hintOf(parts.join(' · '), {hidden: !parts.length}));
    return place;
  }

  sound(kind, sample, step, mine) {
    const place = make('figure', {className: 'sound'}, make('figcaption', {textContent: say[kind]}));
    place.dataset.kind = kind;
    if (!isHere(sample[kind])) {
      place.append(hintOf(say.sound_left_out));
      return place;
    }
    const canvas = make('canvas', {role: 'img', ariaLabel: say.spectrogram_of(say[kind], inWords(step)), className: 'spectrogram'});
    const player = make('audio', {controls: true, ariaLabel: say.sound_of(say[kind], sample.name, inWords(step))});
    const seconds = make('p', {className: 'hint'});
    place.append(canvas, player, seconds);
    soundAt(sample[kind]).then(async ({bytes, player: address}) => {
      if (mine !== this.drawn) return;
      player.src = address;
      seconds.textContent = say.seconds(inWords(await drawSpectrogram(canvas, bytes), 1));
    }).catch(() => place.replaceChildren(place.firstChild, hintOf(say.sound_failed)));
    return place;
  }

  picture(sample) {
    const [upper, lower] = this.answer.picture_rows?.map(row => say[row] ?? row) ?? ['', ''];
    const picture = make('img', {alt: say.picture(upper, lower), loading: 'lazy'});
    const load = () => pictureAt(sample.picture).then(address => { picture.src = address; }, showError);
    const details = make('details', {open: !sample.synthesis && !sample.copy, ontoggle: () => { if (details.open && !picture.src) load(); }},
                         make('summary', {textContent: say.picture(upper, lower)}), picture);
    return details;
  }

  // ------------------------------------------------------------ from the first measurement to the last

  spokenAt(measurement, name) {
    const sample = measurement.samples.find(other => other.name === name);
    const address = sample?.synthesis ?? sample?.copy;
    return address && isHere(address) ? address : null;
  }

  learnButton(sample) {
    const all = this.answer.measurements.filter(measurement => this.spokenAt(measurement, sample.name));
    const isPlaying = this.playing?.name === sample.name;
    const button = smallButton(isPlaying ? say.learnt_stop : say.learnt, () => this.playing?.name === sample.name ? this.stop() : this.play(sample.name));
    Object.assign(button, {hidden: all.length < 2, title: say.learnt_hint});
    button.dataset.learnt = sample.name;
    return button;
  }

  stop() {
    const {playing} = this;
    this.playing = null;
    playing?.player.pause();
    playing?.end();
    if (playing) this.nameButtons();
  }

  nameButtons() {
    for (const button of this.list.querySelectorAll('[data-learnt]')) {
      button.textContent = button.dataset.learnt === this.playing?.name ? say.learnt_stop : say.learnt;
    }
  }

  async play(name) {
    this.stop();
    const mine = this.playing = {name, player: new Audio(), end: () => {}};
    const {measurements} = this.answer;
    for (let i = 0; i < measurements.length && this.playing === mine; ++i) {
      const address = this.spokenAt(measurements[i], name);
      if (!address) continue;
      this.go(i);
      this.nameButtons();
      try {
        mine.player.src = (await soundAt(address)).player;
        if (this.playing !== mine) return;
        const hasEnded = new Promise(resolve => { mine.player.onended = mine.end = resolve; });
        await mine.player.play();
        await hasEnded;
      } catch { /* a damaged sound is passed over; its own card says so */ }
    }
    if (this.playing === mine) this.stop();
  }
}
