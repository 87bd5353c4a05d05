"""The entry points: a program must see malloc's contract unchanged, and each call must be reported once, with its
caller.

Most tests replace the recorder by entries_double.c and check every report; the last ones preload the recorder
itself.
"""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

from entries_library import FLAGS, LINK, PROGRAMS, ROOT, Run, build_counter, build_double, build_program, run
from linked_programs import file_of

VARIANTS = {"O0": ["-O0"], "O1": ["-O1"], "O2": ["-O2"], "lto": ["-O2", "-flto", "-fno-semantic-interposition"]}
HUGE = 2**63 - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("entries")


@pytest.fixture(scope="module", params=VARIANTS)
def double(request, folder):
    return build_double(folder, *VARIANTS[request.param])


@pytest.fixture(scope="module")
def fast_double(folder):
    return build_double(folder, "-O2")


@pytest.fixture(scope="module")
def counter(folder):
    return build_counter(folder)


@pytest.fixture(scope="module")
def contract(folder):
    return build_program(folder, "contract.c", "-O1")


@pytest.fixture(scope="module")
def contract_cxx(folder):
    return build_program(folder, "contract_cxx.cc", "-O1")


@pytest.fixture(scope="module")
def known(folder):
    return build_program(folder, "known.cc", "-O1", "-faligned-new")


def check_blocks(events):
    """Every free and realloc names a block that was allocated and is not free."""
    live = set()
    for kind, _, _, _, block, old in events:
        if kind == "realloc":
            live.remove(old)
        if kind in ("alloc", "realloc"):
            assert block not in live
            live.add(block)
        if kind == "free":
            live.discard(block)


C_REPORTS = f"""
alloc MALLOC 100|free FREE|alloc MALLOC 0|alloc MALLOC 0|free FREE|free FREE|failed MALLOC {HUGE}
alloc CALLOC 63|free FREE|alloc CALLOC 0|free FREE|failed CALLOC {2**64 - 1}
alloc REALLOC 10|realloc REALLOC 100000|realloc REALLOC 12|failed REALLOC {HUGE}|free REALLOC|alloc REALLOC 0|free FREE
alloc REALLOCARRAY 15|realloc REALLOCARRAY 50000|failed REALLOCARRAY {2**64 - 1}|free REALLOCARRAY
failed REALLOCARRAY {2**64 - 1}
alloc POSIX_MEMALIGN 100|free FREE|failed POSIX_MEMALIGN 100|failed POSIX_MEMALIGN 100|failed POSIX_MEMALIGN {HUGE}
alloc ALIGNED_ALLOC 8192|free FREE|failed ALIGNED_ALLOC {HUGE}|alloc MEMALIGN 10|free FREE|alloc MEMALIGN 10|free FREE
alloc VALLOC 10|alloc PVALLOC 10|free FREE|free FREE|failed VALLOC {HUGE}|free FREE_SIZED|free FREE_ALIGNED_SIZED
"""


def words(text):
    return [word for word in re.split(r"[|\n]", text) if word]


def test_c_contract(contract, double, folder):
    seen = Run(contract, folder=folder, preload=[double])
    assert seen.output == run([contract])
    assert seen.short == words(C_REPORTS)
    check_blocks(seen.events)


def test_alignment_is_what_was_asked_for(contract, fast_double, folder):
    seen = Run(contract, folder=folder, preload=[fast_double])
    aligned = [(entry, align) for kind, entry, _, align, _, _ in seen.events if align]
    assert aligned == [("POSIX_MEMALIGN", 256), ("POSIX_MEMALIGN", 24), ("POSIX_MEMALIGN", 4), ("POSIX_MEMALIGN", 64),
                       ("ALIGNED_ALLOC", 4096), ("ALIGNED_ALLOC", 64), ("MEMALIGN", 512), ("MEMALIGN", 24)]


