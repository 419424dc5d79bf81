# SPDX-License-Identifier: Apache-2.0
"""Cleaning and BPE, our encoder beside the Python trainer's, in one run, one thread each.

    python benchmarks/text_bench.py build/release/bin/text_bench [--languages en,de] [--rounds 5] [--seconds 0.3]

text_bench is built with -DMYXTTS_BENCH=ON. The sentences are those of tests/golden/text. Both sides encode them in turn,
round after round, each in its own process and timed by the processor time of that process; the best round of each
counts. Both must give the same number of ids. Needs coqui-tts 0.28.0.
"""

import argparse
import json
import logging
import os
import pathlib
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer

GOLDEN = pathlib.Path(__file__).parent.parent / "tests/golden/text"
VOCABULARY = GOLDEN / "vocab.json"
LANGUAGES = "en,es,fr,de,it,pt,pl,tr,ru,nl,cs,ar,zh-cn,ja,hu,ko,hi"


def sentences(tokenizer, language):
    """The golden texts of one line that the peer can encode."""
    lines = []
    for row in (GOLDEN / f"{language}.jsonl").read_text(encoding="utf-8").split("\n"):
        text = json.loads(row)[0] if row else ""
        if not text or "\n" in text:
            continue
        try:
            tokenizer.encode(text, language)
        except Exception:  # whatever its libraries raise
            continue
        lines.append(text)
    return lines


def our_rate(program, language, path, seconds):
    """Sentences a second, and the number of ids of all sentences."""
    command = [program, VOCABULARY, language, path, str(seconds)]
    rate, _, ids = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return float(rate), int(ids)


def peer_rate(tokenizer, language, lines, seconds):
    start = time.process_time()
    rounds = 0
    while rounds == 0 or time.process_time() - start < seconds:
        ids = sum(len(tokenizer.encode(line, language)) for line in lines)
        rounds += 1
    return rounds * len(lines) / (time.process_time() - start), ids


def measure(arguments, tokenizer, language):
    lines = sentences(tokenizer, language)
    size = sum(len(line.encode()) for line in lines) / len(lines) / 1e6
    ours, peer = [], []
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        for _ in range(arguments.rounds):
            ours.append(our_rate(arguments.program, language, file.name, arguments.seconds))
            peer.append(peer_rate(tokenizer, language, lines, arguments.seconds))
    if ours[0][1] != peer[0][1]:
        raise SystemExit(f"{language}: we give {ours[0][1]} ids and the peer {peer[0][1]}.")
    fast, slow = max(ours)[0], max(peer)[0]
    print(f"| {language} | {len(lines)} | {slow:,.0f} | {fast:,.0f} | {slow * size:.3f} | {fast * size:.2f} | {fast / slow:.0f} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # that a text is long: printing it would count as the peer's time
    tokenizer = VoiceBpeTokenizer(str(VOCABULARY))
    print("| language | sentences | peer sentences/s | ours sentences/s | peer MB/s | ours MB/s | ratio |\n|---|---|---|---|---|---|---|")
    for language in arguments.languages.split(","):
        measure(arguments, tokenizer, language)


if __name__ == "__main__":
    main()
