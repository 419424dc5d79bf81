# SPDX-License-Identifier: Apache-2.0
"""Compares `myxtts transcribe` with CTranslate2 and with OpenAI's program, token by token, in all forms of one model.

Usage: python check_whisper.py MYXTTS MODEL SCRATCH LANGUAGE=GLOB... [--forms=pt,hf,...] [--threads=2] [--openai] [--words]
       (needs ctranslate2 4.8, openai-whisper 20250625, torch 2.11, soundfile; nothing else in the project does)

Clips are of 16,000 Hz and at most 30 s. MODEL is a faster-whisper folder (model.bin, config.json, tokenizer.json). It is written to SCRATCH in the other forms: OpenAI's
.pt, Hugging Face's folder whole and in parts, CTranslate2's model.bin in float32 and int8. Every clip is heard greedily,
without times, in the language given; the time of CTranslate2 and of `transcribe` with the same file is said at the end.
`--openai` asks OpenAI's program too. `--words` compares where words are heard with what it says of the tokens that we gave, by the
heads that the files name (the folder that was given), or by those of the upper layers (pt).
"""
import glob
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import time

import ctranslate2
import numpy as np
import soundfile
import torch
import whisper
import whisper.timing
from safetensors.torch import save_file

TYPES = [np.float32, np.int8, np.int16, np.int32, np.float16]


def read_ct2(path):
    with open(path, "rb") as file:
        def number(kind):
            return struct.unpack("<" + kind, file.read(struct.calcsize("<" + kind)))[0]

        def text():
            return file.read(number("H"))[:-1].decode()

        assert (number("I"), text()) == (6, "WhisperSpec")
        number("I")
        variables = {}
        for _ in range(number("I")):
            name = text()
            shape = [number("I") for _ in range(number("B"))]
            dtype = TYPES[number("B")]
            variables[name] = np.frombuffer(file.read(number("I")), dtype).reshape(shape)
        return variables, [(text(), text()) for _ in range(number("I"))]


def write_ct2(path, variables, aliases):
    with open(path, "wb") as file:
        def text(value):
            file.write(struct.pack("<H", len(value) + 1) + value.encode() + b"\0")

        file.write(struct.pack("<I", 6))
        text("WhisperSpec")
        file.write(struct.pack("<II", 3, len(variables)))
        for name, value in sorted(variables.items()):
            text(name)
            file.write(struct.pack("<B", value.ndim) + b"".join(struct.pack("<I", size) for size in value.shape))
            file.write(struct.pack("<BI", TYPES.index(value.dtype.type), value.nbytes) + value.tobytes())
        file.write(struct.pack("<I", len(aliases)))
        for alias in aliases:
            text(alias[0])
            text(alias[1])


def quantised(variables):
    """As CTranslate2's converters do it: matrices as rows of int8, each with its scale."""
    result = {}
    for name, value in variables.items():
        if name.endswith("/weight") and value.ndim == 2:
            scale = 127.0 / np.abs(value.astype(np.float32)).max(1)
            result[name] = np.rint(value.astype(np.float32) * scale[:, None]).astype(np.int8)
            result[name + "_scale"] = scale.astype(np.float32)
        else:
            result[name] = value
    return result


