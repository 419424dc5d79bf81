# SPDX-License-Identifier: Apache-2.0
"""Cleaning and BPE, our program beside the Python trainer, in one run on one core.

    python benchmarks/text_bench.py build/release/bin/myxtts [--languages en,de] [--lines 2000]

The sentences are those of tests/golden/text. Both tokenise the same lines once to warm up; then the time of each is
taken, ours for the whole program (start, reading the vocabulary, JSON) less that of a run without text. Needs coqui-tts 0.28.0.
"""

import argparse
import json
import pathlib
import subprocess
import time

from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer

GOLDEN = pathlib.Path(__file__).parent.parent / "tests/golden/text"
VOCABULARY = GOLDEN / "vocab.json"


def sentences(language, count):
    """Lines without line ends inside, repeated up to the count."""
    rows = [json.loads(line)[0] for line in (GOLDEN / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row and "\n" not in row]
    return (rows * (count // len(rows) + 1))[:count]


def our_seconds(program, language, text):
    start = time.perf_counter()
    subprocess.run([program, "tokenize", "--quiet", "--language", language, "--vocab", VOCABULARY], input=text.encode(),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def peer_seconds(tokenizer, language, lines):
    start = time.perf_counter()
    for line in lines:
        tokenizer.encode(line, language)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--languages", default="en,es,fr,de,ru,pl,ar,tr,zh-cn,ja,ko")
    parser.add_argument("--lines", type=int, default=2000)
    arguments = parser.parse_args()
    tokenizer = VoiceBpeTokenizer(str(VOCABULARY))
    print("| language | MB | peer MB/s | ours MB/s | ratio |\n|---|---|---|---|---|")
    for language in arguments.languages.split(","):
        lines = sentences(language, arguments.lines)
        many = "".join(line + "\n" for line in lines * 10)
        peer_seconds(tokenizer, language, lines[:50])
        first = lines[0] + "\n"  # so that both runs read the tables a language needs
        nothing = min(our_seconds(arguments.program, language, first) for _ in range(3))
        ours = min(our_seconds(arguments.program, language, many) for _ in range(3)) - nothing
        megabytes = len(many.encode()) / 10 / 1e6
        peer = min(peer_seconds(tokenizer, language, lines) for _ in range(2))
        print(f"| {language} | {megabytes:.2f} | {megabytes / peer:.3f} | {10 * megabytes / ours:.2f} | {10 * peer / ours:.0f} |",
              flush=True)


if __name__ == "__main__":
    main()
