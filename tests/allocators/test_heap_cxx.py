"""heap.hpp: containers of C++17 and C++20 in heaps, and sections of code with a heap of their own."""

import shutil
import subprocess

import pytest

from allocators_library import LIBRARIES, PROGRAMS, ROOT, WARNINGS

ARCHIVE = LIBRARIES / "static/libheapwright-heaps.a"


def build(source, to, *flags, compiler="g++", standard="c++17"):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    subprocess.run([compiler, f"-std={standard}", "-O0", *WARNINGS, "-Wpedantic", f"-I{ROOT}/include", source, "-o", to, *flags, "-pthread"],
                   check=True, timeout=120)


def done(*command):
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("compiler, standard", [("g++", "c++17"), ("clang++", "c++20")])
def test_containers(compiler, standard, tmp_path):
    build(PROGRAMS / "heap_containers.cc", tmp_path / "containers", ARCHIVE, compiler=compiler, standard=standard)
    done(tmp_path / "containers")


def test_without_exceptions_and_types(tmp_path):
    """Then a request without memory ends the program, and equality is that of objects."""
    source = tmp_path / "plain.cc"
    source.write_text("""#include <heapwright/heap.hpp>
#include <vector>
int main()
{
  heapwright::unique_heap heap = heapwright::make_heap();
  heapwright::heap_resource one(heap.get()), same(heap.get());
  std::vector<int, heapwright::heap_allocator<int>> numbers(100, 7, heap.get());
  if (numbers[99] != 7 || one == same || one != one)
    return 1;
  (void)heapwright::heap_allocator<int>(heap.get()).allocate(std::size_t(1) << 55);
}
""")
    build(source, tmp_path / "plain", "-fno-exceptions", "-fno-rtti", ARCHIVE, standard="c++20")
    assert subprocess.run([tmp_path / "plain"], timeout=60, check=False).returncode == -6
