"""test_lag.py - the page says how far its figures are behind: see lag.mjs"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None or shutil.which("node") is None or not (HERE.parents[1] / "web/node_modules/playwright-core").exists(),
                    reason="no chromium, no node, or web/node_modules is not installed")
def test_the_page_says_how_old_its_figures_are(program, view):
    done = subprocess.run(["node", str(HERE / "lag.mjs"), view(program.trace).url], env={**os.environ, "HW_CHROMIUM": CHROMIUM}, text=True,
                          capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
