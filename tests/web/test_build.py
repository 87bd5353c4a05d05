"""The page in the repository is the one that its sources build, and they pass the type and lint checks; drawings on
canvases have contrast, and names are folded and distinguished.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]
WEB = SOURCE / "web"
needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or not (WEB / "node_modules/.package-lock.json").exists(),
    reason="web/node_modules is not installed (tools/build_page.sh --install)",
)


@needs_npm
def test_the_kept_page_is_what_the_sources_build():
    done = subprocess.run([SOURCE / "tools/build_page.sh", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_one_place_for_its_data_and_takes_nothing_from_the_network():
    page = (WEB / "dist/page.html").read_text()
    assert page.count("<!--heapwright-data-->") == 1
    body = page[page.index("<head>") :]
    assert " src=" not in body.split("<script>")[0]
    assert "default-src 'none'" in body
    assert len(page) < 400_000


def test_the_lock_file_names_no_registry():
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()


@needs_npm
@pytest.mark.parametrize("check", ["palette", "folding", "distinction", "layout", "lanes", "instances", "format"])
def test_modules(check):
    done = subprocess.run(["node", Path(__file__).with_name(f"{check}.mjs")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
