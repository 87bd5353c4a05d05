"""conftest.py - allocators and programs, each built once per session"""

import os
import subprocess
from functools import cache

import pytest

from allocators_library import PROGRAMS, ROOT, build_allocator, build_program


@pytest.fixture(scope="session")
def allocators(tmp_path_factory):
    """allocators(source, *flags): the library. `source` may be the text of a C file."""
    folder = tmp_path_factory.mktemp("allocators")
    return cache(lambda source, *flags: build_allocator(folder, source, *flags))


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """programs(source, *flags, name=None): a program or library."""
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda source, *flags, name=None: build_program(folder, source, *flags, name=name))


@pytest.fixture(scope="session")
def plugin_command(programs):
    """A C program that loads a C++ library, whose operators new fail."""
    sources = ROOT / "tests/record/programs"
    return [programs(sources / "plugin_host.c", "-ldl"), programs(sources / "plugin.cc", "-shared", "-fPIC", name="plugin.so")]


@pytest.fixture
def user_on(programs):
    """user_on(library, seconds)(*arguments, **environment): the finished process of tlsf_user.c on the library."""
    program = programs(PROGRAMS / "tlsf_user.c", "-pthread")

    def on(library, seconds=120):
        def start(*arguments, before=(), **environment):
            return subprocess.run([*before, program, *map(str, arguments)], env={**os.environ, "LD_PRELOAD": str(library), **environment},
                                  capture_output=True, text=True, timeout=seconds, check=False)

        return start

    return on
