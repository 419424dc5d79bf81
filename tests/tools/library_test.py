#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as its users meet it: installed, moved, found by CMake, and driven by examples/train_from_code.cpp.

MYXTTS_BUILD is the build that is installed. Nothing is built there: tools/build is a stand-in.
"""
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import wave

from checkout import REPOSITORY, CheckoutTest

BUILD = pathlib.Path(os.environ["MYXTTS_BUILD"])
STEPS = 4
TEXTS = ("the first clip", "and a second one", "three of them", "the fourth is here",
         "five are enough", "the sixth clip", "seven of eight", "the last of all")


def write_corpus(folder):
    """A tone of its own for each text."""
    (folder / "wavs").mkdir(parents=True)
    for number, _ in enumerate(TEXTS):
        with wave.open(str(folder / f"wavs/clip{number}.wav"), "wb") as file:
            file.setparams((1, 2, 22050, 0, "NONE", ""))
            pitch = 2 * math.pi * (150 + 40 * number) / 22050
            file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(pitch * i))) for i in range(26460)))
    lines = [f"clip{number}|{text}|{text}" for number, text in enumerate(TEXTS)]
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")


class Library(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.bring("tools/install")
        self.write("tools/build", "#!/bin/sh\necho \"$@\" >built-with\n", 0o755)
        (self.root / "build").mkdir()
        (self.root / "build/release").symlink_to(BUILD)

    def install(self):
        """Into a folder that is moved afterwards. Where it is then."""
        first, moved = self.root / "first", self.root / "moved away"
        result = self.run_tool(self.root / "tools/install", first, "library")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.root / "built-with").read_text(), "release program\n")
        first.rename(moved)
        return moved

    def configure(self, prefix, *arguments):
        launcher = shutil.which("ccache")
        return subprocess.run(
            ["cmake", "-G", "Ninja", "-S", REPOSITORY / "examples", "-B", self.root / "example",
             f"-DCMAKE_PREFIX_PATH={prefix}", *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
             *arguments], capture_output=True, text=True, timeout=120)

    def build_example(self):
        result = subprocess.run(["cmake", "--build", self.root / "example"], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:])
        self.assertNotIn("warning", result.stdout)
        return self.root / "example/train_from_code"

    def test_a_program_of_ones_own_trains_with_the_installed_library(self):
        prefix = self.install()
        result = self.configure(prefix)
        self.assertEqual(result.returncode, 0, result.stderr)
        program = self.build_example()
        refused = self.run_tool(program.with_name("speak_from_code"), self.root / "no-model", "clip.wav", "Hello.")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("no-model is not a model folder", refused.stderr)
        write_corpus(self.root / "corpus")
        result = self.run_tool(program, self.root / "corpus", self.root / "run", STEPS)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = re.findall(r"^step (\d+)  loss ([0-9.]+)  \((\d+) clips, ([0-9.]+) s\)$", result.stdout, re.MULTILINE)
        self.assertEqual([int(step) for step, *_ in found], list(range(1, STEPS + 1)))
        # One of the eight clips is kept back to measure on: an epoch is three batches of two clips and one of one.
        self.assertEqual([(clips, float(seconds)) for _, _, clips, seconds in found[:4]], [("2", 2.4)] * 3 + [("1", 1.2)])
        losses = [float(loss) for _, loss, *_ in found]
        self.assertLess(losses[-1], losses[0])

    def test_what_is_installed_names_neither_the_build_nor_the_sources(self):
        prefix = self.install()
        for file in [*prefix.rglob("*.h"), *prefix.rglob("*.cmake")]:
            text = file.read_text()
            self.assertNotIn(str(BUILD), text, file)
            self.assertNotIn(str(REPOSITORY), text, file)
            self.assertFalse(re.search(r'#include "(?!myxtts/)', text), file)
        self.assertFalse((prefix / "include/myxtts/cli").exists())
        paths = subprocess.run(["readelf", "-d", prefix / "lib/libmyxtts.so"], capture_output=True, text=True).stdout
        self.assertEqual(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", paths), ["$ORIGIN/../lib:$ORIGIN/../libtorch/lib"])

    def test_without_libtorch_cmake_says_what_to_set(self):
        prefix = self.install()
        (prefix / "libtorch").unlink()
        result = self.configure(prefix)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("MYXTTS_LIBTORCH", " ".join(result.stderr.split()))

    def test_the_program_comes_with_manual_pages_and_completions(self):
        result = self.run_tool(self.root / "tools/install", self.root / "prefix", "program")
        self.assertEqual(result.returncode, 0, result.stderr)
        for page in ("man/man1/myxtts-vocab-extend.1", "bash-completion/completions/myxtts", "zsh/site-functions/_myxtts",
                     "fish/vendor_completions.d/myxtts.fish"):
            self.assertGreater((self.root / "prefix/share" / page).stat().st_size, 500, page)

    def test_a_component_that_is_not_known_installs_nothing(self):
        result = self.run_tool(self.root / "tools/install", self.root / "prefix", "libary")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "install: libary is not known; there are: program library cuda text.\n")
        self.assertFalse((self.root / "prefix").exists())


if __name__ == "__main__":
    unittest.main()
