"""allocators_library.py - builds allocators from one source file over allocator.h, as users do, and runs programs on
them
"""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests/allocators/programs"
EXAMPLES = ROOT / "examples/allocators"
LIBRARIES = Path(os.environ.get("HW_BUILD", ROOT / "build")).resolve() / "lib"
NOT_A_BLOCK = "no block begins there, perhaps because it was freed"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
FLAGS = ["-shared", "-fPIC", "-fvisibility=hidden", "-fexceptions", f"-I{ROOT}/include", f"-I{PROGRAMS}", "-Wl,-z,now"]


def compiler_of(source):
    return ["g++", "-std=c++17"] if str(source).endswith(".cc") else ["gcc", "-std=gnu17"]


def compile_source(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def build_allocator(folder, source, *flags):
    """Builds a library from a file, or from the text of a C file."""
    number = len(list(folder.iterdir()))
    if "\n" in str(source):
        text, source = source, folder / f"text{number}.c"
        source.write_text(text)
    library = folder / f"lib{Path(source).stem}{number}.so"
    compile_source(*compiler_of(source), *(flags or ["-O2"]), *FLAGS, *WARNINGS, source, "-o", library)
    return library


def build_program(folder, source, *flags, name=None):
    """Builds a program, or with -shared a library."""
    output = folder / (name or Path(source).stem)
    compile_source(*compiler_of(source), "-g", "-O1", "-fno-builtin", "-w", source, "-o", output, *flags)
    return output


def run(command, preload=None, **environment):
    if preload:
        environment["LD_PRELOAD"] = str(preload)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def expect_done(process):
    """For a process of tlsf_user.c."""
    assert (process.returncode, process.stdout, process.stderr) == (0, "done\n", "")
