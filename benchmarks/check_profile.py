#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does `myxtts profile` name what holds a training up, and does its knob give what it predicts?

    benchmarks/check_profile.py --probe build/release/bin/profile_probe --device cpu
    benchmarks/check_profile.py --probe build/release/bin/profile_probe --device cuda

Plants each kind of bottleneck in whole trainings, at strengths that the seed draws, --runs times each; then pairs, of
which the larger has to be named, and healthy trainings, which must raise no alarm. A strength of 2 is a stage that takes
twice a healthy step, or batches padded to four times their tokens. Where a knob is named it is turned, and the training
measured again with the fault still in it. Prints one row for each and a line for each kind, and exits 1 unless every
verdict is right, every fault that a setting can mend has its knob, and every gain is within 15 % of the predicted.
--lanes runs several trainings side by side, each on cores of its own; the cores are those that this script may use.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

KINDS = ["slow reader", "slow disk", "slow decoder", "heavy features", "slow transfer", "big model", "bad padding",
         "jittery storage"]
WITHOUT_KNOB = ["big model", "pair", "healthy"]  # no setting helps, or only the verdict is asked for
MOST_ERROR = 0.15


def place_of(cpu):
    """Socket and core of a CPU: the two threads of one core are neighbours."""
    folder = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
    try:
        return (*(int((folder / name).read_text()) for name in ("physical_package_id", "core_id")), cpu)
    except OSError:
        return (0, cpu, cpu)


def cores_of(lanes, first):
    """Equal shares of the cores from `first` on; threads of one core are in one share."""
    cores = sorted(sorted(os.sched_getaffinity(0))[first:], key=place_of)
    share = len(cores) // lanes
    return [cores[lane * share:(lane + 1) * share] for lane in range(lanes)]


def settings_of(options, cores):
    if options.device == "cuda":
        return ["devices.device=cuda", f"train.model_size={options.model_size or 'tiny'}", "train.batch_size=4"]
    model = max(1, len(cores) - 1)
    return ["devices.device=cpu", f"train.model_size={options.model_size or 'tiny'}", "train.batch_size=2",
            f"devices.model_threads={model}", f"devices.data_threads={max(1, len(cores) - model)}"]


def run_probe(options, cores, jobs):
    """Rows of the probe, in the order of the jobs; what was measured before a failure counts."""
    left = max(1.0, options.ends - time.monotonic())
    command = ["taskset", "-c", ",".join(map(str, cores)), options.probe, "--json", "--runs", 1, "--steps", options.steps,
               "--clips", options.clips, "--seconds", left, "--faults", ",".join(f"{kind}@{seed}" for kind, seed in jobs),
               *settings_of(options, cores), *options.settings]
    rows = []
    with tempfile.TemporaryFile("w+") as complaints:
        with subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=complaints, text=True) as process:
            for line in process.stdout:
                if line.startswith("{"):
                    row = json.loads(line)
                    if row["device"] != options.device:
                        raise SystemExit(f"a training ran on {row['device']} in place of {options.device}")
                    rows.append(row)
                    print("  ".join(cells(rows[-1])), flush=True)
        if process.returncode not in (0, 1) or not rows:
            complaints.seek(0)
            print(f"{' '.join(map(str, command))} ended with {process.returncode}: {complaints.read()[-600:]}", flush=True)
    return rows


def shares(options):
    """(kind, seed) of each lane's trainings: every kind once before any a second time."""
    kinds = options.kinds or list(KINDS) + (["launch"] if options.device == "cuda" else [])
    jobs = [(kind, options.seed + run) for run in range(options.runs) for kind in kinds]
    jobs += [("pair", options.seed + number) for number in range(options.pairs)]
    jobs += [("healthy", options.seed + number) for number in range(options.healthy)]
    jobs.sort(key=lambda job: job[1])
    return [jobs[lane::options.lanes] for lane in range(options.lanes)]


def work(options, cores, jobs):
    """All trainings of one lane, in one process unless one of them breaks it."""
    rows = []
    while jobs and time.monotonic() < options.ends:
        measured = run_probe(options, cores, jobs)
        rows += measured
        jobs = jobs[len(measured) + 1:]  # without the one that failed
    return rows


def has_its_gain(row):
    if "error" not in row:
        return row["kind"] in WITHOUT_KNOB
    return abs(row["error"]) <= MOST_ERROR


def cells(row):
    result = "ok" if row["right"] and has_its_gain(row) else "FAIL"
    gain = ["", "", ""]
    if "error" in row:
        gain = [f"`{row['knob']}`", f"{row['predicted']:.1f}", f"{row['measured']:.1f} ({100 * row['error']:+.0f} %)"]
    strength = f" x {row['strength']:.1f}" if row["strength"] else ""
    return [row["planted"] + strength, f"{row['step_ms']:.1f} ms", f"{row['ceiling_ms']:.1f} ms", row["verdict"],
            f"{100 * row['cost_share']:.0f} %", *gain, result]


def kind_cells(kind, rows):
    """One line for all strengths of a kind."""
    several = lambda values: ", ".join(dict.fromkeys(values))
    strengths = ", ".join(f"{row['strength']:.1f}" for row in rows if row["strength"])
    knobs = several(f"`{row['knob']}`" for row in rows if "knob" in row)
    errors = ", ".join(f"{100 * row['error']:+.0f}" for row in rows if "error" in row)
    return [several(row["planted"] for row in rows) if kind == "pair" else kind, strengths,
            f"{several(row['verdict'] for row in rows)} ({sum(row['right'] for row in rows)} of {len(rows)} right)", knobs,
            f"{errors} %" if errors else ""]


def print_table(header, lines):
    print(f"\n| {' | '.join(header)} |\n{'|---' * len(header)}|")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--model-size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", type=lambda text: text.split(","), help="these alone, with commas; all unless told")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--healthy", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--clips", type=int, default=64)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--first-core", type=int, default=0, help="leave those before it alone")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no training after so many")
    parser.add_argument("--json", help="a file for the rows")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args()
    options.ends = time.monotonic() + options.seconds

    if options.lanes > len(os.sched_getaffinity(0)) - options.first_core:
        parser.error("--lanes needs a core for each")
    lanes = shares(options)
    wanted = sum(map(len, lanes))
    with concurrent.futures.ThreadPoolExecutor(options.lanes) as pool:
        futures = [pool.submit(work, options, cores, jobs)
                   for cores, jobs in zip(cores_of(options.lanes, options.first_core), lanes)]
        rows = [row for future in futures for row in future.result()]
    order = [*KINDS, "launch", "pair", "healthy"]
    rows.sort(key=lambda row: order.index(row["kind"]))

    print_table(["planted", "step", "ceiling", "verdict", "of the time", "knob", "predicted, clips/s", "measured", ""],
                map(cells, rows))
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in order}
    print_table(["planted", "strength", "verdict", "knob", "measured against predicted"],
                [kind_cells(kind, of_kind) for kind, of_kind in kinds.items() if of_kind])
    named = sum(row["right"] for row in rows)
    gains = [row for row in rows if row["kind"] not in WITHOUT_KNOB]
    close = sum(row["right"] and has_its_gain(row) for row in gains)
    print(f"{named} of {len(rows)} named, {close} of {len(gains)} gains within 15 %, {wanted - len(rows)} not run", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if named == wanted and close == len(gains) else 1


if __name__ == "__main__":
    sys.exit(main())
