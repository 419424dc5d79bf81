# SPDX-License-Identifier: Apache-2.0
"""The Python peer's GPT training step as its recipe sets it up, from an unpacked coqui-tts wheel.

    benchmarks/peer_gpt.py --peer FOLDER [--batches 3,16,32] [--precisions fp32,tf32,bf16]

FOLDER holds what `pip install --no-deps --target FOLDER coqui-tts==0.28.0 einops` leaves there. torch and
transformers come from this Python. Prints one JSON line for each measurement: the median of a step's device
time, from event to event. Weights are random: which ones they are does not matter for the time.
"""
import argparse
import contextlib
import importlib.machinery
import json
import pathlib
import statistics
import sys
import types

import torch

# The public model's sizes, and the recipe's.
SIZES = dict(start_text_token=261, stop_text_token=0, layers=30, model_dim=1024, heads=16, max_text_tokens=402,
             max_mel_tokens=605, max_prompt_tokens=70, number_text_tokens=6681, num_audio_tokens=1026,
             start_audio_token=1024, stop_audio_token=1025, use_perceiver_resampler=True, code_stride_len=1024)
RATE = 22050
PROMPT = 132300  # samples, padded
RECIPE = dict(lr=5e-6, betas=(0.9, 0.96), eps=1e-8, weight_decay=1e-2)


