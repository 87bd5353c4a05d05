"""test_static_and_musl.py - programs that are linked statically with the recorder, and programs on musl

The same programs run as static ones of glibc (with and without a fixed address) and of musl, with libheapwright-record.a, and as
dynamic ones of musl, with the preloaded library. Breaks if a malloc other than that of glibc's shared library is called in a wrong
way, if a call is recorded twice or not at all, or if the program notices.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from zlib import crc32

import pytest

from linked_programs import Toolchain, file_of, notes_of
from machine import INLINE_ATOMICS
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS, FAULTS = ROOT / "tests/record/programs", ROOT / "tests/faults/programs"
KINDS = {"static": ["gcc", "-static"], "static-pie": ["gcc", "-static-pie"], "musl-static": ["musl-gcc", "-static"], "musl": ["musl-gcc", *INLINE_ATOMICS, "-Wl,--eh-frame-hdr"]}  # as gcc for musl does by itself
LINKED = [kind for kind in KINDS if "static" in kind]


def linked_with(build):
    return [f"-Wl,@{build}/lib/heapwright-record.options", f"{build}/lib/libheapwright-record.a"]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    if not shutil.which(KINDS[request.param][0]):
        pytest.skip("no musl-gcc here")
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def compile_kind(kind, output, *words):
    subprocess.run([*KINDS[kind], "-std=gnu17", "-D_GNU_SOURCE=", "-g", "-O1", "-fno-builtin", "-w", *map(str, words), "-o", output],
                   check=True)


@pytest.fixture
def compiled(build, folder, kind):
    """compiled(source, *flags): the program, with the recorder if the kind has it linked in."""

    def of(source, *flags):
        program = folder / f"{Path(source).stem}-{kind}{crc32(repr(flags).encode())}"
        if not program.exists():
            compile_kind(kind, program, source, *flags, *(linked_with(build) if kind in LINKED else []), "-pthread")
        return program

    return of


def plain(command, **more):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, **more)


def sizes_of(report):
    return {entry["size"]: entry for entry in report["sizes"]}


COUNTED = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
enum { ROUNDS = 1000, THREADS = 4 };
static void *volatile kept[ROUNDS];
static __attribute__((noinline)) void *take(size_t size) { void *block = malloc(size); memset(block, 1, size); return block; }
static __attribute__((noinline)) void inner(int i) { kept[i] = take(1013); }
static __attribute__((noinline)) void outer(int i) { inner(i); __asm__ volatile(""); }
static void *work(void *unused)
{
  for (int i = 0; i < ROUNDS; i++) {
    char *block = calloc(13, 157);                       /* 2041 */
    for (int at = 0; at < 13 * 157; at++)
      if (block[at])
        abort();
    memset(block, 7, 2041);
    block = realloc(block, 3011);
    free(block);
  }
  return unused;
}
int main(void)
{
  pthread_t threads[THREADS];
  void *aligned = NULL;
  for (int i = 0; i < ROUNDS; i++)
    outer(i);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < ROUNDS / 2; i++)
    free(kept[i]);
  if (posix_memalign(&aligned, 512, 4099) || (size_t)aligned % 512)
    return 1;
  free(aligned);
  free(memalign(256, 4111));
  free(aligned_alloc(64, 4160));
  static char text[4201]; /* that libc itself copies; longer than a path, which it may copy, too */
  memset(text, 'x', sizeof text - 1);
  free(strdup(text));
  char *large = calloc(1, 5000011);
  for (int i = 0; i < 5000011; i++)
    if (large[i])
      return 2;
  free(large);
  printf("done\n");
  return 7;
}
"""
EXPECTED = {1013: 1000, 2041: 4000, 3011: 4000, 4099: 1, 4111: 1, 4160: 1, 4201: 1, 5000011: 1}


@pytest.fixture
def counted(folder, compiled):
    source = folder / "counted.c"
    source.write_text(COUNTED)
    return compiled(source)


