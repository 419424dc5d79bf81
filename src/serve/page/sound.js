// SPDX-License-Identifier: Apache-2.0
// Sound that grows while it is made: kept, played and drawn.

const kRate = 24000;   // of every XTTS model; another one works too, resampled by the browser
const kBlock = 240;    // samples behind one value of the waveform
const kQuiet = 600;    // what is no louder is not drawn any taller
const kLead = 0.08;    // seconds of silence before a sound, and after it ran dry

// Mono samples of 16 bits that grow while they are made.
class Sound {
  constructor(rate) {
    Object.assign(this, {rate, parts: [], length: 0, peaks: [], loudest: kQuiet, isWhole: false});
  }

  add(samples) {
    samples.forEach((sample, i) => {
      const block = Math.floor((this.length + i) / kBlock);
      this.peaks[block] = Math.max(this.peaks[block] ?? 0, Math.abs(sample));
      this.loudest = Math.max(this.loudest, Math.abs(sample));
    });
    this.parts.push(samples);
    this.length += samples.length;
  }

  get seconds() { return this.length / this.rate; }

  samples() {
    const all = new Int16Array(this.length);
    let at = 0;
    for (const part of this.parts) { all.set(part, at); at += part.length; }
    return all;
  }
}

function wavOf(samples, rate) {
  const words = [0x46464952, 36 + samples.byteLength, 0x45564157, 0x20746d66, 16, 1 | 1 << 16, rate, rate * 2, 2 | 16 << 16,
                 0x61746164, samples.byteLength];  // RIFF, WAVE, fmt: PCM, mono, 16 bits; data
  return new Blob([new Uint32Array(words), samples], {type: 'audio/wav'});
}

// Plays one sound at a time, part behind part without a gap, also while it still grows.
const player = {
  context: null,
  sound: null,
  spans: [],  // what is scheduled: {source, frame (of the context), from, length}
  end: 0,     // frame of the context at which the next part begins

  // To be called by a click or a key: browsers let no sound out before one.
  open() {
    this.context ??= new AudioContext({sampleRate: kRate});
    this.context.resume();
  },

  start(sound) {
    this.stop();
    this.sound = sound;
    for (const part of sound.parts) this.add(part);
  },

  add(samples) {
    const {context, sound} = this;
    const buffer = context.createBuffer(1, samples.length, sound.rate);
    buffer.copyToChannel(Float32Array.from(samples, sample => sample / 32768), 0);
    const source = new AudioBufferSourceNode(context, {buffer});
    source.connect(context.destination);
    const now = context.currentTime * context.sampleRate;
    if (this.end < now) this.end = Math.ceil(now + kLead * context.sampleRate);
    source.start(this.end / context.sampleRate);
    const last = this.spans.at(-1);
    this.spans.push({source, frame: this.end, from: last ? last.from + last.length : 0, length: samples.length});
    this.end += Math.round(buffer.duration * context.sampleRate);
  },

  stop() {
    for (const span of this.spans) span.source.stop();
    Object.assign(this, {spans: [], end: 0, sound: null});
  },

  isPlaying() { return this.spans.length > 0 && this.context.currentTime * this.context.sampleRate < this.end; },

  // The sample that is heard now.
  position() {
    const now = (this.context?.currentTime ?? 0) * (this.context?.sampleRate ?? 0);
    const span = this.spans.findLast(span => span.frame <= now);
    if (!span) return 0;
    return span.from + Math.min(span.length, (now - span.frame) * this.sound.rate / this.context.sampleRate);
  },
};

// The bytes of an answer, as samples while they come; a sample may be cut in two.
async function receive(answer, use) {
  const reader = answer.body.getReader();
  for (let rest = new Uint8Array(); ;) {
    const {done, value} = await reader.read().catch(unlessStopped(say.broken));
    if (done) return;
    const bytes = new Uint8Array(rest.length + value.length);
    bytes.set(rest);
    bytes.set(value, rest.length);
    const even = bytes.length - bytes.length % 2;
    rest = bytes.slice(even);
    if (even) use(new Int16Array(bytes.buffer, 0, even / 2));
  }
}

function drawWave() {
  const canvas = $('wave');
  const scale = devicePixelRatio;
  const width = Math.round(canvas.clientWidth * scale);
  const height = Math.round(canvas.clientHeight * scale);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  const brush = canvas.getContext('2d');
  brush.clearRect(0, 0, width, height);
  const {sound} = shown;
  const isHeard = player.sound === sound && player.isPlaying();
  const position = isHeard ? player.position() : 0;
  const blocks = sound.isWhole ? sound.peaks.length : Math.max(sound.peaks.length, 2 * sound.rate / kBlock);
  const bar = 3 * scale;
  const bars = Math.floor(width / (bar + scale));
  const style = getComputedStyle(document.documentElement);
  const colours = ['--edge', '--accent'].map(name => style.getPropertyValue(name));
  for (let i = 0; i < bars; ++i) {
    const first = Math.floor(i * blocks / bars);
    const peak = Math.max(...sound.peaks.slice(first, Math.max(first + 1, Math.floor((i + 1) * blocks / bars))), 0);
    if (first >= sound.peaks.length) break;
    const length = Math.max(bar, peak / sound.loudest * height);
    brush.fillStyle = colours[isHeard && first * kBlock <= position ? 1 : 0];
    brush.fillRect(i * (bar + scale), (height - length) / 2, bar, length);
  }
  if (isHeard) {
    brush.fillStyle = style.getPropertyValue('--ink');
    brush.fillRect(position / kBlock / blocks * width, 0, 2 * scale, height);
  }
  $('position').textContent = `${inWords(position / sound.rate, 1)} / ${inWords(sound.seconds, 1)}`;
}

const isCalm = matchMedia('(prefers-reduced-motion: reduce)');
let isTicking = false;

function tick() {
  const isBusy = Boolean(making) || player.isPlaying();
  $('stop').ariaDisabled = String(!isBusy);
  if (shown) drawWave();
  isTicking = isBusy;
  if (isBusy) isCalm.matches ? setTimeout(tick, 250) : requestAnimationFrame(tick);
}

function startTicking() {
  if (!isTicking) tick();
}
