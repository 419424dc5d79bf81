#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixture of a release, which later releases must read: tests/releases/VERSION.tar.gz.

    tests/releases/make.py PROGRAM VERSION

It holds a model folder, a run of two steps on it, and the index and feature cache of its corpus. The weights repeat a
short pattern and few of them are trained, so that it is small; the clips are zeros of the length they had, so that
nothing but index and cache knows what they held. expected.json says what the third step gives.
"""
import array
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import wave

FOLDER = pathlib.Path(__file__).resolve().parent
CLIPS = 4
TRAIN = ["--cache-dir", "cache", "--cache-dataset", "--device", "cpu", "--batch-size", "3",
         "--val-fraction", "0.25", "--samples", "0", "--keep-last", "1", "--keep-best", "0", "--log-steps", "1", "--num-workers", "1"]
# All but the head of the texts.
FROZEN = "gpt.gpt.*,gpt.conditioning_*,gpt.mel_*,gpt.final_norm.*,gpt.text_embedding.*,gpt.text_pos_embedding.*"


def write_corpus(folder):
    (folder / "wavs").mkdir(parents=True)
    with open(folder / "metadata.csv", "w") as table:
        for clip in range(CLIPS):
            table.write(f"clip{clip}|abc abc abc abc{clip * ' abc'}|abc abc abc abc{clip * ' abc'}\n")
            with wave.open(str(folder / f"wavs/clip{clip}.wav"), "wb") as sound:
                sound.setparams((1, 2, 22050, 0, "NONE", ""))
                period = 60 + clip  # a whole number of samples, so that it compresses
                tone = array.array("h", (int(9000 * math.sin(2 * math.pi * i / period)) for i in range(period)))
                sound.writeframes((tone.tobytes() * 800)[:2 * 22050])


def repeat_patterns(file):
    """Gives every tensor of a safetensors file a pattern of its own in place of its values."""
    data = bytearray(file.read_bytes())
    header = struct.unpack_from("<Q", data)[0]
    tensors = json.loads(data[8:8 + header])
    for name, tensor in tensors.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        begin, end = tensor["data_offsets"]
        plain = 2.0 if name == "mel_stats" else 1.0 if re.search(r"norm|_g$|bn\d?\.(weight|running_var)|running_var", name) else 0.0
        pattern = array.array("f", (plain + 0.05 * ((i * 5 + len(name)) % 7 - 3) for i in range(7)))
        count = (end - begin) // 4
        data[8 + header + begin:8 + header + end] = (pattern * (count // 7 + 1))[:count].tobytes()
    file.write_bytes(data)


def run(program, *words, folder):
    result = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"make.py: {' '.join(words)}:\n{result.stderr}")


def make_model(program, folder):
    """The size tiny, as a run on the corpus begins with it."""
    run(program, "train", "--model-size", "tiny", "--train-data", "corpus", "--checkpoint-dir", "first", "--max-steps", "1",
        "--cache-dir", "first-cache", "--samples", "0", "--device", "cpu", folder=folder)
    (folder / "model").mkdir()
    for name in ("config.json", "vocab.json", "model.safetensors", "dvae.safetensors"):
        (folder / "model" / name).write_bytes((folder / "first/latest" / name).read_bytes())
    for name in ("model.safetensors", "dvae.safetensors"):
        repeat_patterns(folder / "model" / name)


def train_losses(folder):
    lines = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines if line.get("event") == "train"}


def empty_clips(folder):
    for file in (folder / "corpus/wavs").iterdir():
        status = file.stat()
        file.write_bytes(bytes(status.st_size))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def pack(folder, version):
    target = FOLDER / f"{version}.tar.gz"
    kept = re.compile(r"(expected\.json|(corpus|model|cache|run)(/.*)?)$")
    left_out = re.compile(r"run/(events|report\.html|samples|log\.txt)|.*\.lock$")
    with tarfile.open(target, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if kept.match(name) and not left_out.match(name):
                info = archive.gettarinfo(path, name)
                info.mtime = path.lstat().st_mtime_ns // 1_000_000_000
                info.uname = info.gname = ""
                info.uid = info.gid = 0
                if info.isfile():
                    with open(path, "rb") as file:
                        archive.addfile(info, file)
                else:
                    archive.addfile(info)
    print(f"{target}: {target.stat().st_size} bytes")


def main():
    program, version = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    folder = pathlib.Path(f"/tmp/myxtts-release-{version}")  # indexes and caches know clips by where they are
    folder.mkdir()
    try:
        write_corpus(folder / "corpus")
        for path in sorted((folder / "corpus").rglob("*"), reverse=True) + [folder / "corpus"]:
            os.utime(path, (1_700_000_000, 1_700_000_000))  # whole seconds, as archives keep them
        make_model(program, folder)
        run(program, "train", "--init", "model", "--train-data", str(folder / "corpus"), "--checkpoint-dir", "run", "--max-steps", "2",
            "--freeze", FROZEN, *TRAIN, folder=folder)
        subprocess.run(["cp", "-a", folder / "run", folder / "kept"], check=True)
        run(program, "train", "--resume", "run", "--max-steps", "3", folder=folder)
        (folder / "expected.json").write_text(json.dumps({"loss_of_step_3": train_losses(folder)[3]}))
        shutil.rmtree(folder / "run")
        (folder / "kept").rename(folder / "run")
        empty_clips(folder)
        pack(folder, version)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