@pytest.mark.parametrize("options", [[], ["--durations"], ["--no-pack"]])
def test_each_call_is_recorded_once(counted, record, kind, options):
    recording = record([counted], *options, env={"HEAPWRIGHT_CHECK": "1"})
    assert (recording.process.returncode, recording.process.stdout) == (7, "done\n")
    report = recording.report_with("--top", "0")
    calls = {size: entry["calls"] for size, entry in sizes_of(report).items()}
    assert {size: calls.get(size) for size in EXPECTED} == EXPECTED
    assert sizes_of(report)[1013]["live_blocks"] == 500
    assert report["lost_events"] == report["unmatched_frees"] == report["missed_frees"] == report["truncated_stacks"] == 0
    assert report["threads"] == 5 and recording.header.audited_stacks > 900 and recording.header.audit_differences == 0
    [stack] = [top for top in report["top"] if top["calls"] == 1000]
    assert [frame["function"] for frame in stack["stack"]][:4] == ["take", "inner", "outer", "main"]
    assert Path(stack["stack"][0]["module"]).name == counted.name
    assert "linked in" not in recording.hw("report", recording.trace).stdout
    text = recording.hw("report", "--top", "0", "--only", "func=outer", recording.trace).stdout
    assert "  outer  " in text and "_start" not in text and "ld-musl" not in text


def test_zeroed_memory_is_not_touched(folder, compiled, record):
    """A calloc that is made of malloc leaves the pages of a new mapping as they are. Where the system gives huge pages by itself, and
    has no huge zero page, those that are read become memory as well."""
    source = folder / "untouched.c"
    source.write_text("""#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { BYTES = 256 << 20, PAGE_BYTES = 4096, PAGES = BYTES / PAGE_BYTES - 1 };
static unsigned char present[PAGES];
int main(void)
{
  char *volatile block = calloc(1 << 18, 1 << 10);
  char *page = (char *)(((uintptr_t)block + PAGE_BYTES - 1) & -(uintptr_t)PAGE_BYTES);
  if (!block || mincore(page, (size_t)PAGES * PAGE_BYTES, present) != 0)
    return 1;
  int count = 0;
  for (int i = 0; i < PAGES; i++)
    count += present[i] & 1;
  for (size_t i = 0; i < BYTES; i += i < 100000 || i > BYTES - 100000 ? 1 : 10000000)
    if (block[i])
      return 2;
  printf("%d\\n", count);
  return count > PAGES / 8 ? 3 : 0; /* the ends of the block may be in huge pages */
}
""")
    done = record([compiled(source)]).process
    assert done.returncode == 0, done.stdout


ANOTHER = """#include <stddef.h>
#include <string.h>
enum { BYTES = 8 << 20 };
_Alignas(4096) char reserve[BYTES] = {INITIAL};
size_t taken;
void *malloc(size_t size)
{
  size_t at = taken;
  taken += (size + 63) & ~(size_t)63;
  return taken <= BYTES ? reserve + at : NULL;
}
void free(void *block) { (void)block; }
void *realloc(void *old, size_t size)
{
  void *block = malloc(size);
  return block && old ? memcpy(block, old, size) : block;
}
#ifdef USABLE
size_t malloc_usable_size(void *block) { return block ? USABLE : 0; }
#endif
#ifdef LIBCS_NAME /* which libcs have, and mimalloc and tcmalloc, too */
void *__libc_malloc(size_t size) __attribute__((alias("malloc")));
#endif
"""
ON_ANOTHER = """#include <malloc.h>
#include <stdlib.h>
#include <string.h>
enum { BYTES = 8 << 20, BLOCK_BYTES = 1 << 20 };
extern char reserve[BYTES];
extern size_t taken;
static void nothing(void) {}
int main(void)
{
  memset(reserve + taken, 5, BYTES - taken);
  char *volatile block = calloc(BLOCK_BYTES, 1);
  for (size_t i = 0; i < BLOCK_BYTES; i++)
    if (!block || block[i])
      return 1;
#ifdef MUSL
  if (block < reserve || block >= reserve + BYTES)
    return 2;
#endif
  block = realloc(malloc(1000), 3000);
  atexit(nothing); /* on musl, it brings a part of libc's malloc with it */
#ifdef USABLE
  if (malloc_usable_size(block) != USABLE)
    return 3;
#endif
  free(block);
  return block < reserve || block >= reserve + BYTES ? 4 : 0;
}
"""


