# SPDX-License-Identifier: Apache-2.0
"""Random models of coqui-tts that speak: never one code again and again, and some come to an end."""
import contextlib
import json
import pathlib
import shutil

import numpy
import soundfile
import torch
import TTS.tts.models.xtts as peer_xtts
from safetensors.torch import save_file
from TTS.tts.configs.xtts_config import XttsConfig
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder
from TTS.tts.models.xtts import Xtts


def read_with_soundfile(path):
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T.copy()), rate


peer_xtts.torchaudio.load = read_with_soundfile  # its own decoder is an optional package


def make_lively(model, stop_bias):
    """No norm is the identity, attention looks around, and logits are far apart."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "proj_out" in name:
                parameter.normal_(0.0, 0.05)
            elif name.startswith("gpt.gpt.h") and parameter.dim() == 2:
                parameter.normal_(0.0, 1.2 / parameter.shape[0] ** 0.5)
            elif "final_norm" in name or ".ln_" in name or "gamma" in name:
                parameter.uniform_(-0.2, 0.2).add_(1.0 if name.endswith("weight") or "gamma" in name else 0.0)
        model.gpt.text_pos_embedding.emb.weight.normal_(0.0, 0.5)
        model.gpt.mel_pos_embedding.emb.weight.normal_(0.0, 0.5)
        model.gpt.mel_head.weight.normal_(0.0, 3.0 / model.args.gpt_n_model_channels ** 0.5)
        model.gpt.mel_head.bias.zero_()
        model.gpt.mel_head.bias[model.args.gpt_stop_audio_token] = stop_bias
        model.mel_stats.uniform_(1.5, 2.5)
        decoder = model.hifigan_decoder.waveform_decoder
        for name, parameter in decoder.named_parameters():
            if name.endswith("original0"):
                parameter.mul_(1.6)
        decoder.conv_post.weight.normal_(0.0, 0.3)


def make_model(seed, vocabulary, *, layers=3, width=128, heads=4, channels=64, codes=1024, longest=243, stop_bias=0.0):
    """The peer's model; `longest` - 3 codes at most."""
    torch.manual_seed(seed)
    config = XttsConfig(temperature=0.75, repetition_penalty=5.0, gpt_cond_len=30, max_ref_len=30)
    for key, value in dict(gpt_layers=layers, gpt_n_model_channels=width, gpt_n_heads=heads, decoder_input_dim=width,
                           gpt_num_audio_tokens=codes + 2, gpt_start_audio_token=codes, gpt_stop_audio_token=codes + 1,
                           gpt_max_audio_tokens=longest, gpt_use_perceiver_resampler=True,
                           tokenizer_file=str(vocabulary)).items():
        setattr(config.model_args, key, value)
    model = Xtts(config)
    model.tokenizer = peer_xtts.VoiceBpeTokenizer(vocab_file=str(vocabulary))
    model.init_models()
    model.hifigan_decoder = HifiDecoder(decoder_input_dim=width, upsample_initial_channel_decoder=channels)
    make_lively(model, stop_bias)
    return model


def write_folder(model, folder, vocabulary, channels):
    """The same model as ours reads it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.clone().contiguous() for name, tensor in model.state_dict().items()
             if not name.startswith(("gpt.gpt_inference.", "gpt.gpt.wte"))}
    save_file(state, folder / "model.safetensors")
    arguments = {key: getattr(model.args, key) for key in (
        "gpt_layers", "gpt_n_model_channels", "gpt_n_heads", "decoder_input_dim", "gpt_num_audio_tokens",
        "gpt_start_audio_token", "gpt_stop_audio_token", "gpt_max_audio_tokens", "gpt_use_perceiver_resampler",
        "gpt_number_text_tokens", "gpt_start_text_token", "gpt_stop_text_token")}
    config = {key: getattr(model.config, key) for key in (
        "temperature", "repetition_penalty", "length_penalty", "top_k", "top_p", "gpt_cond_len", "gpt_cond_chunk_len",
        "max_ref_len", "sound_norm_refs")}
    own = {"decoder": {"initial_channels": channels}}
    (folder / "config.json").write_text(json.dumps(dict(model="xtts", model_args=arguments, **config, myxtts=own)))
    shutil.copy(vocabulary, folder / "vocab.json")


def write_clip(path, seconds, seed, rate=22050):
    """Something with a voice's ups and downs."""
    random = numpy.random.default_rng(seed)
    t = numpy.arange(int(seconds * rate)) / rate
    pitch = 110 * 2 ** random.uniform(0, 1) * (1 + 0.1 * numpy.sin(2 * numpy.pi * 0.7 * t))
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / rate
    tone = sum(numpy.sin(k * phase) * random.uniform(0.2, 1.0) / k for k in range(1, 12))
    loudness = numpy.clip(numpy.sin(2 * numpy.pi * 2.3 * t + random.uniform(0, 6)) + 0.4, 0, None)
    samples = 0.15 * tone * loudness + 0.003 * random.standard_normal(len(t))
    soundfile.write(path, samples.astype(numpy.float32), rate, subtype="PCM_16")


@contextlib.contextmanager
def recorded_codes(model):
    """The codes of each generation while the block runs."""
    codes, generate = [], model.gpt.generate
    model.gpt.generate = lambda *positional, **named: codes.append(generate(*positional, **named)) or codes[-1]
    try:
        yield codes
    finally:
        model.gpt.generate = generate


@contextlib.contextmanager
def greedy_streaming():
    """The peer draws while streaming whatever it is told; here the likeliest code is drawn."""
    multinomial = torch.multinomial
    torch.multinomial = lambda probabilities, num_samples: probabilities.argmax(-1, keepdim=True)
    try:
        yield
    finally:
        torch.multinomial = multinomial
