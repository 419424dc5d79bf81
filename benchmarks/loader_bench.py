# SPDX-License-Identifier: Apache-2.0
"""Loading clips, ours beside the Python trainer's dataset and torchaudio with a DataLoader, in one run.

    python benchmarks/loader_bench.py build/release/bin/loader_bench [--clips 24] [--rounds 5] [--seconds 1.0]

loader_bench is built with -DMYXTTS_BENCH=ON. The files are made first: clips of about ten seconds like speech, the same
ones as FLAC and WAV at 22,050 Hz and as MP3 at 44,100 Hz. Each side decodes, mixes, resamples to 22,050 Hz, tokenises
and cuts a prompt of three to six seconds, on one thread, in turn, and is timed by its process' processor time; the best
round of each counts. All sides must load the same number of samples and ids. Needs coqui-tts 0.28.0 with torchcodec and
FFmpeg, as its documents say.
"""

import argparse
import logging
import os
import pathlib
import random
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import soundfile
import torch
import torchaudio
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
from TTS.tts.layers.xtts.trainer.dataset import XTTSDataset
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainerConfig

VOCABULARY = pathlib.Path(__file__).parent.parent / "tests/golden/text/vocab.json"
TEXT = "the printing press was set up in the old town before winter came and it worked until the end of the war"
FORMATS = {"FLAC 22.05 kHz": ("flac", 22050), "WAV 22.05 kHz": ("wav", 22050), "MP3 44.1 kHz": ("mp3", 44100)}


def speech_like(seconds, rate, seed):
    """Voiced and unvoiced stretches between pauses, with moving pitch and formants, peak 0.5."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * t) + 10 * rng.standard_normal()) / rate
    voice = np.zeros_like(t)
    for harmonic in range(1, 40):
        frequency = 120 * harmonic
        gain = sum(np.exp(-(((frequency - formant) / 250.0) ** 2)) for formant in (500, 1500, 2500)) + 0.02
        voice += gain * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 2.1 * t + rng.uniform(0, 6)), 0, 1)
    hiss = rng.standard_normal(len(t)) * np.clip(np.sin(2 * np.pi * 1.3 * t), 0, 1) * 0.3
    sound = voice * syllables + hiss * (1 - syllables) + 0.002 * rng.standard_normal(len(t))
    return (0.5 * sound / np.abs(sound).max()).astype(np.float32)


def make_files(folder, extension, rate, clips):
    samples = []
    for number in range(clips):
        path = folder / f"clip{number}.{extension}"
        soundfile.write(path, speech_like(9.0 + 0.1 * (number % 20), rate, number), rate)
        samples.append({"audio_file": str(path), "text": TEXT, "language": "en"})
    return samples


def our_rate(program, samples, folder, seconds):
    path = folder / "list.txt"
    path.write_text("".join(f"{s['audio_file']}|{s['text']}\n" for s in samples), encoding="utf-8")
    command = [program, VOCABULARY, "en", path, str(seconds)]
    rate, count, ids = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return float(rate), int(count), int(ids)


def timed(load, clips, seconds):
    start = time.process_time()
    loaded = 0
    while loaded == 0 or time.process_time() - start < seconds:
        load()
        loaded += clips
    return loaded / (time.process_time() - start)


class PeerSide:
    """The trainer's own dataset class, as it trains."""

    def __init__(self, samples, tokenizer):
        config = GPTTrainerConfig(model_args=GPTArgs(gpt_use_masking_gt_prompt_approach=True))
        self.dataset = XTTSDataset(config, list(samples), tokenizer, 22050, is_eval=False)
        self.samples = samples

    def rate(self, seconds):
        return timed(lambda: [self.dataset[i] for i in range(len(self.dataset))], len(self.samples), seconds)

    def check(self):
        loaded = [self.dataset.load_item(sample) for sample in self.samples]
        return sum(item[2].shape[-1] for item in loaded), sum(len(item[0]) for item in loaded)


class PlainDataset(torch.utils.data.Dataset):
    """What a person would write with torchaudio: every file decoded once."""

    def __init__(self, samples, tokenizer):
        self.samples, self.tokenizer, self.resamplers = samples, tokenizer, {}

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        sample = self.samples[index]
        wav, rate = torchaudio.load(sample["audio_file"])
        wav = wav.mean(dim=0, keepdim=True)
        if rate != 22050:
            resample = self.resamplers.setdefault(rate, torchaudio.transforms.Resample(rate, 22050))
            wav = resample(wav).clip_(-1, 1)
        length = random.randint(66150, 132300)
        length = length if length <= wav.shape[-1] else wav.shape[-1] // 2
        start = random.randint(0, wav.shape[-1] - length)
        prompt = torch.nn.functional.pad(wav[:, start:start + length], (0, 132300 - length))
        return wav, torch.IntTensor(self.tokenizer.encode(sample["text"], sample["language"])), prompt


def plain_rate(samples, tokenizer, seconds):
    loader = torch.utils.data.DataLoader(PlainDataset(samples, tokenizer), batch_size=1, shuffle=True, num_workers=0)
    return timed(lambda: [batch for batch in loader], len(samples), seconds)


def measure(options, tokenizer, title):
    extension, rate = FORMATS[title]
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        samples = make_files(folder, extension, rate, options.clips)
        peer = PeerSide(samples, tokenizer)
        ours, peers, plain = [], [], []
        for _ in range(options.rounds):
            found, *counts = our_rate(options.program, samples, folder, options.seconds)
            ours.append(found)
            peers.append(peer.rate(options.seconds))
            plain.append(plain_rate(samples, tokenizer, options.seconds))
        expected = peer.check()
        # An MP3's padding is counted differently by different decoders, a frame or two for each file.
        slack = 3 * 1152 * len(samples) if extension == "mp3" else 0
        assert abs(counts[0] - expected[0]) <= slack and counts[1] == expected[1], (counts, expected)
        best = [max(rates) for rates in (peers, plain, ours)]
        print(f"| {title} | {best[0]:.1f} | {best[1]:.1f} | {best[2]:.1f} | {best[2] / best[0]:.1f} | "
              f"{best[2] / best[1]:.1f} |", flush=True)
        return best[2] / best[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    tokenizer = VoiceBpeTokenizer(str(VOCABULARY))
    print("| files | peer's dataset | torchaudio + DataLoader | ours | ours / peer | ours / torchaudio |")
    print("|---|---|---|---|---|---|", flush=True)
    ratios = [measure(options, tokenizer, title) for title in FORMATS]
    raise SystemExit(0 if min(ratios) >= 3 else 1)


main()
