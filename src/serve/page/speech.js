// SPDX-License-Identifier: Apache-2.0
// Speaks what was typed, and keeps it for this visit.

const kMostTalks = 30;  // kept for this visit
let making = null;      // the AbortController of what is being made
let shown = null;       // the talk whose waveform is seen: {order, sound}

function readOrder() {
  const order = {input: $('text').value, voice: $('voice').value};
  if ($('model').value) order.model = $('model').value;
  if ($('language').value) order.language = $('language').value;
  for (const name of ['temperature', 'top_k', 'top_p', 'repetition_penalty', 'speed']) {
    if ($(name).value) order[name] = Number($(name).value);
  }
  // One of our own, so that another format can be asked for later.
  order.seed = $('seed').value ? Number($('seed').value) : Math.floor(Math.random() * 2 ** 31);
  return order;
}

function stopAll() {
  making?.abort();
  making = null;
  player.stop();
}

function show(talk) {
  shown = talk;
  $('wave').hidden = $('result-buttons').hidden = false;
}

async function speak() {
  stopAll();
  player.open();
  $('error').textContent = '';
  $('status').textContent = say.waiting;
  const mine = making = new AbortController();
  const started = performance.now();
  const passed = () => (performance.now() - started) / 1000;
  const talk = {order: readOrder(), sound: null};
  try {
    startTicking();
    const answer = await postJson('/v1/audio/speech', {...talk.order, response_format: 'pcm'}, {signal: mine.signal});
    const rate = Number(/rate=(\d+)/.exec(answer.headers.get('Content-Type'))?.[1] ?? kRate);
    let first = 0;
    await receive(answer, samples => {
      if (!talk.sound) {
        first = passed();
        talk.sound = new Sound(rate);
        show(talk);
        player.start(talk.sound);
        $('status').textContent = say.first(inWords(first, 2));
      }
      talk.sound.add(samples);
      player.add(samples);
    });
    if (!talk.sound) throw new Error(say.broken);
    const {seconds} = talk.sound;
    $('status').textContent = say.done(inWords(seconds, 2), inWords(passed(), 2), inWords(passed() / seconds, 2), inWords(first, 2),
                                       talk.order.seed, languageName(answer.headers.get('X-MyXTTS-Language')));
  } catch (error) {
    const isReplaced = making && making !== mine;  // by the next Speak, whose status it is now
    if (!isReplaced) $('status').textContent = error.name === 'AbortError' ? say.stopped : say.failed;
    showError(error);
  } finally {
    if (making === mine) making = null;
    if (talk.sound) {
      talk.sound.isWhole = true;
      remember(talk);
    }
    startTicking();
  }
}

function play(talk) {
  stopAll();
  player.open();
  show(talk);
  player.start(talk.sound);
  startTicking();
}

async function download({order, sound}) {
  const format = $('format').value;
  const encoded = async () => (await postJson('/v1/audio/speech', {...order, response_format: format})).blob();
  const file = format === 'wav' ? wavOf(sound.samples(), sound.rate) : await saying(say.encoding, encoded());
  const href = URL.createObjectURL(file);
  make('a', {href, download: `${order.voice}-${order.seed}.${format}`}).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

function remember(talk) {
  const {order, sound} = talk;
  const start = order.input.trim().slice(0, 200);
  const button = (text, act) => make('button', {type: 'button', className: 'small', textContent: text, onclick: act,
                                                ariaLabel: `${text}: ${start.slice(0, 40)}`});
  const [voice, rest] = say.line(make('bdi', {textContent: order.voice}), inWords(sound.seconds, 1), order.seed);
  $('history').prepend(make('li', {},
    make('p', {className: 'said', dir: 'auto', textContent: start}),
    make('div', {className: 'row'}, make('span', {className: 'hint'}, voice, rest),
         make('span', {className: 'row'}, button(say.play, () => play(talk)), button(say.download, guarded(() => download(talk)))))));
  $('history-card').hidden = false;
  if ($('history').children.length > kMostTalks) $('history').lastChild.remove();
}