class StandIn(types.ModuleType):
    """A module that only has to be importable. Whatever is taken from it says so when it is called."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*_, **__):
            raise RuntimeError(f"{self.__name__}.{name} is not on this machine")

        return missing


def stand_in(name, **contents):
    module = StandIn(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__path__ = []
    vars(module).update(contents)
    sys.modules[name] = module


def open_peer(folder):
    """Makes TTS.* importable file by file: the packages' own __init__ import far more than a step needs."""
    folder = pathlib.Path(folder).resolve()
    if not (folder / "TTS/tts/layers/xtts/gpt.py").exists():
        sys.exit(f"{folder} does not hold the peer; type: pip install --no-deps --target {folder} coqui-tts==0.28.0 einops")
    sys.path.append(str(folder))  # behind: what this machine has of its own comes first
    for name in ("TTS", "TTS.tts", "TTS.tts.layers", "TTS.tts.layers.xtts", "TTS.tts.layers.xtts.trainer",
                 "TTS.tts.layers.tortoise", "TTS.tts.utils", "TTS.tts.utils.text", "TTS.tts.models", "TTS.utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder / name.replace(".", "/"))]
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = package
    stand_in("trainer")
    stand_in("trainer.generic_utils", is_pytorch_at_least_2_4=lambda: True)
    # Newer versions of transformers have lost a name that the peer imports.
    import transformers.pytorch_utils
    if not hasattr(transformers.pytorch_utils, "isin_mps_friendly"):
        transformers.pytorch_utils.isin_mps_friendly = torch.isin


class PeerGpt:
    """The networks, what turns a batch of sound into their input, and one step of the recipe."""

    def __init__(self, device, **sizes):
        from TTS.tts.layers.tortoise.arch_utils import TorchMelSpectrogram
        from TTS.tts.layers.xtts.dvae import DiscreteVAE
        from TTS.tts.layers.xtts.gpt import GPT

        torch.manual_seed(0)
        with torch.device(device):  # random numbers by the GPU: the CPU would need half a minute
            self.gpt = GPT(**{**SIZES, **sizes}).train()
            self.dvae = DiscreteVAE(channels=80, normalization=None, positional_dims=1, num_tokens=1024, codebook_dim=512,
                                    hidden_dim=512, num_resnet_blocks=3, kernel_size=3, num_layers=2,
                                    use_transposed_convs=False).eval()
        self.gpt.to(device), self.dvae.to(device)
        self.prompt_mel = TorchMelSpectrogram(filter_length=2048, hop_length=256, win_length=1024, normalize=False,
                                              sampling_rate=RATE, mel_fmin=0, mel_fmax=8000, n_mel_channels=80,
                                              mel_norm_file=None)
        self.dvae_mel = TorchMelSpectrogram(mel_norm_file=None, sampling_rate=RATE)
        self.optimiser = torch.optim.AdamW(self.groups(), **RECIPE)

    def groups(self):
        """Biases, norms and embeddings do not decay."""
        plain = (torch.nn.GroupNorm, torch.nn.LayerNorm, torch.nn.Embedding)
        kept = {id(p) for m in self.gpt.modules() if isinstance(m, plain) for p in m.parameters(recurse=False)}
        parameters = dict(self.gpt.named_parameters())
        undecayed = {n for n, p in parameters.items() if n.endswith(".bias") or id(p) in kept}
        return [{"params": [p for n, p in parameters.items() if n not in undecayed]},
                {"params": [parameters[n] for n in sorted(undecayed)], "weight_decay": 0.0}]

    @torch.no_grad()
    def features(self, batch):
        """Sound to codes and prompt mel: in the recipe a part of every step."""
        rows, prompts, channels, samples = batch["conditioning"].shape
        prompt = self.prompt_mel(batch["conditioning"].view(rows * prompts, channels, samples))
        return dict(text_inputs=batch["padded_text"], text_lengths=batch["text_lengths"],
                    wav_lengths=batch["wav_lengths"], cond_idxs=batch["cond_idxs"], cond_lens=batch["cond_lens"],
                    cond_mels=prompt.view(rows, prompts, 80, -1),
                    audio_codes=self.dvae.get_codebook_indices(self.dvae_mel(batch["wav"])))

    def step(self, features, precision="fp32"):
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        half = torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
        with half:
            spans = features["cond_idxs"]
            text, audio, _ = self.gpt(**{**features, "audio_codes": features["audio_codes"].clone(),
                                         "cond_idxs": None if spans is None else spans.clone()})
            loss = 0.01 * text + audio
        loss.backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss


def noise_batch(rows, device, seconds=10.0, tokens=120):
    """Clips of one length, so the peer pays for no padding."""
    samples = int(seconds * RATE)
    return dict(padded_text=torch.randint(1, 6000, (rows, tokens), device=device),
                text_lengths=torch.full((rows,), tokens, device=device),
                wav=0.1 * torch.randn(rows, 1, samples, device=device),
                wav_lengths=torch.full((rows,), samples, device=device),
                conditioning=0.1 * torch.randn(rows, 1, 1, PROMPT, device=device),
                cond_idxs=torch.tensor([[0, PROMPT - 1000]] * rows, device=device), cond_lens=None)


def device_ms(work, count, warm_up):
    """The device time of each of `count` calls, in milliseconds, from event to event."""
    for _ in range(warm_up):
        work()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for event in events[1:]:
        work()
        event.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(events, events[1:])]


def report(**line):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--batches", default="3,16,32")
    parser.add_argument("--precisions", default="fp32,tf32,bf16")
    options = parser.parse_args()
    open_peer(options.peer)
    import transformers
    peer = PeerGpt("cuda")
    report(who="peer", torch=torch.__version__, transformers=transformers.__version__,
           device=torch.cuda.get_device_name(), attention=peer.gpt.gpt.config._attn_implementation,
           parameters=sum(p.numel() for p in peer.gpt.parameters()))
    for rows in map(int, options.batches.split(",")):
        batch = noise_batch(rows, "cuda")
        sound_ms = statistics.median(device_ms(lambda: peer.features(batch), 10, 3))
        features = peer.features(batch)
        for precision in options.precisions.split(","):
            torch.cuda.reset_peak_memory_stats()
            times = device_ms(lambda: peer.step(features, precision), 10 if rows < 32 else 6, 3)
            report(who="peer", batch=rows, precision=precision, step_ms=statistics.median(times), features_ms=sound_ms,
                   memory_gb=torch.cuda.max_memory_allocated() / 1e9)
    return 0


if __name__ == "__main__":
    sys.exit(main())
