// SPDX-License-Identifier: Apache-2.0
// What the user said of clips: kept in the browser while the page is closed, saved as corrections.json.

const kFormat = 'myxtts-corrections';
const kVersion = 1;

class Corrections {
  // `changed` is called after each change.
  constructor(corpus, changed) {
    this.key = `${kFormat}:${location.pathname}`;
    this.originals = new Map(corpus.clips.map(clip => [clip.name, clip.text]));
    this.changed = changed;
    this.changes = new Map();  // of a clip's name: {text, accepted}, each where it was touched
    this.isSaved = true;
    this.remember();
  }

  // What an earlier visit left, as far as its clips still are what they were.
  remember() {
    let kept = [];
    try {
      kept = JSON.parse(localStorage.getItem(this.key) ?? '[]');
    } catch {  // no storage here: nothing is remembered
    }
    for (const {clip, was, text, accepted} of kept) {
      if (this.originals.get(clip) === was) this.changes.set(clip, {text, accepted});
    }
  }

  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.list()));
    } catch {  // no storage here, or it is full: the page warns before it is left
    }
    this.isSaved = false;
    this.changed();
  }

  of(name) {
    return this.changes.get(name) ?? {};
  }

  textOf(name) {
    return this.of(name).text ?? this.originals.get(name);
  }

  set(name, change) {
    const now = {...this.of(name), ...change};
    if (now.text === this.originals.get(name)) now.text = undefined;
    if (now.text === undefined && now.accepted === undefined) {
      this.changes.delete(name);
    } else {
      this.changes.set(name, now);
    }
    this.keep();
  }

  forget() {
    this.changes.clear();
    this.keep();
    this.isSaved = true;
  }

  list() {
    return [...this.changes].map(([clip, {text, accepted}]) => ({clip, was: this.originals.get(clip), text, accepted}));
  }

  save() {
    const json = JSON.stringify({format: kFormat, version: kVersion, clips: this.list()}, null, 1);
    const address = URL.createObjectURL(new Blob([json], {type: 'application/json'}));
    make('a', {href: address, download: 'corrections.json'}).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    this.isSaved = true;
  }
}
