# SPDX-License-Identifier: Apache-2.0
"""Runs the parity program beside coqui-tts on a random model and batch, and compares every number.

Usage: python tests/golden/check_parity.py build/release/bin/parity [--seed 1] [--layers 3] [--width 96] [--heads 4]

Needs coqui-tts 0.28.0. The batch holds the longest text and audio that the peer's trainer lets through and the
shortest. Exits 1 if anything is further apart than the project promises.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import types

import torch
from safetensors.torch import load_file, save_file
from TTS.tts.layers.tortoise.arch_utils import TorchMelSpectrogram
from TTS.tts.layers.xtts.gpt import GPT
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTTrainer

IDS, CODES = 300, 1024
CLIPS = [(200, 255995), (1, 11025), (57, 120000)]  # text tokens, samples
PROMPTS = [(0, 132300), (0, 5512), (300, 60300)]


def randomise(module):
    """No tensor left at a value that hides what is done with it."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("norm.weight") or ".ln_" in name or "gamma" in name:
                parameter.uniform_(0.5, 1.5)
            elif "proj_out" in name or name.endswith("bias"):
                parameter.uniform_(-0.1, 0.1)
    return module.eval()


def make_gpt(options):
    return randomise(GPT(layers=options.layers, model_dim=options.width, heads=options.heads, max_text_tokens=402,
                         max_mel_tokens=605, number_text_tokens=IDS, start_text_token=261, stop_text_token=0,
                         num_audio_tokens=CODES + 2, start_audio_token=CODES, stop_audio_token=CODES + 1,
                         use_perceiver_resampler=True))


def make_inputs(width):
    texts = torch.zeros(len(CLIPS), max(t for t, _ in CLIPS), dtype=torch.int32)
    wavs = torch.zeros(len(CLIPS), 1, max(s for _, s in CLIPS))
    prompts = torch.zeros(len(CLIPS), 1, 1, 132300)
    for row, (tokens, samples) in enumerate(CLIPS):
        texts[row, :tokens] = torch.randint(2, 261, (tokens,))
        wavs[row, 0, :samples] = torch.randn(samples) * 0.1
        first, last = PROMPTS[row]
        prompts[row, 0, 0, : last - first] = torch.randn(last - first) * 0.1
    lengths = torch.tensor([s for _, s in CLIPS])
    return {"in.batch.wav": wavs, "in.batch.wav_lengths": lengths, "in.batch.padded_text": texts,
            "in.batch.text_lengths": torch.tensor([t for t, _ in CLIPS]), "in.batch.conditioning": prompts,
            "in.batch.cond_idxs": torch.tensor(PROMPTS), "batch.codes": torch.randint(0, CODES, (len(CLIPS), 250)),
            "in.masked.conditioning": prompts * 0.5, "in.masked.cond_idxs": torch.tensor([[0, 9], [0, 9], [9000, 20000]]),
            "in.decoder.latents": torch.randn(1, 21, width), "in.decoder.speaker": torch.randn(1, 512, 1) * 0.05}


def make_steps(count=20):
    """A batch for each step of training, with the prompt cut as the peer's trainer cuts it."""
    steps = {}
    for step in range(count):
        samples = torch.randint(11025, 200000, (3,))
        texts = torch.randint(1, 60, (3,))
        spans = torch.zeros(3, 2, dtype=torch.int64)
        prompts = torch.zeros(3, 1, 1, 132300)
        padded = torch.zeros(3, int(texts.max()), dtype=torch.int32)
        for row in range(3):
            length = int(torch.randint(66150, 132301, ()))
            length = length if length <= samples[row] else int(samples[row]) // 2
            first = int(torch.randint(0, int(samples[row]) - length + 1, ()))
            spans[row] = torch.tensor([first, first + length])
            prompts[row, 0, 0, :length] = torch.randn(length) * 0.1
            padded[row, : texts[row]] = torch.randint(2, 261, (int(texts[row]),))
        name = f"in.step{step}.batch."
        steps |= {name + "wav_lengths": samples, name + "text_lengths": texts, name + "padded_text": padded,
                  name + "cond_idxs": spans, name + "conditioning": prompts,
                  name + "codes": torch.randint(0, CODES, (3, 250))}
    return steps


