"""test_cgroup.py - the limit, the use and the OOM kills of a program's control group, in a real one

If this fails, nobody learns from a recording that the kernel killed the program because memory ran out, or how near it came.
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from control_groups import LIMIT, MIB, group
from page_document import read_html


@pytest.fixture
def limited(tmp_path):
    with group(f"heapwright-test-{os.getpid()}") as folder:
        yield folder


@pytest.fixture
def levels(compile_c):
    return compile_c(Path(__file__).parent / "programs/levels.c", name="levels")


def run_in(folder, words, lines):
    """Runs a command in the control group, with these lines as its input."""
    script = 'echo $$ > "$0/cgroup.procs"; exec "$@"'
    return subprocess.run(["sh", "-c", script, folder, *map(str, words)], input=lines, capture_output=True, text=True, timeout=100)


def report_of(hw, trace):
    done = hw("report", "--json", "--children", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_program_that_is_killed(build, hw, levels, limited, tmp_path):
    trace = tmp_path / "run.hwt"
    done = run_in(limited, [build / "bin/heapwright", "record", "-o", trace, "--save-when", "live>30M", "--", levels],
                  "".join(f"{mib}\n" for mib in range(60)) + "500\n")
    assert done.returncode == 128 + signal.SIGKILL
    assert "the kernel killed the command because memory ran out (its control group is limited to 104.9 MB)" in done.stderr
    report = report_of(hw, trace)
    assert report["control_group"]["oom_kills"] >= 1  # the process that follows the recording is killed first
    assert report["images"][0]["exit_signal"] == signal.SIGKILL and report["images"][0]["out_of_memory"] is True
    text = hw("report", trace).stdout
    assert "killed because memory ran out (SIGKILL)" in text and "Control group: " in text


def test_a_program_that_lives(build, hw, levels, limited, tmp_path):
    """The highest use fits what it held; a summary and a packed trace keep the figures."""
    trace = tmp_path / "run.hwt"
    with subprocess.Popen(["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', limited, build / "bin/heapwright", "record", "-o",
                           trace, "--", levels], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for mib in [20, 60] * 20:
            process.stdin.write(f"{mib}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
        process.stdin.write("60\n")
        process.stdin.flush()
        process.stdout.readline()
        subprocess.run(["sleep", "1.5"], check=True)  # a sample comes within a second
        process.stdin.close()
    assert process.returncode == 0
    for _ in range(2):  # the second report is from the summary
        report = report_of(hw, trace)
        found = report["control_group"]
        assert found["limit_bytes"] == LIMIT and 60 * MIB <= found["peak_bytes"] <= LIMIT and found["oom_kills"] == 0
        image = report["images"][0]
        assert "out_of_memory" not in image
        assert max(sample["group_bytes"] for sample in image["rss"]) == found["peak_bytes"]
        assert {sample["group_limit_bytes"] for sample in image["rss"]} == {LIMIT}
    text = hw("report", trace).stdout
    assert "of its limit of 104.9 MB" in text and "memory of the control group, up to its limit" in text
    page = tmp_path / "page.html"
    assert hw("report", "-o", page, trace).returncode == 0
    document = read_html(page).document
    assert document["run"]["control_group"] == found
    assert max(document["rss"]["group_bytes"]) == found["peak_bytes"] and set(document["rss"]["group_limit_bytes"]) == {LIMIT}


def test_killed_by_somebody_else(build, hw, levels, limited, tmp_path):
    """SIGKILL alone does not mean that memory ran out."""
    trace = tmp_path / "run.hwt"
    done = run_in(limited, [build / "bin/heapwright", "record", "-o", trace, "--", "sh", "-c", "kill -9 $$"], "")
    assert done.returncode == 128 + signal.SIGKILL and "memory ran out" not in done.stderr
    report = report_of(hw, trace)
    assert "out_of_memory" not in report["images"][0] and report.get("control_group", {}).get("oom_kills", 0) == 0
    assert "killed by SIGKILL" in hw("report", trace).stdout


def test_a_group_of_its_own(build, hw, levels, limited, tmp_path):
    """The command moves to a group within that of the launcher, which is not limited itself."""
    trace = tmp_path / "run.hwt"
    script = f'echo $$ > {limited}/cgroup.procs; exec "$0"'
    done = subprocess.run([build / "bin/heapwright", "record", "-o", trace, "--", "sh", "-c", script, levels],
                          input="50\n" * 200000 + "500\n", capture_output=True, text=True, timeout=100)
    assert done.returncode == 128 + signal.SIGKILL
    report = report_of(hw, trace)
    assert report["control_group"]["oom_kills"] >= 1 and report["control_group"]["limit_bytes"] == LIMIT
    assert "the kernel killed the command because memory ran out" in done.stderr
