"""test_no_malloc.py - the recorder never reaches malloc, neither directly nor through libc and the loader

Breaks if a call of the recorder leads to malloc or free: a program whose own malloc cannot serve then dies, and
calls are recorded that the program never made.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

# The functions of libc and the loader that the recorder calls. None of these can reach malloc: before you add one,
# check its source. pthread_setspecific does for late keys, which the recorder refuses; no mutex function does.
IMPORTS = {
    "__errno_location", "getauxval", "dl_iterate_phdr", "_r_debug", "_dl_debug_addr", "__init_libc", "gnu_get_libc_version",
    "memcpy", "memmove", "memset", "memcmp", "memmem", "strlen", "strnlen", "strcmp", "strncmp", "strchr", "strrchr",
    "pthread_self", "pthread_key_create", "pthread_key_delete", "pthread_setspecific", "pthread_mutex_init", "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_mutex_consistent", "pthread_mutexattr_init", "pthread_mutexattr_setrobust", "pthread_mutexattr_destroy",
    "__libc_single_threaded", "__cxa_finalize", "__gmon_start__", "_ITM_registerTMCloneTable", "_ITM_deregisterTMCloneTable",
    "_ZSt15get_new_handlerv", "_ZSt17__throw_bad_allocv",  # from the C++ runtime, for a program that runs out of memory
}


def test_imports_nothing_that_may_allocate(recorder):
    listing = subprocess.run(["nm", "-D", "--undefined-only", recorder], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1].split("@")[0] for line in listing.splitlines()} <= IMPORTS


def test_malloc_that_cannot_serve_before_main(compile_c, record, preload):
    program = compile_c(PROGRAMS / "early_malloc.c", "-fno-builtin", name="early_malloc")
    plain = subprocess.run([program], capture_output=True, text=True)
    assert (plain.returncode, plain.stdout) == (3, "served\n")
    for recording in (record([program]), preload([program])):
        assert (recording.process.returncode, recording.process.stdout) == (3, "served\n")


@pytest.fixture(scope="session")
def within_recorder(tmp_path_factory):
    library = tmp_path_factory.mktemp("within") / "libwithin.so"
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-fexceptions", "-shared", "-fPIC", PROGRAMS / "within_recorder.c", "-o", library],
                   check=True)
    return library


SCRIPTS = {
    "bash": ["bash", "-c", "for i in 1 2 3; do (echo $i | cat); done"],
    "perl": ["perl", "-e", 'my %h = map { $_ => 1 } 1..1000; fork; print "x\\n"'],
    "python3": ["/usr/bin/python3", "-c", "import threading, ctypes\nt = threading.Thread(target=print)\nt.start()\nt.join()"],
}


@pytest.mark.parametrize("options", [{}, {"HEAPWRIGHT_DURATIONS": "1"}, {"HEAPWRIGHT_CHECK": "1"}], ids=["usual", "durations", "check"])
def test_nothing_leads_from_the_recorder_to_malloc(compile_c, record, preload, recorder, within_recorder, options):
    program = compile_c(PROGRAMS / "all_sorts.c", "-pthread", name="all_sorts")
    plain = subprocess.run([program], capture_output=True, text=True)
    assert plain.stdout.endswith("done\n")
    recorded = record([program], env={"LD_PRELOAD": str(within_recorder), **options})
    alone = preload([program], env={"LD_PRELOAD": f"{recorder}:{within_recorder}", **options})
    for recording in (recorded, alone):
        assert (recording.process.returncode, recording.process.stdout) == (0, plain.stdout), recording.process.stderr
        assert recording.report["lost_events"] == 0


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_leads_there_in_real_programs(record, within_recorder, name):
    plain = subprocess.run(SCRIPTS[name], capture_output=True, text=True)
    recording = record(SCRIPTS[name], env={"LD_PRELOAD": str(within_recorder)})
    assert (recording.process.returncode, recording.process.stdout) == (plain.returncode, plain.stdout), recording.process.stderr


def test_the_check_sees_what_it_should(compile_c, recorder, within_recorder, tmp_path):
    """The test finds a library with the recorder's name whose malloc calls strdup."""
    source = """
    #include <string.h>
    #include <stdlib.h>
    extern void *__libc_malloc(size_t size);
    static __thread int inside;
    void *malloc(size_t size) { if (!inside) { inside = 1; free(strdup("x")); inside = 0; } return __libc_malloc(size); }
    """
    folder = tmp_path / "bad"
    folder.mkdir()
    bad = folder / recorder.name
    subprocess.run(["gcc", "-x", "c", "-fno-builtin", "-fexceptions", "-shared", "-fPIC", "-Wl,-z,now", "-o", bad, "-"],
                   input=source.replace("return __libc_malloc(size)", "return next(size)")
                   .replace("static __thread", "#define _GNU_SOURCE\n#include <dlfcn.h>\nstatic void *next(size_t size) { void *(*f)(size_t) = "
                            "(void *(*)(size_t))dlsym(RTLD_NEXT, \"malloc\"); return f(size); }\nstatic __thread"),
                   text=True, check=True)
    program = compile_c("int main(void) {\n  return malloc(3) == 0; }\n".replace("int main", "#include <stdlib.h>\nint main"), "-fno-builtin")
    done = subprocess.run([program], env={**os.environ, "LD_PRELOAD": f"{bad}:{within_recorder}"}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (97, "the recorder came to malloc\n")


COUNTED = """
#include <new>
int main() {
  for (int i = 0; i < 1000; i++) {
    void *block = operator new(16);
    __asm__ volatile("" : : "r"(block) : "memory");
    operator delete(block);
  }
}
"""


def test_count_to_the_last_call(compile_cxx, check_counts, check_counts_preload):
    """libstdc++ allocates one block itself, the reserve for exceptions."""
    program = compile_cxx(COUNTED, name="counted")
    for recording in (check_counts([program]), check_counts_preload([program])):
        report = recording.report
        assert (report["allocation_calls"], report["free_calls"], report["boot_blocks"]) == (1001, 1000, 0)
        assert sum(size["calls"] for size in report["sizes"] if size["size"] == 16) == 1000


def test_allocator_that_allocates_when_asked_for_a_size(compile_c, record):
    """tcmalloc allocates at its first call, in the middle of an event. That call is recorded too, and no event is
    lost."""
    program = compile_c("#include <stdlib.h>\nint main(void) {\n  for (int i = 0; i < 100; i++) free(malloc(24)); return 0; }\n",
                        "-fno-builtin", "-Wl,--no-as-needed", "-l:libtcmalloc_minimal.so.4")
    report = record([program]).report
    assert report["lost_events"] == 0
    assert sum(size["calls"] for size in report["sizes"] if size["size"] == 24) >= 100
