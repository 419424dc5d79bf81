// SPDX-License-Identifier: Apache-2.0
// The page as a whole.

function openTab(name) {
  for (const other of ['speak', 'load']) {
    const isOpen = other === name;
    $(`${other}-view`).hidden = !isOpen;
    $(`${other}-tab`).ariaSelected = String(isOpen);
    $(`${other}-tab`).tabIndex = isOpen ? 0 : -1;
  }
  $('error').textContent = '';
  watchLoad();
}

function followKeys(event) {
  if (document.querySelector('dialog[open]')) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !$('speak-view').hidden) {
    event.preventDefault();
    $('order').requestSubmit();
  } else if (event.key === 'Escape') {
    stopAll();
  } else if (event.target.role === 'tab' && /^Arrow(Left|Right)$/.test(event.key)) {
    const name = event.target === $('speak-tab') ? 'load' : 'speak';
    openTab(name);
    $(`${name}-tab`).focus();
  }
}

function onSubmit(form, work) {
  form.addEventListener('submit', event => {
    event.preventDefault();
    work();
  });
}

function addListeners() {
  const onInput = () => { $('count').textContent = say.characters(inWords([...$('text').value].length)); };
  onInput();
  $('text').oninput = onInput;
  $('order').addEventListener('invalid', () => { $('more').open = true; }, true);
  onSubmit($('order'), speak);
  $('stop').onclick = stopAll;
  $('play').onclick = () => play(shown);
  $('download').onclick = guarded(() => download(shown));
  $('add-voice').onclick = openNewVoice;
  $('rename-voice').onclick = guarded(renameVoice);
  $('delete-voice').onclick = guarded(deleteVoice);
  $('record').onclick = guarded(() => recording ? endRecording() : startRecording(), $('new-voice-error'));
  onSubmit($('new-voice-form'), guarded(saveVoice, $('new-voice-error')));
  $('close-voice').onclick = () => $('new-voice').close();
  $('new-voice').onclose = endRecording;
  for (const name of ['speak', 'load']) $(`${name}-tab`).onclick = () => openTab(name);
  document.addEventListener('keydown', followKeys);
  addEventListener('resize', () => { if (shown) drawWave(); });
}

async function loadLists() {
  await loadVoices();
  const codes = Object.keys((await askJson('/languages')).languages);
  const named = codes.map(code => [code, languageName(code)]).sort((a, b) => a[1].localeCompare(b[1], uiLanguage));
  fillSelect($('language'), [['', say.auto], ...named]);
  const models = (await askJson('/v1/models')).data.map(model => model.id);
  fillSelect($('model'), models.map(name => [name, name]));
  $('model-field').hidden = models.length < 2;
}

// For tests and for the curious: the samples of the speech that is shown, and what the page does now.
window.myxtts = {
  get samples() { return shown?.sound.samples() ?? null; },
  get state() { return making ? 'making' : player.isPlaying() ? 'playing' : 'idle'; },
};

fillInTexts();
['speaking', 'queued', 'places', 'pace', 'median'].forEach(addFigure);
addListeners();
guarded(loadLists)();