CXX_PAIRS = """
alloc NEW 100|free DELETE|alloc NEW_ARRAY 101|free DELETE_ARRAY|alloc NEW_NOTHROW 102|free DELETE_NOTHROW
alloc NEW_ARRAY_NOTHROW 103|free DELETE_ARRAY_NOTHROW|alloc NEW 104|free DELETE_SIZED|alloc NEW_ARRAY 105|free DELETE_ARRAY_SIZED
alloc NEW_ALIGNED 106|free DELETE_ALIGNED|alloc NEW_ARRAY_ALIGNED 107|free DELETE_ARRAY_ALIGNED
alloc NEW_ALIGNED_NOTHROW 108|free DELETE_ALIGNED_NOTHROW|alloc NEW_ARRAY_ALIGNED_NOTHROW 109|free DELETE_ARRAY_ALIGNED_NOTHROW
alloc NEW_ALIGNED 110|free DELETE_SIZED_ALIGNED|alloc NEW_ARRAY_ALIGNED 111|free DELETE_ARRAY_SIZED_ALIGNED
alloc NEW 0|free DELETE|alloc NEW_ALIGNED 0|free DELETE_ALIGNED
"""

# The size of an exception object depends on libstdc++, so its malloc and free are left out.
CXX_FAILURES = f"""
failed NEW {HUGE}|failed NEW_ARRAY {HUGE}|failed NEW_NOTHROW {HUGE}|failed NEW_ARRAY_NOTHROW {HUGE}|failed NEW_ALIGNED {HUGE}
failed NEW_ARRAY_ALIGNED_NOTHROW {HUGE}|failed NEW_ALIGNED 100|failed NEW_ALIGNED_NOTHROW 100
"""

# A handler that throws out of a nothrow operator: that operator calls the throwing one and catches the exception; the
# throwing one reports the call.
CXX_HANDLERS = f"failed NEW {HUGE}|failed NEW {HUGE}|failed NEW {HUGE}|failed NEW_ARRAY_ALIGNED {HUGE}|failed NEW {HUGE}"


def test_cxx_contract(contract_cxx, double, folder):
    seen = Run(contract_cxx, folder=folder, preload=[double])
    assert seen.output == run([contract_cxx])
    operators = [event for event in seen.short if "NEW" in event or "DELETE" in event]
    assert operators == words(CXX_PAIRS) + words(CXX_FAILURES) + words(CXX_HANDLERS) + [
        f"alloc NEW {64 << 20}", "alloc NEW 64", "free DELETE"]
    check_blocks(seen.events)


def test_what_a_handler_does_counts_as_its_own(contract_cxx, fast_double, folder):
    seen = Run(contract_cxx, folder=folder, preload=[fast_double]).short
    at = seen.index(f"alloc NEW {64 << 20}")
    assert seen[at - 3:at] == ["free FREE", "alloc MALLOC 55", "free FREE"]


def test_callers_are_the_frames_that_called(double, folder):
    for level in ("-O0", "-O2"):
        program = build_program(folder, "callers.c", level, "-fno-omit-frame-pointer", "-lstdc++", name=f"callers{level}")
        seen = Run(program, folder=folder, preload=[double])
        assert len(seen.lines) == 12
        assert {line[6] for line in seen.lines} == {"1"}, seen.lines


def test_callers_without_frame_pointers(double, folder):
    """The double checks bp as well; this test shows that the check can fail."""
    program = build_program(folder, "callers.c", "-O2", "-fomit-frame-pointer", "-lstdc++", name="callers-omit")
    assert len(Run(program, folder=folder, preload=[double]).lines) == 12


def test_plugin_of_a_c_program(double, folder):
    """The runtime is loaded only for the plug-in: bad_alloc has to be found from the calling code."""
    plugin = build_program(folder, "plugin.cc", "-O1", "-shared", "-fPIC", name="libplugin.so")
    host = build_program(folder, "plugin_host.c", "-O1")
    seen = Run(host, plugin, folder=folder, preload=[double])
    assert seen.output == run([host, plugin])
    assert "caught 100\nhandled 32\n" in seen.output
    assert seen.short[:2] == ["alloc NEW 48", "free DELETE"]
    assert ["unloaded"] in seen.lines


