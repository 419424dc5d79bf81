# SPDX-License-Identifier: Apache-2.0
"""Times the decoder and the speaker encoder beside the Python peer's, on the CPU, taking turns.

Usage: python benchmarks/compare_networks.py build/release/bin/networks_bench [--threads 2] [--pairs 9]

Needs coqui-tts 0.28.0 and a build with -DMYXTTS_BENCH=ON. Public shapes, random weights, the way the peer runs them
in synthesis: in inference mode, the decoder's weight norm left in place.
"""
import argparse
import statistics
import subprocess
import time

import torch
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder

CASES = {"decoder, 60 codes (2.8 s)": ("decoder", 60), "speaker encoder, 6 s": ("speaker_encoder", 96000)}


class Peer:
    def __init__(self, network, size):
        self.whole = HifiDecoder().eval()
        self.network = network
        self.clip = torch.randn(1, size)
        self.latents, self.speaker = torch.randn(1, size, 1024), torch.randn(1, 512, 1)

    @torch.inference_mode()
    def step(self):
        begin = time.perf_counter()
        if self.network == "decoder":
            self.whole(self.latents, g=self.speaker)
        else:
            self.whole.speaker_encoder(self.clip, l2_norm=True)
        return (time.perf_counter() - begin) * 1000.0


class Ours:
    def __init__(self, program, network, size, threads):
        self.process = subprocess.Popen([program, network, str(size), str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| case | peer ms | ours ms | peer / ours |\n|---|---|---|---|")
    for name, (network, size) in CASES.items():
        sides = Peer(network, size), Ours(options.program, network, size, options.threads)
        for side in sides * 2:
            side.step()
        pairs = [tuple(side.step() for side in sides) for _ in range(options.pairs)]
        peer, ours = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(p / o for p, o in pairs)
        print(f"| {name} | {peer:.0f} | {ours:.0f} | {ratio:.2f} |", flush=True)


main()
