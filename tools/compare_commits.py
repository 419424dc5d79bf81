#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether two commits train and speak the same, to the bit.

    tools/compare_commits.py BEFORE [AFTER]          two commits; AFTER is HEAD if left out
    tools/compare_commits.py --before PROGRAM --after PROGRAM
                                                     two programs that are built

Commits are built in worktrees below build/compare, which stay: a second comparison finds them. Then both programs do the
same on the CPU, side by side, a core each: train `tiny` on a made corpus for --steps steps; the same in two halves, the
second resumed; a chain of stages; a stage, ranks and arithmetic of other kinds, a few steps each; and 20 syntheses.
Compared are all tensors of all checkpoints, the other files of a model, the numbers of metrics.jsonl, and every WAV.

Exit code: 0 equal, 1 something differs, 2 it could not be found out.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import wave

ROOT = pathlib.Path(__file__).resolve().parent.parent
VOCABULARY = ROOT / "tests/golden/text/vocab.json"  # all languages but Persian
RATE = 22050
SENTENCES = [("en", "the first of all clips"), ("en", "and some more words"), ("de", "ein kurzer Satz für alle"),
             ("fr", "une phrase assez courte")]
SIDES = ("before", "after")
LEAST_SOUND = 100_000  # bytes of a WAV: two seconds
MODEL_FILES = ("config.json", "vocab.json")
MEASURED_TIME = {"seconds", "metrics_position"}  # of state.json: no two runs have the same
NUMBERS = ("step", "epoch", "loss", "lr", "grad_norm")


class Failure(Exception):
    """It could not be found out whether they are equal."""


# What both programs do. Each entry is a folder of results and the commands that fill it, one after another.

def training(run, *more):
    return ["train", "--quiet", "--device", "cpu", "--model-size", "tiny", "--train-data", "corpus.txt", "--checkpoint-dir", run,
            "--vocab", "vocab.json", "--batch-size", "2", "--epochs", "10000", "--lr", "0.001", "--val-fraction", "0.2", "--samples", "0",
            "--log-steps", "1", "--seed", "7", "--model-threads", "1", "--data-threads", "1", *map(str, more)]


