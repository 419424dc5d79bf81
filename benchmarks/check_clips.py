#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a recording of which everything is known, has myxtts clips cut it, and measures what came of it.

    check_clips.py WORK --voice CORPUS --other CORPUS [--seconds 3600] [--form flac|mp3|m4a] [--texts book|subtitles|heard]
                   [--whisper DIR] [--speaker-model DIR] [--program build/release/bin/myxtts] [--flags ...]

CORPUS is a folder in LJ Speech's layout. The recording has sentences of the voice with pauses of 0.25 to 1.6 s, and between
them sentences of the other voice, music, noise alone, sentences in noise 20 dB below the voice, and gaps. Needs numpy, and
ffmpeg for MP3 and M4A. WORK keeps the recording, its truth, the corpus that was cut and figures.json.
"""
import argparse
import json
import pathlib
import random
import re
import resource
import subprocess
import time
import unicodedata
import wave

import numpy as np

RATE = 22050
ROOM = 0.15


def read_wav(path):
    with wave.open(str(path)) as file:
        assert file.getframerate() == RATE and file.getnchannels() == 1, f"{path} is not mono at {RATE} Hz"
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def write_wav(path, sound):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(sound, -1, 1) * 32767).astype(np.int16).tobytes())


def sentences_of(corpus):
    """(sound, text) of a corpus, without the silence at the ends; all equally loud."""
    for line in (corpus / "metadata.csv").read_text().splitlines():
        name, *_, text = line.split("|")
        if re.search(r"\d", text):
            continue  # numbers are spoken in other words than they are written in
        sound = read_wav(corpus / "wavs" / f"{name}.wav")
        level = levels(sound)
        loud = np.flatnonzero(level > level.max() - 45)
        sound = sound[loud[0] * RATE // 100:(loud[-1] + 1) * RATE // 100]
        yield sound * (0.08 / np.sqrt(np.mean(sound ** 2))), text


def levels(sound):
    """dB of each 10 ms."""
    edges = np.arange(int(len(sound) * 100 / RATE) + 1) * RATE // 100
    power = np.add.reduceat(sound[:edges[-1]].astype(np.float64) ** 2, edges[:-1]) / np.diff(edges)
    return 10 * np.log10(np.maximum(power, 1e-10))


def music(seconds, chance):
    """Chords of plucked strings."""
    length = int(seconds * RATE)
    sound = np.zeros(length, np.float32)
    moment = np.arange(RATE * 2) / RATE
    for start in range(0, length, RATE // 3):
        for pitch in chance.sample((196, 220, 246.9, 261.6, 293.7, 329.6, 392, 440, 523.3), 3):
            note = sum(np.sin(2 * np.pi * pitch * harmonic * moment) / harmonic for harmonic in (1, 2, 3)) * np.exp(-moment * 2)
            end = min(length, start + len(note))
            sound[start:end] += 0.03 * note[:end - start]
    return sound


class Maker:
    """Lays sounds one after another, and notes what each is."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.parts, self.truth, self.at = [], [], 0
        self.voice_alone = []

    def add(self, kind, sound, text="", alone=None):
        self.truth.append({"kind": kind, "begin": self.at / RATE, "end": (self.at + len(sound)) / RATE, "text": text})
        self.parts.append(sound.astype(np.float32))
        self.voice_alone.append((sound if alone is None else alone).astype(np.float32))
        self.at += len(sound)

    def silence(self, seconds):
        sound = np.zeros(int(seconds * RATE), np.float32)
        self.parts.append(sound)
        self.voice_alone.append(sound)
        self.at += len(sound)

    def white(self, count, level):
        return self.noise.standard_normal(count).astype(np.float32) * level

    def make(self, voice, other, seconds):
        voice, other = iter(voice), iter(other)
        number = 0
        self.silence(1.5)
        while self.at < seconds * RATE:
            sound, text = next(voice)
            in_noise = number % 9 == 4
            noisy = sound + self.white(len(sound), 0.008) if in_noise else sound
            self.add("voice in noise" if in_noise else "voice", noisy, text, sound)
            self.silence(self.chance.uniform(0.25, 1.6))
            number += 1
            kind = {3: "other", 7: "music", 11: "noise", 13: "gap"}.get(number % 14)
            if kind == "other":
                self.add("other", *next(other))
            elif kind == "music":
                self.add("music", music(self.chance.uniform(4, 10), self.chance))
            elif kind == "noise":
                self.add("noise", self.white(int(self.chance.uniform(2, 5) * RATE), 0.02))
            elif kind == "gap":
                self.silence(self.chance.uniform(3, 12))
            if kind:
                self.silence(self.chance.uniform(0.4, 1.2))
        room = self.white(self.at, 0.0002)  # a quiet room: 52 dB below the voice
        for item in self.truth:
            item["is_voice"] = item["kind"].startswith("voice")
        # Where the voice is heard, without anything else.
        alone = np.zeros(self.at, np.float32)
        at = 0
        for part in self.voice_alone:
            alone[at:at + len(part)] = part
            at += len(part)
        for item in self.truth:
            if not item["is_voice"]:
                alone[round(item["begin"] * RATE):round(item["end"] * RATE)] = 0
        return np.concatenate(self.parts) + room, alone


