# SPDX-License-Identifier: Apache-2.0
"""Writes whisper/: a tiny Whisper of formula weights in OpenAI's form (tiny.pt, multilingual.tiktoken), and what OpenAI's
program makes of six clips with it, and where it hears the words of two texts (outputs.safetensors).

Usage: python make_whisper.py        (needs openai-whisper 20250625, torch 2.11; nothing else in the project does)

The vocabulary has the 256 bytes, some pairs and all the special tokens; the window is 2 s. Clips are not stored: C++ makes
the same ones (tests/listen/tiny_whisper.cpp).
"""
import base64
import dataclasses
import pathlib

import numpy as np
import tiktoken
import torch
import whisper
import whisper.decoding
import whisper.timing
from formula import formula
from safetensors.torch import save_file
from whisper.model import ModelDimensions, Whisper
from whisper.tokenizer import LANGUAGES, Tokenizer

# In the order in which they merge.
PAIRS = [" t", "he", " a", "in", "re", " th", " the", "on", " w", "er", "or", "an", "and", " s", "ing", " and", "--", "((", " -",
         " (", "th", b"\xe2\x99", b" \xe2\x99", "qqqq"]
LANGUAGE_COUNT = 99
BASE = 256 + len(PAIRS)
SIZES = ModelDimensions(n_mels=80, n_audio_ctx=100, n_audio_state=32, n_audio_head=4, n_audio_layer=2,
                        n_vocab=BASE + 1509 + LANGUAGE_COUNT, n_text_ctx=40, n_text_state=32, n_text_head=2, n_text_layer=2)
# Clip, its samples, language and text.
ALIGNED = [(3, 32000, "en", " the thing, and on"), (2, 32000, "en", " re-do it, 42 the"), (1, 24000, "zh", "那个东西和 the"),
           (1, 32000, "en", " and, then on.")]
TEXTS = ["the thing and the other", " -- ((on)) it's 42!", "naïve ♪♪ وقت"]


def ranks():
    tokens = [bytes([byte]) for byte in range(256)] + [pair if isinstance(pair, bytes) else pair.encode() for pair in PAIRS]
    return {token: number for number, token in enumerate(tokens)}


def encoding():
    numbers = ranks()
    specials = ["<|endoftext|>", "<|startoftranscript|>", *[f"<|{code}|>" for code in list(LANGUAGES)[:LANGUAGE_COUNT]],
                "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
                *[f"<|{i * 0.02:.2f}|>" for i in range(1501)]]
    return tiktoken.Encoding(
        name="tiny", explicit_n_vocab=SIZES.n_vocab, mergeable_ranks=numbers,
        pat_str=r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
        special_tokens={name: BASE + number for number, name in enumerate(specials)})


class TinyWhisper(Whisper):
    is_multilingual = property(lambda self: True)
    num_languages = property(lambda self: LANGUAGE_COUNT)


def weight(name, shape):
    values = formula("whisper/" + name, shape)
    if len(shape) == 1:
        return values * 0.25 + 1.0 if name.endswith("ln.weight") or name.endswith("ln_post.weight") else values * 0.25
    fan_in = float(np.prod(shape[1:]))
    gain = 3.0 if "token_embedding" in name else 1.5
    result = values * float(np.float32(gain * np.sqrt(3.0 / fan_in)))
    if "token_embedding" in name:
        result[BASE] *= 4.0  # the end comes up now and then
    return result


def rounded(tensor):
    """As fp16 holds it: files of half the size, and every form has the same numbers."""
    return tensor.half().float()


def tiny_model():
    model = TinyWhisper(SIZES)
    model.load_state_dict({name: rounded(weight(name, tuple(tensor.shape))) for name, tensor in model.state_dict().items()})
    return model.eval()


def clips():
    """Six clips of two seconds, each of another loudness over time."""
    time = torch.arange(32000) / 32000
    return torch.stack([formula(f"clip/{i}", (32000,)) * 0.1 * (i + 1) * (0.1 + time * (i % 3)) for i in range(6)])


def align(golden, code, model, sounds):
    """Where each word of some texts is heard: its begin, end and probability."""
    for number, (clip, samples, language, text) in enumerate(ALIGNED):
        words = Tokenizer(encoding=code, num_languages=LANGUAGE_COUNT, language=language, task="transcribe")
        mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(sounds[clip, :samples], 32000))
        segment = {"seek": 0, "tokens": code.encode(text), "start": 0.0, "end": samples / 16000}
        whisper.timing.add_word_timestamps(segments=[segment], model=model, tokenizer=words, mel=mel,
                                           num_frames=samples // 160, last_speech_timestamp=0.0)
        found = [[word["start"], word["end"], word["probability"]] for word in segment["words"]]
        golden[f"aligned.{number}"] = torch.tensor(found, dtype=torch.float32)
        print(language, [(word["word"], *row) for word, row in zip(segment["words"], found)])


def main():
    code = encoding()
    whisper.decoding.get_tokenizer = lambda multilingual, num_languages, language, task: Tokenizer(
        encoding=code, num_languages=num_languages, language=language or "en", task=task or "transcribe")
    model = tiny_model()
    sounds = clips()
    mels = torch.stack([whisper.log_mel_spectrogram(sound) for sound in sounds])
    prompt = torch.tensor([[code.encode_single_token(token) for token in
                            ("<|startoftranscript|>", "<|de|>", "<|transcribe|>", "<|notimestamps|>")]])
    golden = {"mel": mels[:3, :, ::4], "mel_128": whisper.log_mel_spectrogram(sounds[0], 128)[:, ::4]}
    with torch.no_grad():
        golden["encoded"] = model.embed_audio(mels[:3])
        golden["scores"] = model.logits(prompt, golden["encoded"][:1])
    for mode in ("plain", "times"):
        found = whisper.decode(model, mels, whisper.DecodingOptions(without_timestamps=mode == "plain", fp16=False))
        width = max(len(each.tokens) for each in found)
        golden[f"{mode}.tokens"] = torch.tensor([each.tokens + [-1] * (width - len(each.tokens)) for each in found])
        golden[f"{mode}.log_probability"] = torch.tensor([each.avg_logprob for each in found])
        golden[f"{mode}.no_speech"] = torch.tensor([each.no_speech_prob for each in found])
        golden[f"{mode}.language"] = torch.tensor([code.encode_single_token(f"<|{each.language}|>") for each in found])
        print(mode, [(each.language, each.tokens) for each in found])
    for number, text in enumerate(TEXTS):
        golden[f"text.{number}"] = torch.tensor(code.encode(text))
    align(golden, code, model, sounds)
    task = whisper.decoding.DecodingTask(model, whisper.DecodingOptions(language="en", fp16=False))
    golden["never_said"] = torch.tensor(task._get_suppress_tokens())
    out = pathlib.Path(__file__).with_name("whisper")
    out.mkdir(exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in golden.items()}, out / "outputs.safetensors")
    state = {name: tensor.half() for name, tensor in model.state_dict().items()}
    torch.save({"dims": dataclasses.asdict(SIZES), "model_state_dict": state}, out / "tiny.pt")
    lines = [f"{base64.b64encode(token).decode()} {number}\n" for token, number in ranks().items()]
    (out / "multilingual.tiktoken").write_text("".join(lines))


if __name__ == "__main__":
    main()
