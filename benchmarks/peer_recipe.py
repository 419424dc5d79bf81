#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on a corpus with the Python peer's recipe as it ships, and tells how fast: batch 3, fp32, 84 batches a step.

    benchmarks/peer_recipe.py --peer FOLDER --corpus FOLDER --vocab vocab.json [--batches 200]

The peer's own data set, collation, tokenizer, networks and optimiser, in a loop that does what its trainer does for
a batch: eight loading processes, features on the GPU, the loss read back each time. Logging and checkpoints are left
out, in the peer's favour. FOLDER of the peer as for peer_gpt.py. Prints one JSON line.
"""
import argparse
import pathlib
import sys
import time
import types

import torch

import peer_gpt
import sound_files

WARM_UP = 15  # batches
ARGUMENTS = types.SimpleNamespace(debug_loading_failures=True, max_conditioning_length=132300,
                                  min_conditioning_length=66150, max_wav_length=255995, max_text_length=200,
                                  gpt_use_masking_gt_prompt_approach=True)


def load_audio(path, rate):
    """What the peer's function of this name gives, by the library that torchaudio no longer brings along."""
    samples, own_rate = sound_files.read(path)
    sound = torch.from_numpy(samples.T.astype("float32") / 32768.0)
    if sound.shape[0] != 1:
        sound = sound.mean(0, keepdim=True)
    if own_rate != rate:
        import torchaudio
        sound = torchaudio.functional.resample(sound, own_rate, rate)
    return sound.clip_(-1, 1)


def stand_in_where_missing(*names):
    for name in names:
        try:
            __import__(name)
        except ImportError:
            peer_gpt.stand_in(name)


def make_loader(options):
    # Needed for other languages than the corpus' own.
    stand_in_where_missing("anyascii", "ko_speech_tools", "num2words")
    peer_gpt.stand_in("TTS.tts.models.xtts", load_audio=load_audio)
    from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
    from TTS.tts.layers.xtts.trainer.dataset import XTTSDataset

    tokenizer = VoiceBpeTokenizer(vocab_file=options.vocab)
    folder = pathlib.Path(options.corpus)
    samples = []
    for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines():
        name, _, text = line.split("|")
        file = next((folder / "wavs").glob(f"{name}.*"))
        samples.append(dict(text=text, audio_file=str(file), language=options.language))
    config = types.SimpleNamespace(model_args=ARGUMENTS, training_seed=1)
    dataset = XTTSDataset(config, samples, tokenizer, peer_gpt.RATE)
    loader = torch.utils.data.DataLoader(dataset, batch_size=3, shuffle=False, drop_last=False,
                                         collate_fn=dataset.collate_fn, num_workers=8, pin_memory=False)
    return loader, tokenizer.tokenizer.get_vocab_size()


def endless(loader):
    while True:
        yield from loader


def train(peer, batches, options):
    """Audio seconds and wall seconds behind the warm-up."""
    audio = 0.0
    for number, batch in enumerate(batches):
        if number == WARM_UP:
            if options.device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter()
        if number >= WARM_UP:
            audio += batch["wav_lengths"].sum().item() / peer_gpt.RATE
        batch = {key: value.to(options.device) if torch.is_tensor(value) else value for key, value in batch.items()}
        text, codes, _ = peer.gpt(**peer.features(batch))
        loss = (0.01 * text + codes) / options.accumulate
        loss.backward()
        if (number + 1) % options.accumulate == 0:
            peer.optimiser.step()
            peer.optimiser.zero_grad(set_to_none=True)
        loss.item()  # the trainer's averages
        if number + 1 == WARM_UP + options.batches:
            return audio, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--language", default="en")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--accumulate", type=int, default=84)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=30)
    options = parser.parse_args()
    peer_gpt.open_peer(options.peer)
    loader, text_ids = make_loader(options)
    torch.backends.cuda.matmul.allow_tf32 = False
    peer = peer_gpt.PeerGpt(options.device, number_text_tokens=text_ids, layers=options.layers)
    audio, seconds = train(peer, endless(loader), options)
    peer_gpt.report(who="peer", recipe="batch 3, fp32", accumulate=options.accumulate, batches=options.batches,
                    audio_seconds=audio, seconds=seconds, audio_per_second=audio / seconds,
                    batch_ms=1000.0 * seconds / options.batches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