def encode(wav, form):
    if form == "wav":
        return wav
    coded = wav.with_suffix("." + form)
    codec = {"flac": ["-c:a", "flac"], "mp3": ["-b:a", "96k"], "m4a": ["-c:a", "aac", "-b:a", "96k"]}[form]
    subprocess.run(["ffmpeg", "-y", "-v", "error", "-i", wav, *codec, coded], check=True)
    wav.unlink()
    return coded


def write_texts(work, truth):
    said = [item for item in truth if item["is_voice"]]
    paragraphs = [" ".join(item["text"] for item in said[i:i + 5]) for i in range(0, len(said), 5)]
    (work / "book.txt").write_text("\n\n".join(paragraphs) + "\n")

    def stamp(seconds):
        milliseconds = round(seconds * 1000)
        return "{:02}:{:02}:{:02},{:03}".format(milliseconds // 3600000, milliseconds // 60000 % 60, milliseconds // 1000 % 60,
                                                milliseconds % 1000)

    cues = [f"{i}\n{stamp(item['begin'])} --> {stamp(item['end'])}\n{item['text']}\n" for i, item in enumerate(said, 1)]
    (work / "subtitles.srt").write_text("\n".join(cues))


def letters(text):
    return "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalpha())


def distance(a, b):
    """Levenshtein's."""
    b = np.frombuffer(b.encode("utf-32-le"), np.uint32)
    row = np.arange(len(b) + 1)
    place = np.arange(len(b) + 1)
    for i, letter in enumerate(a, 1):
        step = np.concatenate(([i], np.minimum(row[1:] + 1, row[:-1] + (b != ord(letter)))))
        row = np.minimum.accumulate(step - place) + place
    return int(row[-1])


def overlap(a, b):
    return max(0.0, min(a["end"], b["end"]) - max(a["begin"], b["begin"]))


def groups(clips, said):
    """Clips and the sentences they hold, in groups that share nothing."""
    found, clip, sentence = [], 0, 0
    while clip < len(clips):
        first_clip = clip
        while sentence < len(said) and said[sentence]["end"] <= clips[clip]["begin"] + 0.05:
            sentence += 1
        first, end, clip = sentence, clips[clip]["end"], clip + 1
        while True:
            while sentence < len(said) and said[sentence]["begin"] < end - 0.05:
                sentence += 1
            last = said[sentence - 1]["end"] if sentence > first else 0
            if clip >= len(clips) or clips[clip]["begin"] >= last - 0.05:
                break
            end, clip = clips[clip]["end"], clip + 1
        found.append((clips[first_clip:clip], said[first:sentence]))
    return found


def text_errors(clips, said, others):
    errors = wanted = partly = 0
    clips = [clip for clip in clips if not any(overlap(clip, other) > 0.3 for other in others)]
    for some, sentences in groups(clips, said):
        if any(re.search(r"\d", clip["text"]) for clip in some):
            partly += len(some)  # 15th for fifteenth is no error
            continue
        kept = sum(overlap(clip, sentence) for clip in some for sentence in sentences)
        spoken = sum(sentence["end"] - sentence["begin"] for sentence in sentences)
        if kept < 0.97 * spoken:
            partly += len(some)  # what of the sentence was left out is not known word by word
            continue
        truth = letters(" ".join(sentence["text"] for sentence in sentences))
        errors += distance(truth, letters(" ".join(clip["text"] for clip in some)))
        wanted += len(truth)
    return errors / max(wanted, 1), wanted, partly


def edges(clips, alone, total):
    """How far each edge is from where it belongs, and which edges are inside of a word: no 80 ms around are silent."""
    level = levels(alone)
    loud = level > -62  # the voice is at -22 dB
    steps = np.flatnonzero(loud)
    off, inside = [], []
    for clip in clips:
        after = steps[np.searchsorted(steps, round(clip["begin"] * 100)):]
        before = steps[:np.searchsorted(steps, round(clip["end"] * 100))]
        if len(after) == 0 or len(before) == 0:
            continue
        off += [abs(after[0] / 100 - clip["begin"] - ROOM), abs(clip["end"] - (before[-1] + 1) / 100 - ROOM)]
        for edge in (clip["begin"], clip["end"]):
            at = round(edge * 100)
            quiet = ~loud[max(0, at - 8):at + 8]
            longest = max((len(run) for run in "".join("q" if q else " " for q in quiet).split()), default=0)
            if longest < 8:
                inside.append(edge)
    return off, inside


