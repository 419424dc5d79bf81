#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: for each parser a few small inputs that it accepts or nearly accepts.

    tests/fuzz/make_seeds.py

Inputs that once were a fault lie beside them as fault-*, and are left alone. Sounds are written by libsndfile.
"""
import ctypes
import ctypes.util
import io
import json
import math
import pathlib
import pickle
import struct
import sys
import tempfile
import types
import zipfile

SEEDS = pathlib.Path(__file__).parent / "seeds"


def put(target, name, content):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, (dict, list)):
        content = json.dumps(content)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def safetensors(tensors, **metadata):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Storage:
    def __init__(self, key, count):
        self.key, self.count = key, count


class TensorPickler(pickle.Pickler):
    """As torch.save() does, without torch."""

    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", sys.modules["torch"].FloatStorage, value.key, "cpu", value.count)
        return None


def fake_torch():
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for module, name in ((torch, "FloatStorage"), (utils, "_rebuild_tensor_v2")):
        made = type(name, (), {"__module__": module.__name__})
        setattr(module, name, made)
    sys.modules.update({"torch": torch, "torch._utils": utils})


class Tensor:
    def __init__(self, key, shape):
        self.key, self.shape = key, shape

    def __reduce__(self):
        count = math.prod(self.shape)
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        return (sys.modules["torch._utils"]._rebuild_tensor_v2,
                (Storage(self.key, count), 0, tuple(self.shape), tuple(strides), False, {}))


def pickled(value, protocol):
    buffer = io.BytesIO()
    TensorPickler(buffer, protocol).dump(value)
    return buffer.getvalue()


def archive(entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, content in entries.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def weights():
    put("safetensors", "two", safetensors({"gpt.weight": ("F32", [2, 3], bytes(24)), "counter": ("I64", [], bytes(8))}))
    put("safetensors", "metadata", safetensors({"a": ("F16", [2], bytes(4))}, format="pt"))
    put("safetensors", "empty", safetensors({}))
    fake_torch()
    model = {"model": {"w": Tensor("0", [2, 2]), "b": Tensor("1", [2])}, "step": 7, "rate": 0.5}
    for protocol in (2, 4, 5):
        put("pickle", f"model-{protocol}", pickled(model, protocol))
    put("pickle", "kinds", pickle.dumps([None, True, 1, -70000, 2**70, 1.5, "a", b"b", (1, 2), {3}, {"k": [1]}], 2))
    put("pickle", "calls", b"cos\nsystem\n(S'true'\ntR.")
    data = {"archive/data.pkl": pickled(model, 2), "archive/byteorder": "little", "archive/version": "3\n",
            "archive/data/0": struct.pack("<4f", 1, 2, 3, 4), "archive/data/1": struct.pack("<2f", 1, 2)}
    put("pth", "model", archive(data))
    put("zip", "model", archive({"archive/data.pkl": b"\x80\x02}q\x00.", "archive/data/0": bytes(16)}))
    put("zip", "empty", archive({}))


def settings():
    put("model_config", "ours", {"model_args": {"gpt_layers": 2, "gpt_n_model_channels": 8, "gpt_n_heads": 2,
                                                "gpt_number_text_tokens": 30, "gpt_start_text_token": None},
                                 "audio": {"sample_rate": 22050}, "gpt_cond_len": 12, "max_ref_len": 10,
                                 "myxtts": {"dvae": {"hidden": 4}, "text_ids": {"count": 30, "start": 3, "stop": 0},
                                            "licence": {"name": "free", "accepted": True}}})
    put("model_config", "bare", '{"audio": {"mel_fmax": Infinity, "power": NaN}, "x": -Infinity}')
    letters = ["[STOP]", "[UNK]", "[SPACE]", "[START]", "[en]", "a", "b", "c", "ab", "abb", ",", "!"]
    put("vocabulary", "letters", {
        "added_tokens": [{"id": 0, "content": "[STOP]"}, {"id": 2, "content": "[SPACE]"}, {"id": 4, "content": "[en]"}],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "model": {"type": "BPE", "unk_token": "[UNK]", "vocab": {token: i for i, token in enumerate(letters)},
                  "merges": ["a b", "ab b"]}})
    put("run_config", "ours", "train:\n  seed: 7\n  lr: 0.0002\n  batch_size: 2\nrun:\n  checkpoint_dir: runs/a\n"
        "data:\n  train_data:\n    - path: recordings\n      weight: 2\nmodel: {gpt: {layers: 2}}\n")
    put("run_config", "predecessor", "data:\n  dataset_path: ./data\n  val_split: 0.1\ntraining:\n  learning_rate: 1e-4\n")
    put("run_config", "stages", "stages:\n  gpt: {lr: 1.0e-4}\ntrain:\n  stages: [dvae, gpt]\n")
    put("cluster_file", "two", {"hosts": 2, "ranks_per_host": 8, "cores": 64,
                                "inside": {"gigabytes_per_second": 300, "latency_us": 5},
                                "between": {"gigabytes_per_second": 25}, "step": {"batch": 4, "ms": 120.5}})
    put("auto_choice", "choice", {"version": 1, "machine": {"cpu": "x"}, "corpus": {"fingerprint": "1"}, "settings": {},
                                  "choice": {"mode": "split", "split_gpu": {"gpu": 0, "multiprocessors": None},
                                             "data_gpu": None, "model_gpu": 0, "data_threads": 2, "model_threads": None,
                                             "ranks": {"ranks": 2, "batch_size": 4}, "cache_dataset": True}})
    put("auto_choice", "profile", {"clips_per_second": 3.5, "step": {"mean_ms": 100}, "readiness": 0.9,
                                   "data": {"peak_bytes": 1}, "model": {"peak_bytes": 2}})
    put("auto_choice", "metrics", '{"event": "train", "step": 3, "clips_per_second": 2.5, "readiness": 1, '
        '"memory.data_peak": 1, "memory.model_peak": 2}\n')


def runs():
    shared = {"stage": "gpt", "step": 12, "epoch": 1, "epoch_batches": 2, "skipped_steps": 0, "bad_steps": 0,
              "metrics_position": 100, "mean_loss": 2.5, "validation_loss": None, "best_validation_loss": 2.25,
              "evaluations_since_best": 1, "seconds": 3.5, "corpus": "00ff"}
    order = {"attempt": 0, "dealt": 4}
    put("training_state", "state", dict(
        shared, version=3, rows="seed=1", batches="batch_size=2", rest={"visits": 2, "order": order},
        division={"step": 0, "epoch": 0, "visits": 0, "order": order}))
    put("training_state", "old", dict(shared, version=2, batches="batch_size=2 seed=1"))
    put("checkpoint_seal", "sealed", {"version": 1, "step": 12, "validation_loss": 2.5,
                                      "files": {"model.bin": {"bytes": 7, "xxh64": "0123456789abcdef"}}, "seal": ""})
    put("chain_record", "two", {"finished": [
        {"stage": "dvae", "budget": "3000", "max_steps": 0, "epochs": 1, "steps": 10, "seconds": 1.5,
         "validation_loss": 0.5},
        {"stage": "gpt", "budget": "", "steps": 3, "seconds": 1, "validation_loss": None}]})
    put("metrics_log", "two", b"\x1f" + b'{"event":"train","step":1}     \n{"event":"train","step":2}\n{"step":11}\n{"st')
    put("download_record", "two", {"size": 1000, "content": "abc", "piece_bytes": 600, "have": [600, 20]})


def corpora():
    lines = ["a|Hello.|Hello.\nb|Gone.\n", "a|Hello.|one\n", "Hello.\n",
             "client_id\tpath\tsentence\n1\ta.mp3\tHello.\n", "Hello.\n",
             "audio_file|text|speaker_name\na.wav|Hello.|one\n", 'a.wav|"Hello ""you"""|one|en\n',
             '{"audio_filepath": "a.wav", "text": "Hello.", "duration": 1.5}\n', "\ufeffHello\r\nyou.\n"]
    for layout, text in enumerate(lines):
        put("manifest", f"layout-{layout}", bytes([layout]) + text.encode())
        put("manifest", f"found-{layout}", bytes([126 + 9 + layout]) + text.encode())
    strings = b"a.wavHello.aenlist.csv/corpusb.wavgone"
    row = struct.pack("<QIIIIqqQIIIIII", 0, 5, 6, 0, 1, 44, 1, 22050, 22050, 5, 0, 1, 2, 1)
    names = struct.pack("<QQ", 11, 1) + struct.pack("<QQ", 12, 2) + struct.pack("<QQ", 14, 8)
    witness = struct.pack("<QQqq", 22, 7, 10, 1)
    skipped = struct.pack("<QQQQqqIIQ", 29, 5, 34, 4, 1, 1, 2, 1, 2)
    header = struct.pack("<8sIIQQQQQQQQ", b"myxttsIX", 1, 80, 9, 1, 3, 1, 1, len(strings), 0, 0)
    put("clip_index", "one", header + row + names + witness + skipped + strings)
    shard = struct.pack("<8sIIQQ3QQ", b"MYXTFEAT", 1, 0, 7, 4096, 0, 0, 0, 0)
    clip = struct.pack("<8sQQQQ2QQ", b"MYXTCLIP", 5, 6, 2, 0, 0, 0, 0) + bytes(16)
    index = struct.pack("<8s5Q", b"MYXTFIDX", 1, 7, 144, 1, 0) + struct.pack("<QQ", 5, 64)
    put("feature_shard", "index", bytes([len(index)]) + index + shard + clip)
    put("feature_shard", "clips", bytes([0]) + shard + clip + bytes(48) + clip)
    for number, text in enumerate(["Dr. Smith has $3.50 & 1,234 cats.", "El 21% de 1.000 €.", "Le 1er, 80 %.", "3,5 Uhr",
                                   "1º piano", "R$ 5", "12 zł", "7'de", "№ 21", "€ 3", "5 Kč", "٣ كتب", "2023年", "三人と5本",
                                   "3 kg", "3개 AB", "₹ ५", "۱۲۳ کتاب", "Şi 3."]):
        put("text", f"language-{number:02}", bytes([number]) + text.encode())


