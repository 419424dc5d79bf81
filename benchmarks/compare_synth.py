# SPDX-License-Identifier: Apache-2.0
"""Times synthesis beside the Python peer's, on the CPU, taking turns: the GPT, the vocoder, and both.

Usage: python benchmarks/compare_synth.py build/release/bin/synth_bench [--threads 2] [--pairs 5] [--cases small]

Needs coqui-tts 0.28.0 and a build with -DMYXTTS_BENCH=ON. Weights are random, both generate greedily as many codes,
fp32, after the same number of text tokens; the peer's second pass over the codes counts where both parts are timed
together, as it needs that for its latents.
"""
import argparse
import logging
import statistics
import subprocess
import time
import warnings

import torch
from TTS.tts.layers.xtts.gpt import GPT
from TTS.tts.layers.xtts.hifigan_decoder import HifiDecoder

# name: layers, width, heads, codes; the decoder is the public one, the only one the peer can hold
CASES = {"small": (8, 384, 6, 512), "xtts-v2": (30, 1024, 16, 1024)}
TEXT = 60


class Peer:
    def __init__(self, layers, width, heads, codes):
        self.gpt = GPT(layers=layers, model_dim=width, heads=heads, max_text_tokens=402, max_mel_tokens=605,
                       number_text_tokens=6681, start_text_token=261, stop_text_token=0, num_audio_tokens=codes + 2,
                       start_audio_token=codes, stop_audio_token=codes + 1, use_perceiver_resampler=True).eval()
        with torch.no_grad():
            self.gpt.mel_head.bias[codes + 1] = -1e4  # so that N codes come
        self.gpt.init_gpt_for_inference()
        self.gpt.gpt_inference.eval()
        self.decoder = HifiDecoder(decoder_input_dim=width).eval()
        self.latents, self.text = torch.randn(1, 32, width), torch.full((1, TEXT), 7)
        self.speaker, self.states = torch.randn(1, 512, 1), torch.randn(1, 602, width)

    def generate(self, count):
        self.gpt.max_gen_mel_tokens = count
        return self.gpt.generate(self.latents, self.text, do_sample=False, num_beams=1, repetition_penalty=5.0)

    @torch.inference_mode()
    def run(self, what, count):
        begin = time.perf_counter()
        if what == "gpt":
            self.generate(count)
        elif what == "vocoder":
            self.decoder(self.states[:, :count], g=self.speaker)
        else:
            codes = self.generate(count)
            states = self.gpt(self.text, torch.tensor([TEXT]), codes, torch.tensor([codes.shape[-1] * 1024]),
                              cond_latents=self.latents, return_latent=True)
            self.decoder(states, g=self.speaker)
        return (time.perf_counter() - begin) * 1000.0


class Ours:
    def __init__(self, program, threads, *case):
        self.process = subprocess.Popen([program, *map(str, case), "512", str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, what, count):
        self.process.stdin.write(f"{what} {count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--codes", type=int, default=100)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(options.threads)
    print(f"{options.codes} codes, {options.threads} threads\n")
    print("| case | part | peer ms | ours ms | peer / ours |\n|---|---|---|---|---|")
    for name in options.cases:
        sides = Peer(*CASES[name]), Ours(options.program, options.threads, *CASES[name])
        for what in ("gpt", "vocoder", "all"):
            for side in sides:
                side.run(what, min(options.codes, 20))
            pairs = [tuple(side.run(what, options.codes) for side in sides) for _ in range(options.pairs)]
            peer, ours = (statistics.median(column) for column in zip(*pairs))
            ratio = statistics.median(p / o for p, o in pairs)
            print(f"| {name} | {what} | {peer:.0f} | {ours:.0f} | {ratio:.2f} |", flush=True)
        sides[1].process.terminate()


main()
