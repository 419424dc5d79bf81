#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries a full-size random XTTS v2 through import and export and compares it bit for bit.

    python tests/golden/check_full_size.py --myxtts build/release/bin/myxtts --work DIR

Needs coqui-tts and about 8 GB in DIR. Makes a public layout there with random weights (about 2.1 GB),
imports it, exports it again, loads the result with the peer (strict) and compares every tensor and what the
GPT and the decoder make of the same input. Prints the time and the peak memory of each step.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import time

import torch

from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.models.xtts import Xtts

V2_ARGUMENTS = {
    "gpt_number_text_tokens": 6681,
    "gpt_num_audio_tokens": 1026,
    "gpt_start_audio_token": 1024,
    "gpt_stop_audio_token": 1025,
    "gpt_use_perceiver_resampler": True,
    "gpt_use_masking_gt_prompt_approach": True,
}


def write_vocabulary(path, ids):
    """A vocabulary of the public one's shape: bytes, special tokens, and fillers up to `ids` entries."""
    special = ["[STOP]", "[UNK]", "[SPACE]", "[START]", "[en]", "[de]", "[fa]"]
    tokens = special + [chr(code) for code in range(33, 127)]
    tokens += [f"filler{number}" for number in range(ids - len(tokens))]
    added = [
        {"id": number, "special": True, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False}
        for number, token in enumerate(special)
    ]
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": "[UNK]", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False,
                  "vocab": {token: number for number, token in enumerate(tokens)}, "merges": []},
    }))


def make_config():
    config = XttsConfig()
    for name, value in V2_ARGUMENTS.items():
        setattr(config.model_args, name, value)
    return config


def make_public_layout(folder):
    folder.mkdir(parents=True)
    torch.manual_seed(7)
    config = make_config()
    config.save_json(folder / "config.json")
    write_vocabulary(folder / "vocab.json", 6681)
    config.model_args.tokenizer_file = str(folder / "vocab.json")
    model = Xtts.init_from_config(config)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if "torch_spec" in name:
                continue  # a window and a filter bank: random ones would give the logarithm negative numbers
            if tensor.is_floating_point():
                tensor.uniform_(-0.05, 0.05)
            else:
                tensor.fill_(3)
        for name, tensor in model.state_dict().items():
            if name.endswith("running_var") or name == "mel_stats":
                tensor.uniform_(0.5, 1.5)
    torch.save({"model": model.state_dict(), "config": config, "step": 1}, folder / "model.pth")
    torch.save(model.mel_stats.cpu(), folder / "mel_stats.pth")
    dvae = DiscreteVAE(channels=80, normalization=None, positional_dims=1, num_tokens=1024, codebook_dim=512,
                       hidden_dim=512, num_resnet_blocks=3, kernel_size=3, num_layers=2, use_transposed_convs=False)
    torch.save(dvae.state_dict(), folder / "dvae.pth")
    voices = {name: {"gpt_cond_latent": torch.randn(1, 32, 1024), "speaker_embedding": torch.randn(1, 512, 1)}
              for name in ("Claribel Dervla", "Daisy Studious")}
    torch.save(voices, folder / "speakers_xtts.pth")


def run(*command):
    before = time.time()
    subprocess.run(["/usr/bin/time", "-f", "  peak memory %M kB", *map(str, command)], check=True)
    print(f"  {time.time() - before:.1f} s", flush=True)


def state_dicts(folder):
    model = torch.load(folder / "model.pth", weights_only=False)["model"]
    return {"model": model, **{name: torch.load(folder / f"{name}.pth", weights_only=True)
                               for name in ("dvae", "speakers_xtts")},
            "mel_stats": {"mel_stats": torch.load(folder / "mel_stats.pth", weights_only=True)}}


def require_equal(before, after, where=""):
    assert before.keys() == after.keys(), (where, before.keys() ^ after.keys())
    for name, tensor in before.items():
        if isinstance(tensor, dict):
            require_equal(tensor, after[name], f"{where}{name}/")
            if where == "speakers_xtts/":  # the peer takes a voice's two tensors by their places
                assert list(tensor) == list(after[name]), f"{where}{name}: the order differs"
        else:
            assert torch.isfinite(tensor).all(), f"{where}{name} is not finite: comparing it would show nothing"
            assert tensor.dtype == after[name].dtype and torch.equal(tensor, after[name]), f"{where}{name}"


def outputs(folder):
    """Loads the folder as a user would (strict) and gives what it makes of one prompt."""
    config = XttsConfig()
    config.load_json(str(folder / "config.json"))
    model = Xtts.init_from_config(config)
    model.load_checkpoint(config, checkpoint_dir=str(folder), eval=True, strict=True)
    torch.manual_seed(1)
    with torch.no_grad():
        prompt = model.gpt.get_style_emb(torch.randn(1, 80, 200)).transpose(1, 2)
        latents = model.gpt(torch.randint(7, 100, (1, 20)), torch.tensor([20]), torch.randint(0, 1024, (1, 30)),
                            torch.tensor([30 * 1024]), cond_latents=prompt, return_latent=True)
        speaker = torch.nn.functional.normalize(torch.randn(1, 512, 1), dim=1)
        wave = model.hifigan_decoder(latents, g=speaker)
        vector = model.hifigan_decoder.speaker_encoder.forward(torch.randn(1, 16000), l2_norm=True)
    return {"prompt": prompt, "latents": latents, "wave": wave, "vector": vector}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--myxtts", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    public, ours, back = (arguments.work / name for name in ("public", "ours", "back"))
    for folder in (ours, back):
        shutil.rmtree(folder, ignore_errors=True)
    if not public.exists():
        make_public_layout(public)
    for file in sorted(public.iterdir()):
        print(f"  {file.name} {file.stat().st_size:,} bytes")
    print("import", flush=True)
    run(arguments.myxtts, "import", "--from", public, "--out", ours)
    print("export", flush=True)
    run(arguments.myxtts, "export", "--model", ours, "--format", "coqui", "--out", back)
    require_equal(state_dicts(public), state_dicts(back))
    print("every tensor is equal, bit for bit", flush=True)
    # The peer's safe loading refuses the config object in the public file, so it gets PyTorch's own copy without.
    plain = arguments.work / "plain"
    plain.mkdir(exist_ok=True)
    for name in ("config.json", "vocab.json"):
        shutil.copy(public / name, plain / name)
    torch.save({"model": torch.load(public / "model.pth", weights_only=False)["model"]}, plain / "model.pth")
    require_equal(outputs(plain), outputs(back))
    shutil.rmtree(plain)
    print("the peer loads the export with strict=True and its outputs are equal, bit for bit")


if __name__ == "__main__":
    main()
