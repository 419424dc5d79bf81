# SPDX-License-Identifier: Apache-2.0
"""How the Python trainer splits long text.

    python make_splits.py                      writes tests/golden/text/splits.jsonl
    python make_splits.py --compare PROGRAM    compares our program with it on other, or on given texts

Each line of the file: language, text, and the lengths of its pieces (code points) with the CRC-32 of
the pieces, a line end after each. Needs coqui-tts 0.28.0 with spacy[ja]; the tests need only the file.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import zlib

from TTS.tts.layers.xtts import tokenizer as peer

from make_text import LANGUAGES, fill
from text_templates import SENTENCES
from split_sentences import PROSE

TEXTS = 24
# Numbers the trainer cuts in two, which we do not: १२.५, and in Japanese 1.234.567.
CUT_NUMBER = re.compile(r"[०-९][.][०-९]|[0-9][.][0-9]+[.][0-9]")
JOINTS = {"zh-cn": "", "ja": ""}  # between two sentences; a space elsewhere


def cached_pipelines():
    """The trainer makes a new pipeline for each text; one for each language gives the same, sooner."""
    make, made = peer.get_spacy_lang, {}

    def get(language):
        if language not in made:
            made[language] = make(language)
            made[language].add_pipe("sentencizer")
            made[language].add_pipe = lambda *_: None
        return made[language]

    peer.get_spacy_lang = get


def limit(language):
    return peer.VoiceBpeTokenizer(None).char_limits[language.split("-")[0]]


def paragraph(rng, language):
    """Sentences, some of them quoted or in brackets, up to four times as long as one piece may be."""
    wanted = limit(language) * rng.choice([1, 1.5, 2, 3, 4])
    text = ""
    while len(text) < wanted:
        sentence = fill(rng, language, rng.choice(SENTENCES[language] + 2 * PROSE[language]))
        if language in ("hi", "ja") and CUT_NUMBER.search(sentence):
            continue
        sentence = rng.choice([sentence] * 7 + [f"({sentence})", f"«{sentence}»", f"“{sentence}”"])
        text += (JOINTS.get(language, " ") if text else "") + sentence
    return text


def pieces(text, language):
    return peer.split_sentence(text, language.split("-")[0], limit(language))


def write(out):
    lines = []
    for language in LANGUAGES:
        rng = random.Random(f"splits {language}")
        for _ in range(TEXTS):
            text = paragraph(rng, language)
            parts = pieces(text, language)
            digest = zlib.crc32("".join(part + "\n" for part in parts).encode())
            lines.append(json.dumps([language, text, [len(part) for part in parts], digest],
                                    ensure_ascii=False, separators=(",", ":")))
    (out / "splits.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def ours(program, language, texts):
    run = subprocess.run([program, "tokenize", "--split", "--language", language],
                         input="".join(text + "\n" for text in texts), capture_output=True, text=True, check=True)
    return [json.loads(line)["splits"] for line in run.stdout.splitlines()]


def texts_to_compare(arguments, language):
    if arguments.texts:
        file = arguments.texts / f"{language}.txt"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rng = random.Random(f"{arguments.seed} {language}")
    return [paragraph(rng, language) for _ in range(arguments.count)]


def compare(arguments):
    for language in LANGUAGES:
        texts = texts_to_compare(arguments, language)
        if not texts:
            continue
        different = 0
        for text, got in zip(texts, ours(arguments.compare, language, texts), strict=True):
            wanted = pieces(text, language)
            if got == wanted:
                continue
            different += 1
            if different <= arguments.show:
                at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)) - 1)
                print(f"  ours  …{got[at][-60:]!r}\n  peer  …{wanted[at][-60:]!r}")
        print(f"{language}: {len(texts) - different} of {len(texts)} equal ({100 - 100 * different / len(texts):.1f} %)",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "text")
    parser.add_argument("--compare", metavar="PROGRAM", help="our program")
    parser.add_argument("--texts", type=pathlib.Path, help="a folder of LANGUAGE.txt, one text in a line, to compare")
    parser.add_argument("--count", type=int, default=300, help="texts to make up for each language")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=3, help="differences to show for each language")
    arguments = parser.parse_args()
    cached_pipelines()
    if arguments.compare:
        compare(arguments)
    else:
        write(arguments.out)


if __name__ == "__main__":
    main()