@pytest.mark.parametrize("flags", [[], ["-DUSABLE=54321"], ["-DLIBCS_NAME"]], ids=["", "usable", "libc's name"])
@pytest.mark.parametrize("initial", ["", "[0 ... BYTES - 1] = 3"], ids=["zeros", "initialized"])
def test_another_malloc(folder, compiled, record, kind, initial, flags):
    """It has less than a program may use. A calloc that is made of it (on musl) gives zeros, also where the kernel would bring back the
    contents of a file. libc's malloc_usable_size is not asked about its blocks, and the program is answered by its own."""
    if kind not in LINKED:
        pytest.skip("it is linked in")
    allocator, source = folder / f"another{len(initial)}.c", folder / f"on-another{len(initial)}.c"
    allocator.write_text(ANOTHER.replace("INITIAL", initial))
    source.write_text(ON_ANOTHER)
    program = compiled(source, allocator, "-Wl,-z,muldefs", *(["-DMUSL"] if "musl" in kind else []), *flags)
    assert plain([program]).returncode == 0
    recording = record([program])
    assert recording.process.returncode == 0
    calls = sizes_of(recording.report_with("--top", "0"))
    assert calls[1 << 20]["calls"] == calls[1000]["calls"] == calls[3000]["calls"] == 1
    assert calls[1000]["live_blocks"] == calls[3000]["live_blocks"] == 0 and calls[1 << 20]["live_blocks"] == 1


def test_contract(compiled, kind, preload, build, folder):
    """What the entry points of C do at their edges is what they do in the same program without the recorder."""
    words = [PROGRAMS / "contract.c", f"-I{PROGRAMS}", *(["-Dpvalloc=valloc"] if "musl" in kind else [])]
    without = folder / f"plain-{kind}"
    compile_kind(kind, without, *words)
    program = compiled(*words)
    expected = plain([without])
    asleep = plain([program], env={**os.environ, "HEAPWRIGHT_OUTPUT": str(folder / "asleep.hwt")})
    recorded = preload([program])
    assert (expected.returncode, expected.stderr) == (0, "")
    for done in (asleep, recorded.process):
        assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    assert not (folder / "asleep.hwt").exists() and recorded.report["allocation_calls"] >= 20


@pytest.mark.parametrize("way", ["fork", "_Fork", "clone", "threads"])
def test_ten_generations(compiled, preload, kind, way):
    children = compiled(FAULTS / "children.c")
    recording = preload([children, way, "10"], timeout=60)
    assert (recording.process.returncode, recording.process.stdout) == (0, plain([children, way, "10"]).stdout)
    assert len(recording.traces) == 11
    for trace in recording.traces[1:]:
        done = recording.hw("report", "--json", trace)
        report = json.loads(done.stdout)
        assert report["lost_events"] == report["unmatched_frees"] == report["missed_frees"] == 0
        assert report["inherited_frees"] >= 1


def test_vfork(compiled, preload):
    recording = preload([compiled(FAULTS / "children.c"), "vfork", "10"])
    assert recording.process.stdout == "done 0\n"
    assert recording.report["damaged_chunks"] == 0


