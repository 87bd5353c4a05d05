"""test_stacks.py - stacks are correct where they are hard to walk

Breaks if a walk misses a frame, goes on where it should end, or splices a stack that it should not. Every recording
here is made with HEAPWRIGHT_CHECK=1, with which each spliced stack is compared with two full walks.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
CHECK = {"HEAPWRIGHT_CHECK": "1"}


@pytest.fixture(params=["-O0", "-O2", "-O2 -fno-omit-frame-pointer"])
def odd_stacks(request, compile_c):
    return compile_c(PROGRAMS / "odd_stacks.c", *request.param.split(), "-pthread", "-fno-optimize-sibling-calls",
                     name="odd_stacks")


def stacks(report, size):
    """The distinct lists of function names, innermost first, of the stacks that allocated blocks of this size."""
    found = {tuple(frame["function"] for frame in stack["stack"]) for stack in report["top"]
             if stack["smallest"] <= size <= stack["largest"] and stack["entry"] in ("malloc", "operator new")}
    assert found, f"no block of {size} bytes"
    return found


def calls(report, size):
    return next(entry["calls"] for entry in report["sizes"] if entry["size"] == size)


def run(preload, *command):
    recording = preload(command, env=CHECK)
    assert recording.process.returncode == 0
    report = recording.report
    assert report["audit_differences"] == 0 and report["lost_events"] == 0
    return report


def test_contexts(odd_stacks, preload):
    report = run(preload, odd_stacks, "contexts")
    for which in (0, 1):
        for stack in stacks(report, 1001 + which):
            assert stack[:3] == ("get", "in_coroutine", "coroutine")
            assert "main" not in stack
    for stack in stacks(report, 1000):
        assert stack[:3] == ("get", "run_contexts", "main")
    assert calls(report, 1001) == calls(report, 1002) == 100


def test_signals(odd_stacks, preload):
    report = run(preload, odd_stacks, "signals")
    for size in (2001, 2002):
        for stack in stacks(report, size):
            assert stack[:2] == ("get", "in_handler")
            assert stack[stack.index("interrupted"):][:3] == ("interrupted", "run_signals", "main")
        assert calls(report, size) == 100


def test_generated_code_ends_or_is_crossed(odd_stacks, preload):
    report = run(preload, odd_stacks, "generated")
    for stack in stacks(report, 3001):
        assert stack[0] == "get" and stack[1] is None
        assert stack[2:5] == ("call_generated", "run_generated", "main")
    for stack in stacks(report, 3002):
        assert stack[:2] == ("get", None)  # then any frames: this code keeps no frame pointer
    assert stacks(report, 3009) == {("get", "get_3009", None, None)}  # the outer one has no frame pointer
    for stack in stacks(report, 3006):
        assert stack[:7] == ("get", "get_3006", None, None, "call_twice", "run_generated", "main")


def test_garbage_for_a_frame_pointer(odd_stacks, preload):
    report = run(preload, odd_stacks, "garbage")
    assert calls(report, 3003) == 20000
    for stack in stacks(report, 3003):
        assert stack[:2] == ("get", None)
    assert report["unfinished_stacks"] > 0


def test_data_is_no_frame(odd_stacks, preload):
    """What a register points at that is no frame pointer was taken for a frame, whose function was in a thread's or a module's data."""
    report = run(preload, odd_stacks, "pointers")
    for size in (3007, 3008):
        assert calls(report, size) == 100
        assert stacks(report, size) == {("get", None)}  # the generated code, which ends the stack
    assert report["unfinished_stacks"] > 0


def test_vfork(odd_stacks, preload):
    report = run(preload, odd_stacks, "vfork")
    for size in (4000, 4001):
        for stack in stacks(report, size):
            assert stack[:3] == ("get", "run_vfork", "main")
        assert calls(report, size) == 10


def test_frames(odd_stacks, preload):
    report = run(preload, odd_stacks, "frames")
    for size, function in ((5001, "with_alloca"), (5002, "realigned")):
        for stack in stacks(report, size):
            assert stack[:4] == ("get", function, "run_frames", "main")
        assert calls(report, size) == 200


def test_threads_after_main(odd_stacks, preload):
    report = run(preload, odd_stacks, "orphans")
    assert calls(report, 6001) == 300
    for stack in stacks(report, 6001):
        assert stack[:2] == ("get", "outlive")


def test_exceptions(compile_cxx, preload):
    program = compile_cxx("""
