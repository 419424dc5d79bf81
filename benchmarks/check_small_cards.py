#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes xtts-v2 under the memory of small cards, on a large one with caps.

    benchmarks/check_small_cards.py --program build/release/bin/myxtts --corpus FOLDER (--init MODEL | --vocab FILE)

A cap is for everything that both roles take of the card together, so it is divided: 0.6 GB for the data role, the
rest for the model. Says for each card which memory savers were chosen, the peak and the speed. Exits 1 when a run
does not fit or goes above its cap.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

CARDS = ((7.5, 1), (11.0, 4))  # GB, clips
DATA_GB = 0.6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--init")
    parser.add_argument("--vocab")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--flags", default="", help="more flags for every run")
    parser.add_argument("--out", default=".")
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one run")
    options = parser.parse_args()
    start = ["--init", options.init] if options.init else ["--model-size", "xtts-v2", "--vocab", options.vocab]
    failed = 0
    for gigabytes, batch in CARDS:
        folder = pathlib.Path(options.out) / f"card-{gigabytes}"
        shutil.rmtree(folder, ignore_errors=True)
        command = [options.program, "train", "--train-data", options.corpus, *start, "--batch-size", batch, "--max-steps",
                   options.steps, "--epochs", 100000, "--checkpoint-dir", folder, "--eval-steps", 1000000, "--save-steps", 1000000,
                   "--log-steps", 5, "--enable-memory-isolation", "--data-gpu-memory", round(1000 * DATA_GB),
                   "--model-gpu-memory", round(1000 * (gigabytes - DATA_GB)), *options.flags.split()]
        ended = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               timeout=options.timeout)
        chosen = [line for line in ended.stdout.splitlines() if "recompute" in line or "moments" in line or "memory" in line.lower()]
        print("\n".join(f"      {line}" for line in chosen[:8]))
        if ended.returncode != 0:
            failed += 1
            print(f"FAIL  {gigabytes} GB, batch {batch}: ended with {ended.returncode}: {ended.stdout[-800:]}", flush=True)
            continue
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        last = [line for line in lines if line["event"] == "train"][-1]
        peak = last["memory.model_peak"] + last["memory.data_peak"]
        holds = peak <= gigabytes * 1e9
        failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {gigabytes} GB, batch {batch}: {peak / 1e9:.2f} GB at most "
              f"(data {last['memory.data_peak'] / 1e9:.2f}), {1000 * batch / last['clips_per_second']:.0f} ms a step, "
              f"loss {last['loss']:.3f}", flush=True)
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
