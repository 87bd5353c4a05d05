"""test_place_names.py - the names of places that hold a block: variables, and functions whose frames they are in

Breaks if a reader of `heapwright core --who` does not learn which variable of the source holds a block. The program prints the
address of each block with the name of its holder.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs/named.cc"
LIBRARY = PROGRAM.parent / "named_library.c"
TIMEOUT = 60
GLOBALS = [("shelf", "shop::shelves", 3 * 16 + 8), ("till", "shop::till", 0), ("shared", "shop::shared", 0),
           ("last", "shop::Counter::last", 0)]

pytestmark = pytest.mark.skipif(not shutil.which("gcore"), reason="gdb is not installed")


class Dumped:
    """A program, its core dump, and the addresses by name."""

    def __init__(self, folder, *options, debug_folder=None, strip=False, is_static=False):
        self.program, self.addresses = folder / "named", {}
        self.options = ["--debug-dir", debug_folder] if debug_folder else []
        self.library = folder / ("named_library.o" if is_static else "libnamed.so")
        subprocess.run(["gcc", *(["-c"] if is_static else ["-shared", "-fPIC"]), "-g", LIBRARY, "-o", self.library], check=True)
        self.build("-O1", *options)
        if debug_folder:
            self.separate(debug_folder)
        if strip or debug_folder:
            subprocess.run(["strip", self.program], check=True)
        with subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                if line == "ready\n":
                    break
                name, address = line.split()
                self.addresses[name] = int(address, 16)
            subprocess.run(["gcore", "-o", folder / "core", str(process.pid)], check=True, capture_output=True, timeout=TIMEOUT)
            process.kill()
        self.pid, self.core = process.pid, folder / f"core.{process.pid}"

    def build(self, *options):
        subprocess.run(["g++", "-std=c++17", "-g", PROGRAM, self.library, "-Wl,-rpath," + str(self.library.parent), "-pthread",
                        "-o", self.program, *options], check=True)

    def separate(self, debug_folder):
        notes = subprocess.run(["readelf", "-n", self.program], check=True, capture_output=True, text=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        path = debug_folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        path.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.program, path], check=True)


@pytest.fixture(scope="module", params=["pie", "no-pie", "separate debug file"])
def dumped(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    if request.param == "separate debug file":
        return Dumped(folder, debug_folder=folder / "debug")
    return Dumped(folder, *([] if request.param == "pie" else ["-no-pie"]))


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    return Dumped(tmp_path_factory.mktemp("stripped"), strip=True)


@pytest.fixture
def who(hw):
    """who(dumped, name): the answer as JSON, and as text."""

    def run(dumped, name):
        words = ["core", *dumped.options, "--who", hex(dumped.addresses[name]), dumped.program, dumped.core]
        text, answer = hw(*words), hw(*words, "--json")
        assert text.returncode == answer.returncode == 0, text.stderr + answer.stderr
        return json.loads(answer.stdout), text.stdout

    return run


@pytest.mark.parametrize("name, variable, off", GLOBALS)
def test_globals(dumped, who, name, variable, off):
    answer, text = who(dumped, name)
    for step in *answer["references"], *answer["path"]:
        assert (step["variable"], step["variable_off"], step["module"]) == (variable, off, str(dumped.program))
    assert len(answer["references"]) == len(answer["path"]) == 1
    assert text.count(f"  {variable}{f'+{off:#x}' if off else ''} in {dumped.program}\n") == 2


@pytest.mark.parametrize("name, of_main", [("basket", True), ("thread-basket", False)])
def test_thread_local_variables(dumped, who, name, of_main):
    answer, text = who(dumped, name)
    [step] = [step for step in answer["references"] if "variable" in step]
    assert (step["variable"], step["variable_off"]) == ("shop::basket", 0)
    assert (step["thread"] == dumped.pid) == of_main
    assert f"thread-local variable shop::basket of thread {step['thread']} in {dumped.program}\n" in text


@pytest.mark.parametrize("name, of_main", [("drawer", True), ("thread-drawer", False)])
def test_thread_local_variables_of_libraries(dumped, who, name, of_main):
    answer, text = who(dumped, name)
    [step] = [step for step in answer["references"] if "variable" in step]
    assert (step["variable"], step["variable_off"], step["module"]) == ("drawers", 16, str(dumped.library))
    assert (step["thread"] == dumped.pid) == of_main
    assert f"thread-local variable drawers+0x10 of thread {step['thread']} in {dumped.library}\n" in text


def test_static_program(tmp_path, who):
    """Its C library describes its thread-local storage in the same way, without a dynamic loader."""
    dumped = Dumped(tmp_path, "-static", is_static=True)
    assert who(dumped, "basket")[0]["path"][0]["variable"] == "shop::basket"
    assert who(dumped, "shelf")[0]["path"][0]["variable"] == "shop::shelves"
    assert who(dumped, "held")[0]["path"][0]["function"] == "hold"


def test_frames_of_threads(dumped, who):
    answer, text = who(dumped, "held")
    [step] = answer["path"]
    assert step["function"] == "hold" and step["thread"] not in (0, dumped.pid)
    assert Path(step["file"]).name == "named.cc" and step["line"] > 0
    assert (step["local_variable"], step["local_variable_off"]) == ("held", 0)
    assert f"  local variable held of hold (named.cc:{step['line']}) in thread {step['thread']}\n" in text


def test_stack_of_a_thread_that_has_ended(dumped, who):
    answer, text = who(dumped, "ended")
    assert answer["path"] == [] and "stack of a thread that has ended, at 0x" in text


def test_a_stripped_program_has_addresses(stripped, who):
    """Its file still has the tables to unwind with, but no names."""
    answer, text = who(stripped, "shelf")
    assert "variable" not in answer["path"][0] and f"data of {stripped.program}+0x" in text
    assert "thread-local storage of thread" in who(stripped, "basket")[1]
    assert "function" not in who(stripped, "held")[0]["path"][0]
    assert re.search(r"stack of thread \d+ at sp\+0x\w+\n", who(stripped, "held")[1])


def test_a_file_that_changed_gives_no_names(tmp_path, who):
    """Names and unwind tables of another version of the program would be wrong."""
    dumped = Dumped(tmp_path)
    dumped.build("-O0")
    assert "variable" not in who(dumped, "shelf")[0]["path"][0]
    assert "function" not in who(dumped, "held")[0]["path"][0]


def test_exported_symbols(hw, tmp_path):
    """python3 of Debian has no other ones. The interpreter's state is reached from a variable of that name."""
    script = "import os, subprocess\nkept = [str(i) * 50 for i in range(1000)]\n" \
             f"subprocess.run(['gcore', '-o', '{tmp_path}/core', str(os.getpid())], check=True, capture_output=True)\n"
    done = subprocess.run(["/usr/bin/python3", "-S", "-c", script], env={"PYTHONMALLOC": "malloc"}, timeout=TIMEOUT)
    assert done.returncode == 0
    [core] = tmp_path.glob("core.*")
    retained = json.loads(hw("core", "--retained", "--json", core).stdout)["retained"]
    answers = [json.loads(hw("core", "--json", "--who", hex(row["block"]["address"]), core).stdout) for row in retained[:5]]
    named = {answer["path"][0].get("variable") for answer in answers}
    assert any(name and re.match("_?Py", name) for name in named), named