FORKING_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile sink;
static void *work(void *unused) { free(sink = malloc(71)); return unused; }
static void *fork_here(void *unused)
{
  int status = 1;
  work(NULL);
  for (int i = 0; i < 5; i++) {
    const pid_t child = fork();
    if (child == 0) {
      pthread_t thread;
      work(NULL);
      for (int k = 0; k < 10; k++)
        if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
          _exit(3);
      pthread_exit(NULL); /* the child's last thread */
    }
    if (waitpid(child, &status, 0) != child || status)
      exit(4);
  }
  return unused;
}
int main(void)
{
  pthread_t thread;
  work(NULL);
  fork_here(NULL);
  return pthread_create(&thread, NULL, fork_here, NULL) || pthread_join(thread, NULL);
}
"""


def test_threads_of_forked_children_end(folder, compiled, preload):
    """libc marks the mutexes that an ending thread holds; in a child, its list has those of before the fork."""
    source = folder / "forking_threads.c"
    source.write_text(FORKING_THREADS)
    recording = preload([compiled(source)], timeout=60)
    assert recording.process.returncode == 0 and len(recording.traces) == 11
    for trace in recording.traces[1:]:
        report = json.loads(recording.hw("report", "--json", trace).stdout)
        assert sizes_of(report)[71]["calls"] == 11 and report["lost_events"] == 0


def test_thread_churn(compiled, preload):
    recording = preload([compiled(FAULTS / "thread_churn.c"), "600", "50", "131072", "6"])
    assert recording.process.returncode == 0
    report = recording.report
    assert report["threads"] == 601 and sizes_of(report)[16]["calls"] == 600
    assert report["lost_events"] == report["unmatched_frees"] == 0


@pytest.mark.parametrize("jump", ["0", "1"])
def test_signals_on_another_malloc(compiled, preload, kind, jump):
    """That malloc may be interrupted anywhere. In a static program it is linked in, and stays beneath the recorder."""
    if kind not in LINKED:
        pytest.skip("test_threads.py preloads that malloc")
    program = compiled(FAULTS / "signal_storm.c", FAULTS / "ring_allocator.c", "-Wl,-z,muldefs")  # it has not all functions of malloc
    done = plain([program, "20000", jump, "0"])
    assert done.returncode == 0
    recording = preload([program, "20000", jump, "0"])
    assert recording.process.returncode == 0
    report = recording.report
    assert sizes_of(report)[777]["calls"] >= 20000 and sizes_of(report)[449]["live_blocks"] == 0
    assert report["lost_events"] == report["damaged_chunks"] == recording.header.audit_differences == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_killed(compiled, recorder, hw, tmp_path, threads):
    counts, trace = tmp_path / "counts", tmp_path / "trace.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}
    words = [str(compiled(FAULTS / "until_killed.c")), str(counts), "forever", str(threads)]

    def counted_so_far():
        pairs = memoryview(counts.read_bytes()[:16 * threads]).cast("Q")
        return sum(pairs[0::2]), sum(pairs[1::2])

    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as target:
        wait_until(lambda: counts.exists() and counts.stat().st_size and counted_so_far()[0] > 1000)
        target.kill()
    report = json.loads(hw("report", "--json", trace).stdout)
    allocations, frees = counted_so_far()
    size = sizes_of(report)[777]
    assert allocations <= size["calls"] <= allocations + threads
    assert frees <= size["calls"] - size["live_blocks"] <= frees + threads


@pytest.mark.parametrize("ending, status", [("return 3", 3), ("_exit(4)", 4), ("abort()", -6), ("raise(9)", -9)])
def test_programs_that_end_at_once(folder, compiled, record, preload, ending, status):
    source = folder / f"ends{abs(status)}.c"
    source.write_text(f"#include <stdlib.h>\n#include <signal.h>\n#include <unistd.h>\nvoid *volatile p;\nint main(void) {{ p = malloc(99); {ending}; }}\n")
    program = compiled(source)
    assert preload([program]).process.returncode == status
    recording = record([program])
    assert recording.process.returncode == (status if status > 0 else 128 - status)
    assert sizes_of(recording.report)[99]["live_blocks"] == 1


def test_sample(counted, record):
    recording = record([counted], "--sample=4K")
    report = recording.report
    assert recording.process.returncode == 7 and report["allocation_calls"] >= sum(EXPECTED.values())


EXECUTES = r"""
#include <stdlib.h>
#include <unistd.h>
#include <spawn.h>
#include <sys/wait.h>
extern char **environ;
void *volatile p;
int main(int count, char **arguments)
{
  p = malloc(1000 + (size_t)count);
  if (count == 1)
    return 5;
  if (count % 2) {
    execv(arguments[1], arguments + 1);
    return 6;
  }
  pid_t child;
  int status;
  if (posix_spawn(&child, arguments[1], NULL, NULL, arguments + 1, environ) || waitpid(child, &status, 0) != child)
    return 7;
  return WEXITSTATUS(status);
}
"""


def test_chain_of_programs(build, folder, compile_c, record):
    """glibc's, musl's and static programs execute one another: all are recorded, and nothing is printed."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc here")
    source = folder / "executes.c"
    source.write_text(EXECUTES)
    programs = {"glibc": compile_c(source, name="executes-glibc")}
    for kind in KINDS:
        programs[kind] = folder / f"executes-{kind}"
        compile_kind(kind, programs[kind], source, *(linked_with(build) if kind in LINKED else []))
    chain = [programs[kind] for kind in ("glibc", "musl", "static", "glibc", "musl-static", "musl", "static-pie", "musl", "glibc")]
    recording = record(chain, "-q")
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (5, "", "")
    seen = {size for trace in recording.traces[1:] for size in sizes_of(json.loads(recording.hw("report", "--json", trace).stdout))}
    assert {1000 + count for count in range(1, len(chain))} <= seen and len(recording.traces) == len(chain)
    assert recording.report["children_unseen"] == 0


