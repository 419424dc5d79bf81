#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the training step of xtts-v2 beside the Python peer's and beside the best plain PyTorch, on one GPU.

    benchmarks/compare_training.py --peer FOLDER --bench build/release/bin/train_bench --out FOLDER

All in one call, so that the ratios are of one machine in one hour. Every figure is the median of a whole step's
device time (forward, backward, optimiser) on 10 s clips of 120 text tokens; peer_gpt.py and tuned_gpt.py say what
theirs hold. Leaves training.json and training.md in the out folder; a part that fails is named, and its column
stays empty. `--table training.json...` only makes the table, from the lines of one or more files.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BATCHES = (3, 16, 32, 64)
LIMITS = {3: 15.0, 16: 42.0, 32: 75.0, 64: 140.0}  # ms that our step may take
# Column heads, and what a line must say to stand in them.
COLUMNS = {"peer fp32": dict(who="peer", precision="fp32"), "peer TF32": dict(who="peer", precision="tf32"),
           "peer bf16": dict(who="peer", precision="bf16"), "PyTorch eager": dict(who="pytorch", kind="eager"),
           "torch.compile": dict(who="pytorch", compiled=True), "MyXTTS": dict(who="myxtts")}


def commands(options):
    """Name of each part, and its command."""
    if "peer" in options.parts:
        yield "peer", [sys.executable, HERE / "peer_gpt.py", "--peer", options.peer]
    if "pytorch" in options.parts:
        yield "pytorch", [sys.executable, HERE / "tuned_gpt.py", "--kinds", options.kinds, "--timeout", options.timeout - 10]
    for batch in BATCHES if "myxtts" in options.parts else ():  # a fresh process each, as a run of `myxtts train` is
        yield f"myxtts at batch {batch}", [options.bench, "--batch", batch, *options.bench_flags.split()]


def run_part(command, timeout):
    """The JSON lines of a command, shown as they come, and how it ended. Lines before the limit count."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    limit = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    lines = []
    for text in process.stdout:
        if text.startswith("{"):
            lines.append({"who": "myxtts", **json.loads(text), "after_s": round(time.monotonic() - begin, 1)})
            print(json.dumps(lines[-1]), flush=True)
    code = process.wait()
    limit.cancel()
    return lines, f"its limit of {timeout:.0f} s" if code == -signal.SIGKILL else code


def measure(options):
    """The lines of every part, and the names of those that failed."""
    lines, failed = [], []
    for name, command in commands(options):
        found, ending = run_part([str(part) for part in command], options.timeout)
        lines += found
        if ending != 0:
            failed.append(name)
            print(f"{name}: ended with {ending}", file=sys.stderr, flush=True)
    return lines, failed


def step_ms(lines, batch, wanted):
    """The smallest, where a part was measured more than once."""
    fits = [line["step_ms"] for line in lines if line.get("batch") == batch and "step_ms" in line
            and all(line.get(key) == value for key, value in wanted.items())]
    return min(fits, default=None)


def table(lines):
    rows = ["| batch | " + " | ".join(COLUMNS) + " | times the recipe's fp32 | times the peer's best | times torch.compile |",
            "|" + "---|" * (len(COLUMNS) + 4)]
    for batch in BATCHES:
        times = {head: step_ms(lines, batch, wanted) for head, wanted in COLUMNS.items()}
        ours = times["MyXTTS"]
        peers = [ms for head, ms in times.items() if head.startswith("peer") and ms]

        def ratio(other):
            return f"{other / ours:.1f}" if ours and other else "–"

        rows.append(f"| {batch} | " + " | ".join(f"{ms:.1f}" if ms else "–" for ms in times.values())
                    + f" | {ratio(times['peer fp32'])} | {ratio(min(peers, default=None))} | {ratio(times['torch.compile'])} |")
    return "\n".join(rows) + "\n"


def judge(lines):
    failed = 0
    for batch, limit in LIMITS.items():
        ours = step_ms(lines, batch, COLUMNS["MyXTTS"])
        if ours is not None:
            failed += ours > limit
            print(f"{'ok  ' if ours <= limit else 'FAIL'}  step at batch {batch} at most {limit:.0f} ms: {ours:.1f} ms")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="folder with the unpacked peer")
    parser.add_argument("--bench", help="our program train_bench")
    parser.add_argument("--bench-flags", default="", help="more arguments for it")
    parser.add_argument("--parts", default="peer,pytorch,myxtts")
    parser.add_argument("--kinds", default="eager,blocks", help="of PyTorch, as tuned_gpt.py has them")
    parser.add_argument("--out", default=".")
    parser.add_argument("--timeout", type=float, default=200, help="seconds for one part")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="only make the table")
    options = parser.parse_args()
    if options.table:
        lines = [line for file in options.table for line in json.loads(pathlib.Path(file).read_text())]
        print(table(lines), end="")
        return 1 if judge(lines) else 0
    for part, needed in (("peer", options.peer), ("myxtts", options.bench)):
        if part in options.parts and not needed:
            parser.error(f"the part {part} needs --{'peer' if part == 'peer' else 'bench'}; --parts leaves parts out")
    lines, failed = measure(options)
    out = pathlib.Path(options.out)
    (out / "training.json").write_text(json.dumps(lines, indent=1) + "\n")
    (out / "training.md").write_text(table(lines))
    print(table(lines), end="")
    return 1 if judge(lines) or failed else 0


if __name__ == "__main__":
    sys.exit(main())
