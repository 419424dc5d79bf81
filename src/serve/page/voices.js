// SPDX-License-Identifier: Apache-2.0
// The voices: listed, renamed, deleted, and added from files or the microphone.

function fillSelect(select, items) {
  const before = select.value;
  select.replaceChildren(...items.map(([value, textContent]) => make('option', {value, textContent, dir: 'auto'})));
  if (items.some(([value]) => value === before)) select.value = before;
}

async function loadVoices(wanted) {
  const names = (await askJson('/v1/audio/voices')).voices.map(voice => voice.id);
  fillSelect($('voice'), names.length ? names.map(name => [name, name]) : [['', say.no_voice]]);
  if (names.includes(wanted)) $('voice').value = wanted;
}

const voicePath = name => `/v1/audio/voices/${encodeURIComponent(name)}`;

async function renameVoice() {
  const voice = $('voice').value;
  if (!voice) return;
  const name = await askUser({title: say.rename_title(voice), action: say.rename, field: say.name, value: voice});
  if (name === null || name === voice) return;
  await ask(voicePath(voice), {method: 'PATCH', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({name})});
  await loadVoices(name);
}

async function deleteVoice() {
  const voice = $('voice').value;
  if (!voice) return;
  if (await askUser({title: say.delete_title(voice), text: say.delete_text, action: say.delete}) === null) return;
  await ask(voicePath(voice), {method: 'DELETE'});
  await loadVoices();
}

const kLongestRecording = 60;  // seconds
const kRecordedRate = 48000;
let recordings = [];   // WAVs of the voice that is being added
let recording = null;  // {recorder, parts, stream, meter (an AudioContext)} while the microphone is on

async function startRecording() {
  if (!navigator.mediaDevices) throw new Error(say.no_microphone);
  const audio = {echoCancellation: false, noiseSuppression: false, channelCount: 1};  // the voice as it is
  const stream = await navigator.mediaDevices.getUserMedia({audio}).catch(() => { throw new Error(say.microphone_refused); });
  if (recording || !$('new-voice').open) return release(stream);  // it was lent too late
  const recorder = new MediaRecorder(stream, {audioBitsPerSecond: 256000});
  const parts = [];
  recorder.ondataavailable = event => parts.push(event.data);
  recording = {recorder, parts, stream, meter: new AudioContext()};
  recorder.start();
  $('record').textContent = say.record_end;
  measureLevel(recording, performance.now());
}

function release(stream) {
  for (const track of stream.getTracks()) track.stop();
}

function measureLevel(mine, started) {
  const ear = new AnalyserNode(mine.meter, {fftSize: 8192});  // longer than the time between two looks
  mine.meter.createMediaStreamSource(mine.stream).connect(ear);
  const samples = new Float32Array(ear.fftSize);
  const timer = setInterval(() => {
    const seconds = (performance.now() - started) / 1000;
    if (recording === mine && seconds > kLongestRecording) guarded(endRecording, $('new-voice-error'))();
    if (recording !== mine) return clearInterval(timer);
    ear.getFloatTimeDomainData(samples);
    $('level').value = Math.max(...samples.map(Math.abs));
    $('recorded').textContent = say.seconds(inWords(seconds, 1));
  }, 100);
}

// What was recorded is kept, unless the dialog was closed.
async function endRecording() {
  if (!recording) return;
  const {recorder, parts, stream, meter} = recording;
  recording = null;
  const isWhole = new Promise(resolve => { recorder.onstop = resolve; });
  recorder.stop();
  meter.close();
  release(stream);
  $('record').textContent = say.record;
  $('level').value = 0;
  await isWhole;
  if ($('new-voice').open) await keepRecording(new Blob(parts));
}

// What browsers record is no WAV, which is what every server reads.
async function keepRecording(blob) {
  const decoder = new OfflineAudioContext(1, 1, kRecordedRate);
  const heard = (await decoder.decodeAudioData(await blob.arrayBuffer())).getChannelData(0);
  if (!heard.some(sample => Math.abs(sample) > 0.002)) throw new Error(say.silent);
  const wav = wavOf(Int16Array.from(heard, sample => Math.max(-1, Math.min(1, sample)) * 32767), kRecordedRate);
  recordings.push(wav);
  $('recordings').append(make('audio', {controls: true, src: URL.createObjectURL(wav)}));
}

async function saveVoice() {
  await endRecording();
  const name = $('voice-name').value.trim();
  const clips = [...$('clips').files, ...recordings];
  if (!clips.length) throw new Error(say.no_clip);
  const form = new FormData();
  form.append('name', name);
  for (const clip of clips) form.append('audio_sample', clip);
  $('save-voice').disabled = true;
  $('recorded').textContent = say.saving;
  await ask('/v1/audio/voices', {method: 'POST', body: form}).finally(() => {
    $('save-voice').disabled = false;
    $('recorded').textContent = '';
  });
  $('new-voice').close();
  await loadVoices(name);
}

function openNewVoice() {
  recordings = [];
  $('recordings').replaceChildren();
  $('recorded').textContent = $('new-voice-error').textContent = '';
  $('new-voice-form').reset();
  $('new-voice').showModal();
}
