#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small .pth files of tests/golden/weights, with the PyTorch that coqui-tts runs on.

    python tests/golden/make_weights.py

Every number in them follows from the formulas below, which tests/weights/pth_reader_test.cpp repeats.
"""
import collections
import os
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent / "weights"


class TrainerConfig:
    """Stands for the config object in the public model.pth: a class that a reader cannot know."""

    def __init__(self):
        self.layers = 3
        self.nested = {"rate": 0.5, "names": ["a", "b"]}


class Caller:
    """Unpickles as a call of a function; what hostile files are made of."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def ramp(*shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float32) * 0.25 - 1.0).reshape(shape).to(dtype)


def state_dict():
    """Ordered, with _metadata set by BUILD, and an int64 scalar."""
    layers = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for tensor in layers.state_dict().values():
            tensor.copy_(ramp(*tensor.shape) if tensor.is_floating_point() else torch.tensor(7))
    return layers.state_dict()


def checkpoint():
    base = ramp(4, 6)
    model = {
        "plain": ramp(2, 3),
        "parameter": torch.nn.Parameter(ramp(5)),
        "shared.whole": base,
        "shared.row": base[2],
        "shared.column": base[:, 1],
        "transposed": ramp(3, 4).t(),
        "half": ramp(4, dtype=torch.float16),
        "bfloat": ramp(4, dtype=torch.bfloat16),
        "double": ramp(3).double(),
        "counter": torch.tensor(2**40, dtype=torch.int64),
        "flags": torch.tensor([True, False, True]),
        "empty": torch.zeros(0, 4),
    }
    return {
        "config": TrainerConfig(),
        "model": model,
        "optimizer": [{"state0": {"step": torch.tensor(3.0)}, "param_groups": [{"lr": 5e-6}]}],
        "scheduler": [collections.Counter({1000: 1, 2000: 2})],
        "step": 2**40,
        "huge": 2**100,
        "date": "2026-11-15",
        "done": (None, True, False, {1, 2}, b"bytes"),
    }


def main():
    HERE.mkdir(exist_ok=True)
    torch.save(state_dict(), HERE / "state_dict.pth")
    torch.save(checkpoint(), HERE / "checkpoint.pth")
    torch.save(checkpoint(), HERE / "checkpoint_protocol5.pth", pickle_protocol=5)
    torch.save(ramp(80), HERE / "bare_tensor.pth")
    harmless = {"model": {"plain": ramp(2, 3)}, "config": Caller(os.system, "touch executed")}
    torch.save(harmless, HERE / "calls_system.pth")
    needed = {"model": {"plain": Caller(eval, "__import__('os').system('touch executed')")}}
    torch.save(needed, HERE / "tensor_by_eval.pth")
    voices = {
        "Ana": {"gpt_cond_latent": ramp(1, 2, 4), "speaker_embedding": ramp(1, 3, 1)},
        "Bert": {"gpt_cond_latent": ramp(1, 2, 4) * 2, "speaker_embedding": ramp(1, 3, 1) * 2},
    }
    torch.save(voices, HERE / "voices.pth")


if __name__ == "__main__":
    main()
