#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends training runs by SIGTERM at random moments and says how long each took to end.

    benchmarks/stop_times.py --program build/release/bin/myxtts [--times 100]

Each run trains `tiny` on the CPU on tones of one to two seconds, measures and saves often, and is continued by the next one. A
moment lies in the start of the pipeline or in the first steps. Prints the distribution; exits
1 when a run took longer than --limit seconds, ended with another code than 143, or left a checkpoint
that the next run could not continue. A step that is under way is finished first, so a slow machine
takes longer.
"""

import argparse
import array
import math
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import wave


def write_corpus(folder):
    """Forty tones with a few words each."""
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number in range(40):
        count = 22050 + 551 * number
        pitch = 0.02 + 0.002 * number
        samples = array.array("h", (int(9000 * math.sin(pitch * i) * math.sin(0.0007 * i)) for i in range(count)))
        with wave.open(str(folder / "wavs" / f"tone{number}.wav"), "wb") as file:
            file.setparams((1, 2, 22050, count, "NONE", ""))
            file.writeframes(samples.tobytes())
        lines.append(f"tone{number}|this is tone number {number}\n")
    (folder / "metadata.csv").write_text("".join(lines))


def moment(options, words, wait):
    """Stops a run `wait` seconds after it said `words`. Seconds from the signal to the end, the exit code, and what the run said last."""
    command = [options.program, "train", "--device", "cpu", "--model-size", "tiny", "--train-data", options.folder / "corpus",
               "--checkpoint-dir", options.folder / "run", "--batch-size", "4", "--val-fraction", "0.2", "--eval-steps", "7",
               "--save-steps", "5", "--max-steps", "1000000", "--epochs", "1000000", "--model-threads", "1",
               "--data-threads", "1", "--resume"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as program:
        said = []
        for line in program.stderr:
            said.append(line)
            if words in line:
                break
        time.sleep(wait)
        program.send_signal(signal.SIGTERM)
        began = time.monotonic()
        said += program.stderr.readlines()
        program.wait()
        return time.monotonic() - began, program.returncode, "".join(said[-3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("stopped-runs"), help="made anew")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=2.0)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    write_corpus(options.folder / "corpus")
    moments = random.Random(options.seed)
    times, failed = [], 0
    for number in range(options.times):
        words = moments.choice(["Waiting for data pipeline"] + 3 * ["Model training starting now"])
        wait = moments.uniform(0, 1.5)
        seconds, code, said = moment(options, words, wait)
        times.append(seconds)
        if code != 143 or seconds > options.limit:
            failed += 1
            print(f"{number}: {wait:.3f} s after \"{words}\": ended with {code} after {seconds:.2f} s\n{said}", flush=True)
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
    print(f"{len(times)} runs ended {times[0]:.2f} s after SIGTERM at the soonest, {at(0.5):.2f} s in the middle, "
          f"{at(0.9):.2f} s at 90 %, {at(0.99):.2f} s at 99 %, {times[-1]:.2f} s at the latest; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
