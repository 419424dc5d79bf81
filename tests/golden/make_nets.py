#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks/small.safetensors and networks/public.safetensors: the peer's convolutional networks.

Needs coqui-tts 0.28.0. The weights are those of nets.py; only inputs that are no formula and outputs are
stored. Run make_audio.py first: the public shapes take the speech it cut.
"""
import pathlib

import torch
import torchaudio
from safetensors.torch import save_file
from TTS.tts.layers.xtts.dvae import dvae_wav_to_mel
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder

from make_audio import speech
from nets import fill, formula, public_networks, small_networks

HERE = pathlib.Path(__file__).parent / "networks"


def fill_all(networks, seed):
    for network, module in networks.items():
        fill(module, f"{seed}.{network}.")
    return networks


def dvae_tensors(dvae, mel):
    with torch.no_grad():
        z = dvae.encoder(mel)
        codes = dvae.get_codebook_indices(mel)
        decoded, _ = dvae.decode(codes)
    return {"dvae.z": z, "dvae.codes": codes, "dvae.decoded": decoded}


class Decoder(HifiDecoder):
    """The peer's wrapper with its two interpolations around a generator of another size."""

    def __init__(self, generator):
        torch.nn.Module.__init__(self)
        self.input_sample_rate, self.output_sample_rate = 22050, 24000
        self.output_hop_length, self.ar_mel_length_compression = 256, 1024
        self.waveform_decoder = generator


def decoder_gradients(decoder, latents, speaker):
    """Gradients of the mean of wave x weights, weights by formula, for every parameter and input."""
    latents, speaker = latents.clone().requires_grad_(), speaker.clone().requires_grad_()
    wave = decoder(latents, g=speaker)
    (wave * formula("small.decoder.loss", tuple(wave.shape))).mean().backward()
    result = {"decoder.grad.latents": latents.grad, "decoder.grad.speaker": speaker.grad}
    for name, parameter in decoder.waveform_decoder.named_parameters():
        result[f"decoder.grad_norm.{name}"] = parameter.grad.norm()
        if name.startswith(("ups.0.", "resblocks.4.convs1.1", "conds.1", "conv_post")):
            result[f"decoder.grad.{name}"] = parameter.grad
    return result


def small():
    nets = fill_all(small_networks(), "small")
    spec = nets["speaker_encoder"].torch_spec
    # Tables that no code would compute: the stored ones must be used.
    spec[0].filter.copy_(torch.tensor([-0.9, 1.1]).view(1, 1, 2))
    spec[1].spectrogram.window.mul_(formula("small.window", (400,)) * 0.25 + 1)
    spec[1].mel_scale.fb.mul_(formula("small.fb", (257, 64)) * 0.25 + 1)
    result = {f"speaker_encoder.{name}": tensor for name, tensor in spec.state_dict().items()}
    result.update(dvae_tensors(nets["dvae"], formula("small.mel", (3, 80, 53)) * 2))

    decoder = Decoder(nets["decoder"])
    latents, speaker = formula("small.latents", (2, 5, 48)) * 2, formula("small.speaker", (2, 20, 1))
    with torch.no_grad():
        result["decoder.wave"] = decoder(latents, g=speaker)
    result.update(decoder_gradients(decoder, latents, speaker))

    wave = formula("small.wave", (2, 8000)) * 0.5
    with torch.no_grad():
        result["speaker_encoder.raw"] = nets["speaker_encoder"](wave.clone(), l2_norm=False)
        result["speaker_encoder.vector"] = nets["speaker_encoder"](wave.clone(), l2_norm=True)
    return result


def public():
    nets = fill_all(public_networks(), "public")
    stats = formula("mel_stats", (80,)) * 0.5 + 2
    result = dvae_tensors(nets["dvae"], dvae_wav_to_mel(speech(), mel_norms=stats))
    with torch.no_grad():
        result["decoder.wave"] = Decoder(nets["decoder"])(formula("public.latents", (1, 7, 1024)) * 2,
                                                          g=formula("public.speaker", (1, 512, 1)) * 0.08)
        at_16k = torchaudio.functional.resample(speech(), 22050, 16000)
        result["speaker_encoder.vector"] = nets["speaker_encoder"](at_16k, l2_norm=True)
    return result


if __name__ == "__main__":
    for name, tensors in (("small", small()), ("public", public())):
        for key, tensor in tensors.items():
            print(name, key, tuple(tensor.shape), f"{tensor.double().std().item() if tensor.numel() > 1 else 0:.3g}")
        save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, HERE / f"{name}.safetensors")
