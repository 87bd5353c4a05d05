"""live_browser.py - runs the checks of live pages in a real Chromium: *.mjs of tests/live"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium")
NEEDS_BROWSER = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("node") is None or not (HERE.parent / "web/node_modules/playwright-core").exists(),
    reason="no chromium, no node, or web/node_modules is not installed (tools/setup.sh web; tools/build_page.sh --install)",
)


class Browser:
    """A script in a browser, whose orders this test obeys."""

    def __init__(self, script, *arguments):
        self.process = subprocess.Popen(["node", str(HERE / "live" / script), *map(str, arguments)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, "HW_CHROMIUM": CHROMIUM})

    def obey(self, do):
        for order in self.process.stdout:
            do(order.rstrip("\n"))
            self.process.stdin.write("done\n")
            self.process.stdin.flush()
        assert self.process.wait(60) == 0, self.process.stderr.read()
