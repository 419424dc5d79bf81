#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the opening of a corpus with a million lines.

    benchmarks/million_clips.py build/release/bin/corpus_bench tests/golden/text/vocab.json

Makes a folder of WAV files (a few real ones, the rest hard links to them, with a name each) and a
manifest, scans it once, and then opens it three times from the index.
"""

import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile

RATE = 22050
LINKS = 50_000  # ext4 allows 65,000 names for one file
WORDS = "winter light over quiet harbour stones remember slowly green paper".split()


def write_wav(path, seconds):
    samples = int(seconds * RATE)
    data = bytes(random.randrange(256) for _ in range(1000)) * (samples * 2 // 1000 + 1)
    data = data[: samples * 2]
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt ")
        file.write(struct.pack("<IHHIIHH", 16, 1, 1, RATE, RATE * 2, 2, 16))
        file.write(b"data" + struct.pack("<I", len(data)) + data)


def make_corpus(folder, clips):
    random.seed(1)
    os.makedirs(f"{folder}/wavs")
    with open(f"{folder}/metadata.csv", "w", encoding="utf-8") as manifest:
        for number in range(clips):
            if number % LINKS == 0:
                seconds = random.uniform(3, 9)
                source = f"{folder}/wavs/clip_{number:07}.wav"
                write_wav(source, seconds)
            else:
                os.link(source, f"{folder}/wavs/clip_{number:07}.wav")
            words = " ".join(random.choice(WORDS) for _ in range(int(seconds * 2.2)))
            manifest.write(f"clip_{number:07}|The {words}.|The {words}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("vocabulary")
    parser.add_argument("--clips", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where to put the corpus; kept when given")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="million-")
    try:
        if not os.path.exists(f"{folder}/corpus"):
            make_corpus(f"{folder}/corpus", options.clips)
        for run in ["scan", "open", "open", "open"]:
            out = subprocess.run(
                [options.program, f"{folder}/corpus", options.vocabulary, f"{folder}/cache"],
                check=True, capture_output=True, text=True)
            index = sum(file.stat().st_size for file in os.scandir(f"{folder}/cache"))
            result = json.loads(out.stdout)
            print(run, json.dumps(result), f"index {index / options.clips:.0f} bytes per clip")
    finally:
        if not options.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
