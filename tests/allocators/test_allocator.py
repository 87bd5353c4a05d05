"""allocator.h: malloc's contract around three functions of the user, in every language and at every level of
optimisation.
"""

import re
import subprocess

import pytest

from allocators_library import EXAMPLES, FLAGS, PROGRAMS, ROOT, WARNINGS, compile_source, run

RECORD_PROGRAMS = ROOT / "tests/record/programs"
VARIANTS = {"O0": ["-O0"], "O2": ["-O2"], "lto": ["-O2", "-flto"]}
SIMPLE = '#include "simple.h"\n'
GIVEN = "HEAPWRIGHT_ALLOCATOR(.alloc = simple_alloc, .free = simple_free, .usable_size = simple_usable_size);\n"
C_NAMES = {"malloc", "free", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
           "malloc_usable_size", "free_sized", "free_aligned_sized", "malloc_trim", "mallopt", "mallinfo", "mallinfo2",
           "malloc_info", "malloc_stats"}
CXX_NAMES = {f"_Z{kind}m{variant}" for kind in ("nw", "na") for variant in
             ("", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t")} | {
                 f"_Z{kind}Pv{variant}" for kind in ("dl", "da") for variant in
                 ("", "RKSt9nothrow_t", "m", "St11align_val_t", "St11align_val_tRKSt9nothrow_t", "mSt11align_val_t")}


# --- the contract ---

@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("example", ["bump.c", "guard.c", "counting.cc"])
def test_c_contract(example, variant, allocators, programs):
    contract = programs(RECORD_PROGRAMS / "contract.c")
    assert run([contract], allocators(EXAMPLES / example, *VARIANTS[variant])) == run([contract])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("example", ["bump.c", "guard.c", "counting.cc"])
def test_cxx_contract(example, variant, allocators, programs):
    """Except for the handler that frees a reserve: two of the three do not return memory."""
    contract = programs(RECORD_PROGRAMS / "contract_cxx.cc", "-faligned-new")
    ours, plain = (out.splitlines() for out in (run([contract], allocators(EXAMPLES / example, *VARIANTS[variant])), run([contract])))
    assert len(ours) == len(plain)
    differing = [line for line, other in zip(plain, ours) if line != other]
    assert all("reserve" in line for line in differing)
    assert not differing or example != "counting.cc"


@pytest.mark.parametrize("source", ["quick.c", "quick.cc"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_quick_ways(variant, source, allocators, programs, tmp_path):
    """The contract is kept because unusual calls go to the checks. The quick functions are called neither too early
    nor without use."""
    output = tmp_path / "seen"
    library = allocators(PROGRAMS / source, *VARIANTS[variant])
    for name, flags in (("contract.c", ()), ("contract_cxx.cc", ("-faligned-new",))):
        contract = programs(RECORD_PROGRAMS / name, *flags)
        ours, plain = (run([contract], preload, QUICK_OUTPUT=str(output)).splitlines() for preload in (library, None))
        assert [line for line in ours if "reserve" not in line] == [line for line in plain if "reserve" not in line]
        assert output.read_text() == "1 1 1 0 0\n"


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
@pytest.mark.parametrize("source", [EXAMPLES / "bump.c", EXAMPLES / "guard.c", EXAMPLES / "counting.cc", PROGRAMS / "quick.c",
                                    PROGRAMS / "quick.cc"], ids=lambda path: path.name)
def test_cxx_plugin_of_a_c_program(source, level, allocators, plugin_command):
    """The runtime is loaded only for the plug-in: bad_alloc and the handler have to be found from the calling code.
    Below -O2, where calls are not jumps, that is not the code that called the failing function."""
    assert run(plugin_command, allocators(source, level)) == run(plugin_command)


def test_before_relocation(allocators, programs):
    """An ifunc resolver of another library allocates before the loader has processed this one."""
    library = programs(RECORD_PROGRAMS / "early_library.c", "-shared", "-fPIC", name="libearly.so")
    program = programs(RECORD_PROGRAMS / "early.c", library, f"-Wl,-rpath,{library.parent}")
    for binding in ({}, {"LD_BIND_NOW": "1"}):
        for source in (EXAMPLES / "bump.c", PROGRAMS / "hooks.c"):
            assert run([program], allocators(source), **binding) == run([program]) == "7 1\n"


# --- the hooks ---

@pytest.mark.parametrize("variant", VARIANTS)
def test_hooks(variant, allocators, programs, tmp_path):
    """Each is called at its time, and never against the contract, also on threads that allocate in their
    destructors."""
    output = tmp_path / "seen"
    user = programs(PROGRAMS / "user.c", "-pthread")
    assert run([user], allocators(PROGRAMS / "hooks.c", *VARIANTS[variant]), HOOKS_OUTPUT=str(output)) == "child 3\nchild 3\n"
    seen = dict(line.split() for line in output.read_text().splitlines())
    assert {name: int(value) for name, value in seen.items()} == {
        "inits": 1, "thread_inits": 5, "thread_exits": 4, "before_forks": 2, "after_forks": 2, "after_forks_in_child": 0,
        "before_init": 0, "without_thread": 0, "odd_requests": 0, "nulls": 0, "foreign": 0, "boot_block_kept": 1}


def test_hooks_see_no_odd_request(allocators, programs, tmp_path):
    """The edges of the contract are handled before the user's functions are called, and errno is unchanged if they
    change it."""
    output = tmp_path / "seen"
    for name, flags in (("contract.c", ()), ("contract_cxx.cc", ("-faligned-new",))):
        contract = programs(RECORD_PROGRAMS / name, *flags)
        printed = run([contract], allocators(PROGRAMS / "hooks.c"), HOOKS_OUTPUT=str(output))
        assert [line for line in printed.splitlines() if "reserve" not in line] == [
            line for line in run([contract]).splitlines() if "reserve" not in line]
        seen = dict(line.split() for line in output.read_text().splitlines())
        assert seen["odd_requests"] == seen["nulls"] == seen["foreign"] == "0"


def test_figures(allocators, programs):
    user = programs(PROGRAMS / "user.c", "-pthread")
    lines = run([user, "figures"], allocators(PROGRAMS / "hooks.c")).splitlines()
    assert lines[:3] == ["5000000000 3000000000 2000000000", "2147483647 1 0", "22"]
    document = "\n".join(lines[3:-1])
    assert re.findall(r'type="(\w+)" size="(\d+)"', document) == [("current", "5000000000"), ("max", "6000000000")] * 2
    assert lines[-1] == "0"


def test_figures_without_stats(allocators, programs):
    user = programs(PROGRAMS / "user.c", "-pthread")
    assert run([user, "figures"], allocators(EXAMPLES / "guard.c")).startswith("0 0 0\n0 1 0\n22\n")


# --- foreign blocks ---

@pytest.mark.parametrize("source", [PROGRAMS / "hooks.c", EXAMPLES / "bump.c"], ids=lambda path: path.stem)
def test_foreign_blocks_go_to_the_next_malloc(source, allocators, programs):
    user = programs(PROGRAMS / "user.c", "-pthread")
    assert run([user, "foreign"], allocators(source)) == "1 foreign freed\n"


def test_foreign_blocks_without_another_malloc(tmp_path):
    """In a static program there is no other allocator to give them to."""
    source = tmp_path / "static.c"
    source.write_text(SIMPLE + """#include <stdint.h>
static bool simple_owns(const void *address) { return (uintptr_t)address - (uintptr_t)simple_arena < sizeof simple_arena; }
HEAPWRIGHT_ALLOCATOR(.alloc = simple_alloc, .free = simple_free, .usable_size = simple_usable_size, .owns = simple_owns);
#include <stdlib.h>
int main(void) { static char foreign[100]; char *volatile block = foreign + 16; free(block);
  block = realloc(block, 10); free(malloc(10)); return block ? 1 : 0; }
""")
    program = tmp_path / "static"
    compile_source("gcc", "-O1", "-static", "-w", *FLAGS[4:6], source, "-o", program)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert re.fullmatch(r"heapwright: free\(0x[0-9a-f]+\): the block does not belong to this allocator, and there is no other\n"
                        r"heapwright: realloc\(0x[0-9a-f]+\): the block does not belong to this allocator, and there is no other\n", done.stderr)


# --- the compiled code ---

def disassembled(library, function):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    return re.search(rf"<{function}>:\n(.*?)\n\n", text, re.S).group(1)


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("function", ["malloc", "free", "calloc", "posix_memalign", "_Znwm", "_ZdlPv"])
def test_calls_are_direct(function, language, tmp_path):
    """malloc jumps to the user's function: no call through a pointer, no lock, and no unknown code in between."""
    source, library = tmp_path / "direct.c", tmp_path / "direct.so"
    source.write_text("""#include <heapwright/allocator.h>
#ifdef __cplusplus
extern "C" {
#endif
void *user_alloc(size_t size, size_t align);
void user_free(void *block);
size_t user_usable_size(void *block);
#ifdef __cplusplus
}
#endif
HEAPWRIGHT_ALLOCATOR(.alloc = user_alloc, .free = user_free, .usable_size = user_usable_size, .keeps_errno = true);
""")
    compile_source("gcc", "-x", language, "-O2", *FLAGS[:5], source, "-o", library)
    code = disassembled(library, function)
    called = set(re.findall(r"\b(?:call|jmp|bl?)\s+[0-9a-f]+ <([\w@]+)>", code))
    assert {"free": "user_free@plt", "_ZdlPv": "user_free@plt"}.get(function, "user_alloc@plt") in called
    assert not re.search(r"(call|jmp)\s+\*|\bbl?r\s", code)
    assert not re.search(r"lock|xchg (?! *%ax,%ax)|ld\w*xr|__aarch64_", code)  # xchg %ax,%ax is padding
    named = subprocess.run(["c++filt", "-p", *called], capture_output=True, text=True, check=True).stdout
    assert set(named.split()) <= {"user_alloc@plt", "user_free@plt", "memset@plt", "hw_begin", "hw_begin_and_allocate", "hw_begin_and_free",
                                 "hw_boot_alloc", "hw_no_memory", "hw_new_again"}


@pytest.mark.parametrize("source", ["bump.c", "guard.c", "counting.cc"])
def test_exports_are_the_entry_points_alone(source, allocators):
    listed = subprocess.run(["nm", "-D", "--defined-only", allocators(EXAMPLES / source)], capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in listed.stdout.splitlines()} == C_NAMES | CXX_NAMES


@pytest.mark.parametrize("flags", VARIANTS.values(), ids=VARIANTS)
def test_a_second_instance_is_refused(flags, tmp_path):
    for name in ("one.c", "two.c"):
        (tmp_path / name).write_text(SIMPLE + GIVEN)
    done = subprocess.run(["gcc", *FLAGS, *flags, "one.c", "two.c", "-o", "lib.so"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "multiple definition of `malloc'" in done.stderr


@pytest.mark.parametrize("given", ["", "HEAPWRIGHT_ALLOCATOR(.alloc = simple_alloc, .free = simple_free);\n"], ids=["none", "incomplete"])
@pytest.mark.parametrize("compiler", [["gcc"], ["clang"]], ids=lambda words: words[0])
def test_a_missing_member_is_an_error(given, compiler, tmp_path):
    source = tmp_path / "source.c"
    source.write_text(SIMPLE + given)
    done = subprocess.run([*compiler, "-O2", *FLAGS[:6], "-w", source, "-o", tmp_path / "lib.so"], capture_output=True, text=True)
    assert done.returncode != 0 and "needs HEAPWRIGHT_ALLOCATOR with .alloc, .free and .usable_size" in done.stderr


@pytest.mark.parametrize("flags", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("compiler", [["gcc", "-std=c17"], ["clang", "-std=c17"], ["g++", "-xc++", "-std=c++17"],
                                      ["clang++", "-xc++", "-std=c++17"]], ids=lambda words: words[0])
def test_is_clean_in_strict_mode(compiler, flags, tmp_path):
    """No feature macro, every warning: the header declares or enables all system features that it needs."""
    if "-flto" in flags and "clang" in compiler[0]:
        pytest.skip("needs an LLVM linker plugin")
    source = tmp_path / "source.c"
    source.write_text("#include <stdio.h>\n" + SIMPLE + GIVEN)
    compile_source(*compiler, *flags, *FLAGS[:6], *WARNINGS, "-Wpedantic", source, "-o", tmp_path / "lib.so")


def test_heaphook_align(allocators, programs, tmp_path):
    """Plain requests have an align of 1 if the allocator asks for that, otherwise 16."""
    text = SIMPLE + """#include <unistd.h>
static void *checked(size_t size, size_t align) {
  if (size == 12345 && write(1, align == 1 ? "1\\n" : align == 16 ? "16\\n" : "?\\n", align == 16 ? 3 : 2) < 0) return NULL;
  return simple_alloc(size, align < 16 ? 16 : align); }
HEAPWRIGHT_ALLOCATOR(.alloc = checked, .free = simple_free, .usable_size = simple_usable_size);
"""
    program = tmp_path / "program.c"
    program.write_text("#include <stdlib.h>\nint main(void) { char *volatile p = malloc(12345); p = calloc(1, 12345);"
                       " p = realloc(NULL, 12345); return !p; }\n")
    binary = programs(program, name="aligns")
    assert run([binary], allocators(text)) == "16\n" * 3
    assert run([binary], allocators("#define HEAPWRIGHT_HEAPHOOK_ALIGN\n" + text)) == "1\n" * 3
