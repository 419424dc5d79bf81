# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/text/: sentences in the 17 languages of XTTS v2 with the clean text (and, given
a vocabulary, the token ids) of the Python trainer, and digests of its number words.

    python make_text.py [--vocab tests/golden/text/vocab.json] [--languages en,de] [--out DIR]

Needs coqui-tts 0.28.0 and what its tokenizer asks for (num2words 0.5.14, pypinyin, cutlet with
unidic-lite, ko-speech-tools). The tests need only the files.
"""

import argparse
import json
import pathlib
import random
import re
import zlib

from num2words import num2words
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer

from text_templates import ABBREVIATIONS, NAMES, ODD, ORDINALS, SENTENCES

LANGUAGES = list(SENTENCES)
SPELLING = [language for language in LANGUAGES if language not in ("hi", "zh-cn", "ja")]
CASES = 300
BLOCK = 1000
# From 10^15 on the trainer goes on in words, we say the digits.
LARGE = re.compile("[0-9]{16,}")


def integer(rng):
    digits = rng.choice([1, 1, 2, 2, 3, 4])
    return str(rng.randrange(10 ** digits))


def large(rng):
    return str(rng.randrange(10 ** rng.randint(4, 14)))


def grouped(rng):
    mark = rng.choice([",", ".", ".", ",", " ", "'", "\u00a0"])
    return f"{rng.randrange(1000, 10 ** rng.randint(4, 10)):,}".replace(",", mark)


def decimal(rng):
    whole = rng.choice([str(rng.randrange(10)), str(rng.randrange(300)), grouped(rng)])
    return whole + rng.choice(".,") + "".join(rng.choice("0123456789") for _ in range(rng.choice([1, 1, 2, 2, 3, 5])))


def ordinal(rng, language):
    number = rng.choice([rng.randrange(1, 32), rng.randrange(1, 130), rng.randrange(1, 2200)])
    return str(number) + rng.choice(ORDINALS[language])


def money(rng):
    amount = rng.choice([integer(rng), integer(rng) + rng.choice([".50", ",05", ".99", ",1", ".00"]), grouped(rng), decimal(rng)])
    sign = rng.choice("$$££€€€")
    return rng.choice([sign + amount, amount + sign, amount + " " + sign])


def fill(rng, language, template):
    makers = {
        "n": lambda: integer(rng), "N": lambda: large(rng), "y": lambda: str(rng.randint(1500, 2099)),
        "g": lambda: grouped(rng), "d": lambda: decimal(rng), "o": lambda: ordinal(rng, language),
        "m": lambda: money(rng), "p": lambda: rng.choice([integer(rng), decimal(rng)]) + rng.choice(["%", " %"]),
        "a": lambda: rng.choice(ABBREVIATIONS[language]), "w": lambda: rng.choice(NAMES[language]),
        "s": lambda: rng.choice("&@%#$£°€+"),
    }
    pieces, rest = [], template
    while rest:
        if rest[0] == "{":
            pieces.append(makers[rest[1]]())
            rest = rest[3:]
        else:
            pieces.append(rest[0])
            rest = rest[1:]
    return "".join(pieces)


def soup(rng, language):
    """A line no one would write: numbers, signs, suffixes and letters in any order."""
    alphabet = "".join(NAMES[language] + SENTENCES[language]).replace("{", "").replace("}", "")
    makers = [
        lambda: integer(rng), lambda: large(rng), lambda: grouped(rng), lambda: decimal(rng), lambda: money(rng),
        lambda: ordinal(rng, language), lambda: rng.choice(ABBREVIATIONS[language]), lambda: rng.choice(ODD),
        lambda: rng.choice(" \t.,;:!?-–—\u00a0\u202f'\"()&@%#$£°€\u0301\u064b\u200c"),
        lambda: rng.choice(alphabet), lambda: chr(rng.choice([rng.randrange(32, 0x250), rng.randrange(0x370, 0x6FF), rng.randrange(0x900, 0x980), rng.randrange(0x1E00, 0x2150)])),
    ]
    return "".join(rng.choice(makers)() + rng.choice(["", "", " "]) for _ in range(rng.randint(1, 9)))


def line(rng, language):
    kind = rng.random()
    if kind < 0.8:
        return fill(rng, language, rng.choice(SENTENCES[language]))
    return soup(rng, language)


def peer_clean(tokenizer, text, language):
    """What the trainer makes of the text; None where it raises."""
    try:
        return tokenizer.preprocess_text(text, language.split("-")[0])
    except Exception:  # it raises many kinds, from num2words and from itself
        return None


def cases(tokenizer, language):
    """The odd texts, then sentences until there are enough that the trainer does not raise at."""
    rng = random.Random(f"text {language}")
    queue, seen, kept = list(ODD), set(), []
    while queue or len(kept) < CASES:
        text = queue.pop(0) if queue else line(rng, language)
        if text in seen or len(text) > 100 or LARGE.search(text.replace(".", "").replace(",", "")):
            continue
        seen.add(text)
        clean = peer_clean(tokenizer, text, language)
        if clean is not None:
            kept.append((text, clean))
    return kept


def ids(tokenizer, clean, language):
    return tokenizer.tokenizer.encode(f"[{language}]{clean}".replace(" ", "[SPACE]")).ids


def write_cases(tokenizer, language, out, with_ids):
    lines = []
    for text, clean in cases(tokenizer, language):
        row = [text, clean] + ([ids(tokenizer, clean, language)] if with_ids else [])
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    (out / f"{language}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def spelled(number, language, ordinal_form):
    """The number in words; None where num2words raises, and what we say instead is ours."""
    try:
        return num2words(number, lang=language, ordinal=ordinal_form)
    except Exception:  # of many kinds
        return None


def write_digests(out):
    """One line for each block of a thousand numbers: language, kind, first number, CRC-32 of the words
    with a line end after each, and the offsets of the numbers left out of it, which the trainer cannot
    say."""
    lines = []
    for language in SPELLING:
        for kind, limit in (("cardinal", 100_000), ("ordinal", 10_000)):
            for start in range(0, limit, BLOCK):
                words = [spelled(start + offset, language, kind == "ordinal") for offset in range(BLOCK)]
                if all(word is None for word in words):
                    continue
                digest = zlib.crc32("".join(word + "\n" for word in words if word is not None).encode())
                silent = ranges([offset for offset, word in enumerate(words) if word is None])
                lines.append(f"{language} {kind} {start} {digest:08x} {silent}")
    (out / "numbers.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def ranges(numbers):
    """0,5-7 for [0, 5, 6, 7]; - for none."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts) or "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", help="also write token ids, by this vocabulary")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "text")
    parser.add_argument("--no-digests", action="store_true", help="leave numbers.txt alone")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer = VoiceBpeTokenizer(arguments.vocab)
    for language in arguments.languages.split(","):
        count = write_cases(tokenizer, language, arguments.out, arguments.vocab is not None)
        print(f"{language}: {count} texts", flush=True)
    if not arguments.no_digests:
        write_digests(arguments.out)


if __name__ == "__main__":
    main()
