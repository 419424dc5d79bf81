#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `myxtts evaluate` with coqui-tts' own evaluation, clip by clip.

    python tests/golden/check_evaluate.py --myxtts build/release/bin/myxtts --data LJSPEECH [--clips 10]

LJSPEECH is a folder in the layout of LJSpeech (metadata.csv, wavs/). A small random model is made in the peer's layout and
imported; then the peer's dataset class and GPTTrainer.eval_step evaluate the shortest, the longest and some other clips
one at a time, and our program does the same from the command line. Exits 1 when a loss differs by more than 1e-4.
Needs coqui-tts 0.28.0 with torchcodec and FFmpeg.
"""
import argparse
import json
import logging
import pathlib
import shutil
import subprocess
import tempfile

import soundfile
import torch
from TTS.tts.layers.tortoise.arch_utils import TorchMelSpectrogram
from TTS.tts.layers.xtts.dvae import DiscreteVAE
from TTS.tts.layers.xtts.tokenizer import VoiceBpeTokenizer
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainer, GPTTrainerConfig
from TTS.tts.models.xtts import Xtts, XttsAudioConfig, load_audio

VOCABULARY = pathlib.Path(__file__).parent / "text/vocab.json"
LIMIT = 1e-4
SIZES = dict(gpt_layers=3, gpt_n_model_channels=96, gpt_n_heads=4, decoder_input_dim=96, gpt_num_audio_tokens=1026,
             gpt_start_audio_token=1024, gpt_stop_audio_token=1025, gpt_use_perceiver_resampler=True,
             gpt_use_masking_gt_prompt_approach=True)


def choose_clips(source, count):
    """(audio file, text): the shortest, the longest, and others evenly between."""
    clips = []
    for line in (source / "metadata.csv").read_text(encoding="utf-8").splitlines():
        name, *texts = line.split("|")
        file = next(path for path in sorted((source / "wavs").iterdir()) if path.stem == name)
        clips.append((soundfile.info(file).duration, file, texts[-1]))
    clips = sorted(clip for clip in clips if clip[0] * 22050 <= 255995)
    places = sorted({round(i * (len(clips) - 1) / (count - 1)) for i in range(count)})
    return [clips[place][1:] for place in places]


def write_corpus(folder, clips):
    (folder / "wavs").mkdir(parents=True)
    for file, _ in clips:
        shutil.copy(file, folder / "wavs" / file.name)
    (folder / "metadata.csv").write_text("".join(f"{file.stem}|{text}|{text}\n" for file, text in clips), encoding="utf-8")


def make_codebook(dvae, mel_norms, clips):
    """Fills the codebook with what the encoder makes of the clips: random entries would all be far away.

    A random encoder gives every frame nearly the same large vector, and its rounding would decide between entries; so
    the mean is taken off first, as training would do.
    """
    mel = TorchMelSpectrogram(mel_norm_file=None)
    mel.mel_norms = mel_norms
    with torch.no_grad():
        found = [dvae.encoder(mel(load_audio(str(file), 22050).unsqueeze(0)))[0] for file, _ in clips]
        columns = torch.cat(found, dim=1)
        mean = columns.mean(dim=1)
        dvae.encoder[-1].bias -= mean
        columns = columns - mean.unsqueeze(1)
        chosen = torch.randint(0, columns.shape[1], (dvae.codebook.embed.shape[1],))
        dvae.codebook.embed.copy_(columns[:, chosen] + 0.05 * columns.std() * torch.randn_like(dvae.codebook.embed))


def write_model(folder, clips):
    """A random model in the public layout, no tensor at a value that hides what is done with it."""
    folder.mkdir()
    shutil.copy(VOCABULARY, folder / "vocab.json")
    config = GPTTrainerConfig(model_args=GPTArgs(**SIZES, tokenizer_file=str(folder / "vocab.json")),
                              audio=XttsAudioConfig(sample_rate=22050, output_sample_rate=24000))
    model = Xtts(config)
    model.tokenizer = VoiceBpeTokenizer(config.model_args.tokenizer_file)
    model.init_models()
    mel_norms = torch.rand(80) + 0.5
    with torch.no_grad():
        for name, parameter in model.gpt.named_parameters():
            if name.endswith("norm.weight") or ".ln_" in name or "gamma" in name:
                parameter.uniform_(0.5, 1.5)
            elif "proj_out" in name or name.endswith("bias"):
                parameter.uniform_(-0.1, 0.1)
        model.mel_stats.copy_(mel_norms)
    dvae = DiscreteVAE(channels=80, normalization=None, positional_dims=1, num_tokens=1024, codebook_dim=512,
                       hidden_dim=512, num_resnet_blocks=3, kernel_size=3, num_layers=2, use_transposed_convs=False).eval()
    make_codebook(dvae, mel_norms, clips)
    config.save_json(folder / "config.json")
    torch.save({"model": model.state_dict(), "config": {}}, folder / "model.pth")
    torch.save(mel_norms, folder / "mel_stats.pth")
    torch.save(dvae.state_dict(), folder / "dvae.pth")
    return config


def peer_losses(config, model, clips):
    arguments = config.model_args
    arguments.xtts_checkpoint = str(model / "model.pth")
    arguments.mel_norm_file = str(model / "mel_stats.pth")
    arguments.dvae_checkpoint = str(model / "dvae.pth")
    config.eval_batch_size, config.num_eval_loader_workers = 1, 0
    trainer = GPTTrainer(config).eval()
    samples = [{"audio_file": str(file), "text": text, "language": "en"} for file, text in clips]
    found, codes = {}, set()
    for batch in trainer.get_data_loader(config, is_eval=True, samples=samples):
        name = pathlib.Path(batch["filenames"][0]).stem
        with torch.inference_mode():
            batch = trainer.format_batch_on_device(batch)
            codes |= set(batch["audio_codes"].flatten().tolist())
            _, losses = trainer.eval_step(batch, None)
        found[name] = {key: float(value) for key, value in losses.items()}
    print(f"{len(found)} clips, {len(codes)} different codes")
    return found


def our_losses(program, model, corpus, cache):
    command = [program, "evaluate", "--model", model, "--data", corpus, "--json", "--device", "cpu", "--cache-dir", cache]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {pathlib.PurePosixPath(row["clip"]).name: row for row in rows[:-1]}, rows[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--myxtts", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--clips", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.manual_seed(options.seed)
    clips = choose_clips(options.data, options.clips)
    with tempfile.TemporaryDirectory() as place:
        work = pathlib.Path(place)
        write_corpus(work / "corpus", clips)
        config = write_model(work / "public", clips)
        subprocess.run([options.myxtts, "import", "--from", work / "public", "--out", work / "ours"], check=True)
        ours, total = our_losses(options.myxtts, work / "ours", work / "corpus", work / "cache")
        peers = peer_losses(config, work / "public", clips)
    assert ours.keys() == peers.keys() and len(peers) == len(clips), (ours.keys() ^ peers.keys())
    worst = 0.0
    for name, losses in peers.items():
        distances = {key: abs(ours[name][key] / losses[key] - 1) for key in ("loss_text_ce", "loss_mel_ce", "loss")}
        worst = max(worst, *distances.values())
        print(name, {key: round(value, 6) for key, value in losses.items()}, f"{max(distances.values()):.1e}")
    for key in ("loss_text_ce", "loss_mel_ce", "loss"):
        mean = sum(losses[key] for losses in peers.values()) / len(peers)
        worst = max(worst, abs(total["mean_over_clips"][key] / mean - 1))
    print(f"largest relative distance {worst:.1e} (allowed {LIMIT:.0e})")
    raise SystemExit(worst > LIMIT)


main()
