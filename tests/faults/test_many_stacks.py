"""test_many_stacks.py - a program with more distinct stacks than the table of nodes holds

Breaks if a full table harms the program, loses an event, or if the number of unknown stacks is not reported.
"""

import subprocess
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
NODE_LIMIT, LEVELS = 1 << 22, 22


def test_table_of_nodes_is_full(compile_c, preload):
    program = compile_c(PROGRAMS / "many_stacks.c", "-fno-optimize-sibling-calls", name="many_stacks")
    plain = subprocess.run([program, str(LEVELS)], capture_output=True, text=True)
    recording = preload([program, LEVELS])
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (0, plain.stdout, "")
    report = recording.report_with("--cost", "calls", "--top", "5")
    assert report["allocation_calls"] >= (1 << LEVELS) + 1000
    assert report["free_calls"] >= (1 << LEVELS) + 1000
    assert report["lost_events"] == report["unmatched_frees"] == 0
    (unknown,) = [stack for stack in report["top"] if not stack["stack"]]
    assert report["node_limit_hits"] == unknown["calls"] > NODE_LIMIT // 2
    assert unknown["calls"] < (1 << LEVELS) - NODE_LIMIT // 4  # the first stacks are known, and stay known
    assert f"{unknown['calls']:,} stacks not known" in " ".join(recording.hw("report", "--top", "1", recording.trace).stdout.split())
