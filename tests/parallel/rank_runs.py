# SPDX-License-Identifier: Apache-2.0
"""Trainings of `tiny` in several processes, for the check scripts beside this file.

A Bench has a corpus of tones and a folder for runs. Ranks are started by `myxtts launch`, by another launcher, or one by
one with torchrun's variables, each where wanted in a network namespace of its own (Network), which is as good as a host.
"""
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time
import wave

COMPARED = ("model.safetensors", "optimiser.safetensors", "dvae.safetensors")
# Another launcher's words must not reach ours.
LAUNCHER_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class CheckFailure(Exception):
    """Something is not as it should be."""


def write_tone(path, hz, seconds):
    rate = 22050
    samples = (0.4 * math.sin(math.tau * hz * i / rate) * (0.7 + 0.3 * math.sin(math.tau * 3 * i / rate))
               for i in range(int(seconds * rate)))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(struct.pack("<h", round(32767 * sample)) for sample in samples))


def write_corpus(folder, clips):
    """Clips of 1.2 s and more in the layout of LJSpeech."""
    (folder / "wavs").mkdir(parents=True)
    lines = []
    for clip in range(clips):
        write_tone(folder / "wavs" / f"clip{clip:02}.wav", 120 + 13 * clip, 1.2 + 0.01 * clip)
        text = "seventeen letters here" if clip % 2 == 0 else "sixteen letters or so"
        lines.append(f"clip{clip:02}|{text}|{text}\n")
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench:
    """A corpus and a place for runs that train on it."""

    def __init__(self, program, folder, steps, rank_timeout, clips=24):
        self.program = str(pathlib.Path(program).resolve())
        self.folder = pathlib.Path(folder)
        self.steps = steps
        self.rank_timeout = rank_timeout
        write_corpus(self.folder / "corpus", clips)

    def run_folder(self, name):
        return self.folder / name

    def train(self, name, *more):
        """The command line of a run, as every rank gets it."""
        return [self.program, "train", "--device", "cpu", "--model-size", "tiny", "--train-data",
                str(self.folder / "corpus"), "--checkpoint-dir", str(self.run_folder(name)), "--batch-size", "2", "--lr",
                "0.001", "--schedule", "constant", "--val-fraction", "0.2", "--eval-steps", "4", "--log-steps", "1",
                "--max-steps", str(self.steps), "--epochs", "1000", "--save-steps", "3", "--samples", "0",
                "--model-threads", "1", "--data-threads", "1", "--rank-timeout", str(self.rank_timeout), *more]

    def launch(self, name, *more, ranks=3):
        return [self.program, "launch", "--ranks", str(ranks), "--", *self.train(name, *more)[1:]]

    def start(self, title, command, environment=None):
        return Started(title, command, self.folder / f"{title}.err", environment)

    def start_ranks(self, title, name, *more, places=(None, None, None), address="127.0.0.1"):
        """The ranks one by one; places are namespaces, each as good as a host."""
        port = free_port()
        ranks = []
        for rank, place in enumerate(places):
            variables = {"RANK": rank, "WORLD_SIZE": len(places), "LOCAL_RANK": places[:rank].count(place),
                         "LOCAL_WORLD_SIZE": places.count(place), "MASTER_ADDR": address, "MASTER_PORT": port}
            inside = ["ip", "netns", "exec", place] if place else []
            ranks.append(self.start(f"{title}-rank{rank}", inside + self.train(name, *more), variables))
        return ranks

    def finish(self, started, time_limit=600):
        """Waits until all of them have ended well."""
        deadline = time.monotonic() + time_limit
        for process in started:
            if not process.ends_by(deadline):
                for other in started:
                    other.kill()
                raise CheckFailure(f"{process.title} had not ended after {time_limit} s:\n{process.said()[-2000:]}")
        for process in started:
            if process.code != 0:
                raise CheckFailure(f"{process.title} ended with {process.code}:\n{process.said()[-2000:]}")

    def checkpoints(self, name):
        folder = self.run_folder(name) / "checkpoints"
        return sorted(path for path in folder.glob("step-*")) if folder.exists() else []

    def check_newest_is_whole(self, name):
        """Every file of the newest checkpoint is there in its full size; gives its step, 0 where there is none.

        The checksums are the program's to look at: it names a damaged checkpoint when it resumes."""
        found = self.checkpoints(name)
        if not found:
            return 0
        facts = json.loads((found[-1] / "checksums.json").read_text(encoding="utf-8"))
        for file, expected in facts["files"].items():
            size = (found[-1] / file).stat().st_size
            if size != expected["size"]:
                raise CheckFailure(f"{found[-1] / file} has {size} bytes, not {expected['size']}.")
        if not (self.run_folder(name) / "latest" / "model.safetensors").exists():
            raise CheckFailure(f"{self.run_folder(name) / 'latest'} is no model.")
        return facts["step"]

    def check_same(self, name, other, files=COMPARED):
        """The newest checkpoints of two runs are of the last step and equal, byte for byte."""
        for run in (name, other):
            step = self.check_newest_is_whole(run)
            if step != self.steps:
                raise CheckFailure(f"the newest checkpoint of {run} is of step {step}, not {self.steps}.")
        for file in files:
            one, two = (self.run_folder(run) / "latest" / file for run in (name, other))
            if one.read_bytes() != two.read_bytes():
                raise CheckFailure(f"{one} and {two} differ.")

    def forget(self, name):
        shutil.rmtree(self.run_folder(name), ignore_errors=True)


