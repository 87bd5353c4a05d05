"""libheapwright-annotate.so: malloc's contract, and what `heapwright core` reads of the owners that it leaves in memory"""

import json
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

import words_32
from allocators_library import PROGRAMS, ROOT, run

BUILD = Path(os.environ.get("HW_BUILD", ROOT / "build"))
LIBRARY = BUILD / "lib/libheapwright-annotate.so"
RECORD_PROGRAMS = ROOT / "tests/record/programs"
FORMS = {"table": {}, "inline": {"HEAPWRIGHT_INLINE": "1"}, "red zone": {"HEAPWRIGHT_RED_ZONE": "32"},
         "kept": {"HEAPWRIGHT_KEEP_FREED": "1M"}, "all": {"HEAPWRIGHT_INLINE": "1", "HEAPWRIGHT_RED_ZONE": "40",
                                                          "HEAPWRIGHT_KEEP_FREED": "100k", "HEAPWRIGHT_FRAMES": "3"}}
THREADS = 5  # of annotated.c, with the main thread


@pytest.fixture(scope="session")
def annotated(programs):
    return programs(PROGRAMS / "annotated.c", "-pthread", "-Wno-unused-result")


@pytest.fixture
def core_of(tmp_path):
    """core_of(program, argument, **environment): the core dump of a program that aborts on the library."""
    def dump(program, argument, **environment):
        done = subprocess.run([program, argument], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "LD_PRELOAD": str(LIBRARY), **environment},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
        cores = list(tmp_path.glob("core*"))
        assert done.returncode == -6, (done.returncode, done.stdout, done.stderr)
        if not cores:
            pytest.skip("core dumps are not written to the working directory")
        return cores[0]
    return dump