def peer_losses(gpt, inputs, mel, spans=None):
    text, audio, _ = gpt(inputs["in.batch.padded_text"].long(), inputs["in.batch.text_lengths"], inputs["batch.codes"],
                         inputs["in.batch.wav_lengths"], cond_mels=mel, cond_idxs=spans)
    return torch.stack([text * 0.01, audio, text * 0.01 + audio])


def compute(gpt, decoder, mel_of, inputs):
    """The peer's own numbers under the names that parity writes."""
    out = {}
    with torch.no_grad():
        latents = torch.nn.functional.interpolate(inputs["in.decoder.latents"].transpose(1, 2), scale_factor=[4.0],
                                                  mode="linear")
        frames = torch.nn.functional.interpolate(latents, scale_factor=[24000 / 22050], mode="linear")
        out["decoder.wav"] = decoder.waveform_decoder(frames, g=inputs["in.decoder.speaker"])
        mel = out["batch.mel_cond"] = mel_of(inputs["in.batch.conditioning"].flatten(0, 2)).unsqueeze(1)
        masked = mel_of(inputs["in.masked.conditioning"].flatten(0, 2)).unsqueeze(1)
        found = {"masked.batch.": peer_losses(gpt, inputs, masked, inputs["in.masked.cond_idxs"].clone())}
    found["eval.batch."] = peer_losses(gpt, inputs, mel)
    found["eval.batch."][2].backward()
    for prefix, losses in found.items():
        for name, loss in zip(("loss_text_ce", "loss_mel_ce", "loss"), losses):
            out[prefix + name] = loss.detach()
    for name, parameter in gpt.named_parameters():
        out[f"grad.full.{name}"] = parameter.grad.clone()
    start = {name: tensor.clone() for name, tensor in gpt.state_dict().items()}
    out["train20.losses"], out["train20.grad_norms"] = train(gpt, inputs, mel)
    gpt.load_state_dict(start)
    out["recipe.losses"], out["recipe.grad_norms"] = train_by_recipe(gpt, inputs, mel_of)
    return out


def make_optimizer(gpt):
    config = types.SimpleNamespace(optimizer="AdamW", lr=1e-4, optimizer_wd_only_on_weights=True,
                                   optimizer_params=dict(betas=[0.9, 0.96], eps=1e-8, weight_decay=1e-2))
    return GPTTrainer.get_optimizer(types.SimpleNamespace(config=config, xtts=types.SimpleNamespace(gpt=gpt)))


def train_by_recipe(gpt, steps, mel_of):
    """The peer's own train_step on one batch after another, in train mode with its dropout set to 0."""
    gpt.train()
    for module in gpt.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    trainer = types.SimpleNamespace(
        forward=lambda text, text_lengths, codes, wav_lengths, mels, spans, lengths: gpt(
            text, text_lengths, codes, wav_lengths, cond_mels=mels, cond_idxs=spans, cond_lens=lengths),
        args=types.SimpleNamespace(gpt_loss_text_ce_weight=0.01, gpt_loss_mel_ce_weight=1.0))
    optimizer, curve, norms = make_optimizer(gpt), [], []
    for step in range(sum(name.startswith("in.step") and name.endswith("codes") for name in steps)):
        of = lambda name: steps[f"in.step{step}.batch.{name}"]
        with torch.no_grad():
            mel = mel_of(of("conditioning").flatten(0, 2)).unsqueeze(1)
        batch = dict(cond_mels=mel, text_inputs=of("padded_text").long(), text_lengths=of("text_lengths"),
                     audio_codes=of("codes"), wav_lengths=of("wav_lengths"), cond_idxs=of("cond_idxs").clone(),
                     cond_lens=None)
        _, losses = GPTTrainer.train_step(trainer, batch, None)
        optimizer.zero_grad()
        losses["loss"].backward()
        norms.append(torch.stack([p.grad.norm() for p in gpt.parameters()]).norm())
        optimizer.step()
        curve.append(torch.stack([losses[name].detach() for name in ("loss_text_ce", "loss_mel_ce", "loss")]))
    return torch.stack(curve), torch.stack(norms)


