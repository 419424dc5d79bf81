#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/ and the program know the same flags.

usage: tools/check_flags.py build/release/bin/myxtts docs

Every flag that a command's help shows must stand in a Markdown page of the folder, and every flag
that a page names in `code` or in an example of ours must exist. A flag of another program (git,
cmake, apt, ...) may stand in a line that does not name myxtts only inside a block of code.
"""

import pathlib
import re
import subprocess
import sys

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def flags_of_program(program):
    """flag -> the commands that have it."""
    listing = subprocess.run([program, "--list-flags"], capture_output=True, text=True, check=True).stdout
    flags = {}
    for line in listing.splitlines():
        command, flag = line.split("\t")
        flags.setdefault(flag, []).append(command)
    return flags


def flags_of_page(text):
    """(line number, flag) for each flag that the page says is ours."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif in_block:
            command = line.strip().removeprefix("$ ")
            if re.match(r"(\./)?myxtts\b", command):
                for flag in FLAG.findall(command.split(" | ")[0]):
                    yield number, flag
        else:
            for code in re.findall(r"`([^`]*)`", line):
                words = code.split()
                if words and (words[0].startswith("-") or re.fullmatch(r"(\./)?myxtts", words[0])):
                    for flag in FLAG.findall(code):
                        yield number, flag


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, docs = sys.argv[1], pathlib.Path(sys.argv[2])
    known = flags_of_program(program)
    if not known:
        sys.exit(f"{program} --list-flags lists nothing.")
    documented = set()
    complaints = []
    pages = sorted(docs.rglob("*.md"))
    for page in pages:
        for number, flag in flags_of_page(page.read_text(encoding="utf-8")):
            documented.add(flag)
            if flag not in known:
                complaints.append(f"{page}:{number}: {flag} is no flag of the program.")
    for flag in sorted(set(known) - documented):
        complaints.append(f"{flag} (of {', '.join(known[flag])}) stands in no page of {docs}/.")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        sys.exit(1)
    print(f"{len(known)} flags, all documented; {len(pages)} pages, no unknown flag.")


if __name__ == "__main__":
    main()
