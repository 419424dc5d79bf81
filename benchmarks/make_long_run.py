#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder that looks like a run of 100,000 steps, to try `myxtts watch` on.

    benchmarks/make_long_run.py FOLDER [--steps 100000] [--log-steps 1] [--measurements 100] [--seed 1] [--state finished] [--judged]

Every number follows from the seed, so that a test can say what must be shown. No model is in it: the checkpoints are empty
shells of the right names. Sounds are tones, pictures are noise. A run that is `running` is held, as a training holds it, until
Ctrl-C.
"""
import argparse
import fcntl
import json
import math
import pathlib
import random
import signal
import struct
import time
import wave
import zlib

STATES = {"killed": "running"}  # what a process that is killed leaves
STAGES = ["reader", "decoder", "batcher", "collator", "features"]
QUEUES = {"clips": 64, "buffer": 50, "settled": 1, "staged": 1, "ring": 3}
FAILURE = "The disk of /home/anna/runs is full: checkpoints/step-0040000 could not be written. Make room, then type: myxtts train --resume runs/anna"
SENTENCES = ["The kettle was on before anybody was awake.", "سلام، امروز هوا خوب است.", "Numbers such as 1,234 are read aloud."]


def errors_at(step, arguments):
    """Character errors that a recogniser might hear."""
    return 0.03 + 0.9 * math.exp(-step / (0.2 * arguments.steps))


def write_metrics(path, arguments, noise):
    waited = 0.0
    best = math.inf
    every = max(1, arguments.steps // arguments.measurements)
    with path.open("w") as file:
        for step in range(arguments.log_steps, arguments.steps + 1, arguments.log_steps):
            loss = 2.4 + 6.5 * math.exp(-step / (0.12 * arguments.steps)) + 0.12 * noise.gauss(0, 1)
            if step % 17171 == 0:
                loss += 4  # a spike that no resolution may lose
            waited += 0.0003 * noise.random()
            line = {"event": "train", "step": step, "epoch": step * 20 // arguments.steps, "loss": loss,
                    "text_loss": 0.01 * loss, "audio_loss": 0.99 * loss,
                    "lr": 5e-6 * min(1, step / 1000), "grad_norm": abs(noise.gauss(1, 0.3)),
                    "loss_scale": 1, "skipped_steps": 0, "clips_per_second": 25 + noise.gauss(0, 1),
                    "audio_hours_per_hour": 61 + noise.gauss(0, 3), "readiness": 0.998, "waited_seconds": waited}
            for stage in STAGES:
                line[f"pipeline.{stage}.busy_seconds"] = 0.01 * step * (1 + STAGES.index(stage))
            for queue, size in QUEUES.items():
                line[f"pipeline.{queue}.depth"] = noise.randint(0, size)
            line |= {"memory.data": 1.2e9, "memory.data_peak": 1.4e9, "memory.model": 3.1e10, "memory.model_peak": 3.2e10,
                     "monitor.waited_share": 0.01 * noise.random(), "monitor.step_variation": 0.05 + 0.02 * noise.random(),
                     "gpu.data.use": 0.3 + 0.1 * noise.random(), "gpu.data.watts": 120, "gpu.model.use": 0.97,
                     "gpu.model.watts": 640}
            file.write(json.dumps(line) + "\n")
            if step % every == 0:
                value = 2.45 + 6.4 * math.exp(-step / (0.12 * arguments.steps)) + 0.02 * noise.gauss(0, 1)
                is_best = value < best
                best = min(best, value)
                file.write(json.dumps({"event": "validation", "step": step, "loss": value, "text_loss": 0.01 * value,
                                       "audio_loss": 0.99 * value, "clips": 64, "seconds": 3.2, "best": int(is_best)}) + "\n")
                if arguments.judged:
                    file.write(json.dumps({"event": "samples", "step": step, "sample_cer": errors_at(step, arguments) + 0.01 * noise.random(),
                                           "sample_similarity": 0.85 - 0.5 * errors_at(step, arguments), "samples": 3}) + "\n")


def write_tone(path, hertz, seconds, rate=22050):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        values = (int(9000 * math.sin(2 * math.pi * hertz * i / rate)) for i in range(int(seconds * rate)))
        file.writeframes(b"".join(struct.pack("<h", value) for value in values))


def write_picture(path, noise, width=160, height=128):
    rows = b"".join(b"\0" + noise.randbytes(width) for _ in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_samples(run, arguments, noise):
    every = max(1, arguments.steps // arguments.measurements)
    originals = []
    for number in range(3):
        path = run / "samples" / f"original-{number}.wav"
        path.parent.mkdir(exist_ok=True)
        write_tone(path, 150 + 40 * number, 2.5)
        originals.append(path.read_bytes())
        path.unlink()
    for step in range(every, arguments.steps + 1, every):
        folder = run / "samples" / f"step-{step:07}"
        folder.mkdir()
        for number, text in enumerate(SENTENCES):
            name = f"{number + 1:02}"
            (folder / f"{name}.txt").write_text(text + "\n")
            write_tone(folder / f"{name}.wav", 150 + 40 * number + 60 * (1 - step / arguments.steps), 2.5, 24000)
            (folder / f"{name}-original.wav").write_bytes(originals[number])
            write_picture(folder / f"{name}.png", noise)
            if arguments.judged:
                heard = "".join(letter for letter in text if noise.random() > errors_at(step, arguments))
                (folder / f"{name}-heard.txt").write_text(heard + "\n")
                (folder / f"{name}.json").write_text(json.dumps({"cer": 1 - len(heard) / len(text), "similarity": 0.8}))


def write_lists(run, noise):
    clips = run / "left-out"
    clips.mkdir()
    with (run / "skipped.jsonl").open("w") as file:
        for number in range(40):
            path = clips / f"{number:03}.wav"
            write_tone(path, 200 + 5 * number, 0.5)
            reason = ["audio-too-short", "silent", "text-too-fast"][number % 3]
            file.write(json.dumps({"file": str(path), "manifest": str(clips / "metadata.csv"), "line": number + 1,
                                   "reason": reason, "measured": f"{noise.random():.2f} s"}) + "\n")
    with (run / "suspicious.jsonl").open("w") as file:
        for number in range(3):
            file.write(json.dumps({"id": f"{number:03}", "file": str(clips / f"{number:03}.wav"), "text": SENTENCES[number],
                                   "chars_per_second": 31.0 - number, "usual": 14.2, "deviations": 6.5 - number}) + "\n")


def write_rest(run, arguments, now):
    (run / "config.yaml").write_text(
        "data:\n  train_data: corpora/anna           # flag --train-data corpora/anna\n  language: en                      # default\n"
        "train:\n  stage: gpt                        # default\n  lr: 5e-06                         # run.yaml:3\n"
        f"  max_steps: {arguments.steps}                 # flag --max-steps\n  seed: {arguments.seed}                          # flag --seed\n"
        "run:\n  checkpoint_dir: runs/voice        # flag --checkpoint-dir\n")
    (run / "plan.json").write_text(json.dumps({"mode": "dual", "data": {"device": "cuda:1"}, "model": {"device": "cuda:0"},
                                               "notes": ["Two cards: one for data, one for training."], "warnings": []}))
    stages = [{"name": name, "workers": 8 if name == "decoder" else 1, "busy": busy, "waits_for_input": 0.3 * (1 - busy),
               "waits_for_output": 0.7 * (1 - busy)} for name, busy in zip(STAGES, [0.1, 0.6, 0.05, 0.2, 0.4])]
    queues = [{"name": name, "from": ([*STAGES][i]), "to": [*STAGES, "trainer"][i + 1], "depth": size - (size > 3), "capacity": size,
               "mean_depth": 0.9 * size} for i, (name, size) in enumerate(QUEUES.items())]
    ready = int(0.998 * arguments.steps)
    (run / "status.json").write_text(json.dumps({
        "version": 1, "program": "made by a script", "process": 0, "state": STATES.get(arguments.state, arguments.state),
        "sentence": FAILURE if arguments.state == "failed" else "", "stage": "gpt", "step": arguments.steps, "first_step": 0,
        "last_step": arguments.steps * (1 if arguments.state == "finished" else 2), "started": now - 32000, "updated": now,
        "steps_per_second": 3.1, "example": {"audio": str(run / "left-out" / "000.wav"), "text": SENTENCES[0], "language": "en"},
        "pipeline": {"time": now, "stages": stages, "queues": queues,
                     "trainer": {"busy": 0.99, "waits_for_input": 0.01, "ready": 0.998, "steps": arguments.steps,
                                 "ready_steps": ready, "waited_seconds": 61.0},
                     "memory": {"decoded": 12_000_000, "decoded_limit": 9_000_000_000, "staged": 4_000_000}},
        "verdict": {"code": "kept-up", "sentence": "The pipeline kept up.", "ready_steps": ready, "steps": arguments.steps,
                    "ready": 0.998, "waited_share": 0.01, "stage": None, "stage_busy": None, "remedy": None}}))
    with (run / "log.txt").open("w") as file:
        for line in range(2000):
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now - 32000 + 16 * line))
            level = "warning" if line % 97 == 0 else "info"
            file.write(f"{stamp}.000+0000 {level} line {line} of the log\n")
    (run / "lock").write_text("1\n")
    for step in (arguments.steps - 2000, arguments.steps - 1000, arguments.steps):
        folder = run / "checkpoints" / f"step-{step:07}"
        folder.mkdir(parents=True)
        (folder / "state.json").write_text(json.dumps({"step": step, "seconds": 32000.0}))
        (folder / "model.safetensors").write_bytes(bytes(100_000))
    (run / "latest").symlink_to(f"checkpoints/step-{arguments.steps:07}")
    (run / "best").symlink_to(f"checkpoints/step-{arguments.steps - 1000:07}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--log-steps", type=int, default=1)
    parser.add_argument("--measurements", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", default="finished", choices=["finished", "running", "stopped", "out-of-time", "failed", "killed"])
    parser.add_argument("--judged", action="store_true", help="as with --judge")
    arguments = parser.parse_args()
    noise = random.Random(arguments.seed)
    run = arguments.folder.resolve()
    run.mkdir(parents=True)
    write_metrics(run / "metrics.jsonl", arguments, noise)
    write_samples(run, arguments, noise)
    write_lists(run, noise)
    write_rest(run, arguments, time.time())
    print(f"{run}: {arguments.steps} steps", flush=True)
    if arguments.state == "running":
        with (run / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            signal.pause()


if __name__ == "__main__":
    main()
