"""conftest.py - recordings that the tests of all formats read, and the function that exports one"""

import json
import os
import subprocess

import pytest

TRACKS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) char *keep(size_t size) { return calloc(1, size); }
static inline __attribute__((always_inline)) char *inlined(size_t size) { return malloc(size); }
__attribute__((noinline)) char *grow(char *old, size_t size) { return realloc(old, size); }

__attribute__((noinline)) void churn(void)
{
  for (int i = 0; i < 1000; i++) {
    char *volatile block = inlined(100);
    block[0] = 1;
    free(block);
  }
}

static void *work(void *shared)
{
  pthread_setname_np(pthread_self(), "wor\"k<er>");
  churn();
  free(*(void **)shared);
  *(void **)shared = aligned_alloc(256, 512);
  return NULL;
}

int main(void)
{
  char *volatile kept[30];
  for (int i = 0; i < 30; i++)
    kept[i] = keep(64);
  char *volatile grown = NULL;
  for (size_t size = 1000; size <= 64000; size *= 4)
    grown = grow(grown, size);
  void *shared = keep(300000);
  pthread_t thread;
  pthread_create(&thread, NULL, work, &shared);
  pthread_join(thread, NULL);
  free(grown);
  usleep(20000);
  free(keep(7));
  return kept[0] == NULL;
}
"""

EVIL = r"""
#include <stdlib.h>
__attribute__((noinline)) void *QUOTED(void) { void *volatile block = malloc(1000); return block; }
__attribute__((noinline)) void *STRANGE(void) { void *volatile block = QUOTED(); return block; }
int main(void) { void *volatile block = STRANGE(); return block == 0; }
"""

# Names of functions that no compiler makes.
EVIL_NAMES = {
    "QUOTED": b"evil\"quo'ted\";<script>alert(1)</script>",
    "STRANGE": b"evil\\back,comma &amp; \xc3( not utf-8 \xff\nand a line",
}


def rename_symbols(program):
    """Writes the hostile names into the symbol table. They replace placeholders of the same length."""
    data = program.read_bytes()
    for placeholder, name in EVIL_NAMES.items():
        old = placeholder.ljust(len(name), "_").encode()
        assert data.count(old) == 1
        data = data.replace(old, name)
    program.write_bytes(data)


def record(build, folder, program, *arguments):
    trace = folder / "trace.hwt"
    subprocess.run([build / "bin/heapwright", "record", "-q", "-o", trace, program, *arguments], check=True, timeout=60)
    return trace


def compile_program(folder, text, *flags):
    source, program = folder / "program.c", folder / "program"
    source.write_text(text)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE=", "-O1", *flags, source, "-o", program, "-pthread"], check=True)
    return program


@pytest.fixture(scope="session")
def tracks(build, tmp_path_factory):
    """A recording of two threads whose figures are known exactly, except for the runtime's own blocks."""
    folder = tmp_path_factory.mktemp("tracks")
    return record(build, folder, compile_program(folder, TRACKS, "-g"))


@pytest.fixture(scope="session")
def evil(build, tmp_path_factory):
    """A recording whose names of functions, folders and arguments are made to break a format."""
    folder = tmp_path_factory.mktemp("evil") / 'a "quote", \\ and\n<script>'
    folder.mkdir()
    names = [f"-D{placeholder}={placeholder.ljust(len(name), '_')}" for placeholder, name in EVIL_NAMES.items()]
    program = compile_program(folder, EVIL, *names)
    rename_symbols(program)
    return record(build, folder, program, 'an "argument"\nof two lines', b"\xff\xfe")


@pytest.fixture
def export(hw, tmp_path):
    """export(trace, "name.folded", "--cost", "live"): returns the path of the exported file."""

    def run(trace, name, *options):
        path = tmp_path / name
        done = hw("export", *options, trace, "-o", path)
        assert done.returncode == 0, done.stderr
        assert done.stderr == "" and done.stdout == ""
        assert [entry for entry in os.listdir(path.parent) if entry.startswith(path.name)] == [path.name]
        return path

    return run


@pytest.fixture
def report(hw):
    """report(trace, "--leaks"): `report --json`, parsed."""

    def run(trace, *options):
        done = hw("report", "--json", *options, trace)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
