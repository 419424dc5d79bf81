#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes audio/resample.safetensors and audio/mels.safetensors: what the peer makes of sound.

Needs coqui-tts 0.28.0 and torchaudio 2.11. audio/speech.wav is a second of LJSpeech (public domain);
`make_audio.py CLIP.flac` cuts it anew.
"""
import pathlib
import sys
import wave

import numpy as np
import soundfile
import torch
import torchaudio
from safetensors.torch import save_file
from TTS.tts.layers.xtts.dvae import dvae_wav_to_mel
from TTS.tts.models.xtts import wav_to_mel_cloning

from nets import SPEAKER_AUDIO, formula

HERE = pathlib.Path(__file__).parent / "audio"
SPEECH = HERE / "speech.wav"
RATES = [(44100, 22050), (48000, 22050), (16000, 22050), (8000, 22050), (32000, 22050), (22050, 16000),
         (22050, 24000), (22255, 22050)]


def cut_speech(source):
    samples, rate = soundfile.read(source, dtype="int16", start=22050, frames=24000)
    assert rate == 22050 and samples.ndim == 1
    soundfile.write(SPEECH, samples, rate, subtype="PCM_16")


def speech():
    with wave.open(str(SPEECH)) as clip:
        data = np.frombuffer(clip.readframes(clip.getnframes()), dtype="<i2")
    return torch.from_numpy(data.astype(np.float32) / 32768)[None]


def resampled():
    result = {}
    for source, target in RATES:
        noise = formula(f"noise.{source}", (2, 1500))
        result[f"{source}.{target}"] = torchaudio.functional.resample(noise, source, target).contiguous()
    return result


def lengths():
    """Rows of (from, to, samples, samples that come out), by the peer's expression."""
    rows = []
    for source, target in ((22050, 16000), (44100, 22050), (48000, 22050), (22050, 24000)):
        divisor = np.gcd(source, target)
        new, old = int(target // divisor), int(source // divisor)
        for samples in [1, 2, 441, 1000, 90569, *range(90560, 230000, 1777), 1323000, 5000001]:
            count = int(torch.ceil(torch.as_tensor(new * samples / old)).long())
            rows.append([source, target, samples, count])
    return torch.tensor(rows)


def speaker_mel(wav):
    from TTS.encoder.models.base_encoder import BaseEncoder

    front_end = BaseEncoder().get_torch_mel_spectrogram_class(SPEAKER_AUDIO)
    return (front_end(wav) + 1e-6).log(), front_end


def mels():
    stats = formula("mel_stats", (80,)) * 0.5 + 2
    wav = speech()
    cloning = dict(n_fft=2048, hop_length=256, win_length=1024, power=2, normalized=False, sample_rate=22050, f_min=0,
                   f_max=8000, n_mels=80)
    at_16k = torchaudio.functional.resample(wav, 22050, 16000)
    speaker, front_end = speaker_mel(at_16k)
    short = formula("short", (1, 1025)) * 0.5
    return {
        "dvae": dvae_wav_to_mel(wav, mel_norms=stats),
        "conditioning": wav_to_mel_cloning(wav, mel_norms=stats, **cloning),
        "speaker": speaker,
        "speaker.window": front_end[1].spectrogram.window,
        "speaker.filters": front_end[1].mel_scale.fb,
        "short.dvae": dvae_wav_to_mel(short[:, :513], mel_norms=stats),
        "short.conditioning": wav_to_mel_cloning(short, mel_norms=stats, **cloning),
        "speech_16k": at_16k,
    }


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        cut_speech(sys.argv[1])
    save_file({**resampled(), "lengths": lengths()}, HERE / "resample.safetensors")
    save_file({name: tensor.contiguous() for name, tensor in mels().items()}, HERE / "mels.safetensors")
