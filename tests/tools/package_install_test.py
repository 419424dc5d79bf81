#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""install.sh of the archive with LibTorch, in a package whose program is a stand-in."""
import hashlib
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from checkout import REPOSITORY


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="myxtts install ")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.package = self.make_package("1")
        self.prefix = self.root / "a home/.local"

    def make_package(self, version, starts=True):
        package = self.root / f"package {version}"
        for name in ("bin", "lib", "libexec", "licences", "share/myxtts/configs", "share/man/man1"):
            (package / name).mkdir(parents=True)
            (package / name / f"file {version}").write_text(name)
        program = package / "bin/myxtts"
        program.write_text(f"#!/bin/sh\necho {version}\nexit {0 if starts else 1}\n")
        program.chmod(0o755)
        shutil.copy(REPOSITORY / "tools/package-install.sh", package / "install.sh")
        (package / "install.sh").chmod(0o755)
        files = [path for path in package.rglob("*") if path.is_file()]
        sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(package)}\n" for path in files]
        (package / "SHA256SUMS").write_text("".join(sums))
        return package

    def run_script(self, script, *arguments):
        return subprocess.run([script, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.root / "a home")})

    def install(self, *arguments):
        return self.run_script(self.package / "install.sh", *arguments)

    def refused(self, result, words):
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stderr.splitlines()[-1][:12], "install.sh: ")
        self.assertIn(words, result.stderr)

    def test_it_installs_into_the_home_folder_and_the_package_may_go(self):
        result = self.install()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'export PATH="{self.prefix}/bin:$PATH"', result.stdout)
        shutil.rmtree(self.package)
        self.assertEqual(self.run_script(self.prefix / "bin/myxtts").stdout, "1\n")
        self.assertEqual((self.prefix / "share/man/man1/file 1").read_text(), "share/man/man1")
        self.assertFalse((self.prefix / "share/myxtts").exists(), "what only the program reads has no link")

    def test_uninstalling_leaves_what_was_there_before_and_nothing_else(self):
        (self.prefix / "share/man/man1").mkdir(parents=True)
        (self.prefix / "share/man/man1/mine.1").write_text("mine")
        before = sorted(self.prefix.rglob("*"))
        self.assertEqual(self.install().returncode, 0)
        self.assertNotEqual(sorted(self.prefix.rglob("*")), before)
        result = self.run_script(self.prefix / "lib/myxtts/install.sh", "--uninstall")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(self.prefix.rglob("*")), before)

    def test_a_prefix_that_was_made_goes_again(self):
        self.assertEqual(self.install(self.root / "elsewhere").returncode, 0)
        self.assertEqual(self.install("--uninstall", self.root / "elsewhere").returncode, 0)
        self.assertFalse((self.root / "elsewhere").exists())

    def test_another_version_replaces_the_one_that_is_there(self):
        self.install()
        self.package = self.make_package("2")
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(self.run_script(self.prefix / "bin/myxtts").stdout, "2\n")
        self.assertEqual([path.name for path in (self.prefix / "share/man/man1").iterdir()], ["file 2"])

    def test_a_damaged_file_is_refused_before_anything_is_written(self):
        (self.package / "lib/file 1").write_text("other")
        result = self.install()
        self.refused(result, "fetch it again and unpack it anew")
        self.assertIn("lib/file 1", result.stdout + result.stderr)
        self.assertFalse(self.prefix.exists())

    def test_a_program_that_does_not_start_here_is_not_installed(self):
        self.package = self.make_package("3", starts=False)
        self.refused(self.install(), "does not start here")
        self.assertFalse(self.prefix.exists())

    def test_what_somebody_else_put_there_is_left_alone(self):
        (self.prefix / "bin").mkdir(parents=True)
        (self.prefix / "bin/myxtts").write_text("mine")
        self.refused(self.install(), "was not made by install.sh")
        self.assertEqual((self.prefix / "bin/myxtts").read_text(), "mine")

    def test_uninstalling_where_nothing_is_says_so(self):
        self.refused(self.install("--uninstall"), "there is no myxtts in")

    def test_an_unknown_flag_is_refused(self):
        result = self.install("--prefix")
        self.refused(result, "--prefix is not known")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
