#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of a run of CTest: prints `PASSED FAILED SKIPPED`.

    tools/count_tests.py JUNIT CASES

JUNIT is what `ctest --output-junit` wrote, one entry for each program that was started. CASES is the folder in which
a test binary leaves NAME.xml with the cases it ran; an entry without such a file is one case. An entry that failed
without a failed case, such as a crash, counts as one failure beside the cases it ended.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

# What XML cannot hold; a test that fails over a damaged file prints some of it.
NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def cases_in(report: pathlib.Path):
    text = report.read_text(encoding="utf-8", errors="replace")
    return tree.fromstring(NO_XML.sub("\ufffd", text)).iter("testcase")


def case_counts(report: pathlib.Path) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for case in cases_in(report):
        if case.find("failure") is not None:
            failed += 1
        elif case.get("result") in ("skipped", "suppressed") or case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def entry_counts(entry: tree.Element, cases: pathlib.Path) -> tuple[int, int, int]:
    failed = entry.get("status") == "fail"
    report = cases / f"{entry.get('name')}.xml"
    if entry.get("status") in ("notrun", "disabled"):
        return 0, 0, 1
    if not report.exists():
        return int(not failed), int(failed), 0
    counts = case_counts(report)
    return counts if counts[1] or not failed else (counts[0], 1, counts[2])


def main() -> None:
    junit, cases = map(pathlib.Path, sys.argv[1:])
    entries = [entry_counts(entry, cases) for entry in cases_in(junit)]
    print(*(sum(counts) for counts in zip(*entries)))


if __name__ == "__main__":
    main()
