#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of the source tree: what is planted is found, with file and line."""
import sys
import unittest

from checkout import REPOSITORY, CheckoutTest


class Checks(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.write("src/LAYERS", "# a remark\nbase:\naudio: base\ndevice: base\ncli: base audio device\n")

    def check(self, name):
        return self.run_tool(sys.executable, REPOSITORY / "tools" / name, self.root)

    def assert_found(self, result, *lines):
        self.assertEqual(result.stdout.splitlines(), list(lines))
        self.assertEqual(result.returncode, 1)

    def test_what_the_layers_allow_is_clean(self):
        self.write("src/audio/wav.cpp", '#include "audio/wav.h"\n#include "base/error.h"\n#include <ATen/ATen.h>\n')
        self.write("src/device/cuda/stream.cpp", "#include <cuda_runtime.h>\n")
        self.write("src/audio/mel.cu", "#include <c10/cuda/CUDAStream.h>\n")
        result = self.check("check_layers.py")
        self.assertEqual((result.stdout, result.returncode), ("layers: clean\n", 0))

    def test_an_include_against_the_layers_is_found(self):
        self.write("src/audio/oops.h", '#pragma once\n  #  include "cli/command.h"\n')
        self.assert_found(self.check("check_layers.py"), "src/audio/oops.h:2: audio may not include cli/")

    def test_a_cuda_header_outside_its_place_is_found(self):
        self.write("src/device/stream.cpp", "#include <cuda_runtime.h>\n")
        self.assert_found(self.check("check_layers.py"),
                          "src/device/stream.cpp:1: CUDA headers belong in src/device/cuda/ or a kernel's .cu or _cuda.cpp")

    def test_a_folder_without_a_line_in_layers_is_found(self):
        self.write("src/extra/thing.h", "#pragma once\n")
        self.assert_found(self.check("check_layers.py"), "src/extra/thing.h:1: src/LAYERS has no line for the module extra")

    def test_a_module_that_names_one_below_itself_is_refused(self):
        self.write("src/LAYERS", "base: audio\naudio:\n")
        result = self.check("check_layers.py")
        self.assertIn("base names ['audio'] before they are defined", result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_a_file_over_the_limit_fails_and_one_on_its_way_is_remarked(self):
        self.write("src/base/long.cpp", "\n" * 601)
        self.write("src/base/longish.h", "\n" * 201)
        self.assert_found(self.check("check_sizes.py"), "remark: src/base/longish.h: 201 lines, more than 200",
                          "src/base/long.cpp: 601 lines; 600 is the limit, split it")

    def test_files_of_the_right_size_are_clean(self):
        self.write("src/base/fine.cpp", "\n" * 400)
        self.write("src/cli/train.cpp", "\n" * 150)
        result = self.check("check_sizes.py")
        self.assertEqual((result.stdout, result.returncode), ("sizes: clean\n", 0))


if __name__ == "__main__":
    unittest.main()
