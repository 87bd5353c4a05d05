"""Set-up must never surprise: silent where nothing is missing, and without privileges one line that can be pasted."""

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "tools/setup.sh"


@pytest.fixture
def unprivileged(tmp_path):
    """A command's beginning that runs it as a user who may not install packages."""
    return [] if os.getuid() else ["setpriv", "--reuid", "65534", "--clear-groups", "--"]


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd="/")


def test_says_nothing_where_nothing_is_missing():
    done = run(SETUP, "--packages", "dash", "coreutils")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_prints_the_line_to_run_where_it_may_not_install(unprivileged):
    with open(SETUP) as script:  # the user may not be able to read where it lies
        done = subprocess.run([*unprivileged, "sh", "-s", "--", "--packages", "dash", "surely-no-such-package"], stdin=script,
                              capture_output=True, text=True, cwd="/")
    assert done.returncode == 1
    assert "\n  sudo apt-get install --no-install-recommends surely-no-such-package\n" in done.stderr


def test_refuses_a_list_that_it_does_not_know():
    done = run(SETUP, "nothing-like-it")
    assert done.returncode == 2
    assert "no list named nothing-like-it" in done.stderr
