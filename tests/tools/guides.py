# SPDX-License-Identifier: Apache-2.0
"""The command blocks of the guides, read from Markdown and run as a reader would.

A block is a fence called `console`: lines that begin with "$ " are commands, the lines below one are what
it prints, in shape; a line that ends in "\\" goes on in the next one:

    ...         on a line of its own: any lines, or none; inside a line: any text
    <number>    a number, with commas, a point, a sign
    <size>      a number and a unit: 12.3 GB, 450 ms, 2 min 05 s
    <path>      a path

Blanks are equal however many there are. What is printed may go on behind the last line shown only where
that line is "...". A comment in front of the fence says on which machine it runs and how it ends:

    <!-- guide: machine=two-gpus exit=2 -->

    machine=cpu        this one, without GPUs (if nothing is said)
    machine=one-gpu    one L4, machine=two-gpus two: stand-ins for NVIDIA's libraries, good for plans
    needs=gpu          a GPU of one's own; run by `guides_test.py --gpu` and else only checked for its flags
    exit=2             the last command's exit code
    file=run.yaml      the fence (of any language) is that file, and no command

A fence of another kind without such a comment is an error: nothing in a guide goes untested.
"""
import dataclasses
import pathlib
import re

FENCE = re.compile(r"^```(\w*)\s*$")
COMMENT = re.compile(r"^<!-- guide: (.*?) -->\s*$")
WILDCARDS = {
    "...": r".*?",
    "<number>": r"[-+]?[\d][\d,.]*(?:e[-+]?\d+)?",
    "<size>": r"[-+]?[\d][\d,.]*(?:e[-+]?\d+)? ?[^\W\d]+(?: \d+ (?:s|min|h))?",
    "<path>": r"\S+",
}


@dataclasses.dataclass
class Command:
    line: int
    words: str
    shape: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    options: dict
    text: str
    commands: list

    def name(self):
        return f"{self.page.name}:{self.line}"


class GuideError(Exception):
    pass


def options_of(comment):
    return dict(part.split("=", 1) if "=" in part else (part, "") for part in comment.split())


def whole_lines(lines, first_line):
    """(number, line) with lines that end in a backslash joined to those behind them."""
    whole = []
    for number, line in enumerate(lines, first_line):
        if whole and whole[-1][1].endswith("\\"):
            whole[-1] = (whole[-1][0], f"{whole[-1][1][:-1].rstrip()} {line.strip()}")
        else:
            whole.append((number, line))
    return whole


def commands_of(lines, first_line):
    commands = []
    for number, line in whole_lines(lines, first_line):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:]))
        elif commands:
            commands[-1].shape.append(line)
        else:
            raise GuideError(f"line {number}: a block begins with '$ ' and a command.")
    return commands


def read_blocks(page):
    """Every fence of a page, in order."""
    blocks, options, fence, start, lines = [], None, None, 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence, start, lines = match[1], number, []
        elif fence is not None and match:
            given = options or {}
            if fence != "console" and "file" not in given:
                raise GuideError(f"{page.name}:{start}: a fence of {fence or 'no language'}; only console blocks and "
                                 "files (<!-- guide: file=NAME -->) are tested.")
            commands = [] if "file" in given else commands_of(lines, start + 1)
            blocks.append(Block(page, start, given, "\n".join(lines) + "\n", commands))
            fence, options = None, None
        elif fence is not None:
            lines.append(line)
        elif COMMENT.match(line):
            options = options_of(COMMENT.match(line)[1])
        elif line.strip() and not line.startswith("<div") and not line.startswith("</div"):
            options = None
    if fence is not None:
        raise GuideError(f"{page.name}:{start}: the fence is not closed.")
    return blocks


def pattern_of(line):
    """A regular expression for one line of a shape."""
    parts = re.split("(" + "|".join(re.escape(wildcard) for wildcard in WILDCARDS) + ")", " ".join(line.split()))
    return re.compile("".join(WILDCARDS.get(part, re.escape(part)) for part in parts))


def mismatch(shape, printed):
    """None when the text has the shape, else a sentence about the first line that is missing."""
    lines = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    at, skipping = 0, False
    for expected in (line for line in shape if line.strip()):
        if expected.strip() == "...":
            skipping = True
            continue
        pattern = pattern_of(expected)
        while at < len(lines) and not pattern.fullmatch(lines[at]) and skipping:
            at += 1
        if at >= len(lines):
            return f"the line {expected.strip()!r} is missing"
        if not pattern.fullmatch(lines[at]):
            return f"in place of {expected.strip()!r} stands {lines[at]!r}"
        at, skipping = at + 1, False
    if at < len(lines) and not skipping:
        return f"{lines[at]!r} is printed and not shown"
    return None
