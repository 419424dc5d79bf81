#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two runs of --deterministic on a GPU must end in the same checkpoint, bit for bit; says what that costs in speed.

    benchmarks/check_determinism_gpu.py --program build/release/bin/myxtts --corpus FOLDER --vocab vocab.json

A third run without the flag is the measure for the price. Its checkpoint may or may not be the same: that is said.
Exits 1 when the two differ.
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time

COMPARED = ("model.safetensors", "optimiser.safetensors")


def train(options, name, *flags):
    """Digests of the last checkpoint's tensors, and milliseconds a step behind the warm-up."""
    folder = pathlib.Path(options.out) / name
    shutil.rmtree(folder, ignore_errors=True)
    command = [options.program, "train", "--train-data", options.corpus, "--vocab", options.vocab, "--model-size",
               options.model_size, "--batch-size", options.batch_size, "--max-steps", options.steps, "--epochs", 100000,
               "--checkpoint-dir", folder, "--eval-steps", 1000000, "--save-steps", 1000000, "--log-steps", 5,
               *options.flags.split(), *flags]
    begin = time.monotonic()
    ended = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=options.timeout)
    if ended.returncode != 0:
        sys.exit(f"{name} ended with {ended.returncode}:\n{ended.stdout[-2000:]}")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    counted = [line for line in lines if line["event"] == "train" and line["step"] > options.steps // 4]
    step_ms = 1000.0 * options.batch_size * sum(1 / line["clips_per_second"] for line in counted) / len(counted)
    checkpoint = (folder / "latest").resolve()
    digests = {file: digest(checkpoint / file) for file in COMPARED}
    losses = [line["loss"] for line in lines if line["event"] == "train"]
    shutil.rmtree(folder)
    print(f"{name}: {step_ms:.1f} ms a step, {time.monotonic() - begin:.0f} s in all, last loss {losses[-1]:.6f}, "
          + ", ".join(f"{file} {value[:12]}" for file, value in digests.items()), flush=True)
    return digests, step_ms


def digest(file):
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--model-size", default="xtts-v2")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--flags", default="", help="more flags for every run")
    parser.add_argument("--out", default=".")
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one run")
    options = parser.parse_args()
    first, first_ms = train(options, "deterministic-1", "--deterministic")
    second, second_ms = train(options, "deterministic-2", "--deterministic")
    free, free_ms = train(options, "free")
    equal = first == second
    print(f"{'ok  ' if equal else 'FAIL'}  {options.steps} steps twice with --deterministic: checkpoints "
          f"{'are equal' if equal else 'differ'}")
    price = min(first_ms, second_ms) / free_ms - 1
    print(f"      price of --deterministic: {100 * price:+.1f} % ({min(first_ms, second_ms):.1f} ms against {free_ms:.1f} ms); "
          f"without it the checkpoint is {'the same' if free == first else 'another'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
