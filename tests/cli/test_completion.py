"""test_completion.py - bash offers after `heapwright` what its help lists: users do not find an option that is missing
there

Breaks if help is laid out in a way that the completion cannot read, or if an option's choices are offered after
another one.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "src/cli/completion.bash"
COMMANDS = ["record", "report", "diff", "check", "export", "import", "tune", "control", "live", "push", "core", "leaks", "run",
            "test"]


@pytest.fixture
def offers(build, tmp_path):
    """offers("report", "--by", ""): returns what bash offers for the last word. Plain file names come from bash
    itself."""

    def run(*words, setup=""):
        line = ["heapwright", *words]
        script = f"""
            compopt() {{ :; }}  # it works only where bash completes itself
            {setup}
            source {shlex.quote(str(SCRIPT))}
            COMP_WORDS=({shlex.join(line)}) COMP_CWORD={len(line) - 1}
            _heapwright
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        environment = {**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)
        assert done.returncode == 0 and done.stderr == ""
        return done.stdout.split()

    return run


def test_commands(offers):
    assert sorted(offers("")) == sorted([*COMMANDS, "help", "--help", "--version"])
    assert sorted(offers("help", "")) == sorted(COMMANDS)
    assert offers("re") == ["record", "report"]
    assert offers("help", "report", "") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_options(hw, offers, command):
    listed = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]*)", hw("help", command).stdout, re.M)
    assert len(listed) > 0 and sorted(offers(command, "--")) == sorted(listed)


@pytest.mark.parametrize("words, offered", [
    (["report", "--cost", ""], ["peak", "live", "calls", "bytes", "temporary"]),
    (["report", "--cost", "ca"], ["calls"]),
    (["report", "--cost", "="], ["peak", "live", "calls", "bytes", "temporary"]),
    (["report", "--by", "=", "f"], ["function", "file"]),
    (["report", "--tree", "=", "calle"], ["callers", "callees"]),
    (["check", "--format", "j"], ["json", "junit"]),
    (["check", "--max", ""], []),
    (["report", "--frames", "x"], []),
    (["record", "-o", ""], []),
])
def test_choices(offers, words, offered):
    assert offers(*words) == offered


def test_a_command_to_record(offers):
    assert "env" in offers("record", "env") and "env" in offers("run", "--no-such-flag", "--", "env")
    assert "env" in offers("live", "--sample", "--", "env") and "env" not in offers("live", "env")


def test_words_of_a_command_are_its_own(offers):
    assert offers("record", "-q", "--", "env", "--", setup="_command_offset() { COMPREPLY=(\"from $1\"); }") == ["from", "4"]
