"""The pool and the heap, each as one header, compile without a warning in C17, C++17 and C++20, and need no library; the pool runs on bare
metal.

Breaks if the pool calls a function of libc (also one that the compiler inserts), or if the parts do not fit into one file.
"""
import pathlib
import shutil
import subprocess

import pytest

from machine import only_x86_64

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
LANGUAGES = {
    "gcc": ["gcc", "-std=c17"],
    "clang": ["clang", "-std=c17"],
    "g++": ["g++", "-std=c++17", "-x", "c++"],
    "clang++": ["clang++", "-std=c++17", "-x", "c++"],
    "g++20": ["g++", "-std=c++20", "-x", "c++"],
    "clang++20": ["clang++", "-std=c++20", "-x", "c++"],
}


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    folder = tmp_path_factory.mktemp("header")
    for kind in ("pool", "heap"):
        subprocess.run(["/usr/bin/python3", "-B", ROOT / "tools/single_header.py", kind, folder / f"heapwright-{kind}.h"], check=True)
    return folder


def compiler(name):
    if subprocess.run(["sh", "-c", f"command -v {LANGUAGES[name][0]}"], stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip(f"no {name}")
    return LANGUAGES[name]


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3", "-Os"])
def test_it_runs_without_libc(header, name, level):
    program = header / f"bare-{name}{level}"
    subprocess.run([*compiler(name), *WARNINGS, level, "-g", "-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static",
                    "-fno-exceptions", "-I", header, HERE / "programs/bare_pool.c", "-o", program], check=True)
    assert subprocess.run([program], timeout=60, check=False).returncode == 0


@only_x86_64("programs of 32 bits (gcc -m32)")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_it_runs_on_32_bits(header, level):
    program = header / f"bare-32{level}"
    subprocess.run(["gcc", "-std=c17", *WARNINGS, "-m32", level, "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-nostdlib",
                    "-static", "-I", header, HERE / "programs/bare_pool.c", "-o", program], check=True)
    try:
        status = subprocess.run([program], timeout=60, check=False).returncode
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    assert status == 0


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_declarations_stand_alone(header, name):
    """Without the implementation it is pool.h, and it may be included twice."""
    for kind in ("pool", "heap"):
        source = header / "user.c"
        source.write_text(f'#include "heapwright-{kind}.h"\n#include "heapwright-{kind}.h"\n'
                          f"void *get(struct hw_{kind} *its);\nvoid *get(struct hw_{kind} *its) {{ return hw_{kind}_alloc(its, 1); }}\n")
        subprocess.run([*compiler(name), *WARNINGS, "-I", header, "-c", source, "-o", header / "user.o"], check=True)
        symbols = subprocess.run(["nm", header / "user.o"], capture_output=True, text=True, check=True).stdout
        assert f" U hw_{kind}_alloc" in symbols and f" T hw_{kind}" not in symbols


RACES = {
    "large blocks": """#define HEAPWRIGHT_HEAP_IMPLEMENTATION
#include "heapwright-heap.h"
#include <pthread.h>
static void *work(void *heap)
{
  for (int i = 0; i < 40; i++) {
    void *block = hw_heap_alloc(heap, 1000000);
    hw_heap_usable_bytes(heap, block);
    if (i % 2)
      hw_heap_free(heap, block);
  }
  return heap;
}
int main(void)
{
  pthread_t threads[4];
  struct hw_heap *heap = hw_heap_create(0, 0);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], 0, work, heap);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
  return !hw_heap_destroy(heap);
}
""",
    # A thread frees blocks of others, and writes addresses of all units where a free block has its link.
    "figures": """#define HEAPWRIGHT_HEAP_IMPLEMENTATION
#include "heapwright-heap.h"
#include <pthread.h>
#include <stdatomic.h>
static _Atomic(char *) slots[64];
static atomic_int running = 4;
static void *work(void *heap)
{
  unsigned seed = (unsigned)(size_t)&seed;
  for (int i = 0; i < 4000; i++) {
    seed = seed * 1103515245 + 12345;
    char *block = hw_heap_alloc(heap, i % 100 ? 8 + (seed >> 16) % 2000 : 40000);
    *(char **)block = block + ((size_t)(seed >> 16) % 8 << 22);
    hw_heap_free(heap, atomic_exchange(&slots[seed >> 16 & 63], block));
  }
  running--;
  return heap;
}
int main(void)
{
  pthread_t threads[4];
  struct hw_heap *heap = hw_heap_create(0, 0);
  void *own = hw_heap_alloc(heap, 100);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], 0, work, heap);
  while (running) {
    struct hw_heap_stats all;
    struct hw_heap_class_stats rows[HW_HEAP_MOST_CLASSES + 1];
    struct hw_heap *other = hw_heap_create(0, 0);
    hw_heap_get_stats(heap, &all);
    hw_heap_get_class_stats(heap, rows, HW_HEAP_MOST_CLASSES + 1);
    hw_heap_alloc(other, hw_heap_usable_bytes(heap, own));
    hw_heap_collect(heap);
    hw_heap_destroy(other);
  }
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], 0);
  return !hw_heap_destroy(heap);
}
""",
}


@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.parametrize("race", RACES)
def test_the_thread_sanitizer_finds_no_race(header, name, race):
    """The compilers name it in different ways, and clang's sees atomic loads in functions that it does not check."""
    source, program = header / "race.c", header / f"race-{name}"
    source.write_text(RACES[race])
    built = subprocess.run([*compiler(name), "-O1", "-g", "-fsanitize=thread", "-I", header, source, "-o", program, "-pthread"],
                           capture_output=True, text=True, check=False)
    if "tsan" in built.stderr and "cannot find" in built.stderr:
        pytest.skip(f"{name} has no thread sanitizer here")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    if "unexpected memory mapping" in ran.stderr:
        pytest.skip("the thread sanitizer does not find the addresses that it needs on this kernel")
    assert ran.returncode == 0, ran.stderr


def test_containers_of_cxx_on_the_heap_in_one_file(header):
    """Without the header heap.h."""
    source = header / "containers.cc"
    (header / "heap.hpp").write_text((ROOT / "include/heapwright/heap.hpp").read_text())
    source.write_text("""#define HEAPWRIGHT_HEAP_IMPLEMENTATION
#include "heapwright-heap.h"
#include "heap.hpp"
#include <vector>
int main()
{
  heapwright::unique_heap heap = heapwright::make_heap();
  std::vector<int, heapwright::heap_allocator<int>> numbers(100, 7, heap.get());
  return numbers[99] != 7;
}
""")
    subprocess.run(["g++", "-std=c++17", *WARNINGS, "-I", header, source, "-o", header / "containers", "-pthread", "-ldl"], check=True, timeout=120)
    subprocess.run([header / "containers"], check=True, timeout=60)


@pytest.mark.parametrize("name, flags", [("gcc", ["-O0"]), ("g++", ["-O0", "-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"]),
                                         ("clang", ["-O0", "-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"]), ("clang++", ["-O0"]),
                                         ("g++20", ["-O0", "-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"]),
                                         ("clang++20", ["-O0", "-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"])])
def test_the_heap_in_one_file(header, name, flags):
    program = header / f"heap-{name}"
    subprocess.run([*compiler(name), *WARNINGS, *flags, "-I", header, HERE / "programs/single_heap.c", "-o", program, "-pthread", "-ldl"],
                   check=True, timeout=120)
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
    names = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    assert (" T malloc\n" in names) == ("-DHEAPWRIGHT_HEAP_MALLOC" in flags)


@pytest.mark.parametrize("name", ["gcc", "g++", "clang"])
@pytest.mark.parametrize("flags", [[], ["-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"]], ids=["heaps", "malloc"])
def test_the_heap_in_a_static_program(header, name, flags):
    """The linker did not take the function by which the heap knows glibc, so that malloc had no memory."""
    program = header / f"heap-static-{name}"
    built = subprocess.run([*compiler(name), *WARNINGS, "-O2", *flags, "-static", "-I", header, HERE / "programs/single_heap.c", "-o", program,
                            "-pthread", "-ldl"], capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


def test_the_stack_of_a_fault_has_the_program(header):
    """The heap's code is in the program's module: the frames of both used to be left out."""
    heap, program = header / "heap.c", header / "twice.c"
    heap.write_text('#define HEAPWRIGHT_HEAP_IMPLEMENTATION\n#define HEAPWRIGHT_HEAP_MALLOC\n#include "heapwright-heap.h"\n')
    program.write_text('#include <stdlib.h>\n__attribute__((noinline)) void twice(void *block) { free(block); free(block); __asm__(""); }\n'
                       "int main(void) { twice(malloc(100)); return 0; }\n")
    subprocess.run(["gcc", *WARNINGS, "-Wno-use-after-free", "-O2", "-fno-builtin", "-fexceptions", "-rdynamic", "-D_GNU_SOURCE", "-I", header, heap,
                    program, "-o", header / "twice", "-pthread", "-ldl"], check=True, timeout=120)
    said = subprocess.run([header / "twice"], capture_output=True, text=True, timeout=60, check=True).stderr
    assert "the block is free already" in said and " twice+" in said and " main+" in said


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_heap_after_other_headers(header, name):
    """Without _GNU_SOURCE, headers of libc have left out what the heap needs: one error says what to do."""
    source = header / "late.c"
    source.write_text("#include <stdio.h>\n#define HEAPWRIGHT_HEAP_IMPLEMENTATION\n#define HEAPWRIGHT_HEAP_MALLOC\n"
                      '#include "heapwright-heap.h"\nint main(void) { return !hw_heap_create(NULL, NULL); }\n')
    command = [*compiler(name), *WARNINGS, "-fexceptions", "-I", header, "-c", source, "-o", header / "late.o"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode and said.stderr.count("error:") == 1, said.stderr
    assert "before all other headers" in said.stderr and "-D_GNU_SOURCE" in said.stderr
    subprocess.run([*command, "-D_GNU_SOURCE"], check=True, timeout=120)


@pytest.mark.parametrize("cpu, emulator", [("aarch64-linux-gnu", "qemu-aarch64"), ("arm-linux-gnueabihf", "qemu-arm")])
@pytest.mark.parametrize("language, flags", [("c17", []), ("c17", ["-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"]),
                                             ("c++17", ["-DHEAPWRIGHT_HEAP_MALLOC", "-fexceptions"])])
def test_the_heap_in_one_file_for_another_cpu(header, language, flags, cpu, emulator):
    """Debian's cross compiler has a libc, with which the emulator runs the program."""
    words = [f"{cpu}-g++" if "+" in language else f"{cpu}-gcc", f"-std={language}"]
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]}")
    program = header / f"heap-{cpu}"
    subprocess.run([*words, "-x", "c++" if "+" in language else "c", *WARNINGS, "-O2", *flags, "-I", header, HERE / "programs/single_heap.c", "-o", program,
                    "-pthread", "-ldl"], check=True, timeout=120)
    found = shutil.which(emulator) or shutil.which(f"{emulator}-static")
    if found:
        ran = subprocess.run([found, "-L", f"/usr/{cpu}", program], capture_output=True, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
