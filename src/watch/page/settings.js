// SPDX-License-Identifier: Apache-2.0
// The settings of a run, its checkpoints and its log.

class SettingsTab {
  constructor() {
    this.config = [];
    this.search = make('input', {type: 'search', id: 'setting-search', autocomplete: 'off', dir: 'ltr', oninput: () => this.fill()});
    this.onlyChanged = make('input', {type: 'checkbox', id: 'only-changed', onchange: () => this.fill()});
    this.list = make('div', {ariaLive: 'off'});
    const controls = make('div', {className: 'row controls'}, labelOf(this.search, say.search), this.search, ticked(this.onlyChanged, say.only_changed));
    $('settings-view').replaceChildren(make('section', {className: 'card stack'}, controls, this.list));
  }

  show({config}) {
    const seen = JSON.stringify(config);
    if (seen === this.seen) return;
    this.seen = seen;
    this.config = config;
    this.fill();
  }

  fill() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.config.filter(({key, value, is_default: isDefault}) =>
      (!this.onlyChanged.checked || !isDefault) && (!wanted || `${key} ${value}`.toLowerCase().includes(wanted)));
    if (!found.length) return this.list.replaceChildren(make('p', {textContent: this.config.length ? say.none_found : say.no_settings}));
    const rows = found.map(({key, value, origin, is_default: isDefault}) =>
      [codeOf(key), codeOf(value ?? '–'), make('bdi', {className: isDefault ? 'hint' : '', textContent: say.origin_of(origin ?? say.unknown)})]);
    this.list.replaceChildren(scrolled(tableOf([say.setting, say.value, say.origin], rows, 'of-settings')));
  }
}

const kCommands = ['hear', 'resume', 'export', 'report'];

class CheckpointsTab {
  show(details) {
    const {checkpoints, best_by: bestBy, commands, commands_missing: missing} = details;
    const seen = JSON.stringify([checkpoints, bestBy, commands, missing]);
    if (seen !== this.seen) $('checkpoints-view').replaceChildren(this.list(checkpoints, bestBy), this.commands(details));
    this.seen = seen;
  }

  list(checkpoints, bestBy) {
    const card = make('section', {className: 'card stack'}, make('h3', {textContent: say.checkpoints}), hintOf(say.what_best_is[bestBy]));
    if (!checkpoints.length) {
      card.append(make('p', {textContent: say.no_checkpoints}));
      return card;
    }
    const kinds = ['best', 'latest', 'damaged'];
    const badge = kind => make('span', {className: `state ${kind}`, textContent: say[`is_${kind}`]});
    const badges = one => make('span', {className: 'row'}, ...kinds.filter(kind => one[`is_${kind}`]).map(badge));
    const wasHeard = checkpoints.some(one => isNumber(one.sample_cer));
    const columns = [say.step, say.saved, say.size, say.validation, ...wasHeard ? [say.scores.cer] : [], say.kind];
    const rows = checkpoints.toReversed().map(one => [inWords(one.step), timeText(one.time), sizeText(one.bytes), lossText(one.validation_loss),
                                                      ...wasHeard ? [percentText(one.sample_cer)] : [], badges(one)]);
    const bytes = checkpoints.reduce((sum, one) => sum + (one.bytes ?? 0), 0);
    card.append(scrolled(tableOf(columns, rows)), hintOf(say.together(sizeText(bytes))));
    return card;
  }

  commands(details) {
    const {commands} = details;
    const items = kCommands.filter(name => commands[name] || whyMissing(details, name)).map(name => {
      const title = make('h4', {textContent: say[name] ?? name});
      if (!commands[name]) return make('div', {className: 'command'}, title, hintOf(whyMissing(details, name), {dir: 'auto'}));
      const button = smallButton(say.copy_button, () => copyText(commands[name]));
      button.ariaLabel = say.copy_commands[name] ?? title.textContent;
      return make('div', {className: 'command'}, make('div', {className: 'row spread'}, title, button), make('pre', {dir: 'ltr'}, codeOf(commands[name])));
    });
    return make('section', {className: 'card stack'}, make('h3', {textContent: say.commands}), ...items);
  }
}

const kFirstLog = 65536;       // bytes from the end
const kMostLogLines = 5000;

class LogTab {
  constructor(view) {
    Object.assign(this, {view, from: null, to: null, lines: []});
    this.level = make('select', {id: 'log-level', onchange: () => this.fill()}, make('option', {value: '', textContent: say.log_all}),
                      make('option', {value: 'bad', textContent: say.log_bad}));
    this.follow = make('input', {type: 'checkbox', id: 'log-follow', checked: true, onchange: () => this.fill()});
    this.earlier = smallButton(say.log_earlier, () => this.loadEarlier());
    this.text = make('pre', {className: 'log', dir: 'ltr', tabIndex: 0, role: 'log', ariaLabel: say.log, ariaLive: 'off'});
    const controls = make('div', {className: 'row controls'}, labelOf(this.level, say.log_level), this.level, ticked(this.follow, say.follow), this.earlier);
    $('log-view').replaceChildren(controls, this.text);
  }

  async show() {
    if (this.from !== null) return this.fill();
    try {
      const {from, to, lines} = await ask('/api/log', {id: this.view.id, from: -kFirstLog});
      Object.assign(this, {from, to, lines});
      this.fill();
    } catch (error) {
      showError(error);
    }
  }

  // The piece before what is shown, as much as an answer may hold.
  async loadEarlier() {
    try {
      const start = Math.max(0, this.from - kFirstLog);
      const more = await ask('/api/log', {id: this.view.id, from: start});
      const missing = [];
      let at = more.from;
      for (const line of more.lines) {
        if (at >= this.from) break;
        missing.push(line);
        at += new TextEncoder().encode(line).length + 1;
      }
      this.from = more.from;
      this.lines = [...missing, ...this.lines];
      this.follow.checked = false;
      this.fill();
    } catch (error) {
      showError(error);
    }
  }

  add({from, to, lines}) {
    if (this.from === null || from < this.to) return;
    this.to = to;
    this.lines = [...this.lines, ...lines].slice(-kMostLogLines);
    if (this.view.tab === 'log') this.fill();
  }

  fill() {
    const isBad = line => /^\S+ (warning|error|critical) /.test(line);
    const shown = this.level.value ? this.lines.filter(isBad) : this.lines;
    this.text.replaceChildren(...shown.map(line => make('span', {className: isBad(line) ? 'bad' : '', textContent: `${line}\n`})));
    if (!this.lines.length) this.text.textContent = say.no_log;
    this.earlier.hidden = Boolean(report) || !this.from || this.lines.length >= kMostLogLines;
    if (this.follow.checked) this.text.scrollTop = this.text.scrollHeight;
  }
}
