#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/setup against every way it can be disturbed, with small archives from this machine."""
import hashlib
import io
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import unittest
import zipfile

from checkout import CheckoutTest

CLOSED_PORT = "http://127.0.0.1:9"


class SetupTest(CheckoutTest):
    """A checkout whose lock file names archives on a shelf of this machine."""

    def setUp(self):
        super().setUp()
        self.bring("tools/setup", "tools/fetch.py", "tools/apt-packages.txt")
        self.shelf = self.root.parent / "shelf"
        self.shelf.mkdir()
        self.lock = ""
        self.environment["MYXTTS_CUDA"] = "OFF"
        self.environment["LIBTORCH"] = str(self.make_libtorch("2", "11", "0"))

    def make_libtorch(self, *version):
        folder = self.root.parent / ("libtorch-" + ".".join(version))
        header = folder / "include/torch/headeronly/version.h"
        header.parent.mkdir(parents=True)
        header.write_text("".join(f"#define TORCH_VERSION_{part} {number}\n"
                                  for part, number in zip(("MAJOR", "MINOR", "PATCH"), version)))
        (folder / "lib").mkdir()
        (folder / "lib/libtorch_cpu.so").touch()
        return folder

    def add(self, file, entry, url=None):
        data = (self.shelf / file).read_bytes() if (self.shelf / file).exists() else b""
        name, version = file.split("-")[:2]
        self.lock += f'[[package]]\ngroup = "text"\nrequirement = "{name}=={version.removesuffix(".tar.gz")}"\n{entry}\n'
        if url:
            self.lock += f'url = "{url}"\n'
        self.lock += f'any = {{ bytes = {len(data)}, sha256 = "{hashlib.sha256(data).hexdigest()}", file = "{file}" }}\n'
        self.write("tools/dependencies.lock", self.lock)

    def add_tar(self, megabytes=0, url=None):
        """dict-1.0.tar.gz: words.txt is kept, other.txt is not."""
        path = self.shelf / "dict-1.0.tar.gz"
        with tarfile.open(path, "w:gz", compresslevel=1) as tar:
            for name, data, mode in (("dict-1.0/data/words.txt", b"one two\n", 0o644), ("dict-1.0/data/run", b"#!/bin/sh\n", 0o755),
                                     ("dict-1.0/data/big", bytes(megabytes << 20), 0o644), ("dict-1.0/other.txt", b"no\n", 0o644)):
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(data), mode
                tar.addfile(info, io.BytesIO(data))
        self.add(path.name, 'into = "text/dict"\nkeep = ["dict-1.0/data/"]\nstrip = "dict-1.0/data/"', url or path.as_uri())
        return path

    def add_wheel(self):
        """words-2.0-py3-none-any.whl, which pip fetches."""
        path = self.shelf / "words-2.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("words/table.json", "{}")
            wheel.writestr("words-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: words\nVersion: 2.0\n")
            wheel.writestr("words-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("words-2.0.dist-info/RECORD", "")
        self.add(path.name, 'into = "text/words"\nkeep = ["words/"]\nstrip = "words/"')
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.shelf.as_uri()}
        return path

    def setup(self, *arguments, **environment):
        return self.run_tool(self.root / "tools/setup", *arguments, **environment)

    def assert_complete(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.root / ".deps/text/dict/words.txt").read_text(), "one two\n")

    def assert_fails(self, result, *words):
        """One sentence and a remedy, and no Python in it."""
        self.assertNotEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        last = result.stderr.strip().splitlines()[-1]
        for word in words:
            self.assertIn(word, last)


