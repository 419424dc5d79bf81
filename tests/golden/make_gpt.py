# SPDX-License-Identifier: Apache-2.0
"""Writes gpt.safetensors: what coqui-tts' GPT computes with a small model of formula weights.

Usage: python make_gpt.py        (needs coqui-tts 0.28.0, torch 2.11; nothing else in the project does)

The weights are not stored: C++ makes the same ones (tests/support/formula_weights.cpp), and the same clips
(tests/model/gpt_golden.cpp). Dropout is off throughout: a step with it cannot be compared.
"""
import pathlib
import types

import numpy as np
import torch
from nets import fill, formula, uniform
from safetensors.torch import save_file
from TTS.tts.layers.xtts.gpt import GPT
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTTrainer

SIZES = dict(layers=2, model_dim=24, heads=3, max_text_tokens=30, max_mel_tokens=40, number_text_tokens=37,
             start_text_token=35, stop_text_token=0, num_audio_tokens=34, start_audio_token=32, stop_audio_token=33)
# (text tokens, codes) of each clip: the longest text, the longest audio, the shortest of both.
LENGTHS = [(30, 6), (1, 38), (9, 1)]
# First and one past the last sample of each prompt. In the peer's units the last clip loses targets 2 to 4.
SPANS = [(0, 3000), (2048, 20000), (512, 1280)]
FRAMES = 21
TEXT_WEIGHT = 0.01
STRIDE = 1024


def make_gpt():
    """Matrices at half the formula's size: sharper attention would only magnify rounding."""
    gpt = fill(GPT(use_perceiver_resampler=True, code_stride_len=STRIDE, **SIZES), "gpt/")
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter.mul_(0.5 if parameter.dim() > 1 else 1.0)
    return gpt


def ids(name, count, low, high):
    """`count` whole numbers in [low, high) by formula."""
    values = (uniform(name, count).astype(np.float64) + 1.0) / 2.0
    return torch.from_numpy((low + np.floor(values * (high - low))).astype(np.int64))


def make_clips():
    return [dict(text=ids(f"text{i}", t, 1, 35), codes=ids(f"codes{i}", n, 0, 32),
                 mel=formula(f"mel{i}", (80, FRAMES)) * 2.0, span=SPANS[i]) for i, (t, n) in enumerate(LENGTHS)]


def batch_of(clips):
    text = torch.zeros(len(clips), max(len(c["text"]) for c in clips), dtype=torch.long)
    codes = torch.zeros(len(clips), max(len(c["codes"]) for c in clips), dtype=torch.long)
    for row, clip in enumerate(clips):
        text[row, : len(clip["text"])] = clip["text"]
        codes[row, : len(clip["codes"])] = clip["codes"]
    return dict(text_inputs=text, text_lengths=torch.tensor([len(c["text"]) for c in clips]), audio_codes=codes,
                wav_lengths=torch.tensor([len(c["codes"]) * STRIDE - 100 for c in clips]),
                cond_mels=torch.stack([c["mel"] for c in clips]).unsqueeze(1))


def losses(gpt, clips, spans=None):
    text, audio, _ = gpt(**batch_of(clips), cond_idxs=spans)
    return text, audio


def states_and_logits(gpt, clips):
    """What enters and leaves the heads, and what leaves the transformer, for the clips of one padded batch."""
    seen = {}
    hooks = [gpt.gpt.h[-1].register_forward_hook(lambda m, a, out: seen.update(hidden=out)),
             gpt.final_norm.register_forward_hook(lambda m, a, out: seen.update(states=out)),
             gpt.text_head.register_forward_hook(lambda m, a, out: seen.update(text_logits=out)),
             gpt.mel_head.register_forward_hook(lambda m, a, out: seen.update(audio_logits=out))]
    losses(gpt, clips)
    for hook in hooks:
        hook.remove()
    longest = max(len(c["text"]) for c in clips) + 2
    out = {}
    for i, clip in enumerate(clips):
        t, n = len(clip["text"]) + 1, len(clip["codes"]) + 4
        hidden, states = seen["hidden"][i], seen["states"][i]
        out[f"hidden{i}"] = torch.cat([hidden[: 32 + t], hidden[32 + longest : 32 + longest + n]])
        out[f"states{i}"] = torch.cat([states[:t], states[longest : longest + n]])
        out[f"text_logits{i}"] = seen["text_logits"][i, :t]
        out[f"audio_logits{i}"] = seen["audio_logits"][i, :n]
    return out


