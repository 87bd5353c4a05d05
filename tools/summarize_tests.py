#!/usr/bin/python3
"""summarize_tests.py BUILD   says from ctest's log how many cases passed, failed and were skipped, why skipped, and which tests
took longest."""

import re
import sys
from pathlib import Path

UNIT = re.compile(r"^\[ +(PASSED|FAILED|SKIPPED) +\] +(?:[\w ]+: )?(\d+) test", re.M)
WHOLE = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
TIME = re.compile(r"^\d+/\d+ Test: (\S+)$.*?^Test time = +([\d.]+) sec$", re.M | re.S)
LONGEST = 10
SKIP_REASON = re.compile(r"^SKIPPED \[\d+\] .*$", re.M)


def count(log):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for kind, number in UNIT.findall(log):
        counts[kind.lower()] += int(number)
    for line in re.findall(r"^(?:=+ )?\d+ (?:passed|failed|skipped|errors?)\b.* in [\d.]+s.*$", log, re.M):
        for number, kind in WHOLE.findall(line):
            counts["failed" if kind.startswith("error") else kind] += int(number)
    return counts


def main():
    build = Path(sys.argv[1])
    log = (build / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    for reason in SKIP_REASON.findall(log):
        print(reason)
    times = sorted(((float(seconds), name) for name, seconds in TIME.findall(log)), reverse=True)
    print("longest:", ", ".join(f"{name} {seconds:.0f} s" for seconds, name in times[:LONGEST]))
    counts = count(log)
    total = sum(counts.values())
    print(f"cases: {total} ran: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 0 if counts["passed"] else 1


sys.exit(main())