class Fetching(SetupTest):
    def test_what_is_kept_is_unpacked_and_nothing_else(self):
        self.add_tar()
        self.assert_complete(self.setup())
        folder = self.root / ".deps/text/dict"
        self.assertEqual(sorted(path.name for path in folder.iterdir()), [".complete", "big", "run", "words.txt"])
        self.assertTrue((folder / "run").stat().st_mode & 0o100)
        self.assertEqual(list((self.root / ".deps/download").iterdir()), [])

    def test_a_wheel_comes_through_pip(self):
        self.add_wheel()
        result = self.setup()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.root / ".deps/text/words/table.json").read_text(), "{}")

    def test_the_second_run_needs_no_source_and_touches_nothing(self):
        archive = self.add_tar()
        self.assert_complete(self.setup())
        archive.unlink()
        before = (self.root / ".deps/text/dict/words.txt").stat()
        arguments = (self.root / ".deps/cmake-arguments").stat()
        result = self.setup()
        self.assert_complete(result)
        self.assertEqual(result.stderr, "")
        self.assertEqual(before.st_mtime_ns, (self.root / ".deps/text/dict/words.txt").stat().st_mtime_ns)
        self.assertEqual(arguments.st_mtime_ns, (self.root / ".deps/cmake-arguments").stat().st_mtime_ns)

    def test_no_network_and_nothing_there_is_a_sentence(self):
        self.add_tar(url=f"{CLOSED_PORT}/dict-1.0.tar.gz")
        self.assert_fails(self.setup(), "could not be fetched", "Connection refused", "Check the network")
        self.assertFalse((self.root / ".deps/text").exists())

    def test_no_package_index_is_a_sentence(self):
        self.add_wheel()
        del self.environment["PIP_NO_INDEX"], self.environment["PIP_FIND_LINKS"]
        self.assert_fails(self.setup(PIP_INDEX_URL=f"{CLOSED_PORT}/simple", PIP_CONFIG_FILE="/dev/null", PIP_RETRIES="0"),
                          "words==2.0 could not be fetched", "Check the network")

    def test_no_pip_is_a_sentence_that_names_the_package(self):
        self.add_wheel()
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.root / "bare"], check=True)
        self.assert_fails(self.run_tool(self.root / "bare/bin/python3", "-I", self.root / "tools/fetch.py"),
                          "has no pip", "apt-get install -y python3-pip")

    def test_a_damaged_download_is_fetched_again(self):
        archive = self.add_tar()
        (self.root / ".deps/download").mkdir(parents=True)
        damaged = bytearray(archive.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        (self.root / ".deps/download" / archive.name).write_bytes(damaged)
        result = self.setup()
        self.assert_complete(result)
        self.assertIn("is damaged", result.stderr)

    def test_a_source_that_stays_damaged_is_refused(self):
        archive = self.add_tar()
        archive.write_bytes(archive.read_bytes() + b"x")
        self.assert_fails(self.setup(), "arrived twice with a wrong SHA-256", "PIP_INDEX_URL")
        self.assertFalse((self.root / ".deps/text").exists())

    def test_killed_while_unpacking_the_next_run_repairs(self):
        self.add_tar(megabytes=64)
        setup = subprocess.Popen([str(self.root / "tools/setup")], env=self.environment, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not (self.root / ".deps/unpacking/big").exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        setup.send_signal(signal.SIGKILL)
        self.assertEqual(setup.wait(), -signal.SIGKILL, "it ended before it could be killed")
        self.assertFalse((self.root / ".deps/text/dict/words.txt").exists())
        self.assert_complete(self.setup())
        self.assertEqual((self.root / ".deps/text/dict/big").stat().st_size, 64 << 20)
        self.assertFalse((self.root / ".deps/unpacking").exists())

    def test_a_lost_or_cut_file_is_put_back(self):
        self.add_tar()
        self.assert_complete(self.setup())
        words = self.root / ".deps/text/dict/words.txt"
        words.unlink()
        self.assert_complete(self.setup())
        words.write_text("one")
        self.assert_complete(self.setup())

    def test_no_room_on_the_disk_is_said_before_fetching(self):
        self.add_tar(url=f"{CLOSED_PORT}/dict-1.0.tar.gz")
        lock = self.root / "tools/dependencies.lock"
        lock.write_text(lock.read_text().replace("bytes = ", "bytes = 9000000000000"))
        self.assert_fails(self.setup(), "GB free", "Free some space")

    def test_another_libtorch_is_taken_or_refused_by_its_version(self):
        self.add_tar()
        self.assert_complete(self.setup())
        self.assertIn(f"-DMYXTTS_LIBTORCH={self.environment['LIBTORCH']}\n", (self.root / ".deps/cmake-arguments").read_text())
        self.assert_fails(self.setup(LIBTORCH=str(self.make_libtorch("2", "9", "1"))), "LibTorch 2.9.1; 2.11 is needed")
        self.assert_fails(self.setup(LIBTORCH="/nowhere"), "LIBTORCH=/nowhere holds no LibTorch", "unset LIBTORCH")

    def test_a_wish_for_cuda_that_is_none_is_refused(self):
        self.add_tar()
        self.assert_fails(self.setup(MYXTTS_CUDA="maybe"), "MAYBE is not one of ON, OFF and AUTO")


class SystemPackages(SetupTest):
    """The apt half, on a machine that says that only cmake is installed."""

    def setUp(self):
        super().setUp()
        self.add_tar()
        del self.environment["MYXTTS_SKIP_APT"]
        self.tools = self.root.parent / "bin"
        self.tools.mkdir()
        for tool in ("bash", "env", "readlink", "dirname", "grep", "sed", "sort", "comm", "tr", "mkdir", "flock"):
            (self.tools / tool).symlink_to(shutil.which(tool))
        self.fake("dpkg-query", 'echo "installed cmake"')
        self.fake("id", "echo 1000")
        self.environment["PATH"] = str(self.tools)

    def fake(self, name, script):
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def test_without_root_and_sudo_the_apt_line_is_printed(self):
        result = self.setup()
        self.assert_fails(result, "Type as root: apt-get install -y ", " g++ ", " ninja-build ")
        self.assertNotIn(" cmake", result.stderr)
        self.assertFalse((self.root / ".deps").exists())

    def test_sudo_that_would_ask_for_a_password_counts_as_none(self):
        self.fake("sudo", "exit 1")
        self.assert_fails(self.setup(), "Type as root: apt-get install -y ")

    def test_root_installs_only_what_is_missing(self):
        self.fake("id", "echo 0")
        self.fake("apt-get", f'echo "$@" >>"{self.root}/apt"')
        self.setup()
        update, install = (self.root / "apt").read_text().splitlines()
        self.assertEqual(update, "update")
        self.assertIn(" g++ ", install)
        self.assertNotIn(" cmake", install)

    def test_apt_that_fails_is_a_sentence(self):
        self.fake("id", "echo 0")
        self.fake("apt-get", "exit 100")
        self.assert_fails(self.setup(), "apt-get could not install")

    def test_a_system_without_apt_is_told_what_to_install(self):
        (self.tools / "dpkg-query").unlink()
        self.assert_fails(self.setup(), "has no apt", "MYXTTS_SKIP_APT=1", "libsndfile1-dev")


if __name__ == "__main__":
    unittest.main()
