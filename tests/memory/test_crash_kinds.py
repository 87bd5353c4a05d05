"""test_crash_kinds.py - the head of a report on a crash of each kind: what the thread did, its stack, and what to ask next

Breaks if a reader does not learn from the first lines where and why the program ended: of C and C++ programs, with and without
symbols.
"""

import json
import platform
import re
import struct
from pathlib import Path

import pytest

from heap_listing import PROGRAMS, build_program, crash_of
from machine import only_x86_64

SOURCE = PROGRAMS / "kinds.c"
LINES = SOURCE.read_text().splitlines()
NEXT = "--around crash shows what is there, and what its registers refer to."
ADDRESS = "0x[0-9a-f]+"
SAID = "" if platform.machine() == "x86_64" else f", {ADDRESS}"  # x86-64 does not say which address no pointer can have
# how it ends: what the thread did, its frames, the signal, the cause, and the line that follows the stack
KINDS = {
    "read": ("accessed 0x18, near 0: a null pointer was followed:", ["read_null"], "SEGV", "null pointer", NEXT),
    "write": (f"accessed {ADDRESS}:", ["write_constant"], "SEGV", "access", NEXT),
    "jump": (f"jumped to {ADDRESS}, where no code is:", ["call_block"], "SEGV", "jump", NEXT),
    "jump-null": ("jumped to 0x0, where no code is:", ["call_null"], "SEGV", "jump", NEXT),
    "check": ("aborted:", [r"\w*free", "free_twice"], "ABRT", "abort",
              f"--around crash shows what is around {ADDRESS}, to which its (stack refers|registers refer)."),
    "assertion": ("failed an assertion:", ["fail_assertion"], "ABRT", "assertion", None),
    "abort": ("aborted:", ["call_abort"], "ABRT", "abort", None),
    "division": ("divided an integer by 0, or the result is too large:", ["divide"], "FPE", "division", None),
    "instruction": ("executed an invalid instruction:", ["be_invalid"], "ILL", "invalid instruction", None),
    "stack": (f"accessed {ADDRESS}, where its stack ends: a stack overflow:", ["recurse", "overflow_stack"], "SEGV",
              "stack overflow", NEXT),
    "file": (f"accessed {ADDRESS}: the file that is mapped there is shorter:", ["read_behind_file"], "BUS", "end of file", NEXT),
    "text": (f"accessed an address that no pointer can have{SAID}:", ["follow_text"], "SEGV", "no address",
             f"--around crash shows what is around {ADDRESS}, to which its registers refer."),
    "signal": ("got SIGQUIT:", ["kill", "get_signal"], "QUIT", "signal", None),
    "exception": ("threw an exception that nothing caught:", ["throw_exception"], "ABRT", "exception", None),
    "noexcept": ("threw an exception that nothing caught:", ["throw_exception", "throw_in_noexcept"], "ABRT", "exception", None),
    "terminate": ("called std::terminate:", ["terminate"], "ABRT", "terminate", None),
}
CXX = ["exception", "noexcept", "terminate"]
BUILDS = {"C, PIE": ("gcc", "-pie"), "C++, not PIE": ("g++", "-no-pie"), "C, not PIE, stripped": ("gcc", "-no-pie", "-s"),
          "C++, PIE, stripped": ("g++", "-pie", "-s")}
CASES = [("C, PIE", kind) for kind in KINDS if kind not in CXX] + [
    (name, kind) for name, kinds in [("C++, not PIE", [*CXX, "read", "jump", "assertion", "stack"]),
                                     ("C, not PIE, stripped", ["read", "check", "jump", "stack"]),
                                     ("C++, PIE, stripped", ["write", "exception", "noexcept", "division"])] for kind in kinds]
MARKS = {"division": only_x86_64("divisions that end a program")}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    built = {}
    for number, (name, (compiler, *flags)) in enumerate(BUILDS.items()):
        language = "c++" if compiler == "g++" else "c"
        (folder / str(number)).mkdir()
        built[name] = build_program(folder / str(number), SOURCE.name, "kinds", "-x", "none", *flags, "-w",
                                    compiler=(compiler, "-x", language, "-fno-optimize-sibling-calls"))
    return built


