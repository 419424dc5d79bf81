#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a module of src/ includes one that src/LAYERS does not allow it to.

src/LAYERS has one line per module:   model: base config
A module may include itself and the modules named after the colon, and no other. CUDA headers may
stand in src/device/cuda/ and in .cu files only.

    tools/check_layers.py [ROOT]
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([a-z_0-9]+)/')
CUDA = re.compile(r'\s*#\s*include\s*[<"](cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvtx|thrust/|cub/|c10/cuda|ATen/cuda)')
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def read_layers(src):
    allowed = {}
    for line in (src / "LAYERS").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            module, _, below = line.partition(":")
            unknown = set(below.split()) - allowed.keys()
            if unknown:
                sys.exit(f"src/LAYERS: {module} names {sorted(unknown)} before they are defined")
            allowed[module] = set(below.split()) | {module}
    return allowed


def faults(src, allowed):
    for path in sorted(path for path in src.rglob("*") if path.suffix in SUFFIXES):
        where = path.relative_to(src)
        module = where.parts[0]
        if module not in allowed:
            yield f"src/{where}:1: src/LAYERS has no line for the module {module}"
            continue
        may_use_cuda = (where.parts[:2] == ("device", "cuda") or where.suffix in (".cu", ".cuh")
                        or where.name.endswith("_cuda.cpp"))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if CUDA.match(line) and not may_use_cuda:
                yield f"src/{where}:{number}: CUDA headers belong in src/device/cuda/ or a kernel's .cu or _cuda.cpp"
            found = INCLUDE.match(line)
            if found and found[1] not in allowed[module]:
                yield f"src/{where}:{number}: {module} may not include {found[1]}/"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(faults(root / "src", read_layers(root / "src")))
    print("\n".join(found) or "layers: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