#include <cstdio>
#include <stdexcept>
#include <vector>
[[gnu::noinline]] static void thrower(int i)
{
  std::vector<char> room(777);
  room[i % 777] = 1;
  if (i % 2)
    throw std::runtime_error("a text that is too long to be kept inside of the string object");
}
[[gnu::noinline]] static int catcher(int i)
{
  try {
    thrower(i);
  } catch (const std::exception &) {
    return 1;
  }
  return 0;
}
int main()
{
  int caught = 0;
  for (int i = 0; i < 10000; i++)
    caught += catcher(i);
  std::printf("%d\\n", caught);
}
""", name="exceptions")
    report = run(preload, program)
    assert calls(report, 777) == 10000
    for stack in stacks(report, 777):
        names = [name.split("(")[0] for name in stack if name]
        assert names.index("thrower") < names.index("catcher") < names.index("main")
    assert report["live_blocks_at_end"] <= 5


def test_an_interrupted_stack_that_is_not_there(compile_c, preload):
    """A handler on its own stack allocates; the interrupted stack pointer, and the memory that the CFI finds by it,
    is unmapped."""
    program = compile_c("""
        #include <setjmp.h>
        #include <signal.h>
        #include <stdlib.h>
        static sigjmp_buf back;
        static void on_fault(int number)
        {
          (void)number;
          void *volatile block = malloc(77);
          free(block);
          siglongjmp(back, 1);
        }
        __attribute__((noinline)) static void leave_the_stack(void)
        {
        #if defined __x86_64__
          __asm__ volatile("mov $0x123450000, %%rsp\\n\\tpush %%rax" ::: "memory");
        #elif defined __aarch64__
          __asm__ volatile("mov sp, %0\\n\\tstr x0, [sp, -16]!" ::"r"(0x123450000) : "memory");
        #endif
        }
        int main(void)
        {
          stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
          struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
          sigaltstack(&stack, NULL);
          sigaction(SIGSEGV, &action, NULL);
          for (volatile int i = 0; i < 10; i++)
            if (!sigsetjmp(back, 1))
              leave_the_stack();
          return 0;
        }
    """, "-O1", name="no_stack")
    assert calls(run(preload, program), 77) == 10


def test_recursion_is_bounded(compile_c, preload):
    program = compile_c(PROGRAMS / "recursion.c", "-O1", "-fno-optimize-sibling-calls", name="recursion")
    plain = subprocess.run([program, "100000"], capture_output=True, text=True)
    recording = preload([program, "100000"])
    images = recording.traces  # it may start again with a larger stack
    assert recording.process.stdout == plain.stdout
    report = recording.report
    assert report["allocation_calls"] >= 100001
    assert report["truncated_stacks"] > 90000
    assert len(report["top"]) < 10000
    assert images


def test_recursion_is_audited(compile_c, preload):
    """The audit of a stack that is deeper than a walk reads beyond the walked frames: SIGSEGV in the program."""
    program = compile_c(PROGRAMS / "recursion.c", "-O1", "-fno-optimize-sibling-calls", name="recursion")
    recording = preload([program, "4000"], env={**CHECK, "HEAPWRIGHT_DEPTH": "128"})
    assert recording.process.returncode == 0
    report = recording.report
    assert report["audit_differences"] == 0 and report["lost_events"] == 0
    assert report["allocation_calls"] >= 4001
    assert report["truncated_stacks"] > 3800
    deepest = max(report["top"], key=lambda stack: len(stack["stack"]))["stack"]
    assert [frame["function"] for frame in deepest if frame["function"]].count("main") == 1


def test_libraries_that_take_turns_at_an_address(compile_c, preload, tmp_path):
    for name in ("alpha", "beta"):
        source = tmp_path / f"{name}.c"
        source.write_text(f"""
#include <stdlib.h>
__attribute__((noinline)) static void *{name}_inner(size_t size) {{ void *volatile p = malloc(size); return p; }}
void *work(size_t size) {{ void *volatile p = {name}_inner(size); return p; }}
""")
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", source, "-o", tmp_path / f"lib{name}.so"], check=True)
    program = compile_c("""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  void *first = NULL;
  int same = 0;
  for (int i = 0; i < 100; i++) {
    void *library = dlopen(argv[1 + i % 2], RTLD_NOW);
    void *(*work)(size_t) = (void *(*)(size_t))dlsym(library, "work");
    same += first == (void *)work;
    first = (void *)work;
    free(work(7001 + i % 2));
    dlclose(library);
  }
  printf("%d\\n", same);
}
""", name="turns")
    recording = preload([program, tmp_path / "libalpha.so", tmp_path / "libbeta.so"], env=CHECK)
    assert int(recording.process.stdout) > 50, "the libraries are not loaded at the same addresses here"
    report = recording.report
    for stack in stacks(report, 7001):
        assert stack[:3] == ("alpha_inner", "work", "main")
    for stack in stacks(report, 7002):
        assert stack[:3] == ("beta_inner", "work", "main")
    assert report["audit_differences"] == 0


def test_a_library_where_generated_code_was(compile_c, preload, tmp_path):
    """The cached result for the code there, that it has no CFI, is no longer true."""
    source = tmp_path / "late.c"
    source.write_text("""