def test_program_that_replaces_two_operators(double, folder):
    program = build_program(folder, "own_new.cc", "-O1")
    seen = Run(program, folder=folder, preload=[double])
    assert seen.output == run([program]) == "given 5, taken 5\n"
    assert seen.lines[0] == ["note", "own-new", "executable"]
    sizes = [event[2] for event in seen.events if event[0] == "alloc"]
    assert sizes == [26, 36, 46, 56, 66]
    assert {event[1] for event in seen.events} == {"MALLOC", "FREE"}


def test_program_with_its_own_malloc(double, folder):
    program = build_program(folder, "own_malloc.c", "-O1")
    seen = Run(program, folder=folder, preload=[double])
    assert seen.output == run([program]) == "given 1, strange 0\n"
    assert seen.lines == [["note", "own-malloc", "executable"]]


def test_cxx_program_with_its_own_malloc(double, folder):
    program = build_program(folder, "own_malloc_cxx.cc", "-O1")
    seen = Run(program, folder=folder, preload=[double])
    assert seen.output == run([program]) == "strange 0\n"
    assert seen.lines[0] == ["note", "own-malloc", "executable"]
    assert seen.short == ["alloc NEW 10", "alloc NEW 20", "free DELETE"]


def test_executable_at_a_fixed_address_owns_nothing(fast_double, folder):
    """The program takes malloc's address, so it contains a PLT entry for malloc, which is no definition."""
    source = folder / "address.c"
    source.write_text("""#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *(*volatile get)(size_t) = malloc;
static void say(const char *what) { void (*f)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, what); f(); }
int main(void)
{
  say("entries_foreign");
  say("entries_begin");
  free(get(5));
  say("entries_end");
  return get == malloc ? 0 : 1;
}
""")
    program = folder / "address"
    run(["gcc", "-O1", "-no-pie", "-fno-pie", "-fno-builtin", source, "-o", program])
    assert re.search(r"0000000000[1-9a-f][0-9a-f]+ +0 FUNC +GLOBAL DEFAULT +UND malloc", run(["readelf", "-W", "--dyn-syms", program]))
    seen = Run(program, folder=folder, preload=[fast_double])
    assert [line[0] for line in seen.lines] == ["alloc", "free"]


def test_library_with_its_own_operators(double, folder):
    """They are called and each counts once, though they call a malloc with another size and address. A malloc that
    the library itself calls is counted, too, after an exception has left the operator."""
    library = build_program(folder, "foreign_new.cc", "-O1", "-shared", "-fPIC", name="libforeign.so")
    program = build_program(folder, "foreign_main.cc", "-O1", library, f"-Wl,-rpath,{folder}")
    seen = Run(program, folder=folder, preload=[double])
    assert seen.output == run([program]) == "threw 1, given 5, taken 5\n"
    assert [event for event in seen.short if event != "free FREE" and not event.startswith("alloc MALLOC 1")] == words(
        "alloc NEW 10|free DELETE|alloc NEW 20|free DELETE|alloc NEW 30|free DELETE"
        f"|alloc MALLOC 3|alloc NEW 5|free DELETE|failed NEW {(HUGE - 1) // 2}|failed MALLOC {(HUGE - 1) // 2}|alloc NEW 40|alloc MALLOC 50|free DELETE")
    check_blocks(seen.events)


def times(seen):
    """[report, units that the call took] of each timed call; a free's units follow the real free."""
    found, untimed_frees = [], []
    for line in seen.lines:
        if line[0] == "free":
            untimed_frees.append(line)
        elif line[0] == "freed":
            free = next(one for one in untimed_frees if one[4] == line[1])
            untimed_frees.remove(free)
            found.append(("free " + free[1], int(line[2])))
        elif line[0] == "took":
            kind, entry, _, _, block, *_ = before
            assert block == line[1]
            found.append((f"{kind} {entry}", int(line[2])))
        before = line
    return found, untimed_frees


