# SPDX-License-Identifier: Apache-2.0
"""A made-up checkout in a temporary folder, to run the real scripts of tools/ in."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent


class CheckoutTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="myxtts tools ")  # a path with a space in it
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name).resolve() / "check out"
        (self.root / "tools").mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.root), "MYXTTS_SKIP_APT": "1"}

    def bring(self, *paths):
        """Copies files of the repository to their place in the checkout."""
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / path, self.root / path)

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
        return target

    def run_tool(self, *command, cwd=None, **environment):
        return subprocess.run([str(part) for part in command], cwd=cwd or self.root, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={**self.environment, **environment}, timeout=60)

    def age(self, path, seconds):
        """Makes a file look as if it was last written `seconds` ago."""
        then = os.stat(self.root / path).st_mtime - seconds
        os.utime(self.root / path, (then, then))