__asm__(".text; .globl work; .type work,%function; work: .cfi_startproc;"
#if defined __x86_64__
        "sub $24,%rsp; .cfi_def_cfa_offset 32; call *%rsi; add $24,%rsp; .cfi_def_cfa_offset 8; ret;"
#elif defined __aarch64__
        "str x30,[sp,-32]!; .cfi_def_cfa_offset 32; .cfi_offset 30,-32; blr x1; ldr x30,[sp],32; .cfi_def_cfa_offset 0; .cfi_restore 30; ret;"
#endif
        ".cfi_endproc; .size work,.-work");
""")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", tmp_path / "liblate.so"], check=True)
    program = compile_c("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
typedef void work_fn(size_t, void (*)(size_t));
__attribute__((noinline)) static void get(size_t size) { void *volatile block = malloc(size); free(block); }
int main(int argc, char **argv)
{
  unsigned char code[16];
  void *library = dlopen(argv[1], RTLD_NOW);
  work_fn *work = (work_fn *)dlsym(library, "work");
  void *page = (void *)((uintptr_t)work & ~4095ul);
  memcpy(code, (void *)work, sizeof code);
  dlclose(library);
  if (mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != page)
    return 2;
  memcpy((void *)work, code, sizeof code);
  __builtin___clear_cache((char *)work, (char *)work + sizeof code);
  work(7101, get);
  munmap(page, 4096);
  library = dlopen(argv[1], RTLD_NOW);
  if ((work_fn *)dlsym(library, "work") != work)
    return 3;
  work(7102, get);
  return 0;
}
""", "-O2", name="late")
    report = run(preload, program, tmp_path / "liblate.so")
    for stack in stacks(report, 7101):
        assert stack[:2] == ("get", None)
    for stack in stacks(report, 7102):
        assert stack[:3] == ("get", "work", "main")


@pytest.mark.parametrize("check", ["0", "1"])
def test_a_guess_into_memory_that_goes(compile_c, preload, check):
    """Generated code uses the frame pointer's register for a pointer to memory above the stack; then that memory is
    unmapped."""
    program = compile_c("""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "generated_code.h"
enum { BYTES = 65536 };
static ucontext_t back, coroutine;
static char *memory;
static void *code;
__attribute__((noinline)) static void get(size_t size) { void *volatile block = malloc(size); free(block); }
static void work(void)
{
  void (*run)(void (*)(size_t), size_t, void *) = (void (*)(void (*)(size_t), size_t, void *))code;
  uintptr_t *frame = (uintptr_t *)(memory + BYTES + 4096);
  frame[0] = (uintptr_t)(memory + BYTES + 16384);
  frame[1] = 0x123456;
  for (int i = 0; i < 20; i++) {
    if (i == 10)
      munmap(memory + BYTES, BYTES);
    run(get, 3004, frame);
  }
}
int main(void)
{
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  copy_code(code, code_of_pointer, sizeof code_of_pointer);
  memory = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = memory;
  coroutine.uc_stack.ss_size = BYTES;
  coroutine.uc_link = &back;
  makecontext(&coroutine, work, 0);
  swapcontext(&back, &coroutine);
  return 0;
}
""", f"-I{PROGRAMS}", name="guess")
    recording = preload([program], env={"HEAPWRIGHT_CHECK": check})
    assert recording.process.returncode == 0
    report = recording.report
    assert calls(report, 3004) == 20 and report["audit_differences"] == 0


def test_one_spliced_stack_in_many_is_audited_always(compile_c, preload):
    program = compile_c("""
#include <stdlib.h>
static void *volatile sink;
__attribute__((noinline)) static void get(int i) { sink = malloc(8001); free(sink); sink = (void *)(long)i; }
int main(void)
{
  for (int i = 0; i < 100000; i++)
    get(i);
}
""", name="audited")
    report = preload([program]).report
    assert calls(report, 8001) == 100000
    assert report["audited_stacks"] >= 90 and report["audit_differences"] == 0


@pytest.mark.parametrize("check", ["0", "1"])
def test_a_stack_that_goes_while_its_neighbour_is_in_use(compile_c, preload, check):
    """Both used to count as one, so the cached data of the one that had gone was read: the program died of it."""
    program = compile_c(PROGRAMS / "beside.c", "-fno-builtin", "-fno-omit-frame-pointer", name="beside")
    recording = preload([program], env={"HEAPWRIGHT_CHECK": check})
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    report = recording.report
    blocks = next(size for size in report["sizes"] if size["size"] == 10)
    assert (blocks["calls"], report["audit_differences"], report["lost_events"]) == (300, 0, 0)


