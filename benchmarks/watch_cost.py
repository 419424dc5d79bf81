#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training, on this machine's CPU.

    benchmarks/watch_cost.py --program build/release/bin/myxtts [--steps 300] [--rounds 3]

Trains `tiny` on tones with `--watch` while a page is open all the time: the events of the run, as a browser has them. The kernel counts the time
that each thread had a core (/proc/PID/task/TID/schedstat). The work goes by the clock and not by steps: the threads `watch`, which serve the page,
and `record`, which keeps status.json and report.html, look once a second and every five. So what they take of one core's time is what a step is
longer where training has one core and no other is free. The start and the end of the run are not counted.
"""
import argparse
import http.client
import json
import math
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request
import wave

OURS = {"watch", "record"}


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


def seconds_by_thread(process):
    """Thread name -> seconds that its threads had a core."""
    seconds = {}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            seconds[name] = seconds.get(name, 0) + int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue  # it has ended
    return seconds


def listen(address, run, heard):
    """A page: the run's events, from the first to the last."""
    try:
        with urllib.request.urlopen(f"{address}api/events?id={run}", timeout=120) as answer:
            while data := answer.read1(65536):
                heard.append(len(data))
    except (OSError, http.client.HTTPException):  # the run has ended
        pass


def train(arguments, corpus, folder):
    """The share of our threads while steps were trained, and how many there were."""
    command = [str(arguments.program), "train", "--model-size", "tiny", "--device", "cpu", "--train-data", str(corpus), "--checkpoint-dir",
               str(folder), "--batch-size", "4", "--max-steps", str(arguments.steps), "--samples", "0", "--model-threads", "1",
               "--data-threads", "1", "--eval-steps", "100", "--watch", "--watch-port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    heard, said = [], []

    def follow():
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"watch the run at (http://\S+)", line):
                threading.Thread(target=listen, args=(found[1], folder.name, heard), daemon=True).start()
    threading.Thread(target=follow, daemon=True).start()
    first = last = None
    metrics = folder / "metrics.jsonl"
    while process.poll() is None:
        time.sleep(0.1)
        steps = metrics.read_text().count('"event":"train"') if metrics.exists() else 0
        if steps == 0 or steps * 10 >= arguments.steps:
            continue
        last = (steps, seconds_by_thread(process.pid), time.monotonic())
        first = first or last
    if process.returncode != 0:
        raise SystemExit(f"training ended with {process.returncode}: {said[-1] if said else ''}")
    if sum(heard) == 0 or first is None:
        raise SystemExit("nobody watched")
    all_seconds = sum(last[1].values()) - sum(first[1].values())
    ours = sum(last[1].get(name, 0) - first[1].get(name, 0) for name in OURS)
    wall = last[2] - first[2]
    return {"steps": 10 * (last[0] - first[0]), "wall_seconds": round(wall, 1), "computed_seconds": round(all_seconds, 2),
            "watching_seconds": round(ours, 4), "percent_of_a_core": round(100 * ours / wall, 3), "bytes_to_the_page": sum(heard)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        write_corpus(scratch / "corpus")
        rounds = [train(arguments, scratch / "corpus", scratch / f"run-{number}") for number in range(arguments.rounds)]
    print(json.dumps({"rounds": rounds, "watching_costs_percent": statistics.median(each["percent_of_a_core"] for each in rounds),
                      "cores": os.cpu_count()}, indent=1))


if __name__ == "__main__":
    main()
