#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of the source tree: what is planted is found, with file and line."""
import http.server
import json
import sys
import threading
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

    def test_cases_are_counted_and_a_crash_is_a_failure(self):
        entry = '<testcase name="{}" status="{}"/>'
        self.write("junit.xml", "<testsuite>" + entry.format("text_test", "fail") + entry.format("crash_test", "fail") +
                   entry.format("gone_test", "fail") + entry.format("Demo.Speaks", "run") +
                   entry.format("gpu_test", "notrun") + "</testsuite>")
        self.write("cases/text_test.xml", '<testsuites><testsuite><testcase result="completed"/>'
                   '<testcase result="completed"><failure/></testcase><testcase result="skipped"/></testsuite></testsuites>')
        self.write("cases/crash_test.xml", '<testsuites><testsuite><testcase result="completed"/></testsuite></testsuites>')
        result = self.run_tool(sys.executable, REPOSITORY / "tools" / "count_tests.py", self.root / "junit.xml",
                               self.root / "cases")
        self.assertEqual(result.stdout, "3 3 2\n")

    def test_a_report_that_quotes_bytes_that_are_no_text_is_counted(self):
        self.write("junit.xml", '<testsuite><testcase name="text_test" status="fail"/></testsuite>')
        self.write("cases/text_test.xml", "")
        (self.root / "cases/text_test.xml").write_bytes(
            b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite><testcase result="completed"/>'
            b'<testcase result="completed"><failure message="&quot;\xff\xfe\x01&quot;"/></testcase></testsuite></testsuites>')
        result = self.run_tool(sys.executable, REPOSITORY / "tools" / "count_tests.py", self.root / "junit.xml",
                               self.root / "cases")
        self.assertEqual(result.stdout, "1 1 0\n")

    def test_docs_that_lead_everywhere_are_clean(self):
        self.write("docs/README.md", "# Docs\n[a](guides/a.md#the-first-of-two) `[no](link.md)` [web](https://example.org)\n")
        self.write("docs/guides/a.md", "# A\n## The `first`, of two\n[up](../README.md) [sounds](../voices/)\n"
                   "```\n[x](gone.md)\n```\n<!-- printed by the program -->\n" + "x" * 161 + "\n")
        self.write("docs/voices/README.md", "# Voices\n")
        self.write("src/base/a.h", "// docs/guides/a.md has more.\n")
        result = self.check("check_docs.py")
        self.assertEqual((result.stdout, result.returncode), ("docs: clean\n", 0))

    def test_broken_links_lost_pages_and_wide_lines_are_found(self):
        self.write("docs/README.md", "# Docs\n[a](a.md#gone) [b](b.md)\n" + "x" * 161 + "\n")
        self.write("docs/a.md", "# A\n## Here\n## Here\n[one](#here) [two](#here-1) [three](#here-2)\n"
                   "`src/base/a.h` `base/a.h` `src/*/a.h` `base/b.h` `src/base/c.cpp`\n")
        self.write("docs/lost.md", "# Lost\n[a](a.md)\n")
        self.write("src/base/a.h", "// docs/c.md has more.\n")
        self.assert_found(self.check("check_docs.py"), "docs/README.md:2: a.md#gone leads to a heading that is not there",
                          "docs/README.md:2: b.md is not there", "docs/README.md:3: 161 columns; 160 is the limit",
                          "docs/a.md:4: #here-2 leads to a heading that is not there",
                          "docs/a.md:5: base/b.h is not there", "docs/a.md:5: src/base/c.cpp is not there",
                          "docs/lost.md:1: docs/README.md does not lead to this page",
                          "src/base/a.h:1: docs/c.md is not there")


class Database(http.server.BaseHTTPRequestHandler):
    """Knows a fault of torch, and of nothing else."""

    def do_POST(self):
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        results = [{"vulns": [{"id": "CVE-2099-1"}]} if query["package"]["name"] == "torch" else {} for query in queries]
        body = json.dumps({"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Dependencies(CheckoutTest):
    def check(self, *words):
        return self.run_tool(sys.executable, REPOSITORY / "tools/check_dependencies.py", *words)

    def test_a_known_fault_is_named_with_its_package(self):
        with http.server.HTTPServer(("127.0.0.1", 0), Database) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            result = self.check("--osv", f"http://127.0.0.1:{server.server_port}")
            server.shutdown()
        self.assertRegex(result.stdout, r"KNOWN FAULTS of torch [0-9.]+ \(PyPI\): CVE-2099-1\n")
        self.assertRegex(result.stdout, r"[0-9]+ packages, 1 with known faults\n")
        self.assertRegex(result.stdout, r"\nlibsndfile1-dev +[0-9]")
        self.assertEqual(result.returncode, 1, result.stderr)

    def test_a_database_that_does_not_answer_is_no_answer(self):
        result = self.check("--osv", "http://127.0.0.1:9")
        self.assertIn("known faults could not be looked up at http://127.0.0.1:9", result.stderr)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
