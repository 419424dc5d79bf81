# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/text/vocab.json, a small vocabulary of XTTS's kind, and bpe.txt, digests of what
the `tokenizers` library makes of random strings with it.

    python make_vocabulary.py [--out DIR]

The library's own trainer learns the merges, from sentences of make_text.py (other ones than those it
writes) as the Python trainer cleans them. Like the public vocabulary the file has tags for the 17
languages, ids that nobody uses, and merges that stand in it twice. Needs what make_text.py needs.
"""

import argparse
import json
import pathlib
import random
import zlib

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer

from make_text import LANGUAGES, fill, peer_clean
from text_templates import SENTENCES

SENTENCES_EACH = 250
ENTRIES = 3000
HOLE = 1500  # this id and the next belong to no token
REPEATED_MERGES = 400
STRINGS = 24_000
BLOCK = 100


def training_text():
    cleaner = VoiceBpeTokenizer(None)
    for language in LANGUAGES:
        rng = random.Random(f"vocabulary {language}")
        for _ in range(SENTENCES_EACH):
            clean = peer_clean(cleaner, fill(rng, language, rng.choice(SENTENCES[language])), language)
            yield from (clean or "").split()


def added(token, number):
    return {"id": number, "special": True, "content": token, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False}


def vocabulary():
    tags = [f"[{language}]" for language in LANGUAGES]
    special = ["[STOP]", "[UNK]", "[SPACE]", "[START]"] + tags
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=ENTRIES, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(sorted(training_text()), trainer)
    trained = json.loads(tokenizer.to_str())["model"]
    place = lambda number: number if number < HOLE else number + 2
    vocab = {token: place(number) for token, number in sorted(trained["vocab"].items(), key=lambda item: item[1])}
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in trained["merges"]]
    merges += random.Random("repeated merges").sample(merges, REPEATED_MERGES)
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(token, vocab[token]) for token in special],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": "[UNK]", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "vocab": vocab, "merges": merges},
    }


class Numbers:
    """SplitMix64, as in tests/text/bpe_golden_test.cpp."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % limit


RANGES = [(0x20, 0x7F), (0xA0, 0x700), (0x900, 0x11000), (0, 0x110000)]
BLANKS = [" ", "[SPACE]", "\u00a0", "\n", "\u3000", "\u200b"]


def random_string(numbers, tokens):
    """Tokens, blanks and letters of any script. The test makes the same strings."""
    text = ""
    for _ in range(numbers.below(30)):
        kind = numbers.below(10)
        if kind < 6:
            text += tokens[numbers.below(len(tokens))]
        elif kind == 6:
            text += BLANKS[numbers.below(len(BLANKS))]
        else:
            low, high = RANGES[numbers.below(len(RANGES))]
            letter = low + numbers.below(high - low)
            text += "\ufffd" if 0xD800 <= letter < 0xE000 else chr(letter)
    return text


def write_digests(out):
    """One line for each block of strings: CRC-32 of their ids, blanks between, a line end after each
    string."""
    tokenizer = Tokenizer.from_file(str(out / "vocab.json"))
    by_id = {number: token for token, number in tokenizer.get_vocab().items()}
    tokens = [by_id.get(number, "") for number in range(max(by_id) + 1)]
    numbers = Numbers(20240607)
    lines = []
    for _ in range(STRINGS // BLOCK):
        encoded = [tokenizer.encode(random_string(numbers, tokens)).ids for _ in range(BLOCK)]
        text = "".join(" ".join(map(str, ids)) + "\n" for ids in encoded)
        lines.append(f"{zlib.crc32(text.encode()):08x}")
    (out / "bpe.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "text")
    arguments = parser.parse_args()
    text = json.dumps(vocabulary(), ensure_ascii=False, indent=1)
    (arguments.out / "vocab.json").write_text(text + "\n", encoding="utf-8")
    write_digests(arguments.out)


if __name__ == "__main__":
    main()
