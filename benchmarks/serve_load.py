#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many streams at once from a running `myxtts serve`, and what they heard of it.

    myxtts serve --model xtts-v2 --voices voices &
    python3 benchmarks/serve_load.py --streams 64 --seconds 60 --voice me

Each stream asks for one text after another (PCM) and plays it as it comes: a gap is the time that a listener would wait
for sound in the middle of an answer. Prints audio-seconds a second, the time to the first sound (median, 95th percentile),
the longest gaps (99th percentile), errors, and how many answers of one text and seed differed from the first.
"""
import argparse
import hashlib
import http.client
import json
import threading
import time

TEXTS = [
    "The boat left the harbour before the sun came up, and nobody on the quay waved it goodbye.",
    "She counted the stairs twice. There were seventeen of them on the way up, and eighteen on the way down.",
    "Nothing grows on the north side of that wall but moss, and even the moss looks as if it had second thoughts.",
    "Tell me again what the letter said, slowly this time, and leave the weather out of it.",
]


class Listener(threading.Thread):
    def __init__(self, number, arguments, end, seen, lock):
        super().__init__()
        self.number, self.arguments, self.end, self.seen, self.lock = number, arguments, end, seen, lock
        self.first, self.gaps, self.sound, self.errors, self.answers, self.differ = [], [], 0.0, 0, 0, 0

    def run(self):
        turn = self.number
        while time.monotonic() < self.end:
            try:
                self.hear(turn % len(TEXTS))
            except (OSError, http.client.HTTPException):
                self.errors += 1
            turn += 1

    def hear(self, text):
        body = {"input": TEXTS[text], "voice": self.arguments.voice, "response_format": "pcm", "seed": text, "language": "en"}
        connection = http.client.HTTPConnection(self.arguments.host, self.arguments.port, timeout=120)
        began = time.monotonic()
        connection.request("POST", "/v1/audio/speech", json.dumps(body))
        answer = connection.getresponse()
        if answer.status != 200:
            answer.read()
            self.errors += 1
            return
        rate = int(answer.getheader("Content-Type").split("rate=")[1])
        digest, played, worst = hashlib.sha256(), None, 0.0
        while chunk := answer.read1(1 << 16):
            now = time.monotonic()
            digest.update(chunk)
            if played is None:
                self.first.append(now - began)
                played = now
            worst = max(worst, now - played)
            played = max(played, now) + len(chunk) / 2 / rate
            self.sound += len(chunk) / 2 / rate
        self.gaps.append(worst)
        self.answers += 1
        with self.lock:
            if self.seen.setdefault(text, digest.digest()) != digest.digest():
                self.differ += 1


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8020)
    parser.add_argument("--voice", required=True)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    began = time.monotonic()
    seen, lock = {}, threading.Lock()
    listeners = [Listener(i, arguments, began + arguments.seconds, seen, lock) for i in range(arguments.streams)]
    for listener in listeners:
        listener.start()
    for listener in listeners:
        listener.join()
    took = time.monotonic() - began
    first = [value for listener in listeners for value in listener.first]
    gaps = [value for listener in listeners for value in listener.gaps]
    total = {name: sum(getattr(listener, name) for listener in listeners) for name in ("sound", "answers", "errors", "differ")}
    print(f"{arguments.streams} streams, {took:.1f} s: {total['answers']} answers, {total['errors']} errors, "
          f"{total['differ']} different; {total['sound'] / took:.1f} audio-seconds a second; first sound "
          f"{1000 * percentile(first, 0.5):.0f} ms (median), {1000 * percentile(first, 0.95):.0f} ms (95 %); worst gap of an "
          f"answer {1000 * percentile(gaps, 0.99):.0f} ms (99 %)")


if __name__ == "__main__":
    main()
