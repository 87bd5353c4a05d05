"""test_manual.py - every option has its line in the man page and in the help: half of the users miss an option that
only one of them has
"""

import pathlib
import re
import shutil
import subprocess

import pytest

MANUAL = pathlib.Path(__file__).parents[2] / "docs" / "man"
COMMANDS = sorted(page.stem.partition("-")[2] for page in MANUAL.glob("heapwright-*.1"))
EVERYWHERE = {"help", "version"}  # in heapwright.1


def options_of_help(hw, command):
    done = hw("help", command)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^ +(?:-\w, )?--([a-z][a-z-]*)", done.stdout, re.M)) - EVERYWHERE


def options_of_page(command):
    """Returns the options with which a paragraph of OPTIONS begins."""
    text = (MANUAL / f"heapwright-{command}.1").read_text().replace("\\-", "-")
    section = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH )", text, re.M | re.S)
    heads = re.findall(r"^\.T[PQ]\n(.*)$", section.group(1), re.M) if section else []
    return set(re.findall(r"--([a-z][a-z-]*)", "\n".join(heads))) - EVERYWHERE


def test_every_command_has_a_page(hw):
    listed = re.findall(r"^  ([a-z]+) +\S", hw("help").stdout, re.M)
    assert COMMANDS == sorted(set(listed) - {"heapwright"})


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_and_help_have_the_same_options(hw, command):
    assert options_of_page(command) == options_of_help(hw, command)


@pytest.mark.parametrize("command", COMMANDS)
def test_root_of_another_system_has_one_name(hw, command):
    """--sysroot, as other tools call it; where debug files are looked for, it is known."""
    options = options_of_help(hw, command)
    assert ("sysroot" in options) == ("debug-dir" in options)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_a_sentence(hw, command):
    assert re.match(r"usage: heapwright \w+ .*\n\n[A-Z][^\n]*[^.?](\.|\?)\n\n", hw("help", command).stdout)


def variables_of_libraries(build):
    """Those that what is preloaded reads, but for those that only the tool sets."""
    code = b"".join(library.read_bytes() for library in (build / "lib").glob("libheapwright-*.so"))
    return {name.decode() for name in re.findall(rb"(?<=\0)HEAPWRIGHT_[A-Z_]*[A-Z](?=\0)", code)} - {f"HEAPWRIGHT_{name}" for name in ("RUN", "LAUNCHER", "ALONE")}


def test_every_variable_is_in_the_manual_and_known(hw, build):
    variables = variables_of_libraries(build)
    assert {"HEAPWRIGHT_MAX_SIZE", "HEAPWRIGHT_POOL_SIZE"} < variables
    pages = "\n".join(page.read_text() for page in MANUAL.glob("*.1"))
    assert set(re.findall(r"HEAPWRIGHT_[A-Z_]*[A-Z]", pages)) == variables
    assert hw("help", env={name: "1" for name in variables}).stderr == ""


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
@pytest.mark.parametrize("page", sorted(MANUAL.glob("*.1")), ids=lambda page: page.name)
def test_pages_render_without_a_warning(page):
    done = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z", page], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