def trainings(steps):
    whole = ("--eval-steps", max(steps // 4, 1), "--save-steps", max(steps // 2, 1), "--keep-last", 3)
    short = ("--max-steps", 4, "--eval-steps", 2)
    return {
        "whole": [training("whole", "--max-steps", steps, *whole)],
        "halves": [training("halves", "--max-steps", steps // 2, *whole),
                   training("halves", "--max-steps", steps, *whole, "--resume")],
        "chain": [training("chain", "--stages", "dvae,gpt,decoder", "--stage-budget", "dvae=6,gpt=6,decoder=4",
                           "--max-steps", 100, "--mel-only-steps", 2)],
        "speaker": [training("speaker", "--stage", "speaker", *short)],
        "short-numbers": [training("short-numbers", "--precision", "bf16", "--moments", "8bit", "--grad-accum", 2, *short)],
        "processes": [["launch", "--ranks", "2", "--", *training("processes", "--shard-optimiser", *short)]],
        "threads": [training("threads", "--ranks", 2, *short)],
    }


SPEECH = [
    ("en", "Hello there.", ()),
    ("en", "Hello there.", ("--seed", "2")),
    ("en", "Dr. Hall paid $45.10 on the 3rd of May. It was not enough, and so he went home again.", ()),
    ("en", "The likeliest code, always.", ("--greedy",)),
    ("en", "Several beams of codes.", ("--greedy", "--beams", "3")),
    ("en", "Sampled beams.", ("--beams", "2", "--length-penalty", "1.5")),
    ("en", "Slowly.", ("--speed", "0.8")),
    ("en", "Fast and as a stream.", ("--speed", "1.5", "--stream", "--stream-chunk", "12")),
    ("en", "Piece after piece as a stream.", ("--stream",)),
    ("en", "Hot and unlikely.", ("--temperature", "1.2", "--top-k", "0", "--top-p", "0.95")),
    ("en", "Cool.", ("--temperature", "0.3", "--top-k", "5", "--repetition-penalty", "2")),
    ("en", "Another voice of two clips.", ("--reference", "wavs/5.wav", "--trim-db", "30")),
    ("en", "A short look at the voice.", ("--cond-len", "1", "--cond-chunk", "1", "--max-ref-len", "1")),
    ("de", "Am 3. Mai kostete es 12,50 Euro.", ()),
    ("fr", "Il est 8h30, bonjour !", ()),
    ("es", "¿Cuánto cuesta? 20 euros.", ("--batch", "1")),
    ("ru", "Добрый день, 5 раз.", ()),
    ("ar", "مرحبا بكم", ()),
    ("ko", "안녕하세요 3번", ()),
    ("tr", "Günaydın. Bugün hava çok güzel. Yarın yağmur yağacak.", ("--batch", "2")),
]


STOPPING = (1, 10)  # are spoken by the model as it is


def syntheses():
    for number, (language, text, more) in enumerate(SPEECH, 1):
        model = "chain/latest" if number in STOPPING else "talker"
        yield ["synthesize", "--quiet", "--device", "cpu", "--threads", "1", "--model", model, "--reference", "wavs/0.wav",
               "--language", language, "--text", text, "--out", f"speech/{number:02}.wav", *more]


def make_talker(model, talker):
    """A copy of a model that never stops by itself: one of few steps mostly stops at once, and has said nothing."""
    shutil.copytree(model, talker)
    content = bytearray((talker / "model.safetensors").read_bytes())
    size = int.from_bytes(content[:8], "little")
    bias = json.loads(content[8:8 + size])["gpt.mel_head.bias"]
    place = 8 + size + bias["data_offsets"][1] - 4  # the stop code is the last
    content[place:place + 4] = struct.pack("<f", -1e3)
    (talker / "model.safetensors").write_bytes(content)


def make_corpus(folder):
    """Vowels of two voices in four rhythms, with a sentence each."""
    chance = random.Random(11)
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number in range(24):
        speaker = number % 2
        pitch, seconds = (110 if speaker else 190) * chance.uniform(0.9, 1.1), chance.uniform(1.0, 1.5)
        harmonics = [(k, math.exp(-(((k * pitch - chance.uniform(400, 900)) / 500) ** 2)) + 0.05) for k in range(1, 9)]
        samples = []
        for at in range(int(seconds * RATE)):
            swell = 0.6 + 0.4 * math.sin(2 * math.pi * 3 * at / RATE + number)
            turn = 2 * math.pi * pitch * at / RATE
            samples.append(int(4000 * swell * sum(level * math.sin(k * turn) for k, level in harmonics)))
        with wave.open(str(folder / f"wavs/{number}.wav"), "wb") as clip:
            clip.setparams((1, 2, RATE, 0, "NONE", ""))
            clip.writeframes(struct.pack(f"<{len(samples)}h", *(max(-32768, min(32767, sample)) for sample in samples)))
        language, text = SENTENCES[number % len(SENTENCES)]
        lines.append(f"wavs/{number}.wav|{text}|{'anna' if speaker else 'ben'}|{language}")
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.copy(VOCABULARY, folder / "vocab.json")


def run_all(program, folder, steps):
    """Everything that one of the two programs does; the seconds of each part."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MYXTTS_NVML_LIBRARY": "libabsent-ml.so.1"}

    def run(arguments):
        done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise Failure(f"{program} {' '.join(arguments)}\nended with {done.returncode}: {done.stderr[-2000:]}")

    seconds = {}
    (folder / "speech").mkdir()
    for name, commands in [*trainings(steps).items(), ("speech", list(syntheses()))]:
        started = time.monotonic()
        if name == "speech":
            make_talker((folder / "chain/latest").resolve(), folder / "talker")
        for command in commands:
            run(command)
        seconds[name] = time.monotonic() - started
    return seconds


# Reading what came out.

def tensors_of(path):
    """Name to (type, shape, bytes) of a safetensors file."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], tuple(entry["shape"]), content[8 + size:][slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def parts_of(path):
    """What is compared of a file, by name."""
    if path.suffix == ".safetensors":
        return tensors_of(path)
    if path.name == "state.json":
        return {key: value for key, value in json.loads(path.read_text()).items() if key not in MEASURED_TIME}
    if path.name == "metrics.jsonl":
        events = [json.loads(line) for line in path.read_text().splitlines()]
        return {f"{index} {event['event']}": {name: event[name] for name in event if name in NUMBERS or name.endswith("_loss")}
                for index, event in enumerate(events) if event["event"] in ("train", "validation")}
    return {"bytes": path.read_bytes()}


def results(folder):
    """Files that are compared, by their place in the folder. What links point at is there under its own name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or any(part.is_symlink() for part in path.parents if folder in part.parents):
            continue
        of_model = "checkpoints" in path.parts and path.name in (*MODEL_FILES, "state.json")
        is_result = path.suffix == ".safetensors" or path.name == "metrics.jsonl" or of_model
        if path.is_file() and (is_result or path.parent.name == "speech"):
            found[str(path.relative_to(folder))] = path
    return found


def differences(before, after):
    """How many parts two files have, and the names of those that differ or are on one side alone."""
    first, second = parts_of(before), parts_of(after)
    return len(first | second), sorted(name for name in first | second if first.get(name) != second.get(name))


def compare(before, after):
    """Prints a row for each folder of results and a line for each file that differs; how many there are and differ."""
    first, second = results(before), results(after)
    folders, wrongs = {}, []
    for name in sorted(first | second):
        if name in first and name in second:
            parts, wrong = differences(first[name], second[name])
        else:
            parts, wrong = 1, [f"there {'after' if name in second else 'before'} alone"]
        if wrong:
            wrongs.append(f"  {name}: {len(wrong)} of {parts} parts differ: {', '.join(wrong[:3])}{', ...' if wrong[3:] else ''}")
        row = folders.setdefault(str(pathlib.PurePath(name).parent), [0, 0, 0])
        row[:] = row[0] + 1, row[1] + parts, row[2] + bool(wrong)
    width = max(map(len, folders), default=0)
    print(f"{'results in':<{width}}  files  parts  result")
    for folder, (files, parts, different) in folders.items():
        print(f"{folder:<{width}}  {files:5}  {parts:5}  {f'{different} FILES DIFFER' if different else 'equal'}")
    print("\n".join(wrongs))
    return len(first | second), len(wrongs)


def check_results(folder):
    """That there is something to compare: all sounds, and halves that are as good as the whole."""
    for number in range(1, len(SPEECH) + 1):
        sound = folder / f"speech/{number:02}.wav"
        if not sound.exists() or (number not in STOPPING and sound.stat().st_size < LEAST_SOUND):
            raise Failure(f"{sound} is no speech.")
    for name in ("model.safetensors", "optimiser.safetensors"):
        if differences(folder / "whole/latest" / name, folder / "halves/latest" / name)[1]:
            raise Failure(f"The resumed training of {folder} did not come to the {name} of the one that ran through.")


# Two commits instead of two programs.

def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return done.stdout.strip()


def built(commit):
    """The program of a commit, built in a worktree of its own with this checkout's .deps."""
    full = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    place = ROOT / "build/compare" / full[:12]
    if not place.exists():
        git("worktree", "add", "--detach", str(place), full)
        (place / ".deps").symlink_to((ROOT / ".deps").resolve())
    print(f"building {commit} ({full[:12]}) in {place}", flush=True)
    environment = {**os.environ, "CCACHE_BASEDIR": str(place), "CCACHE_NOHASHDIR": "1", "MYXTTS_CUDA": "OFF"}
    if subprocess.run([place / "tools/build", "release", "program"], env=environment).returncode != 0:
        raise Failure(f"{commit} could not be built.")
    return place / "build/release/bin/myxtts"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    parser.add_argument("--before", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--after", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--steps", type=int, default=200, help="of the two long trainings; 200 if left out")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="a new folder that keeps what both made")
    given = parser.parse_args()
    if bool(given.before) != bool(given.after) or bool(given.before) == bool(given.commits) or len(given.commits) > 2:
        parser.error("give one or two commits, or --before PROGRAM and --after PROGRAM")
    if given.steps < 2 or given.steps % 2:
        parser.error("--steps is even")
    return given


def main():
    given = arguments()
    if given.commits:
        commits = [*given.commits, "HEAD"][:2]
        programs = [built(commit) for commit in commits]
    else:
        programs = [given.before.resolve(), given.after.resolve()]
    if given.work:
        given.work.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="myxtts-compare-") as temporary:
        work = (given.work or pathlib.Path(temporary)).resolve()
        make_corpus(work / SIDES[0])
        shutil.copytree(work / SIDES[0], work / SIDES[1])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(run_all, program, work / side, given.steps) for program, side in zip(programs, SIDES)]
            seconds = [run.result() for run in runs]
        for side in SIDES:
            check_results(work / side)
        files, different = compare(*(work / side for side in SIDES))
        print("seconds (before/after)  " + "  ".join(f"{name} {seconds[0][name]:.0f}/{seconds[1][name]:.0f}" for name in seconds[0]))
    print(f"{files} files, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, subprocess.TimeoutExpired, OSError) as failure:
        print(f"compare_commits: {failure}", file=sys.stderr)
        sys.exit(2)
