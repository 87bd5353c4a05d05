"""test_musl.py - programs on musl are recorded by the same library as those on glibc, and do not notice it

Breaks if the library needs a symbol that musl lacks: each such child in a build would no longer start. tests/record has what is
recorded (test_static_and_musl.py).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

LOADER = f"/lib/ld-musl-{os.uname().machine}.so.1"
pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here")

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
static void *work(void *unused) { prctl(PR_SET_NAME, "worker"); return calloc(10, 10); }
int main(void) {
  pthread_t thread;
  void *given, *aligned = NULL;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, &given);
  char *text = realloc(strdup("text"), 1000);
  posix_memalign(&aligned, 256, 10);
  printf("%s %d %d\\n", text, *(int *)given, (int)((size_t)aligned % 256));
  free(aligned), free(text), free(given);
  return 3;
}
"""


@pytest.fixture
def program(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(SOURCE)
    path = tmp_path / "program"
    subprocess.run(["musl-gcc", "-O1", "-fno-builtin", source, "-o", path], check=True)
    assert "ld-musl" in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    return path


def test_child(program, record):
    """musl's loader finds the library by the name in LD_PRELOAD that glibc's loader expands."""
    recording = record(["sh", "-c", program], "-q")
    process = recording.process
    assert (process.returncode, process.stdout, process.stderr) == (3, "text 0 0\n", "")
    assert any("program." in trace.name for trace in recording.traces) and recording.report["children_unseen"] == 0


def test_command(program, record):
    recording = record([program], "-q")
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (3, "text 0 0\n", "")
    report = recording.report
    assert report["threads"] == 2 and {5, 100, 1000, 10} <= {entry["size"] for entry in report["sizes"]}


def test_named_to_the_loader(program, record):
    recording = record([LOADER, program], "-q")
    assert (recording.process.returncode, recording.process.stdout, recording.process.stderr) == (3, "text 0 0\n", "")
    assert recording.report["threads"] == 2


def test_preload_alone(program, recorder, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(tmp_path / "run.hwt")}
    done = subprocess.run([program], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (3, "text 0 0\n", "")
    assert (tmp_path / "run.hwt").exists()


HANDLER = """
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <dlfcn.h>
#include <ucontext.h>
#if defined __x86_64__
#define INVALID "ud2"
enum { INVALID_BYTES = 2 };
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#elif defined __aarch64__
#define INVALID "udf 0"
enum { INVALID_BYTES = 4 };
#define PC(context) (context)->uc_mcontext.pc
#endif
static void *volatile kept;
static __attribute__((noinline)) void within(void) { kept = malloc(557); __asm__ volatile(""); }
static void handler(int number) { (void)number; within(); __asm__ volatile(""); }
static __attribute__((noinline)) void interrupted(void) { __asm__ volatile(INVALID); }
static void skip(int number, siginfo_t *info, void *context)
{
  (void)number, (void)info;
  handler(0);
  PC((ucontext_t *)context) += INVALID_BYTES;
}
int main(void)
{
  struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  for (int i = 0; i < 100; i++)
    interrupted();
  void *library = dlopen("./plugin.so", RTLD_NOW);
  ((void (*)(void))dlsym(library, "allocate"))();
  dlclose(library);
  return 0;
}
"""
PLUGIN = """
#include <stdlib.h>
void *volatile plugins;
__attribute__((noinline)) void allocate(void) { plugins = malloc(601); __asm__ volatile(""); }
"""


def test_stacks_through_handlers_and_libraries(record, tmp_path):
    """musl has no unwind tables for the code to which handlers return; a library that is loaded later is found."""
    (tmp_path / "handler.c").write_text(HANDLER)
    (tmp_path / "plugin.c").write_text(PLUGIN)
    musl = ["musl-gcc", "-D_GNU_SOURCE", "-O1", "-g", "-w", "-fno-builtin", "-Wl,--eh-frame-hdr"]
    subprocess.run([*musl, "handler.c", "-o", "handler"], cwd=tmp_path, check=True)
    subprocess.run([*musl, "-shared", "-fPIC", "plugin.c", "-o", "plugin.so"], cwd=tmp_path, check=True)
    recording = record([tmp_path / "handler"], cwd=tmp_path, env={"HEAPWRIGHT_CHECK": "1"})
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    stacks = {top["bytes"] // top["calls"]: [frame["function"] for frame in top["stack"]] for top in report["top"]}
    names = [name for name in stacks[557] if name in ("within", "handler", "skip", "interrupted", "main")]
    assert names == ["within", "handler", "skip", "interrupted", "main"]
    assert stacks[601][:2] == ["allocate", "main"] and recording.header.audit_differences == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
@pytest.mark.parametrize("has_proc", [True, False])
def test_a_system_without_glibc(program, recorder, hw, tmp_path, has_proc):
    """As in Alpine: a root with musl, the library and the program alone."""
    root = tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    (root / "proc").mkdir()
    for file, place in ((Path(LOADER).resolve(), LOADER[1:]), (recorder, "lib/libheapwright-record.so"), (program, "program")):
        shutil.copy(file, root / place)
    mount = f"mount -t proc proc {root}/proc && " if has_proc else ""
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"{mount}exec chroot {root} /program"], capture_output=True, text=True, cwd=root,
                          env={"PATH": os.environ["PATH"]}, timeout=60)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr}")
    assert (done.returncode, done.stdout, done.stderr) == (3, "text 0 0\n", "")
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"{mount}exec chroot {root} {LOADER} --preload /lib/libheapwright-record.so /program"],
                          capture_output=True, text=True, cwd=root, env={"PATH": os.environ["PATH"], "HEAPWRIGHT_OUTPUT": "/run.hwt"}, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "text 0 0\n", "")
    [trace] = root.glob("*.hwt")
    assert trace.name == "run.hwt" if has_proc else trace.name.startswith("heapwright.ld-musl")
    report = json.loads(hw("report", "--json", trace).stdout)
    assert {5, 100, 1000, 10} <= {entry["size"] for entry in report["sizes"]} and report["lost_events"] == 0
