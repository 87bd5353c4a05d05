"""test_cli.py - the tool's answers on which scripts and users at a terminal depend"""

import os
import re
import subprocess

import pytest


def test_help_names_every_command(hw):
    done = hw("help")
    assert done.returncode == 0 and done.stderr == ""
    assert re.search(r"^  report +\S", done.stdout, re.M)
    assert hw("--help").stdout == done.stdout


def commands(hw):
    names = re.findall(r"^  (\w+)  +\S.*$", hw("help").stdout.split("COMMAND explains")[0], re.M)
    assert "report" in names
    return names


def test_each_command_explains_itself(hw):
    for name in commands(hw):
        done = hw("help", name)
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: heapwright {name} ")
        assert hw(name, "--help").stdout == done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 120


def test_without_a_command_help_is_printed_and_it_is_wrong_usage(hw):
    done = hw()
    assert (done.returncode, done.stdout, done.stderr) == (2, "", hw("help").stdout)
    assert "  report " in done.stderr


def test_every_option_is_in_the_man_page(hw, build):
    root = os.environ.get("HW_SOURCE", os.path.join(os.path.dirname(__file__), "../.."))
    for name in commands(hw):
        page = open(os.path.join(root, f"docs/man/heapwright-{name}.1"), encoding="utf-8").read().replace("\\-", "-")
        for option in re.findall(r"--[a-z-]+", hw("help", name).stdout.split("examples:")[0]):
            assert option == "--help" or option in page, option


def test_version(hw):
    done = hw("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"heapwright \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("words, said", [
    (["reprot"], "there is no command 'reprot'; did you mean 'report'?"),
    (["--json"], "unknown option --json; a command comes first: 'heapwright help' lists them"),
    (["help", "frobnicate"], "there is no command 'frobnicate'; 'heapwright help' lists them"),
    (["report", "--leeks"], "report has no option --leeks; did you mean --leaks?"),
    (["report", "--cost", "size"], "--cost takes one of peak, live, calls, bytes, temporary, not 'size'"),
    (["report", "--top", "many"], "--top takes a whole number, not 'many'"),
    (["report", "a", "b"], "report takes one trace, not 2; 'b' is one too many"),
    (["report", "--leaks", "--cost", "peak"], "--leaks ranks what is live at the end: leave --cost out"),
    (["report", "--children", "--pid", "1"], "--children shows all processes, --pid one: leave one of them out"),
])
def test_wrong_usage_says_what_to_do(hw, words, said):
    done = hw(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"heapwright: {said}\n"


@pytest.mark.parametrize("name, meant", [
    ("OUTPT", "OUTPUT"),
    ("HEAP_CLSS", "HEAP_CLASS_BYTES"),
    ("HEAP_CLASSES", "HEAP_CLASS_BYTES"),
    ("HEAP_RETURN", "HEAP_RETURNS"),
    ("HEAP_CHECK", "CHECK"),
    ("HEAP_STATS", "STATS"),
    ("HEAP_CHECK_ALL_FREES", "CHECK"),
    ("HEAP_KEEP_FREE", "HEAP_KEEP_FREE_BYTES"),
    ("POOL_HUGE", "POOL_HUGE_PAGES"),
    ("POOL", "POOL_SIZE"),
    ("HEAP_FOO", None),
])
def test_misspelt_variables_are_warned_about(hw, name, meant):
    """What many names begin with used to make HEAP_LIBC similar to HEAP_CLSS."""
    done = hw("help", env={**os.environ, f"HEAPWRIGHT_{name}": "x", "HEAPWRIGHT_DEPTH": "7"})
    assert done.returncode == 0
    hint = f"; did you mean HEAPWRIGHT_{meant}?" if meant else ""
    assert done.stderr == f"heapwright: the environment variable HEAPWRIGHT_{name} is none of heapwright's and has no effect{hint}\n"


def test_a_full_disk_is_no_success(build):
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(build / "bin/heapwright"), "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
