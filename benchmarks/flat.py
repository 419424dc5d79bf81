#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether memory, open files and threads stay as they are, however long the program works.

    benchmarks/flat.py --program build/release/bin/myxtts
    benchmarks/flat.py --program build/release/bin/myxtts --only serve --requests 100000

Trains `tiny` on the CPU for --steps steps, has one process speak --texts texts, and asks one server --requests times, in turn
for speech, for a list, and for something that it refuses. /proc is looked at all the while; the second tenth of the samples,
when everything is warm, is compared with the last tenth. Exits 1 where memory grew by more than 5 % or a file or thread is left.
"""
import argparse
import array
import http.client
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import wave

SLACK = 1.05  # of memory


class Samples(threading.Thread):
    """What a process holds, every so often, until it ends."""

    def __init__(self, pid, every):
        super().__init__(daemon=True)
        self.folder, self.every, self.rows = pathlib.Path(f"/proc/{pid}"), every, []

    def run(self):
        while True:
            try:
                status = (self.folder / "status").read_text()
                row = [int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("VmRSS", "Threads")]
                self.rows.append((row[0] / 1024, len(os.listdir(self.folder / "fd")), row[1]))
            except (OSError, TypeError):
                return
            time.sleep(self.every)


def verdict(what, count, seconds, rows):
    """Prints a line; whether the process stayed as it was."""
    tenth = len(rows) // 10
    if tenth == 0:
        sys.exit(f"flat: {what} took {seconds:.0f} s, too short to look at; ask for more.")
    early, late = ([statistics.median(column) for column in zip(*part)] for part in (rows[tenth:2 * tenth], rows[-tenth - 1:-1]))
    flat = late[0] <= early[0] * SLACK and late[1] <= early[1] and late[2] <= early[2]
    print(f"| {what} | {count:,} | {seconds:.0f} s | {early[0]:.0f} -> {late[0]:.0f} MB | {early[1]:.0f} -> {late[1]:.0f} | "
          f"{early[2]:.0f} -> {late[2]:.0f} | {'flat' if flat else 'GROWS'} |", flush=True)
    return flat


def write_corpus(folder):
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number in range(16):
        count = 9000 + 100 * number
        samples = array.array("h", (int(9000 * math.sin((0.02 + 0.003 * number) * i)) for i in range(count)))
        with wave.open(str(folder / f"wavs/{number}.wav"), "wb") as file:
            file.setparams((1, 2, 22050, count, "NONE", ""))
            file.writeframes(samples.tobytes())
        lines.append(f"{number}|tone {number}\n")
    (folder / "metadata.csv").write_text("".join(lines))


def train(options, steps, run):
    words = [options.program, "train", "--device", "cpu", "--model-size", "tiny", "--train-data", options.folder / "corpus",
             "--checkpoint-dir", run, "--batch-size", "1", "--epochs", "100000", "--max-steps", steps, "--min-seconds", "0.3",
             "--save-steps", max(steps // 20, 1), "--eval-steps", max(steps // 20, 1), "--val-fraction", "0.1", "--log-steps", "10",
             "--samples", "0", "--model-threads", "1", "--data-threads", "1", "--quiet"]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)


def watch(process, every):
    samples = Samples(process.pid, every)
    samples.start()
    return samples


def finish(process, what):
    if process.wait() not in (0, 128 + signal.SIGTERM):
        sys.exit(f"flat: {what} ended with {process.returncode}.")


def look_at_training(options):
    began = time.monotonic()
    process = train(options, options.steps, options.folder / "long")
    samples = watch(process, options.every)
    finish(process, "the training")
    return verdict("training steps", options.steps, time.monotonic() - began, samples.rows)


def look_at_speech(options):
    texts = options.folder / "texts.txt"
    texts.write_text("".join(f"Text number {number} is said.\n" for number in range(options.texts)))
    began = time.monotonic()
    process = subprocess.Popen([options.program, "synthesize", "--model", options.model, "--reference", options.folder / "corpus/wavs/3.wav",
                                "--language", "en", "--text-file", texts, "--out", options.folder / "spoken", "--device", "cpu",
                                "--threads", "1", "--batch", "1", "--quiet"])
    samples = watch(process, options.every)
    finish(process, "the speech")
    spoken = len(list((options.folder / "spoken").iterdir()))
    if spoken != options.texts:
        sys.exit(f"flat: {spoken} of {options.texts} texts were spoken.")
    return verdict("texts spoken", options.texts, time.monotonic() - began, samples.rows)


def ask(port, number):
    """One request on a connection of its own; its status must be the expected one."""
    speech = {"input": f"Request {number}.", "voice": "anna", "response_format": "pcm", "language": "en"}
    method, path, body, expected = (("POST", "/v1/audio/speech", json.dumps(speech), 200), ("GET", "/v1/audio/voices", None, 200),
                                    ("POST", "/v1/audio/speech", '{"input": 7}', 400))[number % 3]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != expected:
        sys.exit(f"flat: {method} {path} was answered with {answer.status}, not {expected}.")


def look_at_server(options):
    (options.folder / "voices").mkdir()
    (options.folder / "voices/anna.wav").write_bytes((options.folder / "corpus/wavs/3.wav").read_bytes())
    process = subprocess.Popen([options.program, "serve", "--model", options.model, "--voices", options.folder / "voices", "--port", "0",
                                "--device", "cpu", "--threads", "1"], stderr=subprocess.PIPE, text=True)
    port = next(int(found[1]) for line in process.stderr if (found := re.search(r"listening at http://127\.0\.0\.1:(\d+)", line)))
    began = time.monotonic()
    samples = watch(process, options.every)
    try:
        for number in range(options.requests):
            ask(port, number)
    finally:
        seconds, rows = time.monotonic() - began, list(samples.rows)
        process.terminate()
        process.stderr.read()
    finish(process, "the server")
    return verdict("requests served", options.requests, seconds, rows)


LOOKS = {"train": look_at_training, "speak": look_at_speech, "serve": look_at_server}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(LOOKS), help="of train, speak, serve")
    parser.add_argument("--every", type=float, default=0.25, help="seconds between two samples [0.25]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="myxtts-flat-") as folder:
        options.folder = pathlib.Path(folder)
        write_corpus(options.folder / "corpus")
        finish(train(options, 40, options.folder / "short"), "the training of the model that speaks")
        options.model = options.folder / "short/latest"
        print("| work | count | time | memory | open files | threads | |\n|---|---|---|---|---|---|---|")
        flat = [LOOKS[name](options) for name in options.only]
    sys.exit(0 if all(flat) else 1)


if __name__ == "__main__":
    main()
