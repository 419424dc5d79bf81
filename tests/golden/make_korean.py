# SPDX-License-Identifier: Apache-2.0
"""Prints the digests in tests/text/korean_test.cpp: CRC-32 of the Latin letters that ko-speech-tools
0.1.0 gives for every Hangul syllable, and for every final before every initial.

    python make_korean.py
"""

import zlib

from ko_speech_tools import hangul_romanize

FIRST = 0xAC00
VOWELS, FINALS = 21, 28
SYLLABLES = 11_172


def digest(texts):
    return f"{zlib.crc32(''.join(hangul_romanize(text) + chr(10) for text in texts).encode()):08x}"


def main():
    print("syllables", digest(chr(FIRST + index) for index in range(SYLLABLES)))
    starts = range(0, SYLLABLES, VOWELS * FINALS)
    print("pairs", digest(chr(FIRST + final) + chr(FIRST + start) for final in range(FINALS) for start in starts))


if __name__ == "__main__":
    main()
