#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/compare_commits.py with programs that are stand-ins: what differs is found and named."""
import sys
import unittest

from checkout import REPOSITORY, CheckoutTest

# Trains by writing its step into one tensor of 4 bytes, and speaks by writing its text.
PROGRAM = '''#!{python}
import json, os, pathlib, sys
words = sys.argv[1:]
after = lambda flag, usual=None: words[words.index(flag) + 1] if flag in words else usual
def write(path, tensors):
    header, data = {{}}, b""
    for name, content in tensors.items():
        header[name] = {{"dtype": "U8", "shape": [len(content)], "data_offsets": [len(data), len(data) + len(content)]}}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
if words[0] == "synthesize":
    pathlib.Path(after("--out")).write_text({speech} * 100_000)
    sys.exit()
run = pathlib.Path(after("--checkpoint-dir"))
folder = run / "checkpoints" / after("--max-steps")
folder.mkdir(parents=True)
write(folder / "model.safetensors", {{"a": b"same", "b": {weight}, "gpt.mel_head.bias": bytes(8)}})
write(folder / "optimiser.safetensors", {{"m": b"m"}})
(folder / "state.json").write_text(json.dumps({{"step": int(after("--max-steps")), "seconds": os.getpid()}}))
(run / "latest").unlink(missing_ok=True)
(run / "latest").symlink_to(folder.relative_to(run))
with open(run / "metrics.jsonl", "a") as lines:
    print(json.dumps({{"event": "train", "step": 1, "loss": 2.5, "clips_per_second": os.getpid()}}), file=lines)
'''


class Compare(CheckoutTest):
    def program(self, name, weight="b'0000'", speech="after('--text')"):
        return self.write(name, PROGRAM.format(python=sys.executable, weight=weight, speech=speech), 0o755)

    def compare(self, before, after):
        return self.run_tool(sys.executable, REPOSITORY / "tools/compare_commits.py", "--before", before, "--after", after,
                             "--steps", "4")

    def test_the_time_that_runs_took_is_no_difference(self):
        result = self.compare(self.program("one"), self.program("two"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(" 0 differ", result.stdout)

    def test_a_byte_of_one_tensor_and_another_sound_are_found_and_named(self):
        other = self.program("two", weight="b'0001'", speech="after('--seed', '1') + after('--text')")
        result = self.compare(self.program("one"), other)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("whole/checkpoints/4/model.safetensors: 1 of 3 parts differ: b\n", result.stdout)
        self.assertIn("speech/02.wav: 1 of 1 parts differ", result.stdout)

    def test_a_program_that_fails_is_no_answer(self):
        for weight, words in {"1 / 0": "ZeroDivisionError", "run.name[:4].encode()": "did not come to"}.items():
            broken = self.program("broken", weight=weight)
            result = self.compare(broken, broken)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
