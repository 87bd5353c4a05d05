"""The examples can run the programs that they claim to support: the same output and exit status as on libc's malloc."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

import inputs
import program_table as table
from allocators_library import EXAMPLES, compile_source

SCRIPTS = {program.name: program for program in table.load()}
SERVED = ["bash", "perl", "python3", "python3 with malloc", "git", "gcc", "g++", "sqlite3", "make"]
NOT_SERVED = {("guard.c", "python3 with malloc"), ("guard.c", "g++")}  # more live blocks than a process has mappings
CLAIMS = [(example, name) for example in ("bump.c", "guard.c", "counting.cc") for name in SERVED
          if name in SCRIPTS and (example, name) not in NOT_SERVED]


@pytest.fixture(scope="module")
def inputs_folder():
    with tempfile.TemporaryDirectory(prefix="heapwright-inputs-") as name:
        inputs.make_all(Path(name))
        yield Path(name)


def run_script(program, folder, inputs_folder, preload):
    folder.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(folder), "IN": str(inputs_folder), **preload}
    done = subprocess.run(["/bin/sh", "-eu", "-c", program.script], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                          env=environment, timeout=600)
    return done.returncode, done.stdout


@pytest.mark.parametrize("example, name", CLAIMS)
def test_real_programs(example, name, allocators, inputs_folder, tmp_path):
    program = SCRIPTS[name]
    plain = run_script(program, tmp_path / "plain", inputs_folder, {})
    assert plain[0] == program.exit_status, plain
    assert run_script(program, tmp_path / "ours", inputs_folder, {"LD_PRELOAD": str(allocators(EXAMPLES / example))}) == plain


BROKEN = {"overrun": "block[40] = 1;", "use after free": "free(block); block[0] = 1;", "double free": "free(block); free(block);",
          "write to what realloc left": "char *old = block; block = realloc(block, 80); old[0] = 1;"}


@pytest.mark.parametrize("fault", BROKEN)
def test_guard_ends_a_program_at_its_fault(fault, allocators, tmp_path):
    source, program = tmp_path / "fault.c", tmp_path / "fault"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\nint main(void) { char *volatile block = malloc(48); block[0] = 2;\n"
                      "if (write(1, \"x\", 1) != 1) return 2;\n" + BROKEN[fault].replace("[40]", "[48]") + " return 0; }\n")
    compile_source("gcc", "-O0", "-w", source, "-o", program)
    done = subprocess.run([program], env={**os.environ, "LD_PRELOAD": str(allocators(EXAMPLES / "guard.c"))}, capture_output=True)
    assert done.returncode == -11 and done.stdout == b"x"


def test_counting_counts(allocators, tmp_path):
    source, program, output = tmp_path / "known.c", tmp_path / "known", tmp_path / "counts"
    source.write_text("#include <stdlib.h>\nint main(void) { char *volatile p; for (int i = 0; i < 100; i++) { p = malloc(10); p = realloc(p, 20);"
                      " free(p); } p = calloc(3, 5); return !p; }\n")
    compile_source("gcc", "-O0", "-w", source, "-o", program)
    subprocess.run([program], check=True, env={**os.environ, "LD_PRELOAD": str(allocators(EXAMPLES / "counting.cc")),
                                               "COUNTING_OUTPUT": str(output)})
    plain = output.read_text()
    allocations, byte_count, reallocations, frees = (int(word) for word in plain.split() if word.isdigit())
    runtime = allocations - 101  # libstdc++'s own emergency pool and the name of the file
    assert 0 <= runtime <= 3 and reallocations == 100 and frees - 100 in (0, 1)
    assert byte_count - 1015 >= 0
