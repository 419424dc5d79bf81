// SPDX-License-Identifier: Apache-2.0
// Asks the server, with the API key, and shows its errors.

let key = sessionStorage.getItem('key') ?? '';
let keyQuestion = null;  // the promise of its dialog, while it is open

// Asks in a dialog. Gives what was typed, '' where there was nothing to type, or null when it was called off.
function askUser({title, text, action, field, type = 'text', value = ''}) {
  const dialog = $('question');
  const input = $('question-input');
  $('question-title').textContent = title;
  $('question-text').textContent = text ?? '';
  $('question-field').hidden = !field;
  document.querySelector('label[for=question-input]').textContent = field ?? '';
  Object.assign(input, {type, value, required: Boolean(field), pattern: type === 'password' ? '[!-~]+' : '.+'});
  const [act, cancel] = dialog.querySelectorAll('button');
  act.textContent = action;
  dialog.returnValue = '';
  dialog.showModal();
  (field ? input : cancel).focus();  // what cannot be undone is not a mere Enter away
  return new Promise(resolve => {
    dialog.onclose = () => {
      if (dialog.open) return;  // the event of the question before, which came late
      resolve(dialog.returnValue ? (field ? input.value.trim() : '') : null);
    };
  });
}

// For what failed without an answer: the sentence, unless it was stopped.
function unlessStopped(sentence) {
  return error => { throw error.name === 'AbortError' ? error : new Error(sentence); };
}

// Says so while it lasts, then what was said before.
function saying(sentence, work) {
  const before = $('status').textContent;
  $('status').textContent = sentence;
  return work.finally(() => { $('status').textContent = before; });
}

async function askForKey() {
  keyQuestion ??= askUser({title: say.key_title, text: key ? say.key_wrong : say.key_text, action: say.send,
                           field: say.key, type: 'password'}).finally(() => { keyQuestion = null; });
  const typed = await keyQuestion;
  if (typed === null) throw new Error(say.key_missing);
  key = typed;
  sessionStorage.setItem('key', key);
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, seconds * 1000);
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}

// The sentence of an error of the server, in one of its two forms.
async function messageOf(answer) {
  const body = await answer.json().catch(() => ({}));
  return body.error?.message ?? body.detail ?? `HTTP ${answer.status}`;
}

// fetch, with the key, that asks for the key where one is wanted and waits once where the server is busy.
// Throws an Error for the reader, or AbortError.
async function ask(path, options = {}) {
  for (let mayWait = true; ;) {
    const sent = key;
    const headers = {...options.headers, ...(sent ? {Authorization: `Bearer ${sent}`} : {})};
    const answer = await fetch(path, {...options, headers}).catch(unlessStopped(say.gone));
    if (answer.ok) return answer;
    if (answer.status === 401) {
      if (sent === key) await askForKey();
    } else if (answer.status === 429 && mayWait) {
      mayWait = false;
      const seconds = Math.min(Number(answer.headers.get('Retry-After')) || 2, 60);
      await saying(say.busy(inWords(seconds)), pause(seconds, options.signal));
    } else {
      throw new Error(await messageOf(answer));
    }
  }
}

const askJson = async (path, options) => (await ask(path, options)).json();

function postJson(path, body, options = {}) {
  return ask(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body), ...options});
}
