# SPDX-License-Identifier: Apache-2.0
"""The peer's convolutional networks in public and in small shapes, with weights by a formula.

The weights are not stored: C++ makes the very same ones (formula.py).
"""
import numpy as np
import torch
from formula import formula, uniform  # noqa: F401
from TTS.encoder.models.resnet import ResNetSpeakerEncoder
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder
from TTS.vocoder.models.hifigan_generator import HifiganGenerator

SPEAKER_AUDIO = dict(fft_size=512, win_length=400, hop_length=160, sample_rate=16000, preemphasis=0.97, num_mels=64)


def dvae(hidden, codebook_dim, codes, blocks=3, bands=80):
    return DiscreteVAE(channels=bands, normalization=None, positional_dims=1, num_tokens=codes,
                       codebook_dim=codebook_dim, hidden_dim=hidden, num_resnet_blocks=blocks, kernel_size=3,
                       num_layers=2, use_transposed_convs=False)


def decoder(input_dim, speaker_dim, channels, kernels=(16, 16, 4, 4), rates=(8, 8, 2, 2), res_kernels=(3, 7, 11),
            dilations=(1, 3, 5)):
    return HifiganGenerator(input_dim, 1, "1", [list(dilations)] * len(res_kernels), list(res_kernels), list(kernels),
                            channels, list(rates), inference_padding=0, cond_channels=speaker_dim,
                            conv_pre_weight_norm=False, conv_post_weight_norm=False, conv_post_bias=False,
                            cond_in_each_up_layer=True)


def speaker_encoder(layers=(3, 4, 6, 3), filters=(32, 64, 128, 256), output_dim=512):
    return ResNetSpeakerEncoder(input_dim=64, proj_dim=output_dim, layers=list(layers), num_filters=list(filters),
                                log_input=True, use_torch_spec=True, audio_config=SPEAKER_AUDIO)


def public_networks():
    whole = HifiDecoder()
    return {"dvae": dvae(512, 512, 1024), "decoder": whole.waveform_decoder, "speaker_encoder": whole.speaker_encoder}


def small_networks():
    return {"dvae": dvae(16, 24, 64, blocks=2), "decoder": decoder(48, 20, 32, res_kernels=(3, 7, 11)),
            "speaker_encoder": speaker_encoder((1, 2, 1, 1), (16, 16, 16, 24), 40)}


def weight(name, tensor, is_buffer, seed):
    """One tensor by formula: every tensor matters, no norm is the identity."""
    if tensor.dtype == torch.int64:
        return torch.full_like(tensor, 7)
    values = formula(seed + name, tuple(tensor.shape))
    if name.endswith("running_var"):
        return values * 0.5 + 1.0
    if name.endswith("original0"):
        return (values * 0.25 + 1.0) * (2.0 if name.startswith("ups.") else 1.25)
    if tensor.dim() == 1:
        return values * 0.25 + 1.0 if name.endswith(".weight") else values * 0.25
    if is_buffer:
        return values * 8.0  # the codebook: about as large as what is looked up in it
    variance = 0.0625 if name == "conv_post.weight" else 6.0  # more would saturate the tanh behind it
    fan_in = float(np.prod(tensor.shape[1:]))
    return values * float(np.float32(np.sqrt(variance / fan_in)))


def fill(module, seed):
    """Gives every tensor but the front end's tables its value by formula; the module in eval mode."""
    parameters = {name for name, _ in module.named_parameters()}
    state = module.state_dict()
    for name, tensor in state.items():
        if not name.startswith("torch_spec."):
            state[name] = weight(name, tensor, name not in parameters, seed)
    module.load_state_dict(state)
    return module.eval()