def test_a_child_that_runs_for_long(build, folder, record):
    """A process that lives is looked at from outside: a static one that is recorded does not count as unseen."""
    source = folder / "lives.c"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile p;\nint main(void) { p = malloc(1999); sleep(3); return 0; }\n")
    compile_kind("static", folder / "lives", source, *linked_with(build))
    recording = record(["sh", "-c", f"{folder}/lives; true"], "-q")
    assert (recording.process.returncode, recording.process.stderr) == (0, "")
    assert recording.report["children_unseen"] == 0 and any("lives" in trace.name for trace in recording.traces)


def test_without_the_recorder(folder, record):
    """`record` says what to do, and runs the program."""
    source = folder / "silent.c"
    source.write_text("int main(void) { return 9; }\n")
    compile_kind("static", folder / "silent", source)
    process = record([folder / "silent"]).process
    assert process.returncode == 9
    assert "is statically linked" in process.stderr and "pkg-config --libs heapwright-static" in process.stderr


@pytest.mark.parametrize("kind", LINKED, indirect=True)
def test_stripped(counted, record, tmp_path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", counted, "-o", stripped], check=True)
    recording = record([stripped])
    assert recording.process.returncode == 7 and "not recorded" not in recording.process.stderr
    assert sizes_of(recording.report)[1013]["calls"] == 1000


@pytest.mark.parametrize("kind", LINKED, indirect=True)
def test_a_program_that_is_not_asked_for(counted, tmp_path):
    """Without the recorder's name in LD_PRELOAD nothing is recorded, whatever else is set."""
    for more in ({}, {"LD_PRELOAD": "/nowhere/libother.so"}):
        done = plain([counted], cwd=tmp_path, env={**os.environ, "HEAPWRIGHT_OUTPUT": str(tmp_path / "x.hwt"), **more})
        assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    assert not list(tmp_path.iterdir())


def test_a_program_that_is_not_static(build, folder, record, tmp_path):
    """The recorder that is linked in does nothing; the preloaded one records each call once."""
    source, program = folder / "shared.c", folder / "shared"
    source.write_text(COUNTED)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", source, *linked_with(build), "-pthread", "-o", program], check=True)
    done = plain([program], cwd=tmp_path, env={**os.environ, "HEAPWRIGHT_OUTPUT": str(tmp_path / "x.hwt")})
    assert (done.returncode, done.stdout, done.stderr) == (7, "done\n", "")
    assert not list(tmp_path.iterdir())
    recording = record([program])
    calls = {size: entry["calls"] for size, entry in sizes_of(recording.report_with("--top", "0")).items()}
    assert recording.process.returncode == 7 and {size: calls.get(size) for size in EXPECTED} == EXPECTED
    assert len(recording.report["images"]) == 1


CXX = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
static char *reserve;
static __attribute__((noinline)) char *fresh(size_t size) { char *volatile block = new char[size]; return block; }
struct alignas(128) Wide { char bytes[384]; };
int main()
{
  std::map<int, std::string> table;
  for (int i = 0; i < 1000; i++)
    table[i] = std::string(1231, 'x');
  std::unique_ptr<Wide> wide(new Wide);
  std::thread([] { for (int i = 0; i < 100; i++) delete[] fresh(1487); }).join();
  int caught = 0;
  std::set_new_handler([] { if (!reserve) throw std::bad_alloc(); delete[] reserve; reserve = nullptr; });
  reserve = new char[2003];
  for (int i = 0; i < 1000; i++)
    try {
      delete[] fresh(static_cast<size_t>(1) << 60);
    } catch (const std::bad_alloc &) {
      caught++;
    }
  std::printf("%d %d\n", caught, (int)(reinterpret_cast<size_t>(wide.get()) % 128));
  return 0;
}
"""


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie", "-O2"], ["-static", "-O2", "-flto"]], ids=["static", "static-pie", "lto"])
def test_cxx(build, compile_cxx, record, flags):
    program = compile_cxx(CXX, *flags, *linked_with(build), "-pthread")
    recording = record([program], env={"HEAPWRIGHT_CHECK": "1"})
    assert (recording.process.returncode, recording.process.stdout) == (0, "1000 0\n")
    report = recording.report_with("--top", "0")
    sizes = sizes_of(report)
    assert sizes[1232]["calls"] == 1000 and sizes[1487]["calls"] == 100 and sizes[384]["calls"] == 1
    assert sizes[1487]["live_blocks"] == 0 and report["unmatched_frees"] == 0
    assert recording.header.audit_differences == 0
    leaks = recording.report_with("--leaks", "--top", "0")
    assert leaks["runtime_blocks"]["live_bytes"] > 70000  # libstdc++'s pool for exceptions, which is no leak
    assert sum(stack["live_bytes"] for stack in leaks["top"]) < 70000


def test_jemalloc_stays_beneath(build, compile_c, record):
    program = compile_c("""#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
extern int mallctl(const char *, void *, size_t *, void *, size_t);
static void *volatile kept;
int main(void)
{
  unsigned long before, after;
  size_t bytes = sizeof before;
  int failed = mallctl("thread.allocated", &before, &bytes, NULL, 0);
  for (int i = 0; i < 1000; i++)
    kept = malloc(2049); /* jemalloc's size class has 2560 */
  failed |= mallctl("thread.allocated", &after, &bytes, NULL, 0);
  printf("%d %lu %lu\\n", failed, after - before, malloc_usable_size(kept));
  return 0;
}
""", "-static", "-fno-builtin", *linked_with(build), file_of("libjemalloc.a"), "-lm", "-lstdc++", "-pthread")
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (0, "0 2560000 2560\n")
    report = recording.report
    assert sizes_of(report)[2049]["calls"] == 1000 and report["unmatched_frees"] == report["missed_frees"] == 0


OWN_NAMES = """#include <stddef.h>
static char room[65536];
static size_t used;
void *NAMEmalloc(size_t bytes) { return room + (used += (bytes + 15) & ~15ul) - ((bytes + 15) & ~15ul); }
void NAMEfree(void *block) { (void)block; }
#ifdef IS_MALLOC
void *malloc(size_t bytes) __attribute__((alias("NAMEmalloc")));
void *__libc_malloc(size_t bytes) __attribute__((alias("NAMEmalloc"))); /* as mimalloc and tcmalloc */
void free(void *block) __attribute__((alias("NAMEfree")));
void *calloc(size_t count, size_t bytes) { return NAMEmalloc(count * bytes); }
void *realloc(void *block, size_t bytes) { (void)block; return NAMEmalloc(bytes); }
#endif
"""
ON_OWN_NAMES = """#include <stdlib.h>
extern void *NAMEmalloc(size_t), NAMEfree(void *);
int main(void)
{
  void *own = NAMEmalloc(1013), *block = malloc(2026);
  NAMEfree(own);
  free(block);
  return 0;
}
"""


@pytest.mark.parametrize("is_malloc", [False, True], ids=["beside", "as-malloc"])
@pytest.mark.parametrize("name, owner", [("je_", "jemalloc"), ("mi_", "mimalloc")], ids=["je", "mi"])
def test_an_allocator_by_its_own_names(folder, compiled, record, hw, kind, name, owner, is_malloc):
    """It is said that these calls are not recorded, and if malloc is this allocator, too, that malloc is."""
    if kind not in LINKED:
        pytest.skip("it is linked in")
    allocator, source = folder / f"{name}names.c", folder / f"on-{name}names.c"
    allocator.write_text(OWN_NAMES.replace("NAME", name))
    source.write_text(ON_OWN_NAMES.replace("NAME", name))
    recording = record([compiled(source, allocator, *["-DIS_MALLOC", "-Wl,-z,muldefs"] * is_malloc)])
    assert recording.process.returncode == 0
    assert 2026 in sizes_of(recording.report) and 1013 not in sizes_of(recording.report)
    check_unseen(recording, hw, own_api(owner, f"{name}malloc") if is_malloc else f"{owner} ({name}malloc)")


def own_api(owner, function):
    return f"{owner}'s own API ({function}; malloc is recorded)"


def check_unseen(recording, hw, says):
    """`record`, the report and JSON name this, and nothing else."""
    assert recording.process.stderr.count("linked in") == recording.process.stderr.count(f"has {says} linked in: its calls do not reach the recorder") == 1
    text = hw("report", recording.trace, env={**os.environ, "COLUMNS": "300"}).stdout
    assert text.count("linked in") == text.count(f" has {says} linked in, whose calls do not reach the recorder.") == 1
    assert notes_of(recording.report, "static allocator") == [says]


ON_REAL_NAMES = """#include <stdlib.h>
void *OTHER(size_t, int), FREE(void *, int);
int main(void)
{
  void *volatile own = OTHER(1013, 0), *volatile block = malloc(2026);
  FREE(own, 0);
  free(block);
  return 0;
}
"""


@pytest.fixture
def on_allocator(build, compile_c):
    """on_allocator(function, free, *libraries): a static program with the recorder that calls malloc and these functions."""

    def of(function, free, *libraries):
        source = ON_REAL_NAMES.replace("OTHER", function).replace("FREE", free)
        return compile_c(source, "-static", "-fno-builtin", *linked_with(build), *libraries, "-lm", "-lstdc++", "-pthread")

    return of


@pytest.mark.parametrize("library, function, free, says", [("libtcmalloc_minimal.a", "tc_malloc", "tc_free", own_api("tcmalloc", "tc_malloc")),
                                                           ("libjemalloc.a", "mallocx", "dallocx", own_api("jemalloc", "mallocx"))], ids=["tcmalloc", "jemalloc"])
def test_malloc_of_an_allocator_is_recorded(on_allocator, record, hw, library, function, free, says):
    """Also if it defines __libc_malloc, as tcmalloc does. About a stripped program nothing is said."""
    program = on_allocator(function, free, file_of(library))
    recording = record([program])
    assert recording.process.returncode == 0
    assert 2026 in sizes_of(recording.report) and 1013 not in sizes_of(recording.report)
    check_unseen(recording, hw, says)
    subprocess.run(["strip", program], check=True)
    stripped = record([program])
    assert 2026 in sizes_of(stripped.report) and "linked in" not in stripped.process.stderr + hw("report", stripped.trace).stdout


def test_jemalloc_with_a_prefix_of_its_own(on_allocator, record, hw, tmp_path):
    recording = record([on_allocator("own_mallocx", "own_dallocx", Toolchain(tmp_path).prefixed("own_"))])
    assert 2026 in sizes_of(recording.report) and 1013 not in sizes_of(recording.report)
    check_unseen(recording, hw, "jemalloc (with another prefix)")


GO = """package main

/*
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void take(int i)
{
	void *block = memset(malloc(1709), i, 1709);
	__asm__ volatile("" : "+r"(block) : : "memory");
	free(block);
}
*/
import "C"
import "sync"
import "unsafe"

func main() {
	var group sync.WaitGroup
	for n := 0; n < 4; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 500; i++ {
				C.take(C.int(i))
				text := C.CString("a text of Go, copied to C's heap: 46 bytes....")
				C.free(unsafe.Pointer(text))
			}
		}()
	}
	group.Wait()
	println("done")
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="no Go here")
def test_go(build, record, tmp_path):
    (tmp_path / "main.go").write_text(GO)
    (tmp_path / "go.mod").write_text("module example\ngo 1.19\n")
    flags = " ".join(["-static", *linked_with(build)])
    subprocess.run(["go", "build", "-ldflags", f"-linkmode external -extldflags '{flags}'", "-o", "example", "."], cwd=tmp_path, check=True,
                   capture_output=True, env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"})
    recording = record([tmp_path / "example"])
    assert (recording.process.returncode, "done\n" in recording.process.stderr) == (0, True)
    report = recording.report_with("--top", "0")
    sizes = sizes_of(report)
    assert sizes[1709]["calls"] == 2000 and sizes[47]["calls"] >= 2000
    assert report["lost_events"] == report["unmatched_frees"] == 0 and recording.header.audit_differences == 0
    assert any(frame["function"] == "take" for top in report["top"] for frame in top["stack"])


RUST = """use std::alloc::System;
#[global_allocator]
static ALLOCATOR: System = System;
#[inline(never)] // as std::hint::black_box, which Debian 12's compiler does not have
fn seen<T>(value: T) -> T { unsafe { let same = std::ptr::read_volatile(&value); std::mem::forget(value); same } }
#[inline(never)]
fn take(i: usize) -> Vec<u8> { vec![i as u8; 1811] }
fn main() {
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| {
        for i in 0..500 { seen(take(i)); }
        let mut zeroed = seen(vec![0u64; 241]);
        zeroed.push(1);
    })).collect();
    for thread in threads { thread.join().unwrap(); }
    println!("done");
}
"""


@pytest.mark.skipif(not shutil.which("rustc"), reason="no Rust here")
@pytest.mark.parametrize("model", ["pic", "static"])
def test_rust(build, record, tmp_path, model):
    """pic: a static program that may lie at any address (static-pie)."""
    (tmp_path / "main.rs").write_text(RUST)
    words = [f"-Clink-arg={word}" for word in [*linked_with(build), "-l:libc.a"]]  # as in docs/static.md
    subprocess.run(["rustc", "-g", "-O", "-Ctarget-feature=+crt-static", f"-Crelocation-model={model}", *words, "main.rs"], cwd=tmp_path, check=True)
    kind = subprocess.run(["readelf", "-hl", tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert "INTERP" not in kind and ("DYN (" in kind) == (model == "pic")
    recording = record([tmp_path / "main"], env={"HEAPWRIGHT_CHECK": "1"})
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    report = recording.report_with("--top", "0")
    sizes = sizes_of(report)
    assert sizes[1811]["calls"] == 2000 and sizes[241 * 8]["calls"] == 4 and sizes[482 * 8]["calls"] == 4
    assert report["lost_events"] == report["unmatched_frees"] == 0 and recording.header.audit_differences == 0
    assert any(frame["function"].endswith("take") for top in report["top"] for frame in top["stack"])
