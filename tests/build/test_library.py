"""The symbols that the recorder needs from a system and exports to a program: a wrong one breaks programs at load time.

An extra export would replace a program's own function. A dependency on a newer glibc, or on a library other than
libc, would keep programs from starting. Hardened systems refuse a text relocation.
"""

import re
import subprocess

import pytest

LOWEST_GLIBC = (2, 34)  # dlsym is part of libc.so.6 from here on
# Some are not entry points. dlclose is interposed to notice that a library was unloaded; pthread_setname_np and prctl
# to know the names of threads that end before they can be looked at; exec and posix_spawn to know programs that leave
# no trace; prctl and syscall also to know which thread forbids itself the clock.
C_NAMES = {"malloc", "free", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
           "malloc_usable_size", "free_sized", "free_aligned_sized", "dlclose", "pthread_setname_np", "prctl", "syscall",
           "execve", "execv", "execvp", "execvpe", "fexecve", "execl", "execlp", "execle", "posix_spawn", "posix_spawnp"}
NEW_NAMES = {f"_Z{kind}m{variant}" for kind in ("nw", "na") for variant in
             ("", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t")}
DELETE_NAMES = {f"_Z{kind}Pv{variant}" for kind in ("dl", "da") for variant in
                ("", "RKSt9nothrow_t", "m", "St11align_val_t", "St11align_val_tRKSt9nothrow_t", "mSt11align_val_t")}


def output_of(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def test_exports_are_the_entry_points_and_the_monitor_alone(recorder):
    exported = {line.split()[-1].split("@")[0] for line in output_of("nm", "-D", "--defined-only", recorder).splitlines()}
    assert exported == C_NAMES | NEW_NAMES | DELETE_NAMES | {"heapwright_monitor", "__itt_api_init", "InitializeInjectionNvtx2"}


def test_needs_libc_alone(recorder):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", recorder))
    assert needed == ["libc.so.6"]


PRELOADED = ["record", "annotate", "heap", "tlsf", "ros"]


@pytest.mark.parametrize("name", PRELOADED)
def test_lowest_glibc(build, name):
    """Those of weak references count: the loader of an older glibc does not start a program with such a library."""
    needs = output_of("readelf", "-VW", build / f"lib/libheapwright-{name}.so")
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([\d.]+)", needs)}
    assert versions and max(versions) <= LOWEST_GLIBC


def frames(entry):
    return tuple((frame["module"], frame["function"], frame.get("function_start"), frame.get("line")) for frame in entry["stack"])


@pytest.fixture
def older(build, tmp_path):
    """older("record"): a library that does not find _dl_find_object, as with a glibc before 2.35."""

    def path_of(name):
        library = build / f"lib/libheapwright-{name}.so"
        path, code = tmp_path / library.name, library.read_bytes()
        path.write_bytes(code.replace(b"_dl_find_object\0", b"_dl_find_nobody\0"))
        assert path.read_bytes() != code
        return str(path)

    return path_of


PROGRAM = ["/usr/bin/python3", "-c", "import json, sqlite3; print(json.dumps(list(range(1000))))"]


def test_older_glibc_records_the_same(preload, older):
    fixed = {"PYTHONHASHSEED": "0"}
    runs = [preload(PROGRAM, env=fixed), preload(PROGRAM, env={**fixed, "LD_PRELOAD": older("record")})]
    assert (runs[1].process.stderr, runs[1].process.stdout) == ("", runs[0].process.stdout)
    reports = [run.report_with("--top", "0", "--frames", "all") for run in runs]
    counts = [sorted((str(frames(entry)), entry["calls"], entry["bytes"]) for entry in report["top"]) for report in reports]
    assert len(counts[0]) > 100 and counts[0] == counts[1]


@pytest.mark.parametrize("name", PRELOADED[1:])
def test_older_glibc_runs_on_the_others(older, name):
    alone, beside = (subprocess.run(PROGRAM, env=env, capture_output=True) for env in ({}, {"LD_PRELOAD": older(name)}))
    assert (alone.returncode, alone.stdout, alone.stderr) == (beside.returncode, beside.stdout, beside.stderr)


def test_older_glibc_shows_stacks_of_wrong_frees(compile_c, tmp_path, older):
    source = tmp_path / "twice.c"
    source.write_text("#include <stdlib.h>\nint main(void)\n{\n  void *volatile block = malloc(10);\n  free(block);\n  free(block);\n}\n")
    done = subprocess.run([compile_c(source, "-fno-builtin")], env={"LD_PRELOAD": older("heap")}, capture_output=True, text=True)
    assert done.returncode == 0 and "the block is free already" in done.stderr and "program+0x" in done.stderr


def test_is_bound_at_load_time_without_text_relocations(recorder):
    dynamic = output_of("readelf", "-dW", recorder)
    assert "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*NOW", dynamic)
    assert "TEXTREL" not in dynamic
    assert "[libheapwright-record.so]" in dynamic


def test_stack_is_not_executable(recorder):
    (stack,) = re.findall(r"GNU_STACK.*", output_of("readelf", "-lW", recorder))
    assert re.search(r"\bRW\b", stack) and "RWE" not in stack


def test_thread_local_storage_is_small_and_initial_exec(recorder):
    relocations = set(re.findall(r"R_\w+_(TLS\w+|DTP\w+|TPOFF\w+)", output_of("readelf", "-rW", recorder)))
    assert relocations and relocations <= {"TPOFF64", "TLS_TPREL64"}
    assert "__tls_get_addr" not in output_of("nm", "-D", recorder)
    tls = re.search(r"^\s+TLS\s+\S+ \S+ \S+ \S+ (0x[0-9a-f]+)", output_of("readelf", "-lW", recorder), re.M)
    assert tls and int(tls.group(1), 16) <= 168


@pytest.mark.parametrize("name", ["printf", "fprintf", "abort", "exit", "_exit", "signal", "sigaction", "pthread_create",
                                  "pthread_mutex_lock", "timer_create", "setenv", "fopen", "__stack_chk_fail", "__memcpy_chk"])
def test_calls_nothing_that_the_target_would_notice(recorder, name):
    undefined = {line.split()[-1].split("@")[0] for line in output_of("nm", "-D", "--undefined-only", recorder).splitlines()}
    assert name not in undefined