def openai_state(variables):
    """The tensors by OpenAI's names."""
    def tensor(name):
        return torch.from_numpy(variables[name].copy())

    state = {"encoder.positional_embedding": tensor("encoder/position_encodings/encodings"),
             "decoder.positional_embedding": tensor("decoder/position_encodings/encodings"),
             "decoder.token_embedding.weight": tensor("decoder/embeddings/weight")}

    def norm(source, target):
        state[target + ".weight"], state[target + ".bias"] = tensor(source + "/gamma"), tensor(source + "/beta")

    def linear(source, targets):
        for target, weight, bias in zip(targets, tensor(source + "/weight").chunk(len(targets)),
                                        tensor(source + "/bias").chunk(len(targets))):
            state[target + ".weight"] = weight.clone()
            if not target.endswith(".key"):
                state[target + ".bias"] = bias.clone()

    for conv in ("conv1", "conv2"):
        linear(f"encoder/{conv}", [f"encoder.{conv}"])
    norm("encoder/layer_norm", "encoder.ln_post")
    norm("decoder/layer_norm", "decoder.ln")
    for side in ("encoder", "decoder"):
        layer = 0
        while f"{side}/layer_{layer}/ffn/linear_0/weight" in variables:
            source, target = f"{side}/layer_{layer}", f"{side}.blocks.{layer}"
            linear(f"{source}/self_attention/linear_0", [f"{target}.attn.{part}" for part in ("query", "key", "value")])
            linear(f"{source}/self_attention/linear_1", [f"{target}.attn.out"])
            norm(f"{source}/self_attention/layer_norm", f"{target}.attn_ln")
            if side == "decoder":
                linear(f"{source}/attention/linear_0", [f"{target}.cross_attn.query"])
                linear(f"{source}/attention/linear_1", [f"{target}.cross_attn.key", f"{target}.cross_attn.value"])
                linear(f"{source}/attention/linear_2", [f"{target}.cross_attn.out"])
                norm(f"{source}/attention/layer_norm", f"{target}.cross_attn_ln")
            linear(f"{source}/ffn/linear_0", [f"{target}.mlp.0"])
            linear(f"{source}/ffn/linear_1", [f"{target}.mlp.2"])
            norm(f"{source}/ffn/layer_norm", f"{target}.mlp_ln")
            layer += 1
    return state


HUGGING_FACE = [("blocks", "layers"), ("token_embedding", "embed_tokens"), ("positional_embedding", "embed_positions.weight"),
                ("cross_attn_ln", "encoder_attn_layer_norm"), (".attn_ln", ".self_attn_layer_norm"),
                ("mlp_ln", "final_layer_norm"), ("ln_post", "layer_norm"), ("decoder.ln", "decoder.layer_norm"),
                ("cross_attn.", "encoder_attn."), (".attn.", ".self_attn."), ("query", "q_proj"), ("key", "k_proj"),
                ("value", "v_proj"), (".out.", ".out_proj."), ("mlp.0", "fc1"), ("mlp.2", "fc2")]


def hugging_face_name(name):
    for old, new in HUGGING_FACE:
        name = name.replace(old, new)
    return "model." + name


