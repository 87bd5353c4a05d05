"""linked_programs.py - programs that have jemalloc, mimalloc or tcmalloc linked in, for any CPU whose compiler is here

record/programs/linked_allocator.c counts its own calls; a recording must have the same.
"""

import os
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent / "record/programs/linked_allocator.c"
USUAL = ("malloc calloc realloc free posix_memalign aligned_alloc memalign valloc pvalloc malloc_usable_size mallocx rallocx xallocx sallocx dallocx "
         "sdallocx nallocx mallctl mallctlnametomib mallctlbymib malloc_stats_print malloc_conf malloc_message").split()
C, CXX = "c", "c++"
JEMALLOC, PREFIXED, TCMALLOC = ["-DJEMALLOC(name)=name"], ["-DPREFIXED"], ["-DTCMALLOC"]


class Toolchain:
    """gcc, g++ and the binutils for a CPU, and a folder for what they make."""

    def __init__(self, folder, triple="", options=()):
        self.folder, self.triple, self.options = Path(folder), f"{triple}-" if triple else "", list(options)
        self.is_x86 = not triple and os.uname().machine == "x86_64"

    def compile(self, language, *words):
        command = [f"{self.triple}gcc", "-std=gnu17", "-D_GNU_SOURCE="] if language == C else [f"{self.triple}g++", "-std=c++17", "-x", "c++"]
        subprocess.run([*command, *self.options, *map(str, words)], check=True)

    def file_of(self, name):
        """Debian's library, or a skipped test."""
        path = subprocess.run([f"{self.triple}gcc", *self.options, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        if not Path(path).is_absolute():
            pytest.skip(f"{name} is not installed")
        return path

    def prefixed(self, prefix):
        """jemalloc as programs build it that must not replace malloc (--with-jemalloc-prefix)."""
        library = self.folder / f"lib{prefix}.a"
        if not library.exists():
            renamed = [option for name in USUAL for option in ("--redefine-sym", f"{name}={prefix}{name}")]
            subprocess.run([f"{self.triple}objcopy", *renamed, self.file_of("libjemalloc_pic.a"), library], check=True)
        return library

    def without_cxx(self):
        """jemalloc built without C++: operator new is libstdc++'s, which calls malloc."""
        library, objects = self.folder / "libwithout.a", self.folder / "objects"
        if not library.exists():
            objects.mkdir()
            subprocess.run([f"{self.triple}ar", "x", self.file_of("libjemalloc.a")], cwd=objects, check=True)
            subprocess.run([f"{self.triple}ar", "rc", library, *(each for each in objects.glob("*.o") if "cpp" not in each.name)], check=True)
        return library

    def build(self, name):
        """Builds one of KINDS, once. Returns the program, its path."""
        language, macros, libraries, _ = KINDS[name]
        program = self.folder / name
        if not program.exists():
            self.compile(language, "-g", "-O1", "-fno-builtin", "-w", *macros, SOURCE, "-x", "none", *libraries(self), "-pthread", "-o", program)
        return program


# Debian's tcmalloc uses libunwind on x86-64 alone.
# name: language, macros, libraries of a toolchain, the name in the note
KINDS = {
    "jemalloc-c": (C, JEMALLOC, lambda of: [of.file_of("libjemalloc.a"), "-lm"], "jemalloc (malloc)"),
    "jemalloc-c++": (CXX, JEMALLOC, lambda of: [of.file_of("libjemalloc.a"), "-lm"], "jemalloc (malloc)"),
    "jemalloc-of-c": (CXX, JEMALLOC, lambda of: [of.without_cxx(), "-lm"], "jemalloc (malloc)"),
    "jemalloc-no-pie": (C, JEMALLOC, lambda of: [of.file_of("libjemalloc.a"), "-lm", "-no-pie"], "jemalloc (malloc)"),
    "jemalloc-hidden": (C, JEMALLOC, lambda of: [of.file_of("libjemalloc.a"), "-lm", "-Wl,--exclude-libs,ALL"], "jemalloc (malloc)"),
    "jemalloc-je_": (C, ["-DJEMALLOC(name)=je_##name", "-DNAME(name)=je_##name", *PREFIXED],
                     lambda of: [of.prefixed("je_"), "-lm"], "jemalloc (je_malloc)"),
    "jemalloc-own_": (CXX, ["-DJEMALLOC(name)=own_##name", "-DNAME(name)=own_##name", *PREFIXED],
                      lambda of: [of.prefixed("own_"), "-lm"], "jemalloc (own_malloc)"),
    "tcmalloc-c": (C, TCMALLOC, lambda of: [of.file_of("libtcmalloc_minimal.a"), "-lstdc++", "-lm"], "tcmalloc (tc_malloc)"),
    "tcmalloc-c++": (CXX, TCMALLOC, lambda of: [of.file_of("libtcmalloc_minimal.a")], "tcmalloc (tc_malloc)"),
    "tcmalloc-full": (CXX, TCMALLOC, lambda of: [of.file_of("libtcmalloc.a"), *(["-lunwind"] if of.is_x86 else [])], "tcmalloc (tc_malloc)"),
    "tcmalloc-tc_": (C, [*TCMALLOC, "-DNAME(name)=tc_##name", *PREFIXED],
                     lambda of: [of.file_of("libtcmalloc_minimal.a"), "-lstdc++", "-lm"], "tcmalloc (tc_malloc)"),
    "mimalloc-mi_": (C, ["-DMIMALLOC", "-DNAME(name)=mi_##name", *PREFIXED], lambda of: [of.file_of("libmimalloc.so")], "mimalloc (mi_malloc)"),
    "mimalloc-c++": (CXX, ["-DMIMALLOC"], lambda of: [of.file_of("libmimalloc.so")], "mimalloc (mi_malloc)"),
}

THROWS = r"""
#include <cstdio>
#include <cstdlib>
#include <new>
static void *reserve;
static int handled;
static void give_reserve() { handled++; free(reserve); reserve = nullptr; if (handled > 1) throw std::bad_alloc(); }
int main()
{
  int caught = 0;
  volatile std::size_t huge = std::size_t(1) << 60;
  for (int i = 0; i < 1000; i++)
    try {
      ::operator delete(::operator new(huge));
    } catch (const std::bad_alloc &) {
      caught++;
      ::operator delete(::operator new(1709)); /* is recorded, also from a frame below those that the exception left */
    }
  reserve = malloc(1811);
  std::set_new_handler(give_reserve);
  try {
    ::operator delete(::operator new(huge));
  } catch (const std::bad_alloc &) {
    caught++;
  }
  void *none = ::operator new(huge, std::nothrow);
  std::printf("%d %d %d\n", caught, handled, none != nullptr);
}
"""

FAKE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Alignas(16) char arena[1 << 16];
static size_t used;
int mallctlnametomib(void) { return 0; }
int je_mallctlnametomib(void) { return 0; }
__attribute__((noinline)) void *je_malloc(size_t bytes) { used += bytes; return arena + used - bytes; }
void je_free(void *block);
__asm__(".text; .globl je_free; .type je_free, @function\nje_free: " CODE "\n.size je_free, . - je_free; .p2align 4");
int main(void)
{
  void *volatile block = je_malloc(1013);
  if (IS_CALLED)
    je_free(block);
  puts("done");
  return block ? 0 : 1;
}
"""

# By CPU: codes of je_free that cannot have a jump at their beginning, whether it can be called, and why.
REFUSED = {
    "x86_64": {
        "cpuid": ("pushq %rbx; cpuid; popq %rbx; ret", True, "begins with an instruction that cannot be moved"),
        "loop": ("xorl %eax, %eax; 1: incl %eax; cmpl $5, %eax; jb 1b; ret", True, "jumps back to its first instructions"),
        "unknown": ("movq %rdi, %rax; movq %rdi, %rax; .byte 0x0f, 0x04; ret", False, "has an instruction that is not known here"),
    },
    "aarch64": {
        "flags": ("mrs x1, nzcv; ret", True, "begins with an instruction that cannot be moved"),
        "loop": ("hint 34; 1: eor x0, x0, 1; tbz x0, 0, 1b; ret", True, "jumps back to its first instructions"),
        "unknown": ("mov x1, x0; .inst 0x74000040; ret", False, "has an instruction that is not known here"),
    },
}


def fake_allocator(code, is_called):
    """A program with functions of jemalloc, of which je_free has this code."""
    return FAKE.replace("CODE", f'"{code}"').replace("IS_CALLED", str(int(is_called)))


def file_of(name):
    """Debian's library for this machine, or a skipped test."""
    return Toolchain("/nowhere").file_of(name)


def run(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, **more)


def counts_of(text):
    """What the program says that it did: {size: (calls, live)}."""
    return {int(size): (int(calls), int(live)) for size, calls, live in (line.split() for line in text.splitlines())}


def recorded_counts(report, sizes):
    found = {entry["size"]: (entry["calls"], entry["live_blocks"]) for entry in report["sizes"]}
    return {size: found.get(size, (0, 0)) for size in sizes}


def notes_of(report, kind="linked-in allocator"):
    return [note["text"] for image in report["images"] for note in image["notes"] if note["kind"] == kind]


def check_is_complete(report):
    assert [report[name] for name in ("lost_events", "unmatched_frees", "missed_frees", "truncated_stacks", "unfinished_stacks", "audit_differences")] == [0] * 6


def check_calls(report, expected, name):
    """What every recording of linked_allocator.c has, if it allocated `expected` from the allocator of this name."""
    assert len(expected) >= 8 and recorded_counts(report, expected) == expected
    check_is_complete(report)
    assert report["threads"] == 7 and report["audited_stacks"] > 1000
    assert report["usable_bytes"] >= report["allocated_bytes"]
    [note] = notes_of(report)
    assert note.startswith(f"{name} in /") and notes_of(report, "own malloc") == []
    kept = [top for top in report["top"] if top["live_bytes"] == 7 * 9011]
    assert [[frame["function"] for frame in top["stack"]][:3] for top in kept] == [["inner", "outer", "main"]]
