#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether training in bf16 as we run it keeps to the losses of fp32: the same steps both ways, on one GPU.

    benchmarks/check_bf16_gpu.py --bench build/release/bin/train_bench [--batch 8] [--steps 200] [--different 206] [--parts plain,dropout]
                                 [--timeout 60]

bf16 is our kernels in a CUDA graph; fp32 is plain expressions, one operation after another, without TF32. Same
weights, clips (of spread lengths) and learning rate. Without dropout the two are compared step by step. With
dropout their masks differ, because the attention kernels of the two precisions draw differently, so means over
windows of steps are compared; how far two seeds of one precision are apart says what that difference means.
"""
import argparse
import json
import subprocess
import sys

LIMIT = 0.005
WINDOW = 20


def losses_of(options, *flags):
    command = [options.bench, "--batch", str(options.batch), "--steps", str(options.steps), "--spread", "--losses",
               "--different", str(options.different), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    lines = [line for line in done.stdout.splitlines() if line.startswith("# losses ")]
    if not lines:
        raise SystemExit(f"{' '.join(command)} gave no losses: {done.stderr[-500:]}")
    return [float(loss) for loss in lines[0].split()[2:]]


def windows(losses):
    return [sum(losses[i:i + WINDOW]) / WINDOW for i in range(0, len(losses) - WINDOW + 1, WINDOW)]


def compare(what, found, wanted, limit=None):
    """Prints how far apart two rows of losses are; 1 where that is more than allowed."""
    apart = [abs(one - other) / other for one, other in zip(found, wanted)]
    worst = max(apart)
    line = dict(what=what, count=len(apart), max_percent=round(100 * worst, 4),
                mean_percent=round(100 * sum(apart) / len(apart), 4), first=[found[0], wanted[0]],
                last=[found[-1], wanted[-1]])
    print(json.dumps(line), flush=True)
    if limit is None:
        return 0
    print(f"{'ok  ' if worst <= limit else 'FAIL'}  {what}: at most {100 * limit:.1f} %: {100 * worst:.3f} %", flush=True)
    return int(worst > limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="our program train_bench")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--different", type=int, default=206, help="batches before the first comes again: few are learnt by heart")
    parser.add_argument("--parts", default="plain,dropout", help="without dropout, with it")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    options = parser.parse_args()
    plain = ("--precision", "fp32", "--eager", "--plain")
    failed = 0
    if "plain" in options.parts.split(","):
        bf16, fp32 = losses_of(options, "--dropout", "0"), losses_of(options, "--dropout", "0", *plain)
        failed += compare("each step without dropout, bf16 beside fp32", bf16, fp32, LIMIT)
    if "dropout" in options.parts.split(","):
        bf16, fp32 = losses_of(options), losses_of(options, *plain)
        failed += compare(f"means of {WINDOW} steps with dropout, bf16 beside fp32", windows(bf16), windows(fp32), LIMIT)
        compare("each step with dropout, bf16 beside fp32, masks not the same", bf16, fp32)
        other = losses_of(options, "--seed", "2")
        compare("each step with dropout, bf16 of two seeds", bf16, other)
        compare(f"means of {WINDOW} steps with dropout, bf16 of two seeds", windows(bf16), windows(other))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
