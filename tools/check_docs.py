#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a page of docs/ has a broken link or a line of more than 160 columns, or if no page leads to it.

- A relative link leads to a file or folder that is there, its #anchor to a heading of that page. README.md,
  CONTRIBUTING.md and CHANGELOG.md of the root are held to this, too.
- Every page of docs/ can be reached from docs/README.md.
- docs/NAME.md in sources, tools and configs exists, and so does what a page names as `src/FILE` or `MODULE/FILE.h`.
- What stands behind a line `<!-- printed by the program -->` may be wider: it is not written by hand.

    tools/check_docs.py [ROOT]
"""
import pathlib
import re
import sys
import unicodedata

COLUMNS = 160
PRINTED = "<!-- printed by the program -->"
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
NAMED = re.compile(r"\bdocs/[\w./-]+\.md\b")
CODE_FOLDERS = ["src", "tests", "tools", "examples", "configs", "benchmarks", "cmake"]
SOURCE = re.compile(r"(?:src|tests|tools|benchmarks|configs|examples|cmake)/[\w./*-]*\w")
MODULE_FILE = re.compile(r"[a-z_]+/[\w/]+\.(?:h|cpp|cu|cuh)")
CODE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".txt", ".cmake", ".yaml", ""}


def lines_outside_code(text):
    """(line number, line) of what is not inside a fence."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """The anchors that GitHub makes of a page's headings."""
    found, seen = set(), {}
    for _, line in lines_outside_code(text):
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if match:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            kept = (c for c in words if c in "-_ " or unicodedata.category(c)[0] in "LMN")
            anchor = "".join(kept).replace(" ", "-")
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            found.add(f"{anchor}-{count}" if count else anchor)
    return found


def links(text):
    """(line number, target) of the links that lead to files of ours."""
    for number, line in lines_outside_code(text):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, target


def page_faults(root, page, text, reached):
    where = page.relative_to(root).as_posix()
    for number, target in links(text):
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        if not goal.exists():
            yield f"{where}:{number}: {target} is not there"
            continue
        if goal.is_dir() and (goal / "README.md").exists():
            goal = goal / "README.md"
        reached.add(goal)
        if anchor and (goal.suffix != ".md" or anchor not in anchors(goal.read_text(encoding="utf-8"))):
            yield f"{where}:{number}: {target} leads to a heading that is not there"


def wide_lines(root, page, text):
    for number, line in enumerate(text.splitlines(), 1):
        if line == PRINTED:
            return
        if len(line) > COLUMNS:
            yield f"{page.relative_to(root).as_posix()}:{number}: {len(line)} columns; {COLUMNS} is the limit"


def missing_sources(root, page, text):
    for number, line in lines_outside_code(text):
        for code in re.findall(r"`([^`]*)`", line):
            names = [code] if SOURCE.fullmatch(code.rstrip("/")) else []
            if MODULE_FILE.fullmatch(code) and (root / "src" / code.split("/")[0]).is_dir():
                names = [f"src/{code}"]
            for name in names:
                if not any(root.glob(name.rstrip("/"))):
                    yield f"{page.relative_to(root).as_posix()}:{number}: {code} is not there"


def unreached(root, pages, leads_to):
    open_pages, reached = [root / "docs/README.md"], set()
    while open_pages:
        page = open_pages.pop()
        if page not in reached:
            reached.add(page)
            open_pages += leads_to.get(page, ())
    for page in pages:
        if page not in reached:
            yield f"{page.relative_to(root).as_posix()}:1: docs/README.md does not lead to this page"


def names_in_code(root):
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CODE_SUFFIXES and path.is_file() and path.name != "checks_test.py" and "golden" not in path.parts:
                for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                    for name in NAMED.findall(line):
                        if not (root / name).exists() and name != "docs/NAME.md":
                            yield f"{path.relative_to(root).as_posix()}:{number}: {name} is not there"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    pages = sorted((root / "docs").rglob("*.md"))
    outside = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") if (root / name).exists()]
    found, leads_to = [], {}
    for page in outside + pages:
        text = page.read_text(encoding="utf-8")
        leads_to[page] = set()
        found += page_faults(root, page, text, leads_to[page])
        found += wide_lines(root, page, text)
        if page in pages:
            found += missing_sources(root, page, text)
    found += unreached(root, pages, leads_to)
    found += names_in_code(root)
    for fault in found:
        print(fault)
    if found:
        sys.exit(1)
    print("docs: clean")


if __name__ == "__main__":
    main()
