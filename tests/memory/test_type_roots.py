"""test_type_roots.py - the types of blocks to which only variables of threads, of loaded libraries, and of frames lead

Breaks if such a variable is read at a wrong place, or in a frame of another function, if one in a register is guessed at, or if the
name of a holder is another one than in the source.
"""

import json
import platform
import shutil
import subprocess

import pytest

import words_32
from heap_listing import started

TYPES = """
struct tool { struct tool *next; long weight; };
struct part { long size; struct tool *of; char *label; };
struct cup { struct cup *inner; char *content; long more[2]; };
struct plate { struct cup *cups[4]; long number; };
struct spoon { long a, b, c, d, e, f; struct cup *in; };
"""
LIBRARY = TYPES + r"""
#include <stdlib.h>
static __thread long before = 1;
static __thread struct tool *tools __attribute__((used));
static __thread struct part *volatile parts[3] __attribute__((used));
void fill_NAME(int count)
{
  for (int i = 0; i < count; i++) {
    struct tool *tool = malloc(sizeof *tool);
    tool->next = tools;
    tools = tool;
  }
  parts[2] = calloc(1, sizeof **parts);
  parts[2]->label = calloc(1, 300);
  before++;
}
"""
PROGRAM = TYPES + r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fill_started(int count);
static pthread_barrier_t barrier;

static void *made(size_t bytes)
{
  return calloc(1, bytes);
}

static void wait_here(void)
{
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
}

__attribute__((noinline)) static void drink(struct plate *plate, int depth)
{
  struct cup *cup = made(sizeof *cup), *volatile kept = cup;
  struct spoon spoons[2] = {{0}};
  cup->inner = made(sizeof *cup);
  cup->content = made(500 + depth);
  spoons[1].in = made(sizeof *spoons[1].in);
  if (depth) {
    struct plate *volatile inner = made(sizeof *inner);
    inner->cups[3] = plate->cups[0];
    drink((struct plate *)inner, depth - 1);
  } else {
    wait_here();
  }
  __asm__ volatile("" ::"r"(kept), "r"(spoons) : "memory");
}

static void *run(void *loaded)
{
  struct plate plate = {{0}};
  fill_started(5);
  ((void (*)(int))loaded)(7);
  plate.cups[0] = made(sizeof **plate.cups);
  drink(&plate, 2);
  return NULL;
}

int main(int count, char **words)
{
  pthread_t thread;
  void *loaded = dlsym(dlopen(words[1], RTLD_NOW), "fill_loaded");
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, run, loaded);
  fill_started(3);
  ((void (*)(int))loaded)(4);
  pthread_barrier_wait(&barrier);
  puts("ready");
  fflush(stdout);
  pause();
}
"""
OF_LIBRARIES = {"struct tool|variable tools": 5 + 7 + 3 + 4, "struct part|variable parts": 4,
                "char[]|member label of struct part|variable parts": 4}
OF_FRAMES = {"struct cup|variable cup of drink": 3 + 3, "char[]|member content of struct cup|variable cup of drink": 3,
             "struct cup|variable spoons of drink": 3, "struct plate|variable plate of drink": 2, "struct cup|variable plate of run": 1}


def counts_of(report):
    counts = {}
    for row in report["top"]:
        label = "|".join(frame["function"] or "?" for frame in row["stack"])
        counts[label] = counts.get(label, 0) + row["live_blocks"]
    return counts


def without_variables(counts):
    """The number of blocks of each type, of each function."""
    sums = {}
    for label, count in counts.items():
        *what, variable = label.split("|")
        key = (*what, variable.split(" of ")[-1])
        sums[key] = sums.get(key, 0) + count
    return sums


@pytest.fixture
def built(tmp_path):
    def run(compiler, *flags):
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        for name in "started", "loaded":
            (tmp_path / f"{name}.c").write_text(LIBRARY.replace("NAME", name))
            words = [compiler, "-w", "-g", *flags, "-shared", "-fPIC", f"{name}.c", "-o", f"lib{name}.so"]
            if subprocess.run(words, cwd=tmp_path, capture_output=True).returncode != 0:
                pytest.skip(f"{compiler} cannot build with {flags}")
        (tmp_path / "program.c").write_text(PROGRAM)
        subprocess.run([compiler, "-w", "-g", *flags, "program.c", "-o", "program", "./libstarted.so", "-pthread", "-ldl"],
                       cwd=tmp_path, check=True)
        return [tmp_path / "program", tmp_path / "libloaded.so"]

    return run


@pytest.mark.parametrize("compiler, flags", [("gcc", ["-O0", *words_32.FLAGS]), ("clang", ["-O0"]), ("gcc", ["-O2"]),
                                             ("gcc", ["-O0", "-fomit-frame-pointer", "-gdwarf-4"])])
def test_types(hw, built, tmp_path, compiler, flags):
    command = built(compiler, *flags)
    with started(command, tmp_path) as process:
        report = json.loads(hw("core", "--json", process.pid).stdout)
        retained = json.loads(hw("core", "--json", "--retained", "--top", "0", process.pid).stdout)["retained"]
        text = hw("core", "--retained", "--top", "0", process.pid).stdout
    found = counts_of(report)
    if platform.machine() == "x86_64":  # only there, thread-local variables of libraries are known
        assert {label: found.get(label) for label in OF_LIBRARIES} == OF_LIBRARIES
    of_frames = {label: count for label, count in found.items() if label.endswith((" of drink", " of run"))}
    if "-O2" in flags:  # some are in registers, and others lead to the same blocks
        assert without_variables(of_frames) == without_variables(OF_FRAMES)
        return
    assert of_frames == OF_FRAMES
    places = [row["held_by"] for row in retained if row.get("held_by", {}).get("local_variable")]
    held = {(place["local_variable"], place["local_variable_off"], place["function"]) for place in places}
    word = 4 if "-m32" in flags else 8
    spoons = "spoons", 13 * word, "drink"
    assert {("plate", 0, "run"), spoons} <= held <= {("plate", 0, "run"), spoons, ("inner", 0, "drink"), ("cup", 0, "drink"),
                                                     ("kept", 0, "drink"), ("plate", 0, "drink")}
    assert f"local variable spoons+{13 * word:#x} of drink (program.c:" in text and "in thread " in text
