"""entries_library.py - builds the entry points with entries_double.c instead of the recorder"""

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests/record/programs"
SOURCES = [ROOT / "src" / name for name in (
    "record/entry/entries.c", "record/entry/interposed.c", "record/runtime/real.c", "record/runtime/boot.c",
    "record/runtime/operators.c", "record/runtime/call_timer.c", "record/runtime/foreign.c", "record/runtime/sanitizers.c",
    "record/runtime/redirected.c", "record/runtime/redirect_wrappers.c",
    "record/start_texts.c", "record/preload_list.c")]
PLATFORM = [ROOT / "src" / name for name in (
    "platform/linux/os.c", "platform/linux/file.c", "platform/linux/loader.c",
    "platform/linux/threads.c", "platform/linux/dynamic.c", "platform/linux/vdso.c",
    "platform/linux/elf.c", "platform/linux/find_object.c", "platform/linux/symbols.c")]
FLAGS = ["-std=gnu17", "-fPIC", "-shared", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec",
         "-foptimize-sibling-calls", f"-I{ROOT}/src", f"-I{ROOT}/include", "-Wall", "-Wextra", "-Werror"]
LINK = ["-Wl,-z,now,--no-undefined"]


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **more)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def build_double(folder, *flags):
    """Builds the entry points and the double as a library to preload, once per folder."""
    library = folder / f"libentries{''.join(flags)}.so"
    if library.exists():
        return library
    run(["gcc", *FLAGS, *flags, *SOURCES, build_platform(folder), PROGRAMS / "entries_double.c", "-o", library, *LINK])
    return library


def build_platform(folder):
    """What the entry points need of the platform, as one object: only they themselves are tested at each level of optimisation."""
    together = folder / "platform.o"
    if not together.exists():
        run(["gcc", *(flag for flag in FLAGS if flag != "-shared"), "-O1", "-r", "-o", together, *PLATFORM])
    return together


def build_counter(folder):
    library = folder / "libcounter.so"
    run(["gcc", "-std=gnu17", "-O2", "-fPIC", "-shared", "-fexceptions", "-fno-builtin", "-Wall", "-Wextra", "-Werror",
         ROOT / "tests/record/counter.c", "-o", library])
    return library


def build_program(folder, source, *flags, name=None):
    """Builds a program, or with -shared a library, from tests/record/programs, once per folder."""
    return build_once(folder, source, flags, name)


@cache
def build_once(folder, source, flags, name):
    output = folder / (name or Path(source).stem)
    compiler = ["g++", "-std=c++17"] if source.endswith(".cc") else ["gcc", "-std=gnu17"]
    run([*compiler, "-g", "-fno-builtin", "-Wall", PROGRAMS / source, "-o", output, *flags])
    return output


class Run:
    """The output of a program under the double, and the reports of its entry points: lists of words."""

    def __init__(self, program, *arguments, folder, preload, env=None):
        reports = folder / "reports"
        reports.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": ":".join(map(str, preload)), "ENTRIES_OUTPUT": str(reports), **(env or {})}
        self.output = run([program, *arguments], env=environment)
        self.lines = [line.split() for line in reports.read_text().splitlines()]

    @property
    def events(self):
        """(kind, entry, size, align, block, old)"""
        return [(line[0], line[1], *map(int, line[2:6])) for line in self.lines if len(line) == 7]

    @property
    def short(self):
        """KIND ENTRY SIZE; frees have no size"""
        return [f"{kind} {entry}" + (f" {size}" if kind != "free" else "") for kind, entry, size, *_ in self.events]
