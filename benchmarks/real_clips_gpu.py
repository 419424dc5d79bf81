#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains xtts-v2 on real clips of varied length through the whole pipeline, beside the Python peer's recipe, on one GPU.

    benchmarks/real_clips_gpu.py --program build/release/bin/myxtts --peer FOLDER --corpus FOLDER --vocab vocab.json

Both see the same clips and the same vocabulary in one call. The corpus has LJSpeech's layout; varied_corpus.py makes
one. Compared are seconds of speech that are trained on in a second. Exits 1 when a claim does not hold; leaves
real_clips.json in the out folder.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FASTER, READY, USEFUL = 17.0, 0.995, 0.97


def run(command, timeout):
    ended = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=timeout)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stdout[-1500:]}{ended.stderr[-1500:]}")
    return ended.stdout + ended.stderr


def of_peer(options):
    out = run([sys.executable, HERE / "peer_recipe.py", "--peer", options.peer, "--corpus", options.corpus,
               "--vocab", options.vocab, "--batches", options.peer_batches], options.timeout)
    return json.loads(next(line for line in out.splitlines() if line.startswith("{")))


def pace(lines, warm_up, batch, log_steps):
    """Seconds of speech a second and milliseconds a step, of the lines behind the warm-up."""
    lines = [line for line in lines if line["event"] == "train" and line["step"] > warm_up]
    clips = log_steps * batch
    seconds = sum(clips / line["clips_per_second"] for line in lines)
    audio = sum(clips / line["clips_per_second"] * line["audio_hours_per_hour"] for line in lines)
    return audio / seconds, 1000.0 * seconds / (log_steps * len(lines))


def of_ours(options, batch):
    folder = pathlib.Path(options.out) / f"run-{batch}"
    shutil.rmtree(folder, ignore_errors=True)
    # No measuring and no saving but at the end: neither is in the peer's loop.
    settings = [options.program, "train", "--train-data", options.corpus, "--vocab", options.vocab, "--model-size", options.model_size,
                "--batch-size", batch, "--max-steps", options.steps, "--epochs", 100000, "--checkpoint-dir", folder,
                "--eval-steps", 1000000, "--save-steps", 1000000, "--log-steps", options.log_steps, *options.flags.split()]
    useful = re.search(r"\(([0-9.]+) % useful\)", run([*settings, "--dry-run"], options.timeout))
    told = run(settings, options.timeout)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    speed, step_ms = pace(lines, options.warm_up, batch, options.log_steps)
    readiness = [line["readiness"] for line in lines if line["event"] == "train"][-1]
    if not options.keep:
        shutil.rmtree(folder)
    return dict(who="myxtts", batch=batch, audio_per_second=speed, step_ms=step_ms, readiness=readiness,
                useful=float(useful[1]) / 100.0, summary=told[-1500:])


def judge(peer, ours):
    failed = 0
    for line in ours:
        ratio = line["audio_per_second"] / peer["audio_per_second"]
        for claim, figure, holds in (
                (f"at least {FASTER:.0f} times the peer's recipe (goal 25)", f"{ratio:.1f}", ratio >= FASTER),
                ("ready at least 99.5 %", f"{100 * line['readiness']:.2f} %", line["readiness"] >= READY),
                ("at least 97 % of the tokens useful", f"{100 * line['useful']:.1f} %", line["useful"] >= USEFUL)):
            failed += not holds
            print(f"{'ok  ' if holds else 'FAIL'}  batch {line['batch']}, {claim}: {figure}", flush=True)
    return failed


def table(peer, ours):
    rows = ["| | speech a second | step | ready | useful | times the recipe |", "|---|---|---|---|---|---|",
            f"| the peer's recipe: batch 3, fp32, 84 batches a step | {peer['audio_per_second']:.0f} s | "
            f"{peer['batch_ms']:.0f} ms a batch | – | – | 1 |"]
    for line in ours:
        rows.append(f"| MyXTTS, batch {line['batch']} | {line['audio_per_second']:.0f} s | {line['step_ms']:.1f} ms | "
                    f"{100 * line['readiness']:.2f} % | {100 * line['useful']:.1f} % | "
                    f"{line['audio_per_second'] / peer['audio_per_second']:.1f} |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--peer", required=True, help="folder with the unpacked peer, or a line that was measured before (JSON)")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--model-size", default="xtts-v2")
    parser.add_argument("--batches", default="32,64", help="of ours, clips")
    parser.add_argument("--flags", default="", help="more flags for our program")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--warm-up", type=int, default=50, help="steps that are not counted")
    parser.add_argument("--log-steps", type=int, default=10)
    parser.add_argument("--peer-batches", type=int, default=200)
    parser.add_argument("--out", default=".")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--keep", action="store_true", help="leave the run directories")
    options = parser.parse_args()
    peer = json.loads(options.peer) if options.peer.startswith("{") else of_peer(options)
    print(json.dumps(peer), flush=True)
    ours = []
    for batch in map(int, options.batches.split(",")):
        ours.append(of_ours(options, batch))
        print(json.dumps(ours[-1]), flush=True)
        (pathlib.Path(options.out) / "real_clips.json").write_text(json.dumps([peer, *ours], indent=1) + "\n")
    print(table(peer, ours))
    return 1 if judge(peer, ours) else 0


if __name__ == "__main__":
    sys.exit(main())
