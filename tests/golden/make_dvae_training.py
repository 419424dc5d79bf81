#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks/dvae_training.safetensors: steps of the peer's DVAE in training mode.

Needs coqui-tts 0.28.0. The peer ships no trainer; its module has the losses, the straight-through
gradient and the codebook's averages, torch has AdamW. Weights are those of nets.py, with a codebook
that has been used: sizes about 1, averages that fit its entries.
"""
import pathlib

import torch
from safetensors.torch import save_file

from nets import fill, formula, small_networks

STEPS = 10
RATE = 1e-3
COMMITMENT = 0.25


def network():
    dvae = fill(small_networks()["dvae"], "small.dvae.").train()
    book = dvae.codebook
    book.cluster_size.add_(1)
    book.embed_avg.copy_(book.embed * book.cluster_size)
    return dvae


def adamw(dvae):
    named = list(dvae.named_parameters())
    groups = [{"params": [p for n, p in named if not n.endswith(".bias")], "weight_decay": 0.01},
              {"params": [p for n, p in named if n.endswith(".bias")], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), eps=1e-8)


def codebook(dvae, when):
    book = dvae.codebook
    return {f"{when}.embed": book.embed.clone(), f"{when}.embed_avg": book.embed_avg.clone(),
            f"{when}.cluster_size": book.cluster_size.clone()}


def main():
    dvae = network()
    optimiser = adamw(dvae)
    mel = formula("small.training_mel", (3, 80, 52)) * 2
    result, curve = {}, []
    for step in range(1, STEPS + 1):
        optimiser.zero_grad()
        error, commitment, _ = dvae(mel)
        (error.mean() + COMMITMENT * commitment).backward()
        curve.append([error.mean().item(), commitment.item()])
        if step == 1:
            for name, parameter in dvae.named_parameters():
                result[f"gradient.{name}"] = parameter.grad.clone()
            result.update(codebook(dvae, "first"))
        optimiser.step()
    result["curve"] = torch.tensor(curve)
    result.update(codebook(dvae, "last"))
    result["last.encoder.1.0.weight"] = dvae.encoder[1][0].weight
    result["last.decoder.0.weight"] = dvae.decoder[0].weight
    print(result["curve"], (result["first.cluster_size"] - 0.99).gt(0.25).sum())
    save_file({key: tensor.detach().contiguous() for key, tensor in result.items()},
              pathlib.Path(__file__).parent / "networks" / "dvae_training.safetensors")


if __name__ == "__main__":
    main()
