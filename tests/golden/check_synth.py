# SPDX-License-Identifier: Apache-2.0
"""Speaks many texts with random models, by coqui-tts and by our program, and compares codes, latents and samples.

Usage: python tests/golden/check_synth.py build/release/bin/myxtts VOCAB.json [--seed 1] [--models 3] [--texts 20]

Needs coqui-tts 0.28.0 and soundfile; VOCAB.json is the public model's. Greedy, since both then must choose the same
codes; streams and beams too. Exits 1 if anything differs by more than the project promises.
"""
import argparse
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import synth_model  # noqa: E402

LATENTS, SAMPLES = 1e-3, 1e-3  # largest difference
WORDS = ("the quick brown fox jumps over a lazy dog while seven wizards quietly bring Dr. Smith 42 boxes of liquid jade; "
         "nobody knows why, but it costs $3.50 and happens every Tuesday").split()
SPEEDS = (1.0, 0.8, 1.3)
# Where codes are few, the penalty on those that were used lets the stop code win in the end.
ENDING = dict(codes=256, longest=303, stop_bias=-6.0)
SIZES = [dict(layers=3, width=128, heads=4, **ENDING), dict(layers=4, width=192, heads=3),
         dict(layers=2, width=256, heads=8, **ENDING)]


def texts(count, seed):
    generator = torch.Generator().manual_seed(seed)
    for number in range(count):
        length = 3 + int(torch.randint(0, 22, (1,), generator=generator))
        picks = torch.randint(0, len(WORDS), (length,), generator=generator)
        yield " ".join(WORDS[i] for i in picks) + ".!?"[number % 3]


def references(folder, number):
    """One clip, two clips, a short one, one above 30 s, and one of another rate."""
    plans = [[(6.0, 22050)], [(5.0, 22050), (3.3, 24000)], [(0.7, 22050)], [(35.0, 22050)], [(4.0, 44100)]]
    paths = []
    for index, (seconds, rate) in enumerate(plans[number % len(plans)]):
        paths.append(folder / f"reference-{number % len(plans)}-{index}.wav")
        if not paths[-1].exists():
            synth_model.write_clip(paths[-1], seconds, number % len(plans) * 10 + index, rate)
    return paths


class Ours:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def speak(self, text, paths, *more):
        dump = self.folder / "dump.safetensors"
        command = [self.program, "synthesize", "--model", self.folder / "model", "--language", "en", "--text", text,
                   "--out", self.folder / "out.wav", "--dump", dump, "--greedy", "--device", "cpu", *more]
        for path in paths:
            command += ["--reference", path]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{result.stderr}\n{command}")
        return load_file(dump)


def peer_speaks(model, text, voice, **more):
    with synth_model.recorded_codes(model) as codes:
        result = model.inference(text, "en", *voice, do_sample=False, repetition_penalty=model.config.repetition_penalty,
                                 **more)
    return {"codes": codes[0][0], "latents": torch.from_numpy(result["gpt_latents"][0]),
            "wav": torch.from_numpy(result["wav"])}


def peer_streams(model, text, voice, speed):
    with synth_model.greedy_streaming():
        chunks = list(model.inference_stream(text, "en", *voice, do_sample=False, speed=speed,
                                             repetition_penalty=model.config.repetition_penalty))
    return torch.cat(chunks), len(chunks)


class Tally:
    def __init__(self):
        self.outputs = self.equal_codes = self.stopped = 0
        self.fewest, self.least_distinct, self.latents, self.samples, self.bad = 10**9, 10**9, 0.0, 0.0, []
        self.loudest = 0.0

    def add(self, what, ours, peer, stop):
        codes = peer["codes"]
        self.outputs += 1
        self.stopped += int(codes[-1] == stop)
        self.fewest = min(self.fewest, len(codes))
        self.least_distinct = min(self.least_distinct, len(set(codes.tolist())))
        if not torch.equal(ours["codes"], codes):
            return self.bad.append(f"{what}: codes differ")
        self.equal_codes += 1
        self.compare(what, ours, peer)

    def compare(self, what, ours, peer):
        for name in ("latents", "wav"):
            if name not in peer:
                continue
            if ours[name].shape != peer[name].shape:
                self.bad.append(f"{what}: {name} has shape {list(ours[name].shape)}, not {list(peer[name].shape)}")
                continue
            far = (ours[name] - peer[name]).abs().max().item()
            if name == "latents":
                self.latents = max(self.latents, far)
            else:
                self.samples = max(self.samples, far)
                self.loudest = max(self.loudest, peer[name].abs().max().item())
            if far > (LATENTS if name == "latents" else SAMPLES):
                self.bad.append(f"{what}: {name} differ by {far:.2e}")


def check_model(options, number, tally, folder):
    size = SIZES[number % len(SIZES)]
    model = synth_model.make_model(options.seed * 100 + number, options.vocabulary, channels=options.channels, **size)
    synth_model.write_folder(model, folder / "model", options.vocabulary, options.channels)
    model.eval()
    ours = Ours(options.program, folder)
    for index, text in enumerate(texts(options.texts, options.seed + number)):
        what, speed = f"model {number}, text {index}", SPEEDS[index % 3]
        paths = references(folder, index)
        voice = model.get_conditioning_latents([str(path) for path in paths], max_ref_length=30, gpt_cond_len=30,
                                               gpt_cond_chunk_len=4)
        tally.add(what, ours.speak(text, paths, "--speed", speed), peer_speaks(model, text, voice, speed=speed),
                  model.args.gpt_stop_audio_token)
        if index < options.streams:
            wav, chunks = peer_streams(model, text, voice, speed)
            if chunks < 4:
                tally.bad.append(f"{what}: only {chunks} chunks")
            tally.compare(what + ", stream", ours.speak(text, paths, "--speed", speed, "--stream"), {"wav": wav})
        if index < options.beams:
            penalty = (1.0, 0.0, 2.0)[index % 3]
            mine = ours.speak(text, paths, "--beams", 3, "--length-penalty", penalty)
            peers = peer_speaks(model, text, voice, num_beams=3, length_penalty=penalty)
            if torch.equal(mine["codes"], peers["codes"]):
                tally.compare(what + ", beams", mine, peers)
            else:
                tally.bad.append(f"{what}, beams: codes differ")
        print(f"{what}: {len(tally.bad)} faults so far, {tally.stopped} of {tally.outputs} stopped", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("vocabulary", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--streams", type=int, default=2, help="texts of each model that are streamed too")
    parser.add_argument("--beams", type=int, default=2, help="texts of each model that are searched with beams too")
    parser.add_argument("--channels", type=int, default=64, help="of the decoder; 512 are the public model's")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    tally = Tally()
    for number in range(options.models):
        with tempfile.TemporaryDirectory() as place:
            check_model(options, number, tally, pathlib.Path(place))
    print(f"{tally.equal_codes} of {tally.outputs} outputs have equal codes; {tally.stopped} ended by stop; at least "
          f"{tally.fewest} codes, {tally.least_distinct} distinct; latents within {tally.latents:.1e}, samples within "
          f"{tally.samples:.1e} of {tally.loudest:.2f}")
    for line in tally.bad:
        print(line)
    sys.exit(1 if tally.bad else 0)


main()
