#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the pipeline beside the training step on a GPU and judges the figures.

    benchmarks/pipeline_gpu.py --probe build/release/bin/pipeline_probe --clips FOLDER [--steps 300]

FOLDER holds at least 32 sound files of 3 to 11 seconds. Prints one line for each claim with its
figure, and exits 1 when one does not hold. `--kernels FILE` only reads a trace of kernels.
"""

import argparse
import concurrent.futures
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path


class Judge:
    def __init__(self):
        self.failed = 0

    def claim(self, text, figure, holds):
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {text}: {figure}", flush=True)


def run(arguments, options, wanted=0):
    """The probe's lines by phase, and what it said on standard error."""
    command = [options.probe, "--clips", options.clips, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    if (ended.returncode != 0) != (wanted != 0):
        sys.exit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return {line["phase"]: line for line in lines}, ended.stderr.strip()


SPLIT = 64  # multiprocessors of the data role, as the probe gives it
LAUNCH_GAP = 5.0  # microseconds from the end of a kernel to the start of the next in its stream


def union(intervals, gap=0.0):
    """The intervals joined where they touch or are at most `gap` apart."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1] + gap:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def overlap(one, other):
    """How much of the union `one` lies inside the union `other`."""
    total = 0.0
    place = 0
    for begin, end in one:
        while place < len(other) and other[place][1] <= begin:
            place += 1
        at = place
        while at < len(other) and other[at][0] < end:
            total += min(end, other[at][1]) - max(begin, other[at][0])
            at += 1
    return total


TRACED_STEPS = 10  # as the probe does


def kernels_in(file):
    """The kernels of the data role, and those of training."""
    opened = gzip.open(file) if str(file).endswith(".gz") else open(file, "rb")
    with opened as text:
        events = json.load(text)["traceEvents"]
    streams = {}
    for event in events:
        if event.get("cat") == "kernel":
            streams.setdefault(event["args"]["stream"], []).append(event)
    kernels = {True: [], False: []}
    for found in streams.values():
        kernels[any("sound_mel" in e["name"] for e in found)] += found
    return kernels[True], kernels[False]


def times_of(kernels):
    """When they ran, in microseconds."""
    return [(e["ts"], e["ts"] + e["dur"]) for e in kernels]


def anatomy(file):
    """Milliseconds of a traced step: training kernels at work, the gaps between them, and the same
    kernels by their names."""
    _, training = kernels_in(file)
    joined = union(times_of(training))
    busy = sum(end - begin for begin, end in joined)
    names = {}
    for event in training:
        name = event["name"][:70]
        names[name] = names.get(name, 0.0) + event["dur"] / 1000 / TRACED_STEPS
    whole = joined[-1][1] - joined[0][0]
    return busy / 1000 / TRACED_STEPS, (whole - busy) / 1000 / TRACED_STEPS, names


def share_inside(file):
    """The part of the feature kernels' time that lies inside training kernels' time, once with the
    gaps between kernels that follow one another counted in and once without; and that time in ms.
    """
    features, others = map(times_of, kernels_in(file))
    features, training = union(features), union(others)
    # What happened before the first and after the last training kernel was not recorded whole.
    features = [p for p in features if p[0] >= training[0][0] and p[1] <= training[-1][1]]
    whole = sum(end - begin for begin, end in features)
    steady = union(others, LAUNCH_GAP)
    return overlap(features, steady) / whole, overlap(features, training) / whole, whole / 1000


def compare_traces(prefix, mode):
    """Where the time goes that a step takes longer beside the pipeline."""
    parts = {kind: anatomy(f"{prefix}-{kind}.json") for kind in ("resident", "warm", "cold")}
    for kind, (busy, gaps, _) in parts.items():
        features, _ = kernels_in(f"{prefix}-{kind}.json")
        own = sum(e["dur"] for e in features) / 1000 / TRACED_STEPS
        print(f"      {mode}, {kind}, traced: training kernels {busy:.2f} ms and gaps {gaps:.2f} ms a step; "
              f"{len(features) / TRACED_STEPS:.0f} feature kernels of {own:.2f} ms", flush=True)
    before, after = parts["resident"][2], parts["warm"][2]
    grown = sorted(((after.get(n, 0) - t, n) for n, t in before.items()), reverse=True)
    for more, name in grown[:6]:
        print(f"        {more:+.3f} ms with a warm cache: {before[name]:.3f} ms {name}", flush=True)


def judge_mode(mode, options, judge):
    prefix = str(Path(options.out) / f"kernels-{mode}")
    found, _ = run(["--mode", mode, "--steps", options.steps, "--warm-up", 30, "--kernels", prefix,
                    "--phases", "smid,features,features_warm,warm,cold,trace"], options)
    Path(f"{prefix}-steps.json").write_text(json.dumps(
        {"resident": found["warm"]["resident"], "warm": found["warm"]["step"], "cold": found["cold"]["step"]}))
    warm, cold = found["warm"], found["cold"]
    resident = warm["resident"]
    feature_ms = found["features"]["feature_ms"]
    print(f"      {mode}: resident {resident['mean_ms']:.2f} ms ({100 * resident['std_over_mean']:.2f} %), "
          f"warm {warm['step']['mean_ms']:.2f} ms, uncached {cold['step']['mean_ms']:.2f} ms, "
          f"features alone {feature_ms:.2f} ms ({found['features_warm']['feature_ms']:.2f} ms warm), "
          f"beside the step {cold['feature_ms']:.2f} ms ({warm['feature_ms']:.2f} ms warm), "
          f"start waited {cold['start_waited_s']:.2f} s", flush=True)
    for name, phase in (("warm", warm), ("uncached", cold)):
        ready = phase["ready"] / phase["of"]
        judge.claim(f"{mode}, {name}: ready at least 99.5 %",
                    f"{100 * ready:.2f} % of {phase['of']} steps, waited {1000 * phase['waited_s']:.1f} ms",
                    ready >= 0.995)
        spread = phase["step"]["std_over_mean"]
        judge.claim(f"{mode}, {name}: step varies less than 3 %",
                    f"{100 * spread:.2f} % over {phase['step']['steps']} steps, "
                    f"{phase['step']['least_ms']:.2f} to {phase['step']['most_ms']:.2f} ms", spread < 0.03)
        before, after = phase["memory_before"], phase["memory"]
        judge.claim(f"{mode}, {name}: memory is flat",
                    f"data {after['data'] / 1e6:.0f} MB, model {after['model'] / 1e6:.0f} MB",
                    all(after[r] <= 1.01 * before[r] for r in ("data", "model")))
    ratio = warm["step"]["mean_ms"] / resident["mean_ms"]
    judge.claim(f"{mode}: warm step at most 1.01 times that on resident batches, in turn",
                f"{ratio:.4f}", ratio <= 1.01)
    limit = warm["step"]["mean_ms"] + 1.1 * feature_ms
    judge.claim(f"{mode}: uncached step at most warm + 1.1 times the features' own time",
                f"{cold['step']['mean_ms']:.2f} ms, limit {limit:.2f} ms",
                cold["step"]["mean_ms"] <= limit)
    share, strict, milliseconds = share_inside(f"{prefix}-cold.json")
    judge.claim(f"{mode}: at least 90 % of feature kernels' time inside training kernels'",
                f"{100 * strict:.1f} % of {milliseconds:.0f} ms, {100 * share:.1f} % with the gaps of up to "
                f"{LAUNCH_GAP:.0f} µs between training kernels", strict >= 0.9)
    compare_traces(prefix, mode)
    subprocess.run(["gzip", "-f", *(f"{prefix}-{kind}.json" for kind in ("resident", "warm", "cold"))], check=True)
    return found


def judge_partition(found, judge):
    seen, again = found["smid"]["data"], found["smid"]["data_other_stream"]
    judge.claim(f"split: the data role stays on its {SPLIT} multiprocessors", str(seen),
                len(seen) == SPLIT and seen == again and len(found["smid"]["model"]) > SPLIT)


def judge_batches(options, judge):
    """Bits do not depend on time, so all runs may share the GPU."""
    kinds = [(mode, path) for mode in ("single", "split") for path in ("same", "peer", "host")]

    def hashes(kind):
        return run(["--mode", kind[0], "--path", kind[1], "--steps", 12, "--phases",
                    "hash,hash_warm"], options)[0]

    with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
        results = list(pool.map(hashes, kinds))
    expected = results[0]["hash"]["hashes"]
    for (mode, path), found in zip(kinds, results):
        for phase in ("hash", "hash_warm"):
            judge.claim(f"batches of {mode}, {path}, {phase} are the same bits",
                        f"{len(expected)} batches", found[phase]["hashes"] == expected)


def judge_caps(options, judge):
    flags = ["--mode", "single", "--steps", 8, "--warm-up", 2, "--phases", "cold"]
    peaks = run(flags, options)[0]["cold"]["memory"]
    for role in ("data", "model"):
        enough = int(1.05 * peaks[f"{role}_peak"])
        run([*flags, f"--{role}-cap", enough], options)
        judge.claim(f"{role} cap of 1.05 times the peak", f"{enough / 1e6:.0f} MB runs", True)
        little = int(0.8 * peaks[f"{role}_peak"])
        _, message = run([*flags, f"--{role}-cap", little], options, wanted=1)
        judge.claim(f"{role} cap of 0.8 times the peak fails with role and setting",
                    message, f"The {role} role wants" in message)


def heavy_features(options):
    """When does a second GPU pay? What features cost the step is what it could save at most."""
    print("\n| network, DVAE | features alone | step with a warm cache | step, uncached | cost |")
    print("|---|---|---|---|---|")
    for name, flags in (("xtts-v2, its own", []),
                        ("xtts-v2, of 12 blocks", ["--dvae-blocks", 12]),
                        ("xtts-v2, of 24 blocks", ["--dvae-blocks", 24]),
                        ("small, that of xtts-v2", ["--model", "small", "--dvae", "xtts-v2"])):
        found, _ = run(["--mode", "single", *flags, "--steps", 30, "--warm-up", 8, "--phases",
                        "features,warm,cold"], options)
        warm, cold = (found[p]["step"]["mean_ms"] for p in ("warm", "cold"))
        print(f"| {name} | {found['features']['feature_ms']:.1f} ms | {warm:.1f} ms | "
              f"{cold:.1f} ms | {cold - warm:.1f} ms, {100 * (cold / warm - 1):.0f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe")
    parser.add_argument("--clips")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", default=tempfile.gettempdir(), help="folder for traces")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--parts", default="single,split,batches,caps,heavy")
    parser.add_argument("--kernels", help="only read this trace")
    options = parser.parse_args()
    if options.kernels:
        print("%.4f; %.4f without gaps; of %.1f ms" % share_inside(options.kernels))
        return 0
    judge = Judge()
    for mode in ("single", "split"):
        if mode in options.parts:
            found = judge_mode(mode, options, judge)
            if mode == "split":
                judge_partition(found, judge)
    if "batches" in options.parts:
        judge_batches(options, judge)
    if "caps" in options.parts:
        judge_caps(options, judge)
    if "heavy" in options.parts:
        heavy_features(options)
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())
