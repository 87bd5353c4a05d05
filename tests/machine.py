"""machine.py - marks for tests that need one CPU, and what compilers need"""

import platform

import pytest

# For programs without glibc: otherwise gcc calls libgcc for atomic operations, and Debian's needs a function of glibc's.
INLINE_ATOMICS = ["-mno-outline-atomics"] if platform.machine() == "aarch64" else []


def only_x86_64(what):
    """Skips the test on other CPUs; `what` it needs is part of the reason."""
    return pytest.mark.skipif(platform.machine() != "x86_64", reason=f"only x86-64 has {what}")