def write_forms(model, scratch):
    """The folder of each form by its name."""
    variables, aliases = read_ct2(model / "model.bin")
    state = openai_state(variables)
    heads = {side: int(variables[f"{side}/num_heads"]) for side in ("encoder", "decoder")}
    forms = {name: scratch / name for name in ("pt", "hf", "hf-parts", "ct2-float32", "ct2-int8")}
    for folder in forms.values():
        folder.mkdir(parents=True, exist_ok=True)
    layers = {side: len({name.split(".")[2] for name in state if name.startswith(side + ".blocks")}) for side in heads}
    width = state["encoder.conv1.weight"].shape[0]
    dims = dict(n_mels=state["encoder.conv1.weight"].shape[1], n_audio_ctx=1500, n_audio_state=width,
                n_audio_head=heads["encoder"], n_audio_layer=layers["encoder"],
                n_vocab=state["decoder.token_embedding.weight"].shape[0], n_text_ctx=448, n_text_state=width,
                n_text_head=heads["decoder"], n_text_layer=layers["decoder"])
    torch.save({"dims": dims, "model_state_dict": state}, forms["pt"] / "base.pt")
    assets = pathlib.Path(whisper.__file__).parent / "assets"
    shutil.copy(assets / "multilingual.tiktoken", forms["pt"])
    renamed = {hugging_face_name(name): tensor for name, tensor in state.items()}
    save_file(renamed, forms["hf"] / "model.safetensors")
    names = sorted(renamed)
    parts = [names[::2], names[1::2]]
    for number, part in enumerate(parts):
        save_file({name: renamed[name] for name in part}, forms["hf-parts"] / f"model-0000{number + 1}-of-00002.safetensors")
    index = {name: f"model-0000{number + 1}-of-00002.safetensors" for number, part in enumerate(parts) for name in part}
    (forms["hf-parts"] / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    for name in ("hf", "hf-parts"):
        config = dict(encoder_attention_heads=heads["encoder"], decoder_attention_heads=heads["decoder"])
        (forms[name] / "config.json").write_text(json.dumps(config))
        shutil.copy(model / "tokenizer.json", forms[name])
    wide = {name: value.astype(np.float32) if value.dtype == np.float16 else value for name, value in variables.items()}
    write_ct2(forms["ct2-float32"] / "model.bin", wide, aliases)
    write_ct2(forms["ct2-int8"] / "model.bin", quantised(wide),
              aliases + [(aliases[0][0] + "_scale", aliases[0][1] + "_scale")])
    for name in ("ct2-float32", "ct2-int8"):
        for file in ("config.json", "vocabulary.json"):
            shutil.copy(model / file, forms[name])
    return {"ct2-float16": model, **forms}


def ours(program, model, language, clips, *more):
    command = [program, "transcribe", *clips, "--whisper", str(model), "--language", language, "--json", *more]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line)["tokens"] for line in lines]


def mel_of(clip):
    sound, rate = soundfile.read(clip, dtype="float32")
    assert rate == 16000 and sound.ndim == 1, f"{clip} is not of 16,000 Hz and one channel: resampling is not compared here"
    assert len(sound) <= 30 * rate, f"{clip} is longer than 30 s: only we go on with a second window"
    return whisper.log_mel_spectrogram(whisper.pad_or_trim(torch.from_numpy(sound)))


def by_ctranslate2(recogniser, code, language, mels):
    prompt = [code.sot, code.to_language_token(language), code.transcribe, code.no_timestamps]
    found = []
    for mel in mels:
        view = ctranslate2.StorageView.from_array(np.ascontiguousarray(mel.numpy()[None]))
        result = recogniser.generate(view, [prompt], beam_size=1, max_length=228)
        found.append(result[0].sequences_ids[0])
    return found


def by_openai(model, language, mels):
    options = whisper.DecodingOptions(language=language, without_timestamps=True, fp16=False)
    return [whisper.decode(model, mel, options).tokens for mel in mels]


def words_by_openai(model, language, clip, mel, tokens):
    """[text, begin, end] of each word."""
    code = whisper.tokenizer.get_tokenizer(True, language=language, task="transcribe")
    seconds = soundfile.info(clip).duration
    segment = {"seek": 0, "tokens": tokens, "start": 0.0, "end": seconds}
    whisper.timing.add_word_timestamps(segments=[segment], model=model, tokenizer=code, mel=mel, num_frames=int(seconds * 100),
                                       last_speech_timestamp=0.0)
    words = []
    sign = ""  # a dash on its own, which we join to the word behind it
    for word in segment["words"]:
        if word["word"].startswith(" ") and not any(c.isalnum() for c in word["word"]):
            sign += word["word"]
            continue
        words.append((sign + word["word"], float(word["start"]), float(word["end"])))
        sign = ""
    return words


