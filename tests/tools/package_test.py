#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel as its users meet it: made of a build, installed by pip, started, and removed again.

MYXTTS_BUILD is the build that is packaged. Nothing is fetched: LibTorch is laid beside it as torch's wheel does.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

from checkout import REPOSITORY

BUILD = pathlib.Path(os.environ["MYXTTS_BUILD"])
PYTHON = "/usr/bin/python3"  # the system's, with pip, as tools/setup makes sure of


def run(*command, **environment):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent", **environment})


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="myxtts wheel ")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name)
        made = run(REPOSITORY / "tools/package", "--wheel", "--build", BUILD, cls.root / "dist")
        assert made.returncode == 0, made.stderr
        (cls.wheel,) = (cls.root / "dist").iterdir()

    def setUp(self):
        self.venv = pathlib.Path(tempfile.mkdtemp(prefix="venv ", dir=self.root))
        run(PYTHON, "-m", "venv", "--without-pip", self.venv)
        (self.packages,) = self.venv.glob("lib/python3*/site-packages")

    def pip(self, *arguments):
        result = run(PYTHON, "-m", "pip", "--python", self.venv / "bin/python", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def install(self):
        self.pip("install", "--no-deps", "--no-index", "--quiet", self.wheel)

    def lay_torch_into(self, folder):
        folder.mkdir(exist_ok=True)
        for name in ("torch", "nvidia"):
            source = REPOSITORY / ".deps/libtorch" / name
            if source.exists():
                (folder / name).symlink_to(source)

    def start(self, *arguments, **environment):
        return run(self.venv / "bin/myxtts", *arguments, **environment)

    def test_it_runs_with_the_torch_beside_it(self):
        self.install()
        self.lay_torch_into(self.packages)
        result = self.start("--version")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("LibTorch 2.11", result.stdout)
        doctor = self.start("doctor").stdout
        self.assertIn(str(self.packages / "myxtts/share/myxtts/text/pypinyin"), doctor)
        self.assertNotIn("not installed", next(line for line in doctor.splitlines() if "sound library" in line))

    def test_it_runs_with_a_torch_that_python_finds_elsewhere(self):
        self.install()
        elsewhere = self.root / "another place"
        self.lay_torch_into(elsewhere)
        result = self.start("--version", PYTHONPATH=str(elsewhere))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("LibTorch 2.11", result.stdout)

    def test_without_torch_it_says_what_to_type(self):
        self.install()
        result = self.start("--version")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "myxtts: LibTorch 2.11 was not found beside Python; type: pip install 'torch==2.11.*'\n")

    def test_arguments_and_exit_code_are_the_programs_own(self):
        self.install()
        self.lay_torch_into(self.packages)
        result = self.start("synthesize", "--no such flag")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--no such flag", result.stderr)

    def test_a_wheel_brings_no_torch(self):
        result = run(REPOSITORY / "tools/package", "--wheel", "--with-libtorch", "--build", BUILD, self.root / "none")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("leave --wheel out", result.stderr)
        self.assertFalse((self.root / "none").exists())

    def test_uninstalling_leaves_nothing(self):
        before = sorted(self.venv.rglob("*"))
        self.install()
        self.assertNotEqual(sorted(self.venv.rglob("*")), before)
        self.pip("uninstall", "--yes", "--quiet", "myxtts")
        self.assertEqual(sorted(self.venv.rglob("*")), before)

    def test_it_carries_the_licence_of_everything_inside_and_names_the_torch_it_needs(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            about = next(name.split("/")[0] for name in names if name.endswith("dist-info/METADATA"))
            self.assertIn("Requires-Dist: torch (==2.11.*)", archive.read(f"{about}/METADATA").decode())
            licences = {name.rpartition("/")[2] for name in names if name.startswith(f"{about}/licences/")}
            self.assertLessEqual({"myxtts.txt", "libsndfile1.txt", "pypinyin.txt"}, licences)
            for library in ("libsndfile.so.1", "libcurl.so.4"):
                self.assertTrue(any(name.endswith(f"lib/{library}") for name in names), library)
            self.assertRegex(self.wheel.name, r"-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl$")


if __name__ == "__main__":
    unittest.main()
