#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains all stages of a model of an exportable size for a few steps, exports it and lets coqui-tts speak with it.

    python tests/golden/check_from_scratch_export.py --myxtts build/release/bin/myxtts --work DIR [--size normal] [--steps 2]

Needs coqui-tts 0.28.0, soundfile and about 6 GB in DIR. Makes a small corpus there, trains dvae, gpt and decoder on the CPU
from nothing, exports the result to the public layout, loads that with the peer (strict) and compares the greedy codes of a
sentence, its latents and its samples with ours. Exits 1 where anything differs.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import warnings

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import synth_model  # noqa: E402

LATENTS, SAMPLES = 1e-3, 1e-3  # largest difference
FEWEST = 20  # codes: fewer would show nothing
# What a GPT learns in its first steps is that a clip ends. At a small rate it babbles instead.
RECIPE = "stages:\n  dvae: {lr: 0.0003}\n  gpt: {lr: 0.000001}\n  decoder: {lr: 0.0002}\n"
SENTENCE = "the quick brown fox jumps over a lazy dog."
TEXTS = ["the quick brown fox jumps over", "a lazy dog and seven wizards", "bring boxes of liquid jade",
         "nobody knows why it happens", "every tuesday the fox is quick", "seven dogs jump over the wizards"]


def run(*command):
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True)


def make_corpus(folder):
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for number, text in enumerate(TEXTS):
        synth_model.write_clip(folder / "wavs" / f"c{number}.wav", 2.0 + 0.1 * number, number)
        lines.append(f"c{number}|{text}|{text}\n")
    (folder / "metadata.csv").write_text("".join(lines))


def train(options, corpus, run_folder):
    steps = options.steps
    recipe = options.work / "recipe.yaml"
    recipe.write_text(RECIPE)
    run(options.myxtts, "train", "--config", recipe, "--stages", "dvae,gpt,decoder", "--stage-budget",
        f"dvae={steps},gpt={steps},decoder={steps}", "--train-data", corpus, "--checkpoint-dir", run_folder, "--resume",
        "--model-size", options.size, "--device", "cpu", "--batch-size", 2, "--val-fraction", 0, "--samples", 0,
        "--schedule", "constant", "--keep-last", 1, "--seed", options.seed)


def ours(options, model, reference):
    dump = options.work / "dump.safetensors"
    run(options.myxtts, "synthesize", "--model", model, "--language", "en", "--text", SENTENCE, "--reference", reference,
        "--greedy", "--device", "cpu", "--out", options.work / "ours.wav", "--dump", dump)
    return load_file(dump)


def peers(folder, reference):
    from TTS.tts.configs.xtts_config import XttsConfig
    from TTS.tts.models.xtts import Xtts

    config = XttsConfig()
    config.load_json(str(folder / "config.json"))
    model = Xtts.init_from_config(config)
    model.load_checkpoint(config, checkpoint_dir=str(folder), eval=True, strict=True)
    print("the peer loads the export with strict=True", flush=True)
    voice = model.get_conditioning_latents([str(reference)], max_ref_length=config.max_ref_len,
                                           gpt_cond_len=config.gpt_cond_len, gpt_cond_chunk_len=config.gpt_cond_chunk_len)
    with synth_model.recorded_codes(model) as codes:
        result = model.inference(SENTENCE, "en", *voice, do_sample=False, repetition_penalty=config.repetition_penalty)
    return {"codes": codes[0][0], "latents": torch.from_numpy(result["gpt_latents"][0]),
            "wav": torch.from_numpy(result["wav"])}


def compare(mine, other):
    if not torch.equal(mine["codes"], other["codes"]):
        same = int((mine["codes"][: len(other["codes"])] == other["codes"][: len(mine["codes"])]).sum())
        sys.exit(f"codes differ: {len(mine['codes'])} of ours, {len(other['codes'])} of the peer, {same} equal")
    for name, most in (("latents", LATENTS), ("wav", SAMPLES)):
        far = (mine[name] - other[name]).abs().max().item()
        print(f"{name} within {far:.1e}", flush=True)
        if far > most:
            sys.exit(f"{name} differ by {far:.1e}, more than {most:.0e}")
    distinct = len(set(other["codes"].tolist()))
    if len(other["codes"]) < FEWEST or distinct < FEWEST:
        sys.exit(f"only {len(other['codes'])} codes, {distinct} distinct: that shows nothing; take another --seed")
    print(f"the same {len(other['codes'])} greedy codes, {distinct} distinct")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--myxtts", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--size", default="normal")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    corpus, run_folder, public = (options.work / name for name in ("corpus", "run", "public"))
    if not corpus.exists():
        make_corpus(corpus)
    train(options, corpus, run_folder)
    shutil.rmtree(public, ignore_errors=True)
    run(options.myxtts, "export", "--model", run_folder / "latest", "--format", "coqui", "--out", public)
    reference = corpus / "wavs" / "c0.wav"
    compare(ours(options, run_folder / "latest", reference), peers(public, reference))


if __name__ == "__main__":
    main()
