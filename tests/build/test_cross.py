"""test_cross.py - `make cross` tests every system that heapwright can be built for (it left Windows out)"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_make_cross_tests_each_system():
    recipe = subprocess.run(["make", "-n", "-C", ROOT, "cross"], capture_output=True, text=True, check=True).stdout.splitlines()
    systems = {file.stem for file in (ROOT / "cmake/cross").glob("*.cmake")}
    assert len(systems) >= 4 and {f"tools/cross.sh {system} test" for system in systems} <= set(recipe)
