# SPDX-License-Identifier: Apache-2.0
"""Runs and a corpus as the program writes and reads them, made in no time."""
import json
import math
import random
import struct
import wave

LONG_STEPS = 100_000


def train_line(step, last, draw):
    loss = 2.3 + 5 * math.exp(-8 * step / last) + 0.1 * draw.gauss(0, 1)
    return {"event": "train", "step": step, "epoch": float(step // 5000), "loss": loss, "text_loss": 0.3 * loss, "audio_loss": 0.9 * loss, "lr": 5e-6,
            "grad_norm": 0.5, "loss_scale": 1.0, "skipped_steps": 0.0, "clips_per_second": 24.0, "audio_hours_per_hour": 60.0 + draw.random(),
            "readiness": 0.998, "waited_seconds": 0.001 * step, "pipeline.clips.depth": 60.0, "pipeline.ring.depth": 3.0, "memory.data": 2.1e9,
            "memory.model": 31.4e9, "monitor.waited_share": 0.02, "monitor.step_variation": 0.12, "gpu.data.use": 0.35, "gpu.model.use": 0.93}


def write_lines(run, lines):
    run.mkdir(parents=True)
    with open(run / "metrics.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def write_long_run(run):
    """A line for each of 100,000 steps. One loss is not finite, one is the least and one the most of all. Gives the lines."""
    draw = random.Random(7)
    lines = []
    for step in range(1, LONG_STEPS + 1):
        lines.append(train_line(step, LONG_STEPS, draw))
        if step % 2500 == 0:
            loss = 2.4 + 5 * math.exp(-8 * step / LONG_STEPS) + 0.3 * (step / LONG_STEPS) ** 3
            lines.append({"event": "validation", "step": step, "loss": loss, "text_loss": 0.3 * loss, "audio_loss": 0.9 * loss, "clips": 20.0,
                          "seconds": 1.0, "best": 1.0})
    losses = {50_100: None, 61_234: 0.0078125, 71_234: 99.5}
    for line in lines:
        if line["event"] == "train" and line["step"] in losses:
            line["loss"] = losses[line["step"]]
    write_lines(run, lines)
    return lines


def write_run(run, steps, config="train:\n  stage: gpt   # default\n"):
    """A short run with its settings. Gives the lines."""
    draw = random.Random(steps)
    lines = [train_line(step, steps, draw) for step in range(1, steps + 1)]
    write_lines(run, lines)
    (run / "config.yaml").write_text(config)
    return lines


def write_judged_run(run):
    """A run with two measurements whose samples were listened to; in the second nothing was heard. Gives the lines."""
    lines = write_run(run, 20, "train:\n  stage: gpt   # default\nrun:\n  best_by: cer   # flag --best-by cer\n")
    with open(run / "metrics.jsonl", "a") as file:
        for step, errors, similarity in ((10, 0.25, 0.5), (20, 1.0, 0.75)):
            lines.append({"event": "samples", "step": step, "sample_cer": errors, "sample_similarity": similarity, "samples": 1.0})
            file.write(json.dumps(lines[-1]) + "\n")
            folder = run / f"samples/step-{step:07}"
            folder.mkdir(parents=True)
            (folder / "01.txt").write_text("a small wind\n")
            (folder / "01-heard.txt").write_text("a tall wind\n" if step == 10 else "\n")
            (folder / "01.json").write_text(json.dumps({"cer": errors, "similarity": similarity}))
    return lines


def write_corpus(folder):
    """Twelve tones as an LJSpeech corpus; one clip is too short."""
    (folder / "wavs").mkdir(parents=True)
    rows = []
    for clip in range(12):
        rate, seconds = 22050, 0.2 if clip == 5 else 1.2
        samples = [int(8000 * math.sin(2 * math.pi * (200 + 20 * clip) * t / rate)) for t in range(int(seconds * rate))]
        with wave.open(str(folder / f"wavs/c{clip:02}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
        rows.append(f"c{clip:02}|a small wind goes by|a small wind goes by\n")
    (folder / "metadata.csv").write_text("".join(rows))