def intended_mask_loss(gpt, clips):
    """The code loss with each clip's own span ignored, in codes: what the peer meant to do."""
    _, _, logits = gpt(**batch_of(clips))
    kept = []
    for i, clip in enumerate(clips):
        targets = torch.cat([clip["codes"], torch.full((4,), SIZES["stop_audio_token"])])
        targets[clip["span"][0] // STRIDE : clip["span"][1] // STRIDE] = -1
        nll = torch.nn.functional.cross_entropy(logits[i, :, : len(targets)].T, targets, ignore_index=-1,
                                                reduction="none")
        kept.append(nll[targets != -1])
    return torch.cat(kept).mean()


def latents_pass(gpt, clip, latents):
    codes = torch.cat([clip["codes"][:12], torch.tensor([SIZES["stop_audio_token"]])])
    return gpt(clip["text"][None], torch.tensor([len(clip["text"])]), codes[None], torch.tensor([len(codes) * STRIDE]),
               cond_latents=latents[None], return_latent=True)[0]


def train(clips, clip_norm):
    """Twenty steps with the peer's own parameter groups."""
    gpt = make_gpt()
    config = types.SimpleNamespace(optimizer="AdamW", lr=1e-3, optimizer_wd_only_on_weights=True,
                                   optimizer_params=dict(betas=[0.9, 0.96], eps=1e-8, weight_decay=1e-2))
    optimizer = GPTTrainer.get_optimizer(types.SimpleNamespace(config=config, xtts=types.SimpleNamespace(gpt=gpt)))
    curve, norms = [], []
    for _ in range(20):
        text, audio = losses(gpt, clips)
        optimizer.zero_grad()
        (text * TEXT_WEIGHT + audio).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(gpt.parameters(), clip_norm))
        optimizer.step()
        curve.append(torch.stack([text, audio]))
    return torch.stack(curve).detach(), torch.stack(norms).detach()


def main():
    gpt, clips = make_gpt(), make_clips()
    out = {}
    with torch.no_grad():
        mels = torch.stack([c["mel"] for c in clips])
        out["encoder"] = gpt.conditioning_encoder(mels).transpose(1, 2)
        out["latents"] = gpt.get_style_emb(mels).transpose(1, 2)
        out.update(states_and_logits(gpt, clips))
        out["losses"] = torch.stack(losses(gpt, clips))
        out["clip_losses"] = torch.stack([torch.stack(losses(gpt, [c])) for c in clips])
        spans = torch.tensor([c["span"] for c in clips])
        out["slip_losses"] = torch.stack(losses(gpt, clips, spans))
        out["intended_audio_loss"] = intended_mask_loss(gpt, clips)
        for i, clip in enumerate(clips):
            out[f"decoder_latents{i}"] = latents_pass(gpt, clip, out["latents"][i])
    text, audio = losses(gpt, clips)
    (text * TEXT_WEIGHT + audio).backward()
    for name, parameter in gpt.named_parameters():
        out[f"grad.{name}"] = parameter.grad
    out["curve"], out["norms"] = train(clips, float("inf"))
    out["clipped_curve"], out["clipped_norms"] = train(clips, 1.0)
    path = pathlib.Path(__file__).with_name("gpt.safetensors")
    save_file({name: tensor.detach().contiguous() for name, tensor in out.items()}, path)
    print(f"{path.name}: {len(out)} tensors, {path.stat().st_size} bytes")
    print("losses", out["losses"].tolist(), "slip", out["slip_losses"].tolist(), out["intended_audio_loss"].item())
    print("curve", out["curve"][::6].tolist(), "norms", out["norms"][::6].tolist())
    print("clipped", out["clipped_curve"][-1].tolist(), out["clipped_norms"][::6].tolist())


main()
