#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a step of several ranks on the CPU take as long as the scaling model says?

    benchmarks/ranks.py --program build/release/bin/myxtts --reduce-bench build/release/bin/reduce_bench

Makes a corpus of clips of one length and measures, in turns and each on its own:
  - one training in one process: its step, the processor time that a step takes, how much steps differ;
  - as many such trainings at once as there are cores, which know nothing of one another: how much busy cores slow each other;
  - sums over two ranks (reduce_bench): bandwidth, latency and processor time of Gloo on this machine;
  - trainings of 2 and 4 ranks started by `myxtts launch`.
The first three are what the model is told (`myxtts doctor --recommend --cluster FILE`); the last are what it is held
to. Of each the median step of its best round counts. Exits 1 when one deviates by more than --tolerance. Leaves cluster.json
and ranks.json in the out folder. Other work on the machine spoils every figure; how much there was is printed with each round.
"""
import argparse
import array
import json
import math
import os
import pathlib
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import time
import wave

CORES = len(os.sched_getaffinity(0))
TICK = os.sysconf("SC_CLK_TCK")


def write_corpus(folder, clips, seconds):
    """Clips of one length and texts of one length, so that every batch is as much work as any other."""
    (folder / "wavs").mkdir(parents=True)
    lines = []
    count = int(22050 * seconds)
    for number in range(clips):
        pitch = 0.02 + 0.001 * number
        samples = array.array("h", (int(9000 * math.sin(pitch * i) * math.sin(0.0007 * i)) for i in range(count)))
        with wave.open(str(folder / "wavs" / f"tone{number:03}.wav"), "wb") as file:
            file.setparams((1, 2, 22050, count, "NONE", ""))
            file.writeframes(samples.tobytes())
        lines.append(f"tone{number:03}|this is the tone with the number {number:03}\n")
    (folder / "metadata.csv").write_text("".join(lines))


def processor_seconds(process):
    """Of all its threads so far; nothing once it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return (int(fields[11]) + int(fields[12])) / TICK


def busy_seconds():
    """Of all cores of the machine so far."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK


class Training:
    """A training that runs, with what was seen of it."""

    def __init__(self, options, name, ranks=1):
        self.options, self.ranks = options, ranks
        self.folder = options.out / name
        shutil.rmtree(self.folder, ignore_errors=True)
        command = ["train", "--device", "cpu", "--model-size", options.model_size, "--train-data", options.out / "corpus",
                   "--checkpoint-dir", self.folder, "--batch-size", options.batch_size, "--max-steps", options.steps,
                   "--epochs", 1000000, "--eval-steps", 1000000, "--save-steps", 1000000, "--log-steps", 1,
                   "--model-threads", options.model_threads, "--data-threads", options.data_threads,
                   "--num-workers", 1, "--seed", 7, *options.flags.split()]
        if ranks > 1:
            command = ["launch", "--ranks", ranks, "--", *command]
        self.said = open(options.out / f"{name}.txt", "w+", encoding="utf-8")
        self.process = subprocess.Popen([str(part) for part in [options.program, *command]], stdin=subprocess.DEVNULL,
                                        stdout=self.said, stderr=subprocess.STDOUT)
        self.spent = {}  # steps done -> processor seconds, where the step's end was seen

    def steps(self):
        """Its lines of metrics.jsonl so far."""
        try:
            written = (self.folder / "metrics.jsonl").read_text()
        except OSError:
            return []
        whole = written[:written.rfind("\n") + 1]  # its last line may be on its way
        return [line for line in map(json.loads, whole.splitlines()) if line["event"] == "train"]

    def look(self):
        """False once it has ended."""
        ended = self.process.poll() is not None
        spent = processor_seconds(self.process)
        if spent is not None and not ended:
            self.spent.setdefault(len(self.steps()), spent)
        return not ended

    def finish(self):
        if self.process.wait() != 0:
            self.said.seek(0)
            sys.exit(f"A training of {self.ranks} ended with {self.process.returncode}:\n{self.said.read()[-3000:]}")

    def step_ms(self):
        """Of each step behind the warm-up, and before the last, which saves."""
        clips = self.options.batch_size * self.ranks
        return [1000 * clips / line["clips_per_second"] for line in self.steps()[self.options.warm_up:-2]]

    def core_ms(self):
        """Of a step, over the same steps as step_ms: what saving takes is not in it."""
        seen = [done for done in self.spent if self.options.warm_up <= done <= self.options.steps - 2]
        first, last = min(seen), max(seen)
        return 1000 * (self.spent[last] - self.spent[first]) / (last - first)


def run(options, *trainings):
    """Lets them run side by side to their ends."""
    while any([training.look() for training in trainings]):
        time.sleep(0.05)
    for training in trainings:
        training.finish()
    return trainings


def trained_parameters(options, training):
    """Of the GPT, from its checkpoint's header."""
    with open(training.folder / "latest" / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return sum(math.prod(entry["shape"]) for name, entry in header.items() if name.startswith("gpt."))


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def measure_link(options, gradient_bytes):
    """Milliseconds and core-milliseconds of sums over two ranks: of a few bytes, and of as many as the gradients have."""
    port = free_port()
    ranks = []
    for rank in range(2):
        world = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": port}
        ranks.append(subprocess.Popen([options.reduce_bench, "8", str(gradient_bytes)], text=True, stdout=subprocess.PIPE,
                                      env={**os.environ, **{name: str(value) for name, value in world.items()}}))
    told = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode != 0 for rank in ranks):
        sys.exit(f"{options.reduce_bench} ended with {[rank.returncode for rank in ranks]}.")
    small, large = (json.loads(line) for line in told[0].splitlines())
    sent = gradient_bytes / 1e9  # 2 (n - 1) / n of them, n being 2
    return {"latency_us": 1000 * small["ms"] / 2,
            "gigabytes_per_second": sent / ((large["ms"] - small["ms"]) / 1000),
            "core_ms_per_gigabyte": (large["core_ms"] - small["core_ms"]) / sent}