def compare_words(title, program, folder, model, language, clips, mels, threads):
    """Says how far times are apart; gives how many words begin or end more than 0.05 s away, or are others."""
    command = [program, "transcribe", *clips, "--whisper", str(folder), "--language", language, "--json", "--words", "--threads", str(threads)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    count = others = 0
    away = []
    for clip, mel, line in zip(clips, mels, map(json.loads, lines), strict=True):
        expected = words_by_openai(model, language, clip, mel, line["tokens"])
        found = [(word["text"], word["begin"], word["end"]) for word in line.get("words", [])]
        count += len(found)
        if [word[0] for word in found] != [word[0] for word in expected]:
            others += 1
            print(f"  {clip}\n    {[word[0] for word in found]}\n    {[word[0] for word in expected]}", flush=True)
            continue
        away += [max(abs(a[1] - b[1]), abs(a[2] - b[2])) for a, b in zip(found, expected)]
    away = np.array(away)
    far = int((away > 0.05).sum())
    print(f"{title}: {count} words in {len(clips)} clips, {others} clips divided otherwise; times equal to 0.011 s in "
          f"{(away < 0.011).mean():.2%}, {far} more than 0.05 s away, at most {away.max():.2f} s", flush=True)
    return far + others


def report(title, files, found, wanted, code):
    """Says how many clips have the same tokens; gives how many have not."""
    same = sum(a == b for a, b in zip(found, wanted, strict=True))
    print(f"{title}: {same} of {len(files)} clips have CTranslate2's tokens", flush=True)
    for clip, a, b in zip(files, found, wanted):
        if a != b:
            print(f"  {clip}\n    {code.decode(a)}\n    {code.decode(b)}", flush=True)
    return len(files) - same


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    flags = dict((word[2:].split("=") + [""])[:2] for word in sys.argv[1:] if word.startswith("--"))
    program, model, scratch = words[0], pathlib.Path(words[1]), pathlib.Path(words[2])
    clips = {word.partition("=")[0]: sorted(glob.glob(word.partition("=")[2])) for word in words[3:]}
    threads = int(flags.get("threads", 2))
    forms = write_forms(model, scratch)
    if "forms" in flags:
        forms = {name: folder for name, folder in forms.items() if name in flags["forms"].split(",")}
    torch.set_num_threads(threads)
    code = whisper.tokenizer.get_tokenizer(True)
    reference = whisper.load_model(str(scratch / "pt" / "base.pt"), device="cpu") if "openai" in flags else None

    def engine(folder):
        return ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="float32", intra_threads=threads)

    plain, rounded = engine(model), engine(scratch / "ct2-int8") if "ct2-int8" in forms else None
    differs = 0
    seconds = {"CTranslate2": 0.0, "ours, with opening the file": 0.0}
    for language, files in clips.items():
        mels = [mel_of(clip) for clip in files]
        began = time.monotonic()
        expected = by_ctranslate2(plain, code, language, mels)
        seconds["CTranslate2"] += time.monotonic() - began
        if reference:
            differs += report(f"{language}: openai-whisper", files, by_openai(reference, language, mels), expected, code)
        if "words" in flags:
            pt = whisper.load_model(str(scratch / "pt" / "base.pt"), device="cpu")
            named = whisper.load_model(str(scratch / "pt" / "base.pt"), device="cpu")
            heads = torch.zeros(named.dims.n_text_layer, named.dims.n_text_head, dtype=torch.bool)
            for layer, head in json.loads((model / "config.json").read_text()).get("alignment_heads", []):
                heads[layer, head] = True
            if heads.any():
                named.register_buffer("alignment_heads", heads.to_sparse(), persistent=False)
            for title, folder, by in (("upper heads", scratch / "pt", pt), ("named heads", model, named)):
                differs += compare_words(f"{language}: {title}", program, folder, by, language, files, mels, threads)
        for name, folder in forms.items():
            began = time.monotonic()
            found = ours(program, folder, language, files, "--threads", str(threads))
            if name == "ct2-float16":
                seconds["ours, with opening the file"] += time.monotonic() - began
            wanted = by_ctranslate2(rounded, code, language, mels) if name == "ct2-int8" else expected
            differs += report(f"{language}: {name}", files, found, wanted, code)
    count = sum(len(files) for files in clips.values())
    for name, total in seconds.items():
        print(f"{name}: {total / count:.2f} s a clip, {total:.1f} s in all")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
