#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./myxtts: builds when there is no build, says when it is old, and otherwise gets out of the way."""
import unittest

from checkout import CheckoutTest

# Stands for the program: shows its arguments, one to a line, and ends with a code of its own.
PROGRAM = '#!/bin/sh\nprintf "[%s]\\n" "$@"\nexit 7\n'


class Launcher(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.bring("myxtts")
        for path in ("src/base/error.cpp", "cmake/Module.cmake", "CMakeLists.txt"):
            self.write(path, "\n")
            self.age(path, 100)
        self.write("tools/build", '#!/bin/sh\necho "building $@"\nexit 1\n', 0o755)

    def add_build(self):
        self.write("build/release/bin/myxtts", PROGRAM, 0o755)
        self.write("build/release/lib/libmyxtts.so", "")
        self.write("build/release/built", "")

    def test_the_program_gets_the_arguments_as_they_are_and_its_exit_code_comes_back(self):
        self.add_build()
        result = self.run_tool(self.root / "myxtts", "say", "two words", "", "--flag=*")
        self.assertEqual((result.stdout, result.stderr), ("[say]\n[two words]\n[]\n[--flag=*]\n", ""))
        self.assertEqual(result.returncode, 7)

    def test_it_works_through_a_symbolic_link_from_another_folder(self):
        self.add_build()
        link = self.root.parent / "a link"
        link.symlink_to(self.root / "myxtts")
        self.assertEqual(self.run_tool(link, "x", cwd="/").stdout, "[x]\n")

    def test_a_source_newer_than_the_build_is_named_in_one_line_on_standard_error(self):
        self.add_build()
        for path in ("build/release/bin/myxtts", "build/release/lib/libmyxtts.so", "build/release/built"):
            self.age(path, 50)
        self.assertEqual(self.run_tool(self.root / "myxtts", "x").stderr, "")
        self.write("src/base/error.cpp", "changed\n")
        result = self.run_tool(self.root / "myxtts", "x")
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("src/base/error.cpp is newer than the build", result.stderr)
        self.assertIn("tools/build release program", result.stderr)
        self.assertEqual((result.stdout, result.returncode), ("[x]\n", 7))

    def test_without_a_build_it_builds_the_program_and_then_starts_it(self):
        self.write("tools/build", f"""#!/bin/sh
echo "building $@"
mkdir -p "{self.root}/build/release/bin"
printf '#!/bin/sh\\necho started "$@"\\n' >"{self.root}/build/release/bin/myxtts"
chmod +x "{self.root}/build/release/bin/myxtts"
""", 0o755)
        result = self.run_tool(self.root / "myxtts", "doctor")
        self.assertEqual(result.stdout, "started doctor\n")
        self.assertIn("building release program", result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_a_build_that_fails_is_a_sentence_and_starts_nothing(self):
        result = self.run_tool(self.root / "myxtts", "doctor")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("The build did not succeed", result.stderr)


if __name__ == "__main__":
    unittest.main()