def measure(work, truth, alone):
    (made,) = json.loads((work / "corpus/clips.json").read_text())["recordings"]
    clips, said = made["clips"], [item for item in truth if item["is_voice"]]
    level = levels(alone)
    loud = level > -62
    inside = np.zeros(len(loud), bool)
    for clip in clips:
        inside[round(clip["begin"] * 100):round(clip["end"] * 100)] = True
    seconds = sum(clip["end"] - clip["begin"] for clip in clips)
    left = {kind: sum(overlap(clip, item) for clip in clips for item in truth if item["kind"] == kind)
            for kind in ("other", "music", "noise")}
    off, cuts = edges(clips, alone, made["seconds"])
    errors, letters_wanted, partly = text_errors(clips, said, [item for item in truth if item["kind"] == "other"])
    noisy = [item for item in said if item["kind"] == "voice in noise"]
    return {"minutes": made["seconds"] / 60, "clips": len(clips), "clip_minutes": seconds / 60,
            "speech_kept": float((loud & inside).sum() / loud.sum()),
            "speech_in_noise_kept": sum(overlap(c, n) for c in clips for n in noisy) / max(1e-9, sum(n["end"] - n["begin"] for n in noisy)),
            "cuts_inside_words": len(cuts) / max(1, 2 * len(clips)), "edge_median_ms": 1000 * float(np.median(off)),
            "edge_90_percent_ms": 1000 * float(np.quantile(off, 0.9)), "character_errors": errors, "letters": letters_wanted,
            "clips_not_compared": partly,
            "foreign_voice_left_in": left["other"] / seconds, "music_left_in": left["music"] / seconds,
            "noise_left_in": left["noise"] / seconds, "cut_times": cuts,
            "left_out": {reason: sum(s["end"] - s["begin"] for s in made["left_out"] if s["reason"] == reason)
                         for reason in {s["reason"] for s in made["left_out"]}}}


def processor_seconds():
    """Of the programs that ran so far, on all cores together."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watched(command):
    """Runs a program; its exit code and the most memory it held, in MB. What the system counts for a child has this script's in it."""
    program, most = subprocess.Popen(command), 0
    while program.poll() is None:
        held = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{program.pid}/status").read_text())
        most = max(most, int(held[1]) if held else 0)
        time.sleep(0.2)
    return program.returncode, most / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--voice", type=pathlib.Path, required=True)
    parser.add_argument("--other", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--form", choices=["wav", "flac", "mp3", "m4a"], default="flac")
    parser.add_argument("--texts", choices=["book", "subtitles", "heard"], default="heard")
    parser.add_argument("--whisper")
    parser.add_argument("--speaker-model")
    parser.add_argument("--program", default="build/release/bin/myxtts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flags", default="", help="more flags for myxtts clips, in one word")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)

    maker = Maker(asked.seed)
    sound, alone = maker.make(sentences_of(asked.voice), sentences_of(asked.other), asked.seconds)
    wav = asked.work / "recording.wav"
    write_wav(wav, sound)
    recording = encode(wav, asked.form)
    write_texts(asked.work, maker.truth)
    (asked.work / "truth.json").write_text(json.dumps(maker.truth, indent=1))

    command = [asked.program, "clips", recording, "--out", asked.work / "corpus", "--language", "en", *asked.flags.split()]
    command += ["--whisper", asked.whisper] if asked.whisper else []
    command += ["--speaker-model", asked.speaker_model] if asked.speaker_model else []
    command += {"book": ["--text", asked.work / "book.txt"], "subtitles": ["--subtitles", asked.work / "subtitles.srt"],
                "heard": []}[asked.texts]
    start, before = time.monotonic(), processor_seconds()
    exit_code, memory = watched([str(word) for word in command])
    seconds, used = time.monotonic() - start, processor_seconds() - before
    if exit_code != 0:
        raise SystemExit(f"myxtts clips ended with {exit_code}")
    figures = measure(asked.work, maker.truth, alone) | {
        "seconds": seconds, "processor_seconds": used, "peak_memory_mb": memory}
    (asked.work / "figures.json").write_text(json.dumps(figures, indent=1))
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}, indent=1))


if __name__ == "__main__":
    main()
