#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the names and shapes of the peer's convolutional networks to networks/names.txt.

Needs coqui-tts 0.28.0. One line for each tensor, in the peer's order: network, name, type, sizes.
"""
import pathlib

import torch

from nets import small_networks, public_networks

TYPES = {torch.float32: "f32", torch.int64: "i64"}


def lines():
    for size, networks in (("public", public_networks()), ("small", small_networks())):
        for network, module in networks.items():
            for name, tensor in module.state_dict().items():
                sizes = " ".join(str(n) for n in tensor.shape)
                yield f"{size} {network} {name} {TYPES[tensor.dtype]} {sizes}".rstrip()


target = pathlib.Path(__file__).parent / "networks" / "names.txt"
target.parent.mkdir(exist_ok=True)
target.write_text("\n".join(lines()) + "\n")
