"""An installed heapwright is laid out like the build tree and finds its library from there."""

import re
import shutil
import subprocess


def test_layout(installed):
    assert (installed / "bin/heapwright").is_file()
    assert (installed / "lib/libheapwright-record.so").is_file()
    for name in ("lib/libheapwright-annotate.so", "lib/libheapwright-annotate.a", "lib/heapwright-annotate.options",
                 "include/heapwright/annotate.h"):
        assert (installed / name).is_file(), name
    assert (installed / "share/man/man1/heapwright.1").is_file()
    assert (installed / "share/bash-completion/completions/heapwright").is_file()


def test_documents_that_manual_pages_name(installed):
    named = {name for page in (installed / "share/man/man1").glob("*.1") for name in re.findall(r"docs/[\w-]+\.md", page.read_text().replace("\\-", "-"))}
    assert named
    for name in named:
        assert (installed / "share/doc/heapwright" / name).is_file(), name


def test_links_of_documents(installed):
    for page in (installed / "share/doc/heapwright").rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), (page.name, link)


def test_installed_tool_records(installed, tmp_path):
    moved = shutil.copytree(installed, tmp_path / "moved elsewhere", symlinks=True)
    trace = tmp_path / "x.hwt"
    done = subprocess.run([moved / "bin/heapwright", "record", "--quiet", "-o", trace, "--", "/bin/ls", "/"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert "usr" in done.stdout
    report = subprocess.run([moved / "bin/heapwright", "report", trace], capture_output=True, text=True)
    assert report.returncode == 0, report.stderr
    assert "/bin/ls" in report.stdout


def test_an_installed_recorder_finds_the_tool(installed, tmp_path):
    """For a program that starts the live view of itself, wherever heapwright is."""
    (tmp_path / "live.c").write_text("#include <heapwright/live.h>\nint main(void) { return hw_live_start(NULL, 0); }\n")
    subprocess.run(["gcc", "live.c", "-o", "live", f"-I{installed}/include", f"-L{installed}/lib", "-Wl,--no-as-needed", "-lheapwright-record",
                    f"-Wl,-rpath,{installed}/lib"],
                   cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "live"], cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/nonexistent"})
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("heapwright: live at http://127.0.0.1:")


def test_a_program_links_with_the_installed_heaps_and_pool(installed, tmp_path):
    """The names of the archives are not those of libraries to preload, which the linker would prefer."""
    (tmp_path / "app.c").write_text("""#include <heapwright/heap.h>
#include <heapwright/pool.h>
#include <stdint.h>
static _Alignas(64) unsigned char memory[1 << 16];
int main(void)
{
  struct hw_heap *heap = hw_heap_create(NULL, NULL);
  void *block = hw_heap_alloc(heap, 100);
  int result = !block || hw_heap_free(heap, block) != HW_HEAP_OK || (uintptr_t)memory == 0;
  hw_heap_destroy(heap);
  return result;
}
""")
    subprocess.run(["gcc", "app.c", "-o", "app", f"-I{installed}/include", f"-L{installed}/lib", "-lheapwright-heaps", "-lheapwright-pool"],
                   cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "app"], cwd=tmp_path).returncode == 0
