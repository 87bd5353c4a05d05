"""conftest.py - an installation, for the tests of this folder"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def installed(build, tmp_path_factory):
    """It is moved after its installation: no file may contain the intended path."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", build, "--prefix", "/opt/heapwright"], check=True, capture_output=True, env={**os.environ, "DESTDIR": str(place)})
    return Path(shutil.move(place / "opt/heapwright", place / "elsewhere"))