def place_of(function):
    """The line of its source at which a function is then; of another program's, any file."""
    lines = [i + 1 for i, line in enumerate(LINES) if line.endswith(f"/* {function} */")]
    return rf"kinds\.c:{lines[0]}" if lines else r"[\w.-]+(:\d+)?"


def frames_of(kind, is_stripped):
    """Regular expressions for the lines of the stack. How far a function is when it overflows the stack is not known."""
    for number, function in enumerate([*KINDS[kind][1], "main"]):
        place = place_of(function)
        if is_stripped and place.startswith("kinds"):
            yield r"\?\? \(kinds\+0x[0-9a-f]+\)"
        elif kind == "stack" and number == 0:
            yield r"recurse \(kinds\.c:\d+\)"
        else:
            yield rf"{function}(\(\))? \({place}\)"
        if kind == "stack" and number == 0:
            yield (r"\?\? \(kinds\+0x[0-9a-f]+\)" if is_stripped else rf"recurse \({place}\)") + r", [\d,]+ times"


@pytest.mark.parametrize("name, kind", [pytest.param(*case, marks=MARKS.get(case[1], ())) for case in CASES])
def test_head(hw, programs, tmp_path, name, kind):
    does, _, signal, cause, proposed = KINDS[kind]
    is_stripped = "stripped" in name
    core, done = crash_of([programs[name], kind], tmp_path)
    answer, report = (hw("core", *words, programs[name], core, env={"COLUMNS": "400"}) for words in ([], ["--json"]))
    assert answer.returncode == report.returncode == 0, answer.stderr + report.stderr
    first, *lines = answer.stdout[:answer.stdout.index("The heap of glibc")].splitlines()
    # Known if the debug file of the C library is installed.
    lines = [line for line in lines if not re.match("  (_int_free|tcache_\\w+) ", line)]
    assert first.startswith("dump   ") and first.endswith(f" {kind}")
    pid, report = re.match(r"PID (\d+), killed by", lines[0])[1], json.loads(report.stdout)
    expected = [f"PID {pid}, killed by SIG{signal}, 1 thread"]
    if report["abort_message"]:
        expected.append(f"The C library ended it: {report['abort_message']}")
    assert lines[:len(expected)] == expected
    patterns = [f"Thread {pid} {does}", *("  " + frame for frame in frames_of(kind, is_stripped)), *([proposed] if proposed else [])]
    lines = lines[len(expected):]
    assert len(lines) == len(patterns) and all(map(re.fullmatch, patterns, lines)), (patterns, lines)
    assert (report["signal_cause"], report["signal_thread"]) == (cause, int(pid))
    assert report["signal_name"] == f"SIG{signal}" and re.fullmatch(does.rstrip(":"), report["signal_text"])


@pytest.mark.parametrize("kind", [pytest.param("division", marks=MARKS["division"]), "instruction"])
def test_no_address(hw, programs, tmp_path, kind):
    """Neither has one, and nothing in the function refers to a block."""
    program = programs["C, PIE"]
    core, _ = crash_of([program, kind], tmp_path)
    done = hw("core", "--around", "crash", program, core)
    assert done.returncode == 2 and "--around crash: no address explains it" in done.stderr


def test_impossible_address_that_is_known(hw, programs, tmp_path):
    """As kernels of other machines than x86-64 say it: it explains nothing, but what a register refers to may."""
    program = programs["C, PIE"]
    core, _ = crash_of([program, "text"], tmp_path)
    data, address = bytearray(core.read_bytes()), int.from_bytes(b"ABCDEFGH", "little")
    description = data.index(struct.pack("<II", 128, 0x53494749) + b"CORE\0") + 8 + 8  # of the signal: NT_SIGINFO
    struct.pack_into("<i", data, description + 8, 1)  # SEGV_MAPERR
    struct.pack_into("<Q", data, description + 16, address)
    core.write_bytes(data)
    report = json.loads(hw("core", "--json", program, core).stdout)
    assert report["signal_text"] == f"accessed an address that no pointer can have, {address:#x}" and report["fault_address"] == address
    assert report["signal_cause"] == "no address" and report["crash_address"] != address