class Started:
    """A process with all that it starts; what it says goes to a file."""

    def __init__(self, title, command, errors, environment=None):
        self.title = title
        self.errors = errors
        self.ended_at = None
        variables = {name: value for name, value in os.environ.items() if name not in LAUNCHER_VARIABLES}
        variables.update({name: str(value) for name, value in (environment or {}).items()})
        with open(errors, "wb") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
                                             env=variables, start_new_session=True)

    @property
    def code(self):
        code = self._process.returncode
        return None if code is None else code if code >= 0 else 128 - code

    @property
    def number(self):
        return self._process.pid

    def has_ended(self):
        if self._process.poll() is None:
            return False
        self.ended_at = self.ended_at or time.monotonic()
        return True

    def ends_by(self, deadline):
        while not self.has_ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def send(self, number):
        if self._process.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self):
        """With all of its session, also what is stopped."""
        for process in [self.number, *descendants(self.number)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()

    def said(self):
        return self.errors.read_text(encoding="utf-8", errors="replace")


def children(process):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def descendants(process):
    found = []
    for child in children(process):
        found += [child, *descendants(child)]
    return found


def rank_of(process):
    """The RANK in the environment of a process; none where it has none or is gone."""
    try:
        for variable in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"RANK="):
                return int(variable[5:])
    except OSError:
        pass
    return None


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Network:
    """Hosts on one switch: network namespaces, each with one interface, joined by a bridge. Needs root and `ip`."""

    def __init__(self, hosts):
        self._tag = f"mx{os.getpid() % 100000}"
        self.places = [f"{self._tag}-{number}" for number in range(hosts)]
        self.addresses = [f"10.77.0.{number + 1}" for number in range(hosts)]
        self._switch = f"{self._tag}-s"

    @staticmethod
    def is_possible():
        return os.geteuid() == 0 and shutil.which("ip") is not None

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        self._ip("netns", "add", self._switch)
        self._ip("-n", self._switch, "link", "add", "bridge0", "type", "bridge")
        self._ip("-n", self._switch, "link", "set", "bridge0", "up")
        for number, place in enumerate(self.places):
            self._ip("netns", "add", place)
            self._ip("-n", place, "link", "add", "wire0", "type", "veth", "peer", "name", f"port{number}", "netns",
                     self._switch)
            self._ip("-n", self._switch, "link", "set", f"port{number}", "master", "bridge0", "up")
            self._ip("-n", place, "address", "add", f"{self.addresses[number]}/24", "dev", "wire0")
            self._ip("-n", place, "link", "set", "lo", "up")
            self._ip("-n", place, "link", "set", "wire0", "up")

    def __exit__(self, *_):
        for place in [*self.places, self._switch]:
            subprocess.run(["ip", "netns", "del", place], stderr=subprocess.DEVNULL, check=False)

    def disconnect(self, number):
        """Pulls the host's cable out of the switch."""
        self._ip("-n", self._switch, "link", "set", f"port{number}", "down")

    def connect(self, number):
        self._ip("-n", self._switch, "link", "set", f"port{number}", "up")

    @staticmethod
    def _ip(*words):
        subprocess.run(["ip", *words], check=True)