def test_each_call_is_timed_once(contract, contract_cxx, double, folder):
    """The clock of the double advances by one with each reading: a call that takes one unit has no other reading
    within it."""
    for program in (contract, contract_cxx):
        plain = Run(program, folder=folder, preload=[double])
        seen = Run(program, folder=folder, preload=[double], env={"ENTRIES_TIMED": "1"})
        assert seen.output == plain.output and seen.short == plain.short
        timed, untimed_frees = times(seen)
        assert untimed_frees == [] and {units for _, units in timed} == {1}
        reports = [" ".join(event.split()[:2]) for event in seen.short]
        # Calls that reach no real function, such as counts that overflow and invalid alignments, and calls after which
        # a new_handler runs.
        silent = [report for report in sorted(set(reports)) if reports.count(report) != [name for name, _ in timed].count(report)]
        assert silent == ["failed REALLOCARRAY"] if program == contract else all(one.startswith("failed NEW") for one in silent)


def test_operators_of_another_library_are_timed_with_what_they_do(double, folder):
    library = build_program(folder, "foreign_new.cc", "-O1", "-shared", "-fPIC", name="libforeign.so")
    program = build_program(folder, "foreign_main.cc", "-O1", library, f"-Wl,-rpath,{folder}")
    timed, untimed_frees = times(Run(program, folder=folder, preload=[double], env={"ENTRIES_TIMED": "1"}))
    assert [units for report, units in timed if report in ("alloc NEW", "free DELETE")][:6] == [3] * 6
    assert untimed_frees == []


def test_boot_blocks(double, folder):
    program = build_program(folder, "boot_blocks.c", "-O1")
    seen = Run(program, folder=folder, preload=[double])
    assert seen.output == "usable 30\nmoved boot\nmoved array\ngone 1, neighbour 1\n"
    assert seen.short == ["alloc REALLOC 100", "free FREE", "alloc REALLOCARRAY 63", "free FREE"]


def test_calls_before_the_library_is_relocated(double, folder):
    """A resolver of an indirect function may allocate. It runs before a preloaded library is relocated."""
    library = build_program(folder, "early_library.c", "-O1", "-shared", "-fPIC", name="libearly.so")
    program = build_program(folder, "early.c", "-O1", library, f"-Wl,-rpath,{folder}")
    for binding in ({}, {"LD_BIND_NOW": "1"}):
        seen = Run(program, folder=folder, preload=[double], env=binding)
        assert seen.output == run([program]) == "7 1\n"
        assert seen.short[-1] == "free FREE" and len(seen.short) == 2


def test_a_preloaded_allocator_is_the_real_one(contract_cxx, fast_double, folder):
    jemalloc = file_of("libjemalloc.so.2")
    seen = Run(contract_cxx, folder=folder, preload=[fast_double, jemalloc])
    alone = run([contract_cxx], env={**os.environ, "LD_PRELOAD": jemalloc})
    assert seen.output == alone
    assert [event for event in seen.short if "NEW" in event or "DELETE" in event][:6] == words(CXX_PAIRS)[:6]


def test_libcxx_is_a_runtime_too(fast_double, folder):
    file_of("libc++.so.1")
    program = folder / "contract-libcxx"
    run(["g++", "-std=c++17", "-O1", "-fno-builtin", f"-I{PROGRAMS}", PROGRAMS / "contract_cxx.cc", "-o", program, "-nodefaultlibs",
         "-l:libc++.so.1", "-l:libc++abi.so.1", "-lgcc_s", "-lgcc", "-lc"])
    seen = Run(program, folder=folder, preload=[fast_double])
    assert seen.output == run([program])
    assert [event for event in seen.short if "NEW" in event or "DELETE" in event][:28] == words(CXX_PAIRS)


# --- entries.h alone ---

@pytest.mark.parametrize("language, variant", [("c", "O0"), ("c++", "O1"), ("c++", "O2"), ("c", "lto")])
def test_header_in_another_library(language, variant, folder):
    library = folder / f"libinstance-{language}-{variant}.so"
    compiler = ["gcc", "-std=gnu17"] if language == "c" else ["g++", "-x", "c++", "-std=c++17"]
    run([*compiler, *VARIANTS[variant], *(flag for flag in FLAGS if not flag.startswith("-std")), PROGRAMS / "instance.c", "-x", "none",
         "-o", library, *LINK])
    program = build_program(folder, "instance_user.cc", "-O1")
    assert run([program], env={**os.environ, "LD_PRELOAD": str(library)}) == "999 7 1 0 3000\n"
    exported = run(["nm", "-D", "--defined-only", library]).split("\n")
    names = {line.split()[-1] for line in exported if line}
    text = (ROOT / "include/heapwright/detail/entry_list.h").read_text().replace('" HW_SYMBOL_SIZE "', "m").replace('" HW_SYMBOL_SIZE', 'm"')
    listed = [name for name in re.findall(r'^#define HW_SYMBOL_\w+ "(.+)"', text, re.M) if len(name) > 1]
    assert names == set(listed)