def train(gpt, inputs, mel):
    optimizer, curve, norms = make_optimizer(gpt), [], []
    for _ in range(20):
        losses = peer_losses(gpt, inputs, mel)
        optimizer.zero_grad()
        losses[2].backward()
        norms.append(torch.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0))
        optimizer.step()
        curve.append(losses.detach())
    return torch.stack(curve), torch.stack(norms)


def write_model(folder, options, gpt, decoder, mel_stats):
    state = {f"gpt.{name}": tensor for name, tensor in gpt.state_dict().items()}
    state |= {f"hifigan_decoder.{name}": tensor for name, tensor in decoder.state_dict().items()}
    state["mel_stats"] = mel_stats
    save_file({name: tensor.clone().contiguous() for name, tensor in state.items()}, folder / "model.safetensors")
    arguments = dict(gpt_layers=options.layers, gpt_n_model_channels=options.width, gpt_n_heads=options.heads,
                     gpt_number_text_tokens=IDS, gpt_start_text_token=261, gpt_stop_text_token=0,
                     gpt_num_audio_tokens=CODES + 2, gpt_start_audio_token=CODES, gpt_stop_audio_token=CODES + 1,
                     gpt_use_perceiver_resampler=True, decoder_input_dim=options.width)
    (folder / "config.json").write_text(json.dumps(dict(model="xtts", model_args=arguments)))


def far_apart(ours, peers):
    """(name, distance, allowed) of every number, the worst first."""
    relative = lambda a, b: ((a - b).abs() / b.abs().clamp_min(1e-30)).max().item()
    gradients = [name for name in peers if name.startswith("grad.full.")]
    total = torch.stack([peers[name].norm() for name in gradients]).norm()
    rows = [("batch.mel_cond", (ours["batch.mel_cond"] - peers["batch.mel_cond"]).abs().max().item(), 2e-4),
            ("decoder.wav", (ours["decoder.wav"] - peers["decoder.wav"]).abs().max().item(), 1e-3)]
    rows += [(name, relative(ours[name], peers[name]), 1e-5) for name in peers if ".batch.loss" in name]
    rows += [(name, relative(ours[name], peers[name]), 1e-4) for name in peers
             if name.startswith(("train20", "recipe"))]
    for name in gradients:
        scale = max(peers[name].norm().item(), 1e-6 * total.item())
        rows.append((name, (ours[name] - peers[name]).norm().item() / scale, 1e-3))
    return sorted(rows, key=lambda row: -row[1] / row[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    gpt, mel_stats = make_gpt(options), torch.rand(80) + 0.5
    decoder = HifiDecoder(decoder_input_dim=options.width).eval()
    mel_of = TorchMelSpectrogram(filter_length=2048, mel_norm_file=None)
    mel_of.mel_norms = mel_stats
    inputs = make_inputs(options.width) | make_steps()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write_model(folder, options, gpt, decoder, mel_stats)
        save_file(inputs, folder / "in.safetensors")
        subprocess.run([options.program, "--model", folder, "--inputs", folder / "in.safetensors", "--out",
                        folder / "out.safetensors"], check=True, stderr=subprocess.DEVNULL)
        ours = load_file(folder / "out.safetensors")
    rows = far_apart(ours, compute(gpt, decoder, mel_of, inputs))
    groups = {}
    for name, distance, allowed in rows:
        groups.setdefault(name.split(".")[0] + ("" if name[0] != "g" else ".full"), (name, distance, allowed))
    for name, distance, allowed in groups.values():
        print(f"{name}: {distance:.2e} (allowed {allowed:.0e})")
    sys.exit(any(distance > allowed for _, distance, allowed in rows))


main()
