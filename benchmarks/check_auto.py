#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `myxtts train --mode auto` take the placement that long runs show to be the fastest?

    benchmarks/check_auto.py --program build/release/bin/myxtts --corpus FOLDER --flags "--model-size tiny --device cpu"

Trains for --steps with --mode auto, then in every placement of its table that could be measured, and compares
clips a second from the end of the warm-up to the end of the run, a cache's first epoch included. With --rounds 2 each is
trained twice, the second time in the other order, and the mean counts. Exits 1 when the one that was taken is slower than
the fastest by more than the tolerance (0.05 on the CPU, 0.02 on GPUs). Without --corpus it makes one of
tones. Leaves check_auto.json in the out folder.
"""
import argparse
import array
import itertools
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import time
import wave

RATE = 22050


def make_corpus(folder, clips, shortest, longest):
    """LJSpeech's layout: pieces of a wavering tone, of lengths that are drawn, with as many made-up words as would fit."""
    draw = random.Random(1)
    tone = array.array("h", (int(8000 * math.sin(0.05 * at + 3 * math.sin(0.0004 * at)))
                             for at in range(int(RATE * (longest + 5)))))
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number in range(clips):
        seconds = draw.uniform(shortest, longest)
        begin = draw.randrange(5 * RATE)
        with wave.open(str(folder / f"wavs/clip{number:05}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(tone[begin:begin + int(RATE * seconds)].tobytes())
        syllables = [draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(max(2, int(5 * seconds)))]
        text = " ".join("".join(syllables[at:at + 2]) for at in range(0, len(syllables), 2))
        lines.append(f"clip{number:05}|{text}|{text}")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def merged(flags, more):
    """The flags without those that the placement sets."""
    own = {word for word in more if word.startswith("--")}
    kept, skipping = [], False
    for word in flags:
        skipping = word in own if word.startswith("--") else skipping
        kept += [] if skipping else [word]
    return [*kept, *more]


def train(options, folder, more, steps):
    command = [options.program, "train", "--train-data", options.corpus, "--checkpoint-dir", folder, "--max-steps",
               steps, "--epochs", options.epochs, "--eval-steps", 1000000, "--save-steps", 1000000, "--log-steps",
               options.log_steps, *merged(options.flags.split(), more)]
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    ended = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=options.timeout)
    print(f"[{time.monotonic() - began:.0f} s] {' '.join(more)}", flush=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stdout[-3000:]}")
    return ended.stdout


def clips_per_second(options, folder):
    """Over all steps behind the warm-up; each line of the log stands for as many clips as the others."""
    rates = [line["clips_per_second"] for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
             if line["event"] == "train" and line["step"] > options.warm_up]
    print("   every", options.log_steps, "steps:", " ".join(f"{rate:.0f}" for rate in rates), flush=True)
    return len(rates) / sum(1.0 / rate for rate in rates)


def choice(options):
    """auto.json of a run that measures for as long a run as the others, and how fast that run then was."""
    folder = pathlib.Path(options.out) / "auto"
    told = train(options, folder, ["--mode", "auto"], options.steps)
    kept = json.loads((folder / "auto.json").read_text())
    own = clips_per_second(options, folder)
    shutil.rmtree(folder)
    table = told[told.index("Placements\n"):].splitlines()
    print("\n".join(itertools.takewhile(lambda line: line.startswith(("Placements", "  ")), table)), flush=True)
    return kept, own


def long_run(options, number, flags):
    folder = pathlib.Path(options.out) / f"run-{number}"
    train(options, folder, flags.split(), options.steps)
    speed = clips_per_second(options, folder)
    shutil.rmtree(folder)
    return speed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--corpus", help="a folder; one of tones is made unless told")
    parser.add_argument("--clips", type=int, default=200, help="of a corpus that is made")
    parser.add_argument("--clip-seconds", type=float, nargs=2, default=[1.0, 2.0], metavar=("FROM", "TO"))
    parser.add_argument("--flags", default="", help="of every run, as one argument")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=100000)
    parser.add_argument("--log-steps", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--rounds", type=int, default=1, help="of long runs, as far as the seconds go")
    parser.add_argument("--behind", type=float, default=0.5, help="no long run of what was measured below this share")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no long run after so many")
    parser.add_argument("--timeout", type=float, default=3600)
    parser.add_argument("--out", default="check-auto")
    options = parser.parse_args()
    began = time.monotonic()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    if options.corpus is None:
        options.corpus = out / "corpus"
        shutil.rmtree(options.corpus, ignore_errors=True)
        make_corpus(options.corpus, options.clips, *options.clip_seconds)

    kept, own = choice(options)
    taken = kept["choice"]["flags"]
    rows, left_out = [], []
    # The one that was taken and the most promising first: they decide, should the time run out.
    lines = sorted((line for line in kept["table"] if "clips_per_second" in line),
                   key=lambda line: (line["flags"] != taken, -line["clips_per_second"]))
    for number, line in enumerate(lines):
        far_behind = line["clips_per_second"] < options.behind * lines[0]["clips_per_second"]
        if far_behind or time.monotonic() - began > options.seconds:
            left_out.append(dict(flags=line["flags"], measured=line["clips_per_second"],
                                 why="far behind" if far_behind else "no time"))
            continue
        rows.append(dict(flags=line["flags"], measured=line["clips_per_second"],
                         long_runs=[long_run(options, number, line["flags"])]))
    for turn in range(1, options.rounds):
        for number, row in list(enumerate(rows))[::-1 if turn % 2 else 1]:
            if time.monotonic() - began <= options.seconds:
                row["long_runs"].append(long_run(options, number, row["flags"]))
    for row in rows:
        row["long_run"] = sum(row["long_runs"]) / len(row["long_runs"])

    fastest = max(row["long_run"] for row in rows)
    tolerance = options.tolerance if options.tolerance is not None else (0.05 if "--device cpu" in taken else 0.02)
    print(f"\n| placement | calibration, clips/s | {options.steps} steps, clips/s | of the fastest |\n|---|---|---|---|")
    for row in rows:
        mark = " (taken)" if row["flags"] == taken else ""
        print(f"| `{row['flags']}`{mark} | {row['measured']:.1f} | {' '.join(f'{speed:.1f}' for speed in row['long_runs'])} | {100 * row['long_run'] / fastest:.1f} % |")
    for row in left_out:
        print(f"| `{row['flags']}` | {row['measured']:.1f} | not run: {row['why']} | |")
    share = rows[0]["long_run"] / fastest
    holds = share >= 1 - tolerance
    print(f"the run of --mode auto itself: {own:.1f} clips/s")
    print(f"{'ok  ' if holds else 'FAIL'}  taken: {taken}, {100 * share:.1f} % of the fastest "
          f"(at least {100 * (1 - tolerance):.0f} %)", flush=True)
    (out / "check_auto.json").write_text(json.dumps(dict(rows=rows, left_out=left_out, own=own, auto=kept), indent=1))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