@pytest.mark.parametrize("variant", ["O0", "lto"])
def test_a_second_instance_is_refused(variant, folder):
    done = subprocess.run(["gcc", *VARIANTS[variant], *FLAGS, str(PROGRAMS / "instance.c"), str(ROOT / "src/record/entry/entries.c"),
                           "-o", str(folder / "libtwo.so")], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "multiple definition of `malloc'" in done.stderr


# --- the counter, and the recorder ---

def counted(program, *arguments, folder, preload):
    output = folder / "counted.json"
    output.unlink(missing_ok=True)
    run([program, *arguments], env={**os.environ, "LD_PRELOAD": ":".join(map(str, preload)), "COUNTER_OUTPUT": str(output),
                                    "ENTRIES_OUTPUT": "/dev/null"})
    return json.loads(output.read_text())


ONE_ROUND = {"allocation_calls": 10, "free_calls": 10, "failed_calls": 3,
             "allocated_bytes": 100 + 200 + 7 + 15 + 33 + 65 + 31 + 17 + 19 + 23}


@pytest.mark.parametrize("behind", [False, True])
def test_counter_counts_what_is_known(behind, counter, fast_double, known, folder):
    preload = [fast_double, counter] if behind else [counter]
    none = counted(known, 0, folder=folder, preload=preload)
    many = counted(known, 1000, folder=folder, preload=preload)
    expected = dict(ONE_ROUND)
    if behind:  # an overflowing reallocarray is refused before it, and an aligned new asks for a rounded size
        expected["failed_calls"] -= 1
        expected["allocated_bytes"] += 128 - 23
    assert {key: many[key] - none[key] for key in many} == {key: 1000 * value for key, value in expected.items()}


def test_counter_tells_the_numbers_of_a_process_that_is_killed(counter, folder):
    """The mapping is correct at every moment; a fork's child has its own numbers."""
    source = folder / "killed.c"
    source.write_text("""#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
  static char text[100];
  setvbuf(stdout, text, _IOFBF, sizeof text);
  void *volatile p = malloc(1000000);
  pid_t child = fork();
  for (int i = 0; i < (child ? 300 : 20); i++)
    p = malloc(7);
  if (child)
    waitpid(child, NULL, 0), printf("%d\\n", (int)child), fflush(stdout);
  kill(getpid(), SIGKILL);
}
""")
    program = folder / "killed"
    run(["gcc", "-O1", "-fno-builtin", source, "-o", program])
    done = subprocess.Popen([program], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "LD_PRELOAD": str(counter), "COUNTER_LIVE": str(folder / "live.%p")})
    child = int(done.communicate(timeout=60)[0])
    assert done.returncode == -9
    numbers = {pid: struct.unpack("4q", (folder / f"live.{pid}").read_bytes()) for pid in (done.pid, child)}
    assert numbers[child] == (20, 0, 0, 140)
    calls, _, failed, allocated = numbers[done.pid]
    assert (calls, failed, allocated) == (301, 0, 1002100)


@pytest.fixture
def under_recorder(recorder, tmp_path):
    """Returns the environment that preloads the recorder."""
    assert recorder.exists(), f"{recorder} is not built"
    return {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(tmp_path / "contract.%p.hwt")}


