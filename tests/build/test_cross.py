"""test_cross.py - `make cross` tests every system that heapwright can be built for (it left Windows out), and a program of one runs, or it
is said what is missing
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_make_cross_tests_each_system():
    recipe = subprocess.run(["make", "-n", "-C", ROOT, "cross"], capture_output=True, text=True, check=True).stdout.splitlines()
    systems = {file.stem for file in (ROOT / "cmake/cross").glob("*.cmake")}
    assert len(systems) >= 4 and {f"tools/cross.sh {system} test" for system in systems} <= set(recipe)


@pytest.mark.parametrize("system, packages", [("arm64", "qemu-user-static"), ("windows", "wine wine64")])
def test_run_without_the_emulator_says_how_to_get_it(system, packages):
    """As a user who may not install packages, on a simulated Debian that has neither emulator."""
    with tempfile.TemporaryDirectory(prefix="heapwright-cross-") as name:  # pytest's folders are private
        folder = Path(name)
        folder.chmod(0o755)
        for part in ["tools/cross.sh", "tools/setup.sh", f"cmake/cross/{system}.cmake"]:
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, folder / part)
        (folder / "bin").mkdir()
        for command in ["awk", "cat", "dirname", "id", "mktemp", "rm", "sed", "sh", "sort", "tr", "grep"]:
            (folder / "bin" / command).symlink_to(shutil.which(command))
        listed = "".join(f"echo '{package}:'; echo ' Candidate: 1'; " for package in packages.split())
        for command, text in {"dpkg-query": "", "apt-cache": f"echo ' 500 http://any Packages'; {listed}"}.items():
            (folder / "bin" / command).write_text("#!/bin/sh\n" + text)
            (folder / "bin" / command).chmod(0o755)
        unprivileged = [] if os.getuid() else [shutil.which("setpriv"), "--reuid", "65534", "--clear-groups", "--"]
        done = subprocess.run([*unprivileged, folder / "tools/cross.sh", system, "run", "app"], capture_output=True, text=True,
                              env={"PATH": str(folder / "bin"), "HOME": "/nonexistent"})
    assert done.returncode == 1
    assert f"sudo apt-get install --no-install-recommends {packages}" in done.stderr
