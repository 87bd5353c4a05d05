"""machine.py - marks for tests that need one CPU, and what compilers need"""

import platform

import pytest

# For programs on musl: atomic operations of Debian's libgcc need a function that musl's shared library does not have.
MUSL_FLAGS = ["-mno-outline-atomics"] if platform.machine() == "aarch64" else []


def only_x86_64(what):
    """Skips the test on other CPUs; `what` it needs is part of the reason."""
    return pytest.mark.skipif(platform.machine() != "x86_64", reason=f"only x86-64 has {what}")