def report_of(program, core):
    done = subprocess.run([BUILD / "bin/heapwright", "core", "--json", program, core], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def owners_of(report):
    """{innermost function: (blocks, bytes)}, of the blocks of the program's own functions."""
    owners = {}
    for stack in report["top"]:
        names = [frame["function"] for frame in stack["stack"] if frame["function"]]
        owner = next((name.partition("(")[0] for name in names if name.startswith("by_")), None)
        blocks, total = owners.get(owner, (0, 0))
        owners[owner] = (blocks + stack["live_blocks"], total + stack["live_bytes"])
    return owners


# --- the contract ---

@pytest.mark.parametrize("form", FORMS if os.environ.get("HW_CONFIGS") == "all" else ["table", "all"])
def test_rules(form):
    """`foreign` is about another malloc's blocks, which have no header: they are left alone."""
    done = subprocess.run([BUILD / "bin/heapwright", "test", LIBRARY], capture_output=True, text=True, check=False,
                          env={**os.environ, **FORMS[form]})
    bad = [line for line in done.stdout.splitlines() if re.match(r"FAILED|differs", line)]
    assert done.returncode == 0 and all(line.split()[1] == "foreign" for line in bad), done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_c_contract(programs, form):
    contract = programs(RECORD_PROGRAMS / "contract.c")
    assert run([contract], LIBRARY, **FORMS[form]) == run([contract])


def test_it_needs_libc_alone():
    dynamic = subprocess.run(["objdump", "-p", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert all(name == "libc.so.6" or name.startswith("ld-linux") for name in re.findall(r"NEEDED\s+(\S+)", dynamic))


@pytest.mark.parametrize("form", ["table", "all"])
@pytest.mark.parametrize("command", [
    ["bash", "-c", "for i in $(seq 300); do x=$x$i; done; echo ${#x}; ls / | wc -l"],
    ["/usr/bin/python3", "-c", "import json, threading; print(len(json.dumps(list(range(50000)))))"],
    ["perl", "-e", "my %h; $h{$_ % 1000} .= $_ for 1..100000; print length(join '', values %h), \"\\n\""],
    ["git", "log", "-n", "3", "--oneline"],
], ids=lambda command: command[0].rsplit("/", 1)[-1])
def test_programs(command, form):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    plain, ours = (subprocess.run(command, env={**os.environ, **env}, capture_output=True, cwd=ROOT, timeout=120, check=False)
                   for env in ({}, {"LD_PRELOAD": str(LIBRARY), **FORMS[form]}))
    assert (ours.returncode, ours.stdout, ours.stderr) == (plain.returncode, plain.stdout, plain.stderr)


# --- the owners ---

def check_owners(program, core):
    each = 100 * THREADS
    expected = {"by_malloc": (2 * each, each * (100 + 200000)), "by_calloc": (each, each * 600), "by_realloc": (each, each * 5000),
                "by_aligned": (each, each * 700), "by_strdup": (each, each * 25)}
    report = report_of(program, core)
    owners = owners_of(report)
    assert {name: owners.get(name) for name in expected} == expected
    assert report["understood_percent"] == 100 and not report["damage"]
    assert report["live_blocks"] == sum(blocks for blocks, _ in owners.values()), "freed blocks that are kept are not live"


@pytest.mark.parametrize("form", FORMS)
def test_owners(annotated, core_of, form):
    """Every block with its function and the bytes that were asked for."""
    check_owners(annotated, core_of(annotated, "abort", **FORMS[form]))


REUSED = r"""
#include <stdlib.h>
enum { COUNT = 400 };
static void *kept[COUNT], *freed[2 * COUNT];
__attribute__((noinline)) static void *by_aligned(void) { void *block; return posix_memalign(&block, 1024, 700) ? NULL : block; }
int main(void)
{
  for (int i = 0; i < COUNT; i++) {
    freed[2 * i] = malloc(1100);
    freed[2 * i + 1] = malloc(2000 + 16 * (size_t)i);
    kept[i] = malloc(10);
  }
  for (int i = 0; i < 2 * COUNT; i++)
    free(freed[i]);
  for (int i = 0; i < COUNT; i++)
    kept[i] = by_aligned();
  abort();
}
"""


def test_memory_that_is_used_again(programs, core_of, tmp_path):
    """In front of an aligned block is still the header of the freed block whose memory it got."""
    (tmp_path / "reused.c").write_text(REUSED)
    program = programs(tmp_path / "reused.c")
    report = report_of(program, core_of(program, "abort", HEAPWRIGHT_INLINE="1", HEAPWRIGHT_FRAMES="3"))
    assert owners_of(report)["by_aligned"] == (400, 400 * 700) and not report["damage"]


def test_threads_in_malloc(annotated):
    """At a moment when threads have blocks without their headers yet: that is no damage."""
    with subprocess.Popen([annotated, "churn"], stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(LIBRARY)}) as process:
        try:
            process.stdout.readline()
            for _ in range(5):
                report = report_of(annotated, str(process.pid))
                assert report["understood_percent"] == 100 and not report["damage"]
        finally:
            process.kill()


def test_leaks_have_stacks(annotated, core_of):
    done = subprocess.run([BUILD / "bin/heapwright", "core", "--json", "--leaks", annotated, core_of(annotated, "lose")], capture_output=True,
                          text=True, check=False)
    report = json.loads(done.stdout)
    assert report["leaked_blocks"] in range(90, 101)  # old words of stacks may still refer to some
    assert report["leaked_bytes"] == report["leaked_blocks"] * 600
    assert "by_calloc" in json.dumps(report["leaks"]) and "by_malloc" not in json.dumps(report["leaks"])


@pytest.mark.parametrize("kind", ["-static", "-static-pie"])
def test_owners_in_a_static_program(programs, core_of, kind):
    """With the command of docs/annotate.md."""
    program = programs(PROGRAMS / "annotated.c", kind, "-pthread", BUILD / "lib/libheapwright-annotate.a",
                       f"-Wl,@{BUILD}/lib/heapwright-annotate.options", name="annotated" + kind)
    check_owners(program, core_of(program, "abort", LD_PRELOAD="", HEAPWRIGHT_RED_ZONE="16"))


def test_a_static_cxx_program(programs, tmp_path, core_of):
    source = tmp_path / "names.cc"
    source.write_text("#include <cstdlib>\n#include <map>\n#include <string>\nstd::map<int, std::string> names;\n"
                      "__attribute__((noinline, noclone)) void by_insert(int i) { names[i] = std::string(100, 'x'); }\n"
                      "int main() { for (int i = 0; i < 50; i++) by_insert(i); std::abort(); }\n")
    program = programs(source, "-static", BUILD / "lib/libheapwright-annotate.a", f"-Wl,@{BUILD}/lib/heapwright-annotate.options")
    assert owners_of(report_of(program, core_of(program, "abort", LD_PRELOAD="")))["by_insert"] == (100, 50 * (72 + 101))


def test_another_malloc_beneath(annotated, core_of):
    """Its blocks have their owners."""
    beneath = BUILD / "lib/libheapwright-tlsf.so"
    report = report_of(annotated, core_of(annotated, "abort", LD_PRELOAD=f"{LIBRARY} {beneath}", HEAPWRIGHT_POOL_SIZE="200M",
                                          HEAPWRIGHT_POOL_LOCK="0"))
    assert report["allocator"] == "heapwright-pool" and not report["damage"]
    assert owners_of(report)["by_malloc"] == (200 * THREADS, 100 * THREADS * 200100)


def test_a_program_with_the_header(tmp_path, core_of):
    """Of 32 bits, with other blocks of malloc, too."""
    source, program = tmp_path / "small.c", tmp_path / "small"
    source.write_text("#include <stdlib.h>\n#define HW_ANNOTATE_ALLOC(bytes, align) malloc(bytes)\n"
                      "#define HW_ANNOTATE_FREE(memory) free(memory)\n#include <heapwright/annotate.h>\n"
                      "static void *kept[50];\n"
                      "__attribute__((noinline, noclone)) static void by_malloc(int i) { kept[i] = hw_annotate_malloc(100); }\n"
                      "int main(void) { for (int i = 0; i < 50; i++) by_malloc(i); kept[0] = malloc(77);\n"
                      "for (int i = 1; i < 50; i += 2) hw_annotate_free(kept[i]); abort(); }\n")
    built = subprocess.run(["gcc", *words_32.FLAGS, "-g", "-O1", "-fno-omit-frame-pointer", f"-I{ROOT}/include", source, "-o", program],
                           capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip("no compiler for 32-bit programs")
    report = report_of(program, core_of(program, "abort", LD_PRELOAD=""))
    assert owners_of(report)["by_malloc"] == (25, 2500)


# --- damage ---

def faults_of(program, argument, **environment):
    """What the library prints about the program, which then aborts."""
    done = subprocess.run([program, argument], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(LIBRARY), "HEAPWRIGHT_REPORT_DAMAGE": "1", **environment})
    return done.stderr


def test_overrun_is_found_at_free(annotated):
    text = faults_of(annotated, "overflow-free", HEAPWRIGHT_RED_ZONE="32")
    assert re.search(r"written beyond the end of a block: block 0x\w+ of 100 bytes, at byte 100\n  allocated by\n    (program|annotated)", text)


def test_overrun_is_found_at_exit(annotated):
    text = faults_of(annotated, "overflow-exit", HEAPWRIGHT_RED_ZONE="32")
    assert text.count("written beyond the end of a block") == 1 and "of 100 bytes, at byte 103" in text


def test_write_after_free_is_found_at_exit(annotated):
    text = faults_of(annotated, "late-exit", HEAPWRIGHT_KEEP_FREED="1M")
    assert "written to a block after it was freed" in text and "of 100 bytes, at byte 50" in text


def test_double_free_is_survived(annotated):
    text = faults_of(annotated, "twice", HEAPWRIGHT_KEEP_FREED="1M")
    assert text.count("free of a block that is free") == 1 and "freed by" in text


@pytest.mark.parametrize("form", ["red zone", "all"])
def test_sound_programs_are_silent(annotated, form):
    done = subprocess.run([annotated], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(LIBRARY), "HEAPWRIGHT_REPORT_DAMAGE": "1", **FORMS[form]})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_overrun_in_a_core_dump(annotated, core_of):
    report = report_of(annotated, core_of(annotated, "overflow", HEAPWRIGHT_RED_ZONE="32"))
    assert [damage["text"] for damage in report["damage"] if "beyond" in damage["text"]] and report["understood_percent"] == 100


def test_overwritten_header_in_a_core_dump(annotated, core_of):
    """The block before it is named, and its stack is known."""
    report = report_of(annotated, core_of(annotated, "overflow-header"))
    assert any("the header of this block was overwritten; before it is the block of 100 bytes" in damage["text"] for damage in report["damage"])
