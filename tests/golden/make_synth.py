# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/synth/: what the peer's generator does to logits, and how its beams and streams come out.

Usage: python tests/golden/make_synth.py

Needs coqui-tts 0.28.0 with transformers. No weights: logits are given, so the files stay small.
"""
import pathlib

import torch
from safetensors.torch import save_file
from transformers.generation import (LogitsProcessorList, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper,
                                     TopKLogitsWarper, TopPLogitsWarper)
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers.modeling_outputs import CausalLMOutputWithCrossAttentions
from TTS.tts.models.xtts import Xtts

FOLDER = pathlib.Path(__file__).parent / "synth"
IDS, START, STOP = 130, 128, 129  # of the processors' logits
PROMPT = 7  # places that the peer fills with id 1 before the start code


def processors(penalty=1.0, temperature=1.0, top_k=0, top_p=1.0, least=1):
    chain = LogitsProcessorList()
    if penalty != 1.0:
        chain.append(RepetitionPenaltyLogitsProcessor(penalty))
    if temperature != 1.0:
        chain.append(TemperatureLogitsWarper(temperature))
    if top_k:
        chain.append(TopKLogitsWarper(top_k, min_tokens_to_keep=least))
    if top_p < 1.0:
        chain.append(TopPLogitsWarper(top_p, min_tokens_to_keep=least))
    return chain


CASES = {"penalty": dict(penalty=5.0), "small_penalty": dict(penalty=0.5), "temperature": dict(temperature=0.7),
         "top_k": dict(top_k=5), "top_k_1": dict(top_k=1), "top_p": dict(top_p=0.85), "top_p_tiny": dict(top_p=0.01),
         "all": dict(penalty=5.0, temperature=0.75, top_k=50, top_p=0.85),
         "hot": dict(penalty=2.0, temperature=1.5, top_k=20, top_p=0.5)}


def write_processors():
    torch.manual_seed(1)
    logits = torch.randn(12, IDS) * 4
    logits[3] = logits[3].round()  # ties
    logits[4, :3] = 30.0
    codes = torch.randint(0, 128, (12, 25))
    history = torch.cat([torch.ones(12, PROMPT, dtype=torch.long), torch.full((12, 1), START), codes], 1)
    out = {"logits": logits, "codes": codes}
    for name, case in CASES.items():
        out[name] = processors(**case)(history, logits.clone())
    out["all.beams"] = processors(**CASES["all"], least=2)(history, logits.log_softmax(-1))
    out["top_p_tiny.beams"] = processors(top_p=0.01, least=2)(history, logits.log_softmax(-1))
    save_file({name: tensor.contiguous() for name, tensor in out.items()}, FOLDER / "processors.safetensors")


class Table(GPT2LMHeadModel):
    """A network whose logits follow from the step and the last code alone."""

    def forward(self, input_ids=None, **more):
        step = self.steps
        self.steps += 1
        logits = self.table[step % len(self.table)][input_ids[:, -1] % self.table.shape[1]]
        return CausalLMOutputWithCrossAttentions(logits=logits[:, None])


BEAMS = [(2, 1.0, 1.0), (3, 1.0, 5.0), (4, 0.0, 1.0), (3, 2.0, 2.0), (3, -1.0, 5.0)]  # beams, length penalty, penalty


def write_beams():
    ids, most = 12, 30
    torch.manual_seed(2)
    out = {"table": torch.randn(5, ids, ids) * 2}
    out["table"][:, :, ids - 1] -= 1.5
    model = Table(GPT2Config(vocab_size=ids, n_layer=1, n_embd=8, n_head=1)).eval()
    model.table = out["table"]
    model.generation_config = GenerationConfig()
    for number, (beams, length, penalty) in enumerate(BEAMS):
        model.steps = 0
        prompt = torch.ones(1, PROMPT + 1, dtype=torch.long)
        prompt[0, -1] = ids - 2
        found = model.generate(prompt, do_sample=False, num_beams=beams, length_penalty=length, use_cache=False,
                               repetition_penalty=penalty, eos_token_id=ids - 1, pad_token_id=ids - 1,
                               max_length=PROMPT + 1 + most, attention_mask=torch.ones_like(prompt))
        out[f"codes.{number}"] = found[0, PROMPT + 1:]
    save_file({name: tensor.contiguous() for name, tensor in out.items()}, FOLDER / "beams.safetensors")


def write_stream():
    """Decodings that differ where they overlap, as those of a network with a reach do."""
    torch.manual_seed(3)
    out, previous, tail = {}, None, None
    lengths = [300, 590, 880, 880]
    for number, length in enumerate(lengths):
        decoding = torch.randn(length)
        out[f"decoding.{number}"] = decoding.clone()
        piece, previous, tail = Xtts.handle_chunks(None, decoding, previous, tail, 64, number == len(lengths) - 1)
        out[f"piece.{number}"] = piece.clone()
    save_file({name: tensor.contiguous() for name, tensor in out.items()}, FOLDER / "stream.safetensors")


def main():
    FOLDER.mkdir(exist_ok=True)
    write_processors()
    write_beams()
    write_stream()


main()
