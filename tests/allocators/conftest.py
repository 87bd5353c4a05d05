"""conftest.py - allocators and programs, each built once per session"""

from functools import cache

import pytest

from allocators_library import ROOT, build_allocator, build_program


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
