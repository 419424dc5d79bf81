// SPDX-License-Identifier: Apache-2.0
// Where the page has its data from: the server, or, in report.html, the file itself, which asks nobody.

const report = JSON.parse($('report').textContent);
const kPause = 2000;      // ms until a stream that broke is tried again
const kQuiet = 30000;     // ms without a heartbeat after which a stream counts as broken
const kSoundsKept = 60;   // sounds that stay in memory

let key = kept('key') ?? '';
let keyQuestion = null;  // the promise of its dialog, while it is open

// Browsers may refuse storage to pages of the file system.
function kept(name) {
  try { return sessionStorage.getItem(name); } catch { return null; }
}

function keep(name, value) {
  try { sessionStorage.setItem(name, value); } catch { /* it lasts as long as the page */ }
}

class NoAnswer extends Error {}

function askForKey() {
  keyQuestion ??= new Promise((resolve, reject) => {
    const dialog = $('key-dialog');
    $('key-text').textContent = key ? say.key_wrong : say.key_text;
    $('key-input').value = '';
    dialog.returnValue = '';
    dialog.showModal();
    dialog.onclose = () => {
      keyQuestion = null;
      if (!dialog.returnValue) return reject(new Error(say.key_missing));
      key = $('key-input').value.trim();
      keep('key', key);
      resolve();
    };
  });
  return keyQuestion;
}

// fetch, with the key, that asks for the key where one is wanted and waits once where the server limits requests. Throws an Error for the reader.
async function askServer(address, signal) {
  for (let mayWait = true; ;) {
    const sent = key;
    const answer = await fetch(address, {signal, cache: 'no-store', headers: sent ? {Authorization: `Bearer ${sent}`} : {}}).catch(error => {
      throw error.name === 'AbortError' ? error : new NoAnswer(say.gone);
    });
    if (answer.ok) return answer;
    if (answer.status === 429 && mayWait) {
      mayWait = false;
      await new Promise(resolve => setTimeout(resolve, Math.min(Number(answer.headers.get('Retry-After')) || 2, 60) * 1000));
    } else if (answer.status !== 401) {
      const body = await answer.json().catch(() => ({}));
      throw Object.assign(new Error(body.detail ?? `HTTP ${answer.status}`), {status: answer.status});
    } else if (sent === key) {
      await askForKey();
    }
  }
}

function addressOf(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') query.append(name, one);
  }
  return query.size ? `${path}?${query}` : path;
}

async function ask(path, parameters) {
  if (report) return report[path];
  try {
    const answer = await (await askServer(addressOf(path, parameters))).json();
    connection.works();
    return answer;
  } catch (error) {
    if (error instanceof NoAnswer) connection.broke();
    throw error;
  }
}

// ------------------------------------------------------------ sounds

const sounds = new Map();  // address -> promise of {bytes, player: an address for <audio>}

// Whether a sound or a picture can be had: a report lacks what was left out for its size.
const isHere = address => !report || address in report.data;

// A file of the report, or of the server.
async function fetchBlob(address) {
  if (!report) return (await askServer(address)).blob();
  const [head, content] = report.data[address].split(',');
  return new Blob([Uint8Array.from(atob(content), letter => letter.charCodeAt(0))], {type: head.slice(5, head.indexOf(';'))});
}

async function fetchSound(address) {
  const blob = await fetchBlob(address);
  return {bytes: await blob.arrayBuffer(), player: URL.createObjectURL(blob)};
}

function soundAt(address) {
  if (!sounds.has(address)) {
    sounds.set(address, fetchSound(address));
    sounds.get(address).catch(() => sounds.delete(address));
  }
  if (sounds.size > kSoundsKept) {
    const [oldest, sound] = sounds.entries().next().value;
    sounds.delete(oldest);
    sound.then(({player}) => URL.revokeObjectURL(player), () => {});
  }
  return sounds.get(address);
}

// What an <img> shows: with a key it cannot ask by itself.
async function pictureAt(address) {
  if (report) return report.data[address];
  return key ? URL.createObjectURL(await fetchBlob(address)) : address;
}

// ------------------------------------------------------------ what the server sends by itself

// Whether the server answers; shown above everything while it does not.
const connection = {
  works() { $('gone').hidden = true; },
  broke() {
    setText($('gone'), say.gone);
    $('gone').hidden = false;
  },
};

// Until the page can be seen.
function visible() {
  return new Promise(resolve => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    look();
  });
}

// Calls `on[name](data)` for each event until stop(). A stream that broke is tried again; `onReturn` is told then, since events were missed.
// `onMissing` is told, and nothing tried again, where there is no such run.
// A page that nobody sees holds no stream: browsers keep six to a server, for all pages together.
class Events {
  constructor(parameters, on, {onReturn, onMissing} = {}) {
    Object.assign(this, {address: addressOf('/api/events', parameters), on, onReturn, onMissing, isStopped: false, attempt: null});
    if (report) return;
    this.onHide = () => { if (document.hidden) this.attempt?.abort(); };
    document.addEventListener('visibilitychange', this.onHide);
    this.listen();
  }

  stop() {
    this.isStopped = true;
    this.attempt?.abort();
    document.removeEventListener('visibilitychange', this.onHide);
  }

  async listen() {
    for (let isFirst = true; ; isFirst = false) {
      await visible();
      if (this.isStopped) return;
      await this.read(isFirst).catch(error => {
        if (error instanceof NoAnswer && !document.hidden) connection.broke();
        if (error.status !== 404) return;
        this.stop();
        this.onMissing?.();
      });
      if (!document.hidden && !this.isStopped) await new Promise(resolve => setTimeout(resolve, kPause));
    }
  }

  async read(isFirst) {
    const attempt = this.attempt = new AbortController();
    let isQuiet = false;
    const giveUp = () => { isQuiet = true; attempt.abort(); };
    let watchdog = setTimeout(giveUp, kQuiet);
    try {
      const reader = (await askServer(this.address, attempt.signal)).body.pipeThrough(new TextDecoderStream()).getReader();
      connection.works();
      if (!isFirst) this.onReturn?.();
      for (let rest = ''; ;) {
        const {value, done} = await reader.read();
        if (done) throw new NoAnswer(say.gone);
        clearTimeout(watchdog);
        watchdog = setTimeout(giveUp, kQuiet);
        const messages = (rest + value).split('\n\n');
        rest = messages.pop();
        for (const message of messages) this.take(message);
      }
    } catch (error) {
      throw attempt.signal.aborted && !isQuiet || error.status ? error : new NoAnswer(say.gone);
    } finally {
      clearTimeout(watchdog);
    }
  }

  take(message) {
    const lines = message.split('\n').filter(line => !line.startsWith(':'));
    const valueOf = name => lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trimStart()).join('\n');
    if (!lines.length) return;
    try {
      this.on[valueOf('event')]?.(JSON.parse(valueOf('data')));
    } catch (error) {  // a fault of the page, not of the stream
      reportError(error);
    }
  }
}
