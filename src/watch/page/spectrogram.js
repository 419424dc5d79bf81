// SPDX-License-Identifier: Apache-2.0
// Pictures of sounds, made in the page: what a sound holds at each pitch, over time.

const kSpectrumRate = 16000;   // Hz; up to half of it is shown
const kFrame = 512;            // samples
const kBands = 64;             // rows of the picture, evenly apart as ears hear
const kMostColumns = 600;
const kQuietest = -80;         // dB below the loudest: the darkest colour

// In place: the Fourier transform of `real` and `imaginary`, whose length is a power of two.
function transform(real, imaginary) {
  const size = real.length;
  for (let i = 1, j = 0; i < size; ++i) {
    let bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [real[i], real[j]] = [real[j], real[i]];
      [imaginary[i], imaginary[j]] = [imaginary[j], imaginary[i]];
    }
  }
  for (let length = 2; length <= size; length *= 2) {
    const angle = -2 * Math.PI / length;
    for (let k = 0; k < length / 2; ++k) {
      const [c, s] = [Math.cos(angle * k), Math.sin(angle * k)];
      for (let i = k; i < size; i += length) {
        const j = i + length / 2;
        const [a, b] = [real[j] * c - imaginary[j] * s, real[j] * s + imaginary[j] * c];
        real[j] = real[i] - a;
        imaginary[j] = imaginary[i] - b;
        real[i] += a;
        imaginary[i] += b;
      }
    }
  }
}

// For each row the first and last bin of the transform that it sums, on the mel scale.
function bandsOfBins() {
  const mel = hertz => Math.log1p(hertz / 700);
  const hertz = height => 700 * Math.expm1(height);
  const edge = band => hertz(mel(kSpectrumRate / 2) * band / kBands) * kFrame / kSpectrumRate;
  return Array.from({length: kBands}, (_, band) => {
    const first = Math.floor(edge(band));
    return [first, Math.max(first, Math.min(kFrame / 2 - 1, Math.ceil(edge(band + 1)) - 1))];
  });
}

// Power in each row of each column, in dB below the loudest: [column * kBands + band].
function spectrogramOf(samples) {
  const columns = Math.max(1, Math.min(kMostColumns, Math.floor(samples.length / (kFrame / 4))));
  const stride = Math.max(1, (samples.length - kFrame) / columns);
  const bands = bandsOfBins();
  const power = new Float32Array(columns * kBands);
  for (let column = 0; column < columns; ++column) {
    const [real, imaginary] = [new Float64Array(kFrame), new Float64Array(kFrame)];
    const from = Math.floor(column * stride);
    for (let i = 0; i < kFrame; ++i) real[i] = (samples[from + i] ?? 0) * (0.5 - 0.5 * Math.cos(2 * Math.PI * i / kFrame));
    transform(real, imaginary);
    bands.forEach(([first, last], band) => {
      let sum = 1e-12;
      for (let bin = first; bin <= last; ++bin) sum += real[bin] ** 2 + imaginary[bin] ** 2;
      power[column * kBands + band] = 10 * Math.log10(sum / (last - first + 1));
    });
  }
  const loudest = power.reduce((a, b) => Math.max(a, b), -Infinity);
  return {columns, power: power.map(value => value - loudest)};
}

// From dark blue by way of red to pale yellow.
function heatColour(share) {
  const stops = [[8, 10, 40], [70, 20, 110], [180, 40, 90], [245, 130, 50], [255, 240, 170]];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const [low, high] = [stops[Math.floor(at)], stops[Math.ceil(at)]];
  return low.map((value, i) => value + (high[i] - value) * (at % 1));
}

// Draws the sound of a file's bytes. Gives its length in seconds.
async function drawSpectrogram(canvas, bytes) {
  const decoder = new OfflineAudioContext(1, 1, kSpectrumRate);
  const sound = await decoder.decodeAudioData(bytes.slice(0));  // takes what it is given
  const {columns, power} = spectrogramOf(sound.getChannelData(0));
  Object.assign(canvas, {width: columns, height: kBands});
  const brush = canvas.getContext('2d');
  const picture = brush.createImageData(columns, kBands);
  power.forEach((value, i) => {
    const [column, row] = [Math.floor(i / kBands), kBands - 1 - i % kBands];
    picture.data.set([...heatColour(1 - value / kQuietest), 255], (row * columns + column) * 4);
  });
  brush.putImageData(picture, 0, 0);
  return sound.duration;
}