def best_of(rounds, name):
    """Of the round that others disturbed least: what they do can only make it slower."""
    return min(measured[name] for measured in rounds)


def measure_round(options, number):
    """One measurement of everything."""
    busy, own = busy_seconds(), os.times()
    began = time.monotonic()
    alone, = run(options, Training(options, "alone"))
    together = run(options, *[Training(options, f"together-{i}") for i in range(CORES // options.model_threads)])
    parameters = trained_parameters(options, alone)
    times = alone.step_ms()
    middle = statistics.median(times)
    measured = {"alone_ms": middle, "core_ms": alone.core_ms(), "parameters": parameters,
                "spread": 1.4826 * statistics.median(abs(one - middle) for one in times) / middle,
                "together_ms": statistics.median(one for training in together for one in training.step_ms()),
                "link": measure_link(options, 4 * parameters), "ranks": {1: middle}}
    for ranks in options.ranks:
        if ranks > 1:
            several, = run(options, Training(options, f"ranks-{ranks}", ranks))
            measured["ranks"][ranks] = statistics.median(several.step_ms())
    spent = os.times()
    children = spent.children_user + spent.children_system - own.children_user - own.children_system
    others = (busy_seconds() - busy - children) / (time.monotonic() - began)
    print(f"round {number}: alone {middle:.1f} ms and {measured['core_ms']:.1f} core-ms, {len(together)} at once "
          f"{measured['together_ms']:.1f} ms; ranks " +
          ", ".join(f"{ranks}: {ms:.1f} ms" for ranks, ms in measured["ranks"].items()) +
          f"; others kept {others:.2f} cores busy", flush=True)
    return measured


def cluster_of(options, rounds):
    """What the model is told; nothing of it comes from a training of several ranks."""
    alone, core, together = (best_of(rounds, name) for name in ("alone_ms", "core_ms", "together_ms"))
    at_once = CORES // options.model_threads
    link = max((measured["link"] for measured in rounds), key=lambda one: one["gigabytes_per_second"])
    return {"device": "cpu", "hosts": 1, "ranks_per_host": max(options.ranks), "cores": CORES,
            "crowding": max(1.0, together / max(alone, at_once * core / CORES)),
            "inside": {"name": "Gloo on one host", **link},
            "step": {"batch": options.batch_size, "ms": alone, "core_ms": core, "spread": best_of(rounds, "spread")},
            "parameters": rounds[0]["parameters"]}


def predictions(options, cluster):
    """ranks -> the model's row."""
    file = options.out / "cluster.json"
    file.write_text(json.dumps(cluster, indent=2) + "\n")
    answer = subprocess.run([options.program, "doctor", "--recommend", "--json", "--model-size", options.model_size,
                             "--cluster", file], capture_output=True, text=True, check=True).stdout
    return {row["ranks"]: row for row in json.loads(answer)["model_sizes"][0]["ranks"][0]["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--reduce-bench", required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("ranks"), help="made anew")
    parser.add_argument("--model-size", default="tiny")
    parser.add_argument("--batch-size", type=int, default=4, help="clips of a rank")
    parser.add_argument("--ranks", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--model-threads", type=int, default=1)
    parser.add_argument("--data-threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--warm-up", type=int, default=10, help="steps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clips", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a clip")
    parser.add_argument("--tolerance", type=float, default=0.15)
    parser.add_argument("--flags", default="", help="of every training, as one argument")
    options = parser.parse_args()
    if not set(options.ranks) <= {1, 2, 4, 8, 16, 32, 64}:
        parser.error("--ranks takes powers of two up to 64: those are what the model's table has")
    shutil.rmtree(options.out, ignore_errors=True)
    write_corpus(options.out / "corpus", options.clips, options.seconds)

    rounds = [measure_round(options, number) for number in range(1, options.rounds + 1)]
    cluster = cluster_of(options, rounds)
    print("the model is told:", json.dumps(cluster))
    predicted = predictions(options, cluster)
    failed = []
    print(f"{'ranks':>6} {'measured':>12} {'predicted':>12} {'deviation':>10}  clips/s")
    for ranks in options.ranks:
        measured = min(one["ranks"][ranks] for one in rounds)
        told = predicted[ranks]["step_ms"]
        deviation = told / measured - 1
        failed += [ranks] if abs(deviation) > options.tolerance else []
        print(f"{ranks:>6} {measured:>9.1f} ms {told:>9.1f} ms {100 * deviation:>+8.1f} %  "
              f"{1000 * ranks * options.batch_size / measured:.1f}")
    (options.out / "ranks.json").write_text(json.dumps({"cluster": cluster, "rounds": rounds, "predicted": predicted}, indent=2))
    if failed:
        sys.exit(f"The prediction for {failed} ranks is off by more than {100 * options.tolerance:.0f} %.")


if __name__ == "__main__":
    main()
