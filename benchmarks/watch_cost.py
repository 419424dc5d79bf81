#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training step, on this machine's CPU.

    benchmarks/watch_cost.py --program build/release/bin/myxtts [--steps 300] [--rounds 3]

Trains `tiny` on tones with and without `--watch`, one after the other in turns; with it, a page is open all the time (the stream of events
of the run, as a browser has it). Counted are the instructions of the process beyond its start and end, that is the difference between a long
and a short run, by `perf stat` where it is there; else the processor time of the same. Both are printed with their spread.
"""
import argparse
import json
import math
import os
import pathlib
import re
import resource
import shutil
import statistics
import struct
import subprocess
import tempfile
import threading
import urllib.request
import wave


def write_corpus(folder, clips=16):
    (folder / "wavs").mkdir(parents=True)
    with (folder / "metadata.csv").open("w") as file:
        for number in range(clips):
            with wave.open(str(folder / "wavs" / f"c{number}.wav"), "wb") as sound:
                sound.setnchannels(1)
                sound.setsampwidth(2)
                sound.setframerate(22050)
                values = (int(9000 * math.sin(0.02 * (1 + number) * i)) for i in range(22050 * 2))
                sound.writeframes(b"".join(struct.pack("<h", value) for value in values))
            file.write(f"c{number}|A short sentence for clip number {number}.|A short sentence for clip number {number}.\n")


def listen(address, run, stopped, heard):
    """A page: the run's events, from the first to the last."""
    try:
        with urllib.request.urlopen(f"{address}api/events?id={run}", timeout=60) as answer:
            while not stopped.is_set():
                heard.append(len(answer.read1(65536)))
    except OSError:
        pass


def train(arguments, corpus, folder, steps, watched):
    command = [str(arguments.program), "train", "--model-size", "tiny", "--device", "cpu", "--train-data", str(corpus), "--checkpoint-dir",
               str(folder), "--batch-size", "4", "--max-steps", str(steps), "--save-steps", "none", "--save-minutes", "none", "--samples", "0",
               "--model-threads", "1", "--data-threads", "1", "--log-steps", "10", "--eval-steps", "1000000"]
    if watched:
        command += ["--watch", "--watch-port", "0"]
    counts = folder.with_suffix(".perf")
    if arguments.perf:
        command = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(counts)] + command
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    stopped, heard = threading.Event(), []
    for line in process.stderr:
        found = re.search(r"watch the run at (http://\S+)", line)
        if found:
            threading.Thread(target=listen, args=(found[1], folder.name, stopped, heard), daemon=True).start()
    process.wait()
    stopped.set()
    if process.returncode != 0:
        raise SystemExit(f"training ended with {process.returncode}")
    if watched and sum(heard) == 0:
        raise SystemExit("nobody watched")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if arguments.perf:
        return float(re.search(r"(\d+),,instructions", counts.read_text())[1])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.perf = shutil.which("perf") is not None
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        write_corpus(scratch / "corpus")
        steps = {False: [], True: []}
        for number in range(arguments.rounds):
            for watched in (False, True):
                name = f"{'watched' if watched else 'plain'}-{number}"
                short = train(arguments, scratch / "corpus", scratch / f"{name}-short", 20, watched)
                long = train(arguments, scratch / "corpus", scratch / f"{name}-long", 20 + arguments.steps, watched)
                steps[watched].append((long - short) / arguments.steps)
    plain, watched = statistics.median(steps[False]), statistics.median(steps[True])
    print(json.dumps({"unit": "instructions a step" if arguments.perf else "processor seconds a step", "plain": steps[False],
                      "watched": steps[True], "watching_costs_percent": round(100 * (watched / plain - 1), 3),
                      "cores": os.cpu_count()}, indent=1))


if __name__ == "__main__":
    main()
