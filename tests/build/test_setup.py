"""Set-up must never surprise: it is silent if nothing is missing, and without privileges it prints one line to
paste, with the names that this release of Debian has.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "tools/setup.sh"

# A simulated Debian: the installed packages, apt's lists, and whether there are lists.
DPKG_QUERY = """#!/bin/sh
for name in $INSTALLED; do echo "installed $name"; done
echo "not-installed removed"
"""
APT_CACHE = """#!/bin/sh
shift
[ $# -gt 0 ] || { [ -z "$LISTED" ] || echo " 500 http://deb.debian.org/debian any/main amd64 Packages"; exit 0; }
for name in $LISTED; do
  case " $* " in *" $name "*) printf '%s:\\n  Installed: (none)\\n  Candidate: 1.2-3\\n' "$name" ;; esac
done
printf 'virtual:\\n  Installed: (none)\\n  Candidate: (none)\\n'
"""


@pytest.fixture
def unprivileged(tmp_path):
    """The beginning of a command that runs it as a user who may not install packages."""
    return [] if os.getuid() else ["setpriv", "--reuid", "65534", "--clear-groups", "--"]


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd="/")


@pytest.fixture
def set_up(unprivileged):
    """set_up("a|b", "c", installed="b", listed="a c"): runs set-up for these packages; the other arguments are the
    installed packages and the contents of apt's lists."""
    with tempfile.TemporaryDirectory(prefix="heapwright-setup-") as name:  # pytest's folders are private
        folder = Path(name)
        folder.chmod(0o755)
        for command, text in {"dpkg-query": DPKG_QUERY, "apt-cache": APT_CACHE}.items():
            (folder / command).write_text(text)
            (folder / command).chmod(0o755)

        def run_there(*packages, installed="", listed=""):
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "INSTALLED": installed, "LISTED": listed}
            with open(SETUP) as script:
                return subprocess.run([*unprivileged, "sh", "-s", "--", "--packages", *packages], stdin=script,
                                      capture_output=True, text=True, cwd="/", env=environment)

        yield run_there


def test_says_nothing_where_nothing_is_missing():
    done = run(SETUP, "--packages", "dash", "coreutils", "surely-no-such-package|bash")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_prints_the_line_to_run_where_it_may_not_install(set_up):
    done = set_up("here", "missing", "other", installed="here", listed="here missing other")
    assert done.returncode == 1
    assert done.stderr.endswith("\n  sudo apt-get install --no-install-recommends missing other \n")


@pytest.mark.parametrize("installed", ["old", "new"])
def test_any_name_of_a_package_will_do(set_up, installed):
    done = set_up("old|new", installed=installed, listed="old new")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_takes_the_first_name_that_the_release_has(set_up):
    assert set_up("old|new|newest", listed="new newest").stderr.endswith("--no-install-recommends new \n")
    assert set_up("old|new|newest", listed="old new").stderr.endswith("--no-install-recommends old \n")


def test_names_what_the_release_does_not_have_and_goes_on(set_up):
    done = set_up("here", "virtual", "old|new", installed="here", listed="here")
    assert done.returncode == 0
    assert done.stderr == "setup.sh: left out, since this release of Debian does not have: old|new virtual \n"


def test_a_missing_package_still_stops_it(set_up):
    done = set_up("gone", "missing", listed="missing")
    assert done.returncode == 1
    assert "--no-install-recommends missing \n" in done.stderr


def test_asks_for_lists_first_where_there_are_none(set_up):
    done = set_up("old|new")
    assert done.returncode == 1
    assert done.stderr.endswith("\n  sudo apt-get update\n")


def test_refuses_a_list_that_it_does_not_know():
    done = run(SETUP, "nothing-like-it")
    assert done.returncode == 2
    assert "no list named nothing-like-it" in done.stderr
