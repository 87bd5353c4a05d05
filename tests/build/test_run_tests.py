"""The output of a failed run of the tests. Breaks if a failure is called passed, or if a later pass hides the first
failure.
"""

import os
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "tools" / "run_tests.sh"
PASSES = "true"
FAILS = "false"
FAILS_ONCE = "mkdir came_by && exit 1 || exit 0"


@pytest.fixture
def run(tmp_path):
    """run_tests.sh over a build tree with these tests: each is a line of shell that also prints what pytest's last
    line would be."""

    def run(**tests):
        lines = [f'add_test({name} "/bin/sh" "-c" "echo 1 passed in 0.1s; {line}")' for name, line in tests.items()]
        (tmp_path / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        return subprocess.run([RUN, tmp_path], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "TEST_JOBS": "2"})

    return run


def test_all_pass(run):
    result = run(one=PASSES, two=PASSES)
    assert result.returncode == 0
    assert "once more" not in result.stderr
    assert "cases: 2 ran: 2 passed, 0 failed, 0 skipped" in result.stdout


def test_the_longest_are_named(run):
    lines = run(quick=PASSES, slow="sleep 1.2").stdout.splitlines()
    (longest,) = [line for line in lines if line.startswith("longest: ")]
    assert longest.startswith("longest: slow ") and longest.endswith(", quick 0 s")


def test_a_fault_fails_alone_too(run):
    result = run(one=PASSES, two=FAILS)
    assert result.returncode != 0
    assert "once more, alone: two" in result.stderr
    assert "passed alone" not in result.stderr


def test_what_passes_only_alone_is_named(run, tmp_path):
    result = run(one=PASSES, two=FAILS_ONCE)
    assert result.returncode == 0
    assert "passed alone, but failed together with others" in result.stderr
    assert result.stderr.rstrip().endswith("two")
    assert "one" in (tmp_path / "Testing/Temporary/TogetherWithOthers.log").read_text()


def test_one_of_two_passes_alone(run):
    result = run(one=FAILS, two=FAILS_ONCE)
    assert result.returncode != 0
    assert "passed alone" not in result.stderr


def test_no_tests_are_no_pass(run):
    assert run().returncode != 0
