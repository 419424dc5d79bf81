#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a source file is longer than anyone wants to read; names those that are on their way there.

    tools/check_sizes.py [ROOT]
"""
import pathlib
import sys

SOURCES = {".cpp", ".cu", ".h", ".cuh", ".py", ".sh"}
LIMIT = 600  # lines of any file: an error
MODULE_FILES = 30  # files of a module: a remark
# Lines above which a file had better have a reason: a remark.
HEADER, SOURCE, COMMAND = 200, 400, 150


def advised(where):
    if where.suffix in (".h", ".cuh"):
        return HEADER
    return COMMAND if where.parts[:2] == ("src", "cli") and where.suffix == ".cpp" else SOURCE


def measure(root):
    for folder in ("src", "tests", "tools"):
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in SOURCES):
            with open(path, "rb") as file:
                yield path.relative_to(root), sum(1 for _ in file)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    sizes = list(measure(root))
    errors = [f"{where}: {lines} lines; {LIMIT} is the limit, split it" for where, lines in sizes if lines > LIMIT]
    remarks = [f"remark: {where}: {lines} lines, more than {advised(where)}" for where, lines in sizes
               if advised(where) < lines <= LIMIT]
    modules = {}
    for where, _ in sizes:
        if where.parts[0] == "src" and len(where.parts) > 2:
            modules[where.parts[1]] = modules.get(where.parts[1], 0) + 1
    remarks += [f"remark: src/{module}: {count} files, more than {MODULE_FILES}" for module, count in modules.items()
                if count > MODULE_FILES]
    print("\n".join(remarks + errors) or "sizes: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
