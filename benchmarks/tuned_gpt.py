# SPDX-License-Identifier: Apache-2.0
"""The best that plain PyTorch does with the GPT's training step: bf16, flash attention, fused AdamW.

    benchmarks/tuned_gpt.py [--batches 3,16,32,64] [--kinds eager,blocks[,compile]] [--timeout 150]

The network of xtts-v2 without its conditioning encoder, which is left out in PyTorch's favour, on padded rows
of 32 latents, 122 text ids and 220 codes: 10 s clips of 120 text tokens. Clipping is in. Kinds: eager; blocks, where
torch.compile is given the transformer block as a function of its weights, so that one compilation serves all layers;
compile, where it is given the whole network. That one takes a minute or two for each batch size, so its sizes are
compiled side by side, each in a process of its own, and then measured one after the other; the other kinds measure
all sizes in one process. Prints one JSON line for each measurement.
"""
import argparse
import json
import select
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from peer_gpt import device_ms

LAYERS, WIDTH, HEADS = 30, 1024, 16
TEXT_IDS, CODES = 6681, 1026
LATENTS, TEXT, AUDIO = 32, 122, 220
DROPOUT = 0.1


def transform(x, weights):
    """One layer: x [rows, tokens, width], and the weights in the order in which Block has them."""
    rows, tokens, _ = x.shape
    norm1, bias1, norm2, bias2, qkv, qkv_bias, out, out_bias, up, up_bias, down, down_bias = weights
    heads = F.linear(F.layer_norm(x, (WIDTH,), norm1, bias1), qkv, qkv_bias)
    q, k, v = (part.transpose(1, 2) for part in heads.view(rows, tokens, 3, HEADS, WIDTH // HEADS).unbind(2))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=DROPOUT)
    x = x + F.dropout(F.linear(mixed.transpose(1, 2).reshape(rows, tokens, WIDTH), out, out_bias), DROPOUT)
    inner = F.gelu(F.linear(F.layer_norm(x, (WIDTH,), norm2, bias2), up, up_bias), approximate="tanh")
    return x + F.dropout(F.linear(inner, down, down_bias), DROPOUT)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)


class TunedGpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.text_place = nn.Embedding(TEXT_IDS, WIDTH), nn.Embedding(404, WIDTH)
        self.audio, self.audio_place = nn.Embedding(CODES, WIDTH), nn.Embedding(608, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norms = nn.Sequential(nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH))
        self.text_head, self.audio_head = nn.Linear(WIDTH, TEXT_IDS), nn.Linear(WIDTH, CODES)
        self.transform = transform

    def forward(self, latents, text, codes):
        x = torch.cat([latents, self.text(text) + self.text_place.weight[:text.shape[1]],
                       self.audio(codes) + self.audio_place.weight[:codes.shape[1]]], 1)
        for block in self.blocks:
            x = self.transform(x, tuple(block.parameters()))
        _, text_states, audio_states = self.norms(x).split([latents.shape[1], text.shape[1], codes.shape[1]], 1)
        return (0.01 * F.cross_entropy(self.text_head(text_states).flatten(0, 1), text.flatten())
                + F.cross_entropy(self.audio_head(audio_states).flatten(0, 1), codes.flatten()))


def make_step(rows, kind):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    with torch.device("cuda"):
        network = TunedGpt()
    if kind == "blocks":
        network.transform = torch.compile(transform, dynamic=False)
    optimiser = torch.optim.AdamW(network.parameters(), lr=5e-6, betas=(0.9, 0.96), fused=True)
    loss_of = torch.compile(network) if kind == "compile" else network
    latents = torch.randn(rows, LATENTS, WIDTH, device="cuda")
    text = torch.randint(0, 6000, (rows, TEXT), device="cuda")
    codes = torch.randint(0, 1024, (rows, AUDIO), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(latents, text, codes)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def report(rows, kind, step, begin):
    times = device_ms(step, 15, 5)
    print(json.dumps(dict(who="pytorch", kind=kind, compiled=kind != "eager", batch=rows, step_ms=statistics.median(times),
                          memory_gb=torch.cuda.max_memory_allocated() / 1e9,
                          seconds=time.perf_counter() - begin)), flush=True)


def warmed_up(rows, kind):
    step = make_step(rows, kind)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return step


def measure_one(rows, kind):
    """Warms up, says so, and measures once a line comes in."""
    begin = time.perf_counter()
    step = warmed_up(rows, kind)
    print("ready", flush=True)
    if sys.stdin.readline():
        report(rows, kind, step, begin)


def measure_here(kind, batches, deadline):
    """One line for each batch size until the deadline. How many of them are missing."""
    for done, rows in enumerate(batches):
        if time.monotonic() > deadline:
            return len(batches) - done
        begin = time.perf_counter()
        torch.cuda.reset_peak_memory_stats()
        report(rows, kind, warmed_up(rows, kind), begin)
    return 0


def wait_for_line(process, deadline):
    seen, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
    return bool(seen) and process.stdout.readline() != ""


def measure_side_by_side(kind, batches, deadline):
    """One line for each batch size. How many of them failed."""
    started = {rows: subprocess.Popen([sys.executable, __file__, "--one", f"{kind}:{rows}"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True) for rows in batches}
    failed = 0
    try:
        for process in started.values():  # until all are ready nobody measures
            process.ready = wait_for_line(process, deadline)
            if not process.ready:
                process.kill()
        for rows, process in started.items():
            line = process.communicate("go\n")[0].strip() if process.ready else ""
            failed += not line
            print(line or json.dumps(dict(who="pytorch", kind=kind, batch=rows, failed=True)), flush=True)
    finally:
        for process in started.values():
            process.kill()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", default="3,16,32,64")
    parser.add_argument("--kinds", default="eager,blocks")
    parser.add_argument("--timeout", type=float, default=150, help="seconds for all")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, rows = options.one.split(":")
        measure_one(int(rows), kind)
        return 0
    deadline = time.monotonic() + options.timeout
    batches = [int(rows) for rows in options.batches.split(",")]
    failed = [(measure_side_by_side if kind == "compile" else measure_here)(kind, batches, deadline)
              for kind in options.kinds.split(",")]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