def test_recorder_changes_nothing_that_a_program_sees(under_recorder, tmp_path, contract, contract_cxx, folder):
    plugin = build_program(folder, "plugin.cc", "-O1", "-shared", "-fPIC", name="libplugin.so")
    host = build_program(folder, "plugin_host.c", "-O1")
    own_new, own_malloc = build_program(folder, "own_new.cc"), build_program(folder, "own_malloc_cxx.cc")
    commands = [[contract], [contract_cxx], [host, plugin], [own_new], [own_malloc]]
    for command in commands:
        assert run(command, env=under_recorder) == run(command)
    # own_malloc_cxx's operators are recorded, own_new's mallocs are
    assert len(list(tmp_path.glob("*.hwt"))) == len(commands)


def test_malloc_is_not_asked_of_a_foreign_operators_block(preload, folder):
    """Before the block is the operator's header, which glibc would take for the size of a chunk and follow."""
    library = build_program(folder, "foreign_new.cc", "-O1", "-shared", "-fPIC", name="libforeign.so")
    program = build_program(folder, "foreign_main.cc", "-O1", library, f"-Wl,-rpath,{folder}")
    recording = preload([program])
    assert (recording.process.returncode, recording.process.stdout) == (0, "threw 1, given 5, taken 5\n")
    assert recording.report["failed_calls"] == 2


ALLOCATES_WHEN_ASKED = r"""
#include <stdlib.h>
static void *instance;
size_t malloc_usable_size(void *block)
{
  (void)block;
  if (!instance)
    instance = malloc(333);
  return 4096;
}
"""
ASKS = r"""
#include <malloc.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
  (void)arguments;
  void *volatile block;
  for (int i = 0; i < 100; i++) {
    block = malloc(1013);
    if (count > 1)
      malloc_usable_size(block);
    free(block);
  }
  return 0;
}
"""


@pytest.mark.parametrize("arguments", [[], ["asks"]], ids=["recorder", "program"])
@pytest.mark.parametrize("allocator", ["own", "libtcmalloc_minimal.so.4"])
@pytest.mark.parametrize("sample", ["", "1"], ids=["all", "sample"])
def test_allocator_that_allocates_when_asked_for_a_usable_size(preload, recorder, compile_c, arguments, allocator, sample):
    """The recorder asks within an event. What is allocated then is not the program's, and would be asked for, too, without end."""
    library = compile_c(ALLOCATES_WHEN_ASKED, "-shared", "-fPIC", "-fno-builtin", name="libasked.so") if allocator == "own" else allocator
    program = compile_c(ASKS, "-fno-builtin")
    plain = preload([program, *arguments])
    environment = {"LD_PRELOAD": f"{recorder}:{library}", **({"HEAPWRIGHT_SAMPLE": sample} if sample else {})}
    recording = preload([program, *arguments], env=environment)
    if "cannot be preloaded" in recording.process.stderr:
        pytest.skip(f"{library} is not installed")
    report = recording.report_with("--top", "0")
    assert recording.process.returncode == 0 and report["lost_events"] == report["unmatched_frees"] == report["missed_frees"] == 0
    assert [(entry["calls"], entry["live_blocks"]) for entry in report["sizes"] if entry["size"] == 1013] == [(100, 0)]
    functions = [frame["function"] for top in report["top"] for frame in top["stack"]]
    assert "malloc_usable_size" not in functions and "MallocExtension::instance()" not in functions
    assert all(entry["size"] != 333 for entry in report["sizes"])
    assert report["allocation_calls"] < plain.report["allocation_calls"] + 20


def test_recorder_counts_as_the_counter_does(preload, recorder, counter, known, tmp_path):
    output = tmp_path / "counted.json"
    recording = preload([known, 1000], env={"LD_PRELOAD": f"{recorder}:{counter}", "COUNTER_OUTPUT": str(output)})
    assert recording.process.returncode == 0, recording.process.stderr
    seen, report = json.loads(output.read_text()), recording.report
    assert report["allocation_calls"] == seen["allocation_calls"]
    assert report["free_calls"] == seen["free_calls"]
    assert report["failed_calls"] == seen["failed_calls"] + 1000  # the overflowing reallocarray ends in the recorder
    assert report["allocated_bytes"] == seen["allocated_bytes"] - 1000 * (128 - 23)  # the aligned new is rounded
