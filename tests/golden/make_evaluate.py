# SPDX-License-Identifier: Apache-2.0
"""Writes evaluate.safetensors: what coqui-tts' evaluation says of four clips and a small model.

Usage: python make_evaluate.py        (needs coqui-tts 0.28.0; nothing else in the project does)

The clips are cut from audio/speech.wav: shorter than a prompt, of whole codes, longer than a prompt, and at
another rate. The weights are not stored: C++ makes the same ones (tests/synth/clip_evaluator_test.cpp).
"""
import pathlib
import tempfile

import numpy as np
import soundfile
import torch
from nets import dvae, fill, formula, uniform
from safetensors.torch import save_file
from TTS.tts.layers.tortoise.arch_utils import TorchMelSpectrogram
from TTS.tts.layers.xtts.gpt import GPT
from TTS.tts.layers.xtts.trainer.dataset import get_prompt_slice
from TTS.tts.models.xtts import load_audio

HERE = pathlib.Path(__file__).parent
# Samples, rate and text tokens of each clip; the samples are speech.wav over and over.
CLIPS = [(24000, 22050, 12), (20 * 1024, 22050, 1), (144000, 22050, 30), (30000, 16000, 7)]


def ids(name, count, low, high):
    """`count` whole numbers in [low, high) by formula."""
    values = (uniform(name, count).astype(np.float64) + 1.0) / 2.0
    return torch.from_numpy((low + np.floor(values * (high - low))).astype(np.int64))


def mel_of(filter_length, mel_stats):
    mel = TorchMelSpectrogram(filter_length=filter_length, mel_norm_file=None)
    mel.mel_norms = mel_stats
    return mel


def evaluate(networks, path, text):
    gpt, codes_of, dvae_mel, prompt_mel = networks
    wav = load_audio(path, 22050)
    prompt, _, _ = get_prompt_slice(path, 132300, 66150, 22050, is_eval=True)
    codes = codes_of(dvae_mel(wav.unsqueeze(0)))
    losses = gpt(text.unsqueeze(0), torch.tensor([len(text)]), codes, torch.tensor([wav.shape[-1]]),
                 cond_mels=prompt_mel(prompt.unsqueeze(0)).unsqueeze(1))
    return torch.stack(losses[:2]), codes[0]


def centre(autoencoder, mel):
    """Moves the last bias so that speech lies in the middle of the codebook and not at one edge; gives it."""
    with torch.no_grad():
        autoencoder.encoder[-1].bias -= autoencoder.encoder(mel).mean(dim=(0, 2))
    return autoencoder.encoder[-1].bias.detach().clone()


def main():
    gpt = fill(GPT(use_perceiver_resampler=True, layers=2, model_dim=24, heads=3, max_text_tokens=30,
                   max_mel_tokens=200, number_text_tokens=37, start_text_token=35, stop_text_token=0,
                   num_audio_tokens=66, start_audio_token=64, stop_audio_token=65), "gpt/")
    with torch.no_grad():
        for parameter in gpt.parameters():
            parameter.mul_(0.5 if parameter.dim() > 1 else 1.0)
    mel_stats = formula("mel_stats", (80,)) * 0.25 + 2.0
    speech, _ = soundfile.read(HERE / "audio" / "speech.wav", dtype="int16")
    autoencoder = fill(dvae(16, 24, 64, blocks=2), "dvae/")
    networks = (gpt, autoencoder.get_codebook_indices, mel_of(1024, mel_stats), mel_of(2048, mel_stats))
    out = {"encoder.4.bias": centre(autoencoder, networks[2](torch.tensor(speech / 32768.0).float().view(1, 1, -1)))}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for i, (samples, rate, tokens) in enumerate(CLIPS):
            path = f"{folder}/clip{i}.wav"
            soundfile.write(path, np.resize(speech, samples), rate, subtype="PCM_16")
            losses, codes = evaluate(networks, path, ids(f"text{i}", tokens, 1, 35))
            print(samples, rate, losses.tolist(), len(codes), len(set(codes.tolist())))
            out[f"clip{i}.losses"] = losses
    save_file(out, HERE / "evaluate.safetensors")


if __name__ == "__main__":
    main()