def test_packed_recursions(compile_c, record):
    """Some 100,000 identical frames take next to no room in a packed trace, which is complete all the same."""
    program = compile_c("""#include <stdlib.h>
static void *volatile kept;
#define RECURSION(name) static __attribute__((noinline)) int name(int left) \\
  { if (!left) kept = malloc(sizeof #name); return left ? name(left - 1) + 1 : 0; }
RECURSION(a) RECURSION(bb) RECURSION(ccc) RECURSION(dddd)
int main(void) { return a(30000) + bb(30000) + ccc(30000) + dddd(30000) != 4 * 30000; }
""", "-fno-optimize-sibling-calls", name="recursions")
    report = record([program], "--depth", "40000").report
    assert report["damaged_chunks"] == report["lost_events"] == 0
    for name in ("a", "bb", "ccc", "dddd"):
        assert {stack.count(name) for stack in stacks(report, len(name) + 1) if name in stack} == {30001}


WITHOUT_TABLES = """#include <stdlib.h>
__attribute__((noinline)) static void *one(int size) { void *volatile block = malloc(size); return block; }
__attribute__((noinline)) static void *other(int size) { void *volatile block = malloc(size); return block; }
int main(void)
{
  for (int i = 1; i <= 1000; i++) {
    free(one(i));
    free(other(i));
  }
  return 0;
}
"""


@pytest.mark.parametrize("options, is_short", [(["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"], True), ([], False)], ids=["without tables", "with tables"])
def test_the_report_says_why_stacks_are_short(compile_c, preload, options, is_short):
    """Without unwind tables and frame pointers a stack is the function that calls malloc; the report only counted it as unfinished."""
    program = compile_c(WITHOUT_TABLES, "-O2", "-fomit-frame-pointer", *options, name="tables")
    recording = preload([program])
    assert (recording.report["unfinished_stacks"] > 0) == is_short
    printed = " ".join(recording.hw("report", recording.trace).stdout.split())
    assert printed.count("Short stacks: most are") == is_short and printed.count("-fasynchronous-unwind-tables") == is_short
    assert ("2,000 calls of the program, most of all o" in printed and "(tables): compile" in printed) == is_short


@pytest.mark.parametrize("compiler, link", [("gcc", None), ("musl-gcc", None), ("gcc", "ld.so")])
def test_a_program_that_is_named_to_the_loader_is_no_library(compiler, link, record, hw, tmp_path):
    """The loader is the file that was executed. So the advice was about libraries; and with glibc's, the functions had no names."""
    if not shutil.which(compiler) or (link and not shutil.which(link)):
        pytest.skip(f"no {compiler} or no {link} here")
    (tmp_path / "tables.c").write_text(WITHOUT_TABLES)
    without = ["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    program = tmp_path / "tables"
    subprocess.run([compiler, *without, tmp_path / "tables.c", "-o", program], check=True)
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    loader = shutil.which(link) if link else re.search(r"interpreter: (.*)\]", headers).group(1)
    recording = record([loader, os.path.relpath(program)])
    assert recording.report["images"][0]["executable"] == str(program)
    printed = " ".join(hw("report", recording.trace).stdout.split())
    assert "2,000 calls of the program, most of all o" in printed and "(tables): compile" in printed and "of libraries" not in printed


def test_the_report_names_the_library_that_makes_stacks_short(compile_c, preload, tmp_path):
    """The report advised to compile a program, which has unwind tables, with them: those of the library were missing."""
    source = tmp_path / "bare.c"
    source.write_text("#include <stdlib.h>\nvoid *bare_take(int size) { void *volatile block = malloc(size); return block; }\n")
    without = ["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    subprocess.run(["gcc", "-shared", "-fPIC", *without, source, "-o", tmp_path / "libbare.so"], check=True)
    program = compile_c("""#include <stdlib.h>
void *bare_take(int size);
__attribute__((noinline)) static void *own(int size) { void *volatile block = malloc(size); return block; }
int main(void)
{
  for (int i = 1; i <= 1000; i++) {
    free(bare_take(i));
    if (i % 4 == 0)
      free(own(i));
  }
  return 0;
}
""", "-O2", f"-L{tmp_path}", "-lbare", f"-Wl,-rpath,{tmp_path}", name="whole")
    recording = preload([program])
    printed = " ".join(recording.hw("report", recording.trace).stdout.split())
    assert "Short stacks: most are only" in printed and "1,000 calls of libraries, most of all bare_take (libbare.so): " in printed
    assert "-fasynchronous-unwind-tables" not in printed and "calls of the program" not in printed
