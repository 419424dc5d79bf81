#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server, spoken to by the clients that people have: the PyPI packages openai and wyoming, curl and ffmpeg.

    python3 -m venv clients && clients/bin/pip install openai==3.51.0 wyoming==1.10.2
    MYXTTS_BUILD=build/release clients/bin/python tests/serve/clients_test.py

What is not installed is skipped, and said; the exit code is 77 where nothing could be tried.
"""
import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

BUILD = pathlib.Path(os.environ.get("MYXTTS_BUILD", "build/release")).resolve()
PROGRAM = BUILD / "bin" / "myxtts"
TEXT = "Hello there. How are you today?"


def optional(name):
    try:
        return __import__(name)
    except ImportError:
        return None


@contextlib.contextmanager
def server(folder, *flags):
    """The ports of a running server: (HTTP, Wyoming)."""
    errors = open(folder / "server.log", "w+", encoding="utf-8")
    words = [PROGRAM, "serve", "--model", f"tiny={folder / 'demo' / 'run'}", "--voices", folder / "voices", "--port", "0",
             "--wyoming-port", "0", "--device", "cpu", *flags]
    process = subprocess.Popen(words, stderr=errors)
    try:
        for _ in range(600):
            said = (folder / "server.log").read_text(encoding="utf-8")
            found = re.search(r"http://127.0.0.1:(\d+)/", said)
            wyoming = re.search(r"Wyoming at 127.0.0.1:(\d+)", said)
            if found and wyoming:
                break
            assert process.poll() is None, said
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        yield int(found[1]), int(wyoming[1])
    finally:
        process.terminate()
        assert process.wait(60) == 0, (folder / "server.log").read_text(encoding="utf-8")


def spoken(folder):
    """What the command line says, as PCM."""
    return subprocess.run([PROGRAM, "--quiet", "synthesize", "--model", folder / "demo" / "run", "--device", "cpu", "--reference",
                           folder / "voices" / "anna.wav", "--language", "en", "--text", TEXT, "--stream", "--out", "-"],
                          check=True, stdout=subprocess.PIPE).stdout


def try_openai(openai, port, wanted):
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["tiny"]
    with client.audio.speech.with_streaming_response.create(model="tiny", voice="anna", input=TEXT, response_format="pcm") as answer:
        assert b"".join(answer.iter_bytes()) == wanted
    for form in ("mp3", "opus", "flac", "wav"):
        answer = client.audio.speech.create(model="tiny", voice="anna", input=TEXT, response_format=form, instructions="kindly")
        assert len(answer.content) > 500, form
    with client.audio.speech.with_streaming_response.create(
            model="tiny", voice="anna", input=TEXT, response_format="pcm", stream_format="sse") as answer:
        events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"} and events[-1]["type"] == "speech.audio.done"
    for wrong, kind in ((dict(voice="zoe"), openai.BadRequestError), (dict(model="other"), openai.NotFoundError),
                        (dict(speed=9.0), openai.BadRequestError)):
        try:
            client.audio.speech.create(**(dict(model="tiny", voice="anna", input=TEXT) | wrong))
            raise AssertionError(wrong)
        except kind as error:
            assert error.body["message"], error


def try_keys(openai, port):
    try:
        openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="wrong", max_retries=0).models.list()
        raise AssertionError("a wrong key was let in")
    except openai.AuthenticationError as error:
        assert "API key" in error.body["message"], error
    assert list(openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="right").models.list())


async def try_wyoming(port, wanted):
    from wyoming.audio import AudioChunk, AudioStart, AudioStop
    from wyoming.client import AsyncTcpClient
    from wyoming.info import Describe, Info
    from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

    voice = SynthesizeVoice(name="anna", language="en")
    async with AsyncTcpClient("127.0.0.1", port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        assert [v.name for v in info.tts[0].voices] == ["anna"] and info.tts[0].supports_synthesize_streaming

        async def heard(last):
            sound, starts = b"", 0
            while True:
                event = await client.read_event()
                assert event is not None and event.type != "error", event
                if AudioStart.is_type(event.type):
                    start, starts = AudioStart.from_event(event), starts + 1
                    assert (start.rate, start.width, start.channels) == (24000, 2, 1)
                elif AudioChunk.is_type(event.type):
                    sound += AudioChunk.from_event(event).audio
                if last.is_type(event.type):
                    return sound, starts

        await client.write_event(Synthesize(text=TEXT, voice=voice).event())
        sound, starts = await heard(AudioStop)
        assert sound == wanted and starts == 1
        await client.write_event(SynthesizeStart(voice=voice).event())
        for part in ("Hello the", "re. How are you", " today?"):
            await client.write_event(SynthesizeChunk(text=part).event())
        await client.write_event(Synthesize(text=TEXT, voice=voice).event())  # as clients do for old servers
        await client.write_event(SynthesizeStop().event())
        sound, starts = await heard(SynthesizeStopped)
        assert starts == 2 and len(sound) > 1000, (starts, len(sound))
        await client.write_event(Synthesize(text=TEXT, voice=SynthesizeVoice(name="zoe")).event())
        event = await client.read_event()
        assert event.type == "error" and "zoe" in event.data["text"], event


def try_ffmpeg(port):
    for form in ("mp3", "opus", "aac", "flac", "wav", "pcm"):
        body = json.dumps({"input": TEXT, "voice": "anna", "response_format": form})
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/v1/audio/speech", body)
        answer = connection.getresponse()
        sound = answer.read()
        assert answer.status == 200, sound
        raw = ["-f", "s16le", "-ar", "24000", "-ac", "1"] if form == "pcm" else []
        read = subprocess.run(["ffmpeg", "-v", "error", *raw, "-i", "pipe:0", "-f", "s16le", "-ar", "24000", "pipe:1"],
                              input=sound, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert not read.stderr and len(read.stdout) > 1000, (form, read.stderr)


def try_sillytavern(port):
    """As its XTTS extension asks: numbers of forms are texts, streams are GET with a query."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Content-Type": "application/json", "Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-site"}

    def ask(method, path, body=None):
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        return answer, answer.read()

    answer, voices = ask("GET", "/speakers")
    assert answer.getheader("Access-Control-Allow-Origin") == "http://localhost:8000"
    assert json.loads(voices)[0]["voice_id"] == "anna"
    answer, _ = ask("POST", "/set_tts_settings", {
        "temperature": "0.75", "speed": 1, "length_penalty": "1", "repetition_penalty": "5", "top_p": "0.85", "top_k": "50",
        "enable_text_splitting": True, "stream_chunk_size": 100})
    assert answer.status == 200
    answer, sound = ask("POST", "/tts_to_audio/", {"text": TEXT, "speaker_wav": "anna", "language": "en"})
    assert answer.getheader("Content-Type") == "audio/wav" and sound[:4] == b"RIFF"
    query = urllib.parse.urlencode({"text": TEXT, "speaker_wav": "anna", "language": "en"})
    answer, stream = ask("GET", f"/tts_stream/?{query}")
    assert answer.status == 200 and stream[44:] == sound[44:]


def main():
    openai, wyoming = optional("openai"), optional("wyoming")
    tried = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([PROGRAM, "--quiet", "demo", "--out", folder / "demo", "--seconds", "1", "--clips", "20"], check=True,
                       stdout=subprocess.DEVNULL)
        (folder / "voices").mkdir()
        shutil.copy(next((folder / "demo" / "corpus" / "wavs").iterdir()), folder / "voices" / "anna.wav")
        wanted = spoken(folder)
        with server(folder, "--allow-origin", "http://localhost:8000") as (port, wyoming_port):
            try_sillytavern(port)
            tried.append("SillyTavern's requests")
            if openai:
                try_openai(openai, port, wanted)
                tried.append(f"openai {openai.__version__}")
            if wyoming:
                asyncio.run(try_wyoming(wyoming_port, wanted))
                tried.append("wyoming")
            if shutil.which("ffmpeg"):
                try_ffmpeg(port)
                tried.append("ffmpeg")
        if openai:
            with server(folder, "--api-key", "right") as (port, _):
                try_keys(openai, port)
    print("passed: " + ", ".join(tried))


if __name__ == "__main__":
    sys.exit(main())