def network():
    put("speech_request", "openai", {"input": "Hello.", "voice": "anna", "model": "m", "response_format": "wav",
                                     "speed": 1.5, "language": "en", "seed": 7, "temperature": 0.7, "top_k": 5,
                                     "top_p": 0.9, "repetition_penalty": 2, "stream_format": "sse"})
    put("speech_request", "xtts", {"text": "Hello.", "speaker_wav": "anna.wav", "language": "en"})
    put("speech_request", "settings", {"temperature": "0.75", "speed": 1, "length_penalty": 1, "repetition_penalty": 5,
                                       "top_p": 0.85, "top_k": 50, "enable_text_splitting": True,
                                       "stream_chunk_size": 100})
    body = '{"input": "Hello."}'
    head = "Host: localhost:8020\r\n"
    put("http_request", "speech", f"POST /v1/audio/speech HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}")
    put("http_request", "chunked", f"POST /v1/audio/speech HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n"
        f"{len(body):x}\r\n{body}\r\n0\r\n\r\n")
    form = ('--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nanna\r\n--b\r\nContent-Disposition: form-data; '
            'name="audio_sample"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--b--\r\n')
    put("http_request", "form", f"POST /v1/audio/voices HTTP/1.1\r\n{head}Content-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {len(form)}\r\n\r\n{form}")
    put("http_request", "get", f"GET /health?a=%41&b HTTP/1.1\r\n{head}Range: bytes=0-3,5-\r\nAccept: */*;q=0.5\r\n"
        "Origin: https://example.org\r\nAuthorization: Bearer key\r\n\r\n")
    put("http_request", "rename", f"PATCH /v1/audio/voices/a HTTP/1.1\r\n{head}Content-Length: 12\r\n\r\n" '{"name":"b"}')
    put("wyoming", "described", b"\xff" + b'{"type":"describe"}\n')
    put("wyoming", "speech", b"\x07" + b'{"type":"synthesize","data":{"voice":{"name":"a"}},"data_length":16,'
        b'"payload_length":4}\n{"text":"Hello"}1. 2')
    put("http_answer", "redirected", "HTTP/1.1 302 Found\r\nX-Linked-Size: 10\r\nX-Linked-Etag: \"ab\"\r\n\r\n"
        "HTTP/2 206\r\nContent-Range: bytes 0-99/1000\r\nETag: W/\"cd\"\r\n")
    put("http_answer", "refused", "HTTP/1.1 404 Not Found\r\nX-Error-Code: RepoNotFound\r\nContent-Length: 5\r\n")
    put("http_answer", "whole", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n")
    names = ("config.json", "vocab.json", "model.pth")
    put("hub_list", "model", {"sha": "6c2b0d75", "siblings": [
        {"rfilename": name, "size": 5, "blobId": "ab", "lfs": {"sha256": "cd"} if name == "model.pth" else None}
        for name in names]})
    put("hub_list", "name", "owner/name@refs/pr/1")
    put("subtitles", "subrip", "\ufeff1\r\n00:00:01,000 --> 00:00:02,500 X1:5\r\n- <i>Yes</i>, {\\an8}\r\n[door] no.\r\n\r\n"
        "00:00:03.000 --> 00:00:02.000\r\nback\r\n\r\nmore\r\n7\r\n0:4:5,6 --> 1:0:0\r\n♪\r\n")
    put("subtitles", "webvtt", "WEBVTT a\n\nSTYLE\n::cue{}\n\nNOTE x\n\nid\n00:01.000 --> 00:02.000 line:0\n<v A>1 &lt; 2\n")
    put("ssml", "plain", "One.[pause]Two [pause 250ms]three [pause 1.5s] [pause x] [pause 5")
    put("ssml", "speak", "<?xml version='1.0'?>\n<speak version='1.1' xml:lang='de-DE'><p><s>A &lt; b</s><break time='250ms'/></p>"
        "<prosody rate='-20%'>c<break strength='weak'/><sub alias='d e'>f</sub></prosody></speak>")
    put("ssml", "say-as", "<speak>a <lang xml:lang='fr'>b</lang> <voice name='anna'>c</voice> <say-as interpret-as='ordinal'>3</say-as>"
        "<say-as interpret-as='telephone'>555-01</say-as><say-as interpret-as='characters'>ABC</say-as><!-- d --></speak>")
    put("lexicon", "words", "# names\n\nnguyen\twin\nSQL\tsequel\ten\nnew york\tnoo yawk\n\u6771\u4eac\ttokyo\tja\nnew\tnoo\r\n")
    put("corrections", "page", {"format": "myxtts-corrections", "version": 1, "clips": [
        {"clip": "a-0001", "was": "teh", "text": "the"}, {"clip": "a-0002", "accepted": False}]})


class SoundInfo(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64), ("samplerate", ctypes.c_int), ("channels", ctypes.c_int),
                ("format", ctypes.c_int), ("sections", ctypes.c_int), ("seekable", ctypes.c_int)]


