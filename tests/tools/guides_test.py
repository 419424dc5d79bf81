#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of the guides, in both languages, and compares what is printed in shape.

usage: tests/tools/guides_test.py [--gpu]      MYXTTS_BUILD=build/release

With --gpu it runs the blocks that need a GPU, and those alone.
"""
import math
import os
import pathlib
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
import wave

from guides import GuideError, mismatch, read_blocks

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MYXTTS_BUILD", REPOSITORY / "build/release")).resolve()
PROGRAM = BUILD / "bin/myxtts"
NAMES = ["start/two-gpus", "guides/profile", "guides/memory", "guides/troubleshooting"]
ENGLISH = REPOSITORY / "docs"
PERSIAN = REPOSITORY / "docs/fa"
ON_GPU = "--gpu" in sys.argv
FAKE_NVML = BUILD / "lib/libfake_nvml.so"
MACHINES = {"cpu": None, "one-gpu": "NVIDIA L4", "two-gpus": "NVIDIA L4;NVIDIA L4"}


def make_corpus(folder, clips):
    """Tones with made-up sentences, in the layout of LJSpeech."""
    (folder / "wavs").mkdir(parents=True)
    words = "a voice is a small wind that carries what we mean from one room to another".split()
    chance = random.Random(3)
    rows = []
    for number in range(clips):
        seconds = chance.uniform(0.6, 0.9)
        samples = (int(9000 * math.sin(k * (0.05 + 0.01 * math.sin(k / 4000)))) for k in range(int(seconds * 22050)))
        with wave.open(str(folder / f"wavs/{number:04}.wav"), "wb") as clip:
            clip.setnchannels(1)
            clip.setsampwidth(2)
            clip.setframerate(22050)
            clip.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
        text = " ".join(chance.choices(words, k=2))
        rows.append(f"{number:04}|{text}.|{text}.")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def environment_of(machine):
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}:{os.environ['PATH']}", NO_COLOR="1", TERM="dumb")
    if machine == "gpu":
        return environment
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    gpus = MACHINES[machine]
    if gpus is None:
        environment["MYXTTS_NVML_LIBRARY"] = "libabsent-ml.so.1"
        return environment
    environment.update(MYXTTS_NVML_LIBRARY=str(FAKE_NVML), MYXTTS_CUDA_DRIVER=str(FAKE_NVML), FAKE_NVML_NAMES=gpus,
                       MYXTTS_CUDA_PLUGIN=str(BUILD / "lib/libfake_cuda_plugin.so"), FAKE_NVML_ANCESTOR="10")
    return environment


def known_flags():
    listing = subprocess.run([PROGRAM, "--list-flags"], capture_output=True, text=True, check=True).stdout
    flags = {}
    for line in listing.splitlines():
        command, flag = line.split("\t")
        flags.setdefault(command, set()).add(flag)
    return flags


class Guide:
    """A folder in which a guide is followed from its first block to its last."""

    def __init__(self, page):
        self.page = page
        self.folder = tempfile.TemporaryDirectory(prefix="myxtts-guide-")
        self.place = pathlib.Path(self.folder.name)
        make_corpus(self.place / "corpora/anna", 12)

    def run(self, block):
        """What is wrong with a block; empty when nothing is."""
        if "file" in block.options:
            (self.place / block.options["file"]).write_text(block.text, encoding="utf-8")
            return ""
        needs_gpu = block.options.get("needs") == "gpu"
        machine = "gpu" if needs_gpu else block.options.get("machine", "cpu")
        for command in block.commands:
            last = command is block.commands[-1]
            wrong = self.run_command(command, machine, int(block.options.get("exit", 0)) if last else 0)
            if wrong:
                return f"{self.page.name}:{command.line}: {command.words}\n  {wrong}"
        return ""

    def run_command(self, command, machine, exit_code):
        try:
            done = subprocess.run(["bash", "-c", command.words], cwd=self.place, env=environment_of(machine),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=120)
        except subprocess.TimeoutExpired:
            return "it takes more than two minutes"
        if done.returncode != exit_code:
            return f"it ends with {done.returncode}, not {exit_code}:\n{done.stdout}"
        wrong = mismatch(command.shape, done.stdout)
        return f"{wrong}:\n{done.stdout}" if wrong else ""


class Guides(unittest.TestCase):
    maxDiff = None

    def test_every_command_prints_what_the_guide_shows(self):
        for name in NAMES:
            page = ENGLISH / f"{name}.md"
            guide = Guide(page)
            self.addCleanup(guide.folder.cleanup)
            for block in read_blocks(page):
                needs_gpu = block.options.get("needs") == "gpu"
                if needs_gpu != ON_GPU and "file" not in block.options:
                    continue
                with self.subTest(block=block.name()):
                    self.assertEqual(guide.run(block), "")

    def test_every_flag_of_a_command_is_one_of_its_own(self):
        flags = known_flags()
        for page in [folder / f"{name}.md" for folder in (ENGLISH, PERSIAN) for name in NAMES]:
            for block in read_blocks(page):
                for command in block.commands:
                    words = shlex.split(command.words)
                    if words[0] != "myxtts" or len(words) < 2:
                        continue
                    for word in words[2:]:
                        flag = word.split("=")[0]
                        if flag.startswith("--"):
                            allowed = flags.get(words[1], set()) | flags.get("myxtts", set())
                            self.assertIn(flag, allowed, f"{page.name}:{command.line}")

    # The Persian blocks need no run of their own: they are the English ones, to the letter.
    def test_the_persian_guides_have_the_same_blocks(self):
        for name in NAMES:
            def outline(page):
                return [(block.options, block.text) for block in read_blocks(page)]
            self.assertEqual(outline(ENGLISH / f"{name}.md"), outline(PERSIAN / f"{name}.md"), name)


class Prose(unittest.TestCase):
    """Commands in the middle of a sentence of the troubleshooting page, with real names for those in capitals."""

    NAMES = {"FILE": "report.tar", "CORPUS": "corpora/anna", "MODEL": "runs/anna/latest", "CACHE": "cache"}
    SHORT = "--quiet --device cpu --batch-size 2 --max-steps 1"

    def commands(self, folder):
        text = (folder / "guides/troubleshooting.md").read_text(encoding="utf-8")
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        spans = [re.sub(r"\s+", " ", span) for span in re.findall(r"`(myxtts [a-z]+ [^`]*)`", prose)]
        return [span for span in spans if not span.startswith("myxtts profile ")]  # its own guide types those

    def test_each_does_what_the_sentence_says(self):
        if ON_GPU:
            self.skipTest("they need no GPU")
        guide = Guide(ENGLISH / "guides/troubleshooting.md")
        self.addCleanup(guide.folder.cleanup)
        made = f"myxtts train --model-size tiny {self.SHORT} --train-data corpora/anna --checkpoint-dir runs/anna"
        commands = self.commands(ENGLISH)
        self.assertGreaterEqual(len(commands), 3)
        for words in [made, *commands]:
            for name, value in self.NAMES.items():
                words = re.sub(rf"\b{name}\b", value, words)
            if "train" in words and words != made:
                words += f" {self.SHORT}"
            with self.subTest(command=words):
                done = subprocess.run(["bash", "-c", words], cwd=guide.place, env=environment_of("cpu"), text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      timeout=120)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_persian_page_has_no_others(self):
        self.assertLessEqual(set(self.commands(PERSIAN)), set(self.commands(ENGLISH)))


class Symptoms(unittest.TestCase):
    """What people come with, in the words they know it by, is a heading in both languages."""

    WORDS = ["Only one GPU shows activity", "The model starts too early",
             '"Physical devices cannot be modified after being initialized"', "Low use of one GPU",
             "Out of memory on either role", "Oscillating use", "A slow first epoch"]

    def test_each_is_a_heading_with_its_cause_and_what_to_type(self):
        for folder, parts in {ENGLISH: ("**Cause.**", "**See it:**", "**Type**"),
                              PERSIAN: ("**علت.**", "**راه دیدن:**", "**بنویسید**")}.items():
            text = (folder / "guides/troubleshooting.md").read_text(encoding="utf-8")
            for words in self.WORDS:
                heading = re.search(rf"^### {re.escape(words)}.*$", text, re.M)
                self.assertIsNotNone(heading, f"{folder}: {words}")
                section = re.split(r"^##", text[heading.end():], maxsplit=1, flags=re.M)[0]
                for part in parts:
                    self.assertIn(part, section, f"{folder}: {words}")


class Promises(unittest.TestCase):
    """Each figure that was promised stands on the page of claims, with what was measured or that nothing was."""

    FIGURES = ["1.5 to 2 times", "170 steps a minute", "2 to 3 times as fast", "6 to 8 steps a second", "10 to 12 at 8", "4 to 6 at 24",
               "20 to 30 times faster", "50 to 100 times faster", "10 to 30 % (XLA)", "85–95 % | +40 %", "75–85 % | +20 %",
               "in another document +30 %", "80–90 % | +30 % (+40 %)", "40–60 %, oscillating", "80 to 95 %", "40 to 60 %",
               "30 % variation", "70, 80, 90 %", "40, 30, 20 %", "–, 50, 60 %", "–, 1.5–2, 2–3 times", "20 to 30 %, transfer below 15 %"]

    def test_none_is_left_out_and_each_is_answered(self):
        page = (ENGLISH / "results/claims.md").read_text(encoding="utf-8")
        blocks = []  # paragraphs, and the rows of tables
        for block in page.split("\n\n"):
            blocks += block.splitlines() if block.startswith("|") else [re.sub(r"\s+", " ", block)]
        for figure in self.FIGURES:
            block = next((block for block in blocks if figure in block), None)
            self.assertIsNotNone(block, figure)
            self.assertRegex(block.split(figure, 1)[1], r"easured|\d|not graded", figure)

    def test_what_nvidia_smi_shows_is_measured_or_called_expected(self):
        for folder, words in {ENGLISH: ("measured: ", "expected: "), PERSIAN: ("اندازه‌گیری‌شده: ", "انتظار می‌رود")}.items():
            text = (folder / "start/two-gpus.md").read_text(encoding="utf-8")
            section = text.split("`watch -n 1 nvidia-smi`", 1)[1].split("\n## ", 1)[0]
            rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
            self.assertGreaterEqual(len(rows), 4)
            for row in rows:
                self.assertTrue(any(word in row for word in words), row)


class PersianText(unittest.TestCase):
    PAGES = ["README", "guides/devices", "reference/machine-checks", *NAMES]

    def prose(self, page):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        return re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|<[^>]*>", " ", text, flags=re.S)

    def test_prose_runs_from_right_to_left_and_commands_do_not(self):
        for name in self.PAGES:
            depth = 0
            for number, line in enumerate((PERSIAN / f"{name}.md").read_text(encoding="utf-8").splitlines(), 1):
                where = f"{name}.md:{number}"
                if line.startswith("<div"):
                    self.assertEqual(line, '<div dir="rtl">', where)
                    depth += 1
                elif line.startswith("</div>"):
                    depth -= 1
                elif line.startswith("```"):
                    self.assertEqual(depth, 0, f"{where}: a command inside text that runs from right to left")
                elif re.search("[آ-ی]", line):
                    self.assertEqual(depth, 1, where)
            self.assertEqual(depth, 0, name)

    def test_letters_signs_and_half_spaces_are_persian(self):
        for name in self.PAGES:
            for number, line in enumerate(self.prose(PERSIAN / f"{name}.md").splitlines(), 1):
                for what, pattern in {
                    "an Arabic letter": "[يكىة]",
                    "a Latin comma, semicolon or question mark": "[آ-ی] ?[,;?]",
                    "می without its half-space": r"(?<![آ-ی\u200c])ن?می [آ-ی]",
                    "ها apart from its word": r"[آ-ی] ها(?:ی|یی|یش|یشان)?(?![آ-ی])",
                    "a half-space beside a space": "\u200c[ \n]|[ \n]\u200c",
                }.items():
                    self.assertIsNone(re.search(pattern, line), f"{name}.md: {what}: {line.strip()}")


class Shapes(unittest.TestCase):
    """The comparison itself: what it lets pass and what it does not."""

    def test_figures_may_differ_and_words_may_not(self):
        shape = ["  single   <number>  <size>  <- taken", "..."]
        self.assertIsNone(mismatch(shape, "single 1,412.3   38.8 ms <- taken\nmore\n"))
        self.assertIsNotNone(mismatch(shape, "single fast 38.8 ms <- taken\n"))
        self.assertIsNotNone(mismatch(shape, "double 1 38.8 ms <- taken\n"))

    def test_a_line_more_or_less_is_found(self):
        self.assertIsNone(mismatch(["a", "b"], "a\nb\n"))
        self.assertIsNotNone(mismatch(["a", "b"], "a\n"))
        self.assertIsNotNone(mismatch(["a"], "a\nb\n"))
        self.assertIsNotNone(mismatch([], "a\n"))
        self.assertIsNone(mismatch(["..."], "a\nb\n"))
        self.assertIsNone(mismatch(["...", "b"], "a\na\nb\n"))
        self.assertIsNotNone(mismatch(["...", "b", "a"], "a\na\nb\n"))

    def test_a_line_may_go_on_in_the_next_one(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("```console\n$ myxtts train \\\n    --resume\n...\nmyxtts: one \\\n  line\n```\n", encoding="utf-8")
            command, = read_blocks(page)[0].commands
            self.assertEqual((command.words, command.shape), ("myxtts train --resume", ["...", "myxtts: one line"]))

    def test_a_fence_that_nobody_runs_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("```\nmyxtts train\n```\n", encoding="utf-8")
            self.assertRaises(GuideError, read_blocks, page)
            page.write_text("<!-- guide: file=a.yaml -->\n```yaml\na: 1\n```\n", encoding="utf-8")
            self.assertEqual(read_blocks(page)[0].options, {"file": "a.yaml"})


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--gpu"])
