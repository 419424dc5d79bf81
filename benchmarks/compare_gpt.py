# SPDX-License-Identifier: Apache-2.0
"""Times forward + backward of the GPT beside the Python peer's, on the CPU, taking turns.

Usage: python benchmarks/compare_gpt.py build/release/bin/gpt_bench [--threads 2] [--pairs 9]

Needs coqui-tts 0.28.0 and a build with -DMYXTTS_BENCH=ON. Dropout is off and all clips have one length, so both
compute the same numbers and the peer pays for no padding.
"""
import argparse
import statistics
import subprocess
import time

import torch
from TTS.tts.layers.xtts.gpt import GPT

# name: layers, width, heads, codes, clips, text tokens, codes of a clip
CASES = {"small": (8, 384, 6, 512, 3, 120, 216), "6 layers of xtts-v2": (6, 1024, 16, 1024, 2, 120, 216)}


class Peer:
    def __init__(self, layers, width, heads, codes, clips, text, length):
        self.gpt = GPT(layers=layers, model_dim=width, heads=heads, max_text_tokens=402, max_mel_tokens=605,
                       number_text_tokens=6681, num_audio_tokens=codes + 2, start_audio_token=codes,
                       stop_audio_token=codes + 1, use_perceiver_resampler=True).eval()
        self.batch = dict(text_inputs=torch.full((clips, text), 7), text_lengths=torch.full((clips,), text),
                          audio_codes=torch.full((clips, length), 5), wav_lengths=torch.full((clips,), length * 1024),
                          cond_mels=torch.randn(clips, 1, 80, 517))

    def step(self):
        self.gpt.zero_grad(set_to_none=True)
        begin = time.perf_counter()
        text, audio, _ = self.gpt(**self.batch)
        (0.01 * text + audio).backward()
        return (time.perf_counter() - begin) * 1000.0


class Ours:
    def __init__(self, program, threads, layers, width, heads, codes, clips, text, length):
        arguments = [layers, width, heads, codes, threads] + [f"{text}:{length}"] * clips
        self.process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

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
    for name, case in CASES.items():
        sides = Peer(*case), Ours(options.program, options.threads, *case)
        for side in sides * 2:
            side.step()
        pairs = [tuple(side.step() for side in sides) for _ in range(options.pairs)]
        peer, ours = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(p / o for p, o in pairs)
        print(f"| {name} | {peer:.0f} | {ours:.0f} | {ratio:.2f} |", flush=True)


main()