def sounds():
    library = ctypes.CDLL(ctypes.util.find_library("sndfile"))
    library.sf_open.restype = ctypes.c_void_p
    library.sf_open.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(SoundInfo)]
    library.sf_writef_short.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sf_close.argtypes = [ctypes.c_void_p]
    formats = {"wav": 0x010002, "wav-float": 0x010006, "wav-adpcm": 0x010012, "aiff": 0x020002, "au": 0x030002,
               "w64": 0x0B0002, "caf": 0x180002, "flac": 0x170002, "ogg": 0x200060, "opus": 0x200064, "mp3": 0x230082}
    samples = (ctypes.c_short * 300)(*(int(9000 * math.sin(i / 5)) for i in range(300)))
    for name, code in formats.items():
        info = SoundInfo(samplerate=24000, channels=1, format=code)
        with tempfile.NamedTemporaryFile() as file:
            handle = library.sf_open(file.name.encode(), 0x20, ctypes.byref(info))
            if not handle:
                sys.exit(f"make_seeds: libsndfile writes no {name}; install libsndfile 1.2 or later.")
            library.sf_writef_short(handle, samples, 300)
            library.sf_close(handle)
            put("sound_file", name, pathlib.Path(file.name).read_bytes())


for part in (weights, settings, runs, corpora, network, sounds):
    part()
