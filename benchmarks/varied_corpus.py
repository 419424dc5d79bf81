#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a corpus of clips of varied length from a small one: FLAC, LJSpeech's layout, its spread of lengths.

    benchmarks/varied_corpus.py FROM TO [--clips 600]

FROM is a folder with metadata.csv and wavs/. A clip of the new corpus begins at a word of the old one and runs on
for as long as is drawn (1.1 to 10.1 s, 6.5 s on average), over the borders of clips where need be; its text are the
words it holds by their share of the time. What comes out follows from the seed alone.
"""
import argparse
import multiprocessing
import pathlib
import random

import numpy

import sound_files

SHORTEST, SPAN = 1.1, 9.0  # seconds; LJSpeech's shortest clip, and up to its longest


def load(folder):
    """All sound in one piece, its words, and the first sample of each word."""
    pieces, words, starts, rate = [], [], [], None
    length = 0
    for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition("|")
        file = next((folder / "wavs").glob(f"{name}.*"))
        samples, rate_here = sound_files.read(file)
        if rate not in (None, rate_here):
            raise SystemExit(f"{file}: {rate_here} Hz, the clips before it {rate} Hz")
        rate = rate_here
        spoken = text.split("|")[-1].split()
        letters = numpy.cumsum([0] + [len(word) + 1 for word in spoken])
        starts += [length + int(len(samples) * at / letters[-1]) for at in letters[:-1]]
        words += spoken
        pieces.append(samples[:, 0])
        length += len(samples)
    return numpy.concatenate(pieces), words, starts, rate


def cut(words, starts, total, rate, draw):
    """First sample, last sample, text."""
    samples = int(rate * (SHORTEST + SPAN * draw.betavariate(2.2, 1.5)))
    last_start = max(i for i, start in enumerate(starts) if start + samples <= total)
    first = draw.randint(0, last_start)
    end = starts[first] + samples
    held = [word for word, start in zip(words[first:], starts[first:]) if start < end - rate // 10]
    return starts[first], end, " ".join(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", metavar="FROM", type=pathlib.Path)
    parser.add_argument("target", metavar="TO", type=pathlib.Path)
    parser.add_argument("--clips", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sound, words, starts, rate = load(options.source)
    (options.target / "wavs").mkdir(parents=True, exist_ok=True)
    draw = random.Random(options.seed)
    cuts = [cut(words, starts, len(sound), rate, draw) for _ in range(options.clips)]
    with multiprocessing.Pool() as pool:
        pool.starmap(sound_files.write_flac, ((options.target / f"wavs/clip{number:05}.flac", sound[begin:end], rate)
                                              for number, (begin, end, _) in enumerate(cuts)))
    lines = [f"clip{number:05}|{text}|{text}" for number, (_, _, text) in enumerate(cuts)]
    (options.target / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    seconds = [(end - begin) / rate for begin, end, _ in cuts]
    print(f"{options.target}: {len(cuts)} clips, {sum(seconds) / 60:.1f} minutes, {min(seconds):.1f} to {max(seconds):.1f} s, "
          f"{sum(seconds) / len(seconds):.2f} s on average")


if __name__ == "__main__":
    main()
