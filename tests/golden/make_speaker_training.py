#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks/speaker_training.safetensors: the peer's speaker encoder in training mode.

Needs coqui-tts 0.28.0. Its vectors with the statistics of the batch, the gradients of a loss by formula,
and the running statistics afterwards. Front-end tables are those of networks/small.safetensors.
"""
import pathlib

import torch
from safetensors.torch import load_file, save_file

from nets import fill, formula, small_networks

HERE = pathlib.Path(__file__).parent / "networks"


def main():
    encoder = fill(small_networks()["speaker_encoder"], "small.speaker_encoder.").train()
    tables = load_file(HERE / "small.safetensors")
    for name, tensor in encoder.torch_spec.state_dict().items():
        tensor.copy_(tables[f"speaker_encoder.{name}"])
    vectors = encoder(formula("small.training_wave", (3, 8000)) * 0.5, l2_norm=False)
    (vectors * formula("small.speaker.loss", tuple(vectors.shape))).mean().backward()
    result = {"vectors": vectors}
    for name, parameter in encoder.named_parameters():
        result[f"gradient_norm.{name}"] = parameter.grad.norm()
    for name, buffer in encoder.named_buffers():
        if "running" in name or name.endswith("num_batches_tracked"):
            result[name] = buffer
    save_file({key: tensor.detach().contiguous() for key, tensor in result.items()},
              HERE / "speaker_training.safetensors")
    print(vectors.std(), len(result))


if __name__ == "__main__":
    main()
