"""test_core_words.py - words and options of heapwright core that do not fit together, or are in the wrong order

Breaks if a user's slip is accepted silently, or is not explained.
"""

import pytest

from heap_listing import core_of, started


@pytest.fixture(scope="module")
def core(shapes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    with started([shapes, "few"], folder) as process:
        return core_of(process, folder)


def test_core_before_program(hw, shapes, core):
    right, exchanged = hw("core", "--json", shapes, core), hw("core", "--json", core, shapes)
    assert exchanged.returncode == 0 and exchanged.stderr == "" and exchanged.stdout == right.stdout


def test_trace_of_leaks_alone(hw, core, tmp_path):
    done = hw("core", "--leaks", core, "-o", tmp_path / "leaks.hwt")
    assert done.returncode == 0 and "leaks.hwt has only the leaks; without --leaks" in done.stderr
    assert hw("core", core, "-o", tmp_path / "all.hwt").stderr == ""


@pytest.mark.parametrize("words", [["--retained"], ["--who", "0x1000"], ["--around", "crash"]])
def test_leaks_and_a_question(hw, core, words):
    done = hw("core", "--leaks", *words, core)
    assert done.returncode == 2 and f"--leaks and {words[0]} are different questions" in done.stderr


@pytest.mark.parametrize("command", [["diff"], ["report"]])
def test_commands_that_read_traces(hw, core, command):
    done = hw(*command, *[core] * (1 + (command == ["diff"])))
    assert done.returncode == 2
    assert f"{core} is a core dump; make a trace of it with: heapwright core PROGRAM {core} -o NAME.hwt" in done.stderr


@pytest.mark.parametrize("command", [["core"], ["leaks"]])
def test_debug_dir_that_is_not_there(hw, core, tmp_path, command):
    done = hw(*command, "--debug-dir", tmp_path / "absent", core)
    assert done.returncode == 2 and f"there is no folder '{tmp_path / 'absent'}'" in done.stderr
