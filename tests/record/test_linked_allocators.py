"""test_linked_allocators.py - programs that have jemalloc, mimalloc or tcmalloc linked in

programs/linked_allocator.c counts its own calls; the recording must have the same. Breaks if a function of an allocator is not
redirected, or twice, or only a part of them, or if the program notices.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from linked_programs import KINDS, REFUSED, THROWS, Toolchain, check_calls, check_is_complete, counts_of, fake_allocator, file_of, notes_of, recorded_counts, run

pytestmark = pytest.mark.skipif(os.uname().machine not in REFUSED, reason="on other CPUs nothing is redirected yet")

PROGRAMS = Path(__file__).resolve().parent / "programs"
REFUSED_HERE = REFUSED.get(os.uname().machine, {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("linked")


@pytest.fixture(scope="module")
def tools(folder):
    return Toolchain(folder)


@pytest.fixture(scope="module")
def built(tools):
    """built("jemalloc-c"): the program, its path."""
    return tools.build


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("options", [[], ["--durations"]], ids=["usual", "durations"])
def test_each_call_is_recorded_once(built, record, kind, options):
    program = built(kind)
    alone = run([program])
    recording = record([program], *options, env={"HEAPWRIGHT_CHECK": "1"})
    assert alone.returncode == 7 and alone.stderr == ""
    assert (recording.process.returncode, recording.process.stdout) == (7, alone.stdout)
    assert "linked in" not in recording.process.stderr
    report = recording.report_with("--top", "0")
    check_calls(report, counts_of(alone.stdout), KINDS[kind][3])
    assert "Not seen" not in recording.hw("report", recording.trace).stdout


def test_frames_of_the_recorder_are_in_no_stack(built, record, kind):
    recording = record([built(kind)])
    functions = {Path(frame["module"]).name for top in recording.report_with("--top", "0")["top"] for frame in top["stack"]}
    assert not any("heapwright" in name for name in functions)


@pytest.mark.parametrize("name, said, served", [
    ("jemalloc-c", "defines malloc itself, which comes before that of a library: it runs on its own malloc", False),
    ("jemalloc-je_", "has jemalloc (je_malloc) linked in, and uses that", True)], ids=["malloc", "je_malloc"])
def test_on_another_allocator(built, record, hw, name, said, served):
    """It serves malloc only if the program does not define that."""
    alone = run([built(name)])
    done = hw("run", "-a", "heap", built(name))
    assert (done.returncode, done.stdout, done.stderr) == (7, alone.stdout, f"heapwright: '{built(name)}' {said}\n")
    recording = record([built(name)], "-a", "heap")
    assert (recording.process.returncode, said in recording.process.stderr) == (7, not served)
    expected = counts_of(alone.stdout)
    assert recorded_counts(recording.report_with("--top", "0"), expected) == expected
    assert len(notes_of(recording.report)) == 1 and len(notes_of(recording.report, "allocator")) == served
    assert ("; malloc of libheapwright-heap.so" in " ".join(hw("report", recording.trace).stdout.split())) == served


def test_sample_counts_the_same_calls(built, record, kind):
    recording = record([built(kind)], "--sample=16K")
    report, own = recording.report, counts_of(recording.process.stdout).values()
    calls, frees = sum(calls for calls, _ in own), sum(calls - live for calls, live in own)
    others = 1000 if "mimalloc" in kind else 50  # it allocates its heaps themselves
    assert calls <= report["allocation_calls"] < calls + others and frees <= report["free_calls"] < frees + others
    assert report["unmatched_frees"] == report["lost_events"] == 0


def test_fork(built, preload, kind):
    recording = preload([built(kind), "fork"])
    childs, parents = recording.process.stdout.split("parent\n")
    assert recording.process.returncode == 7
    first, second = [json.loads(recording.hw("report", "--json", "--top", "0", trace).stdout) for trace in recording.traces]
    assert recorded_counts(first, counts_of(parents)) == counts_of(parents)
    assert recorded_counts(second, counts_of(childs)) == counts_of(childs)
    check_is_complete(first)
    check_is_complete(second)
    assert second["inherited_frees"] >= 1


def test_switched_off(built, record):
    """HEAPWRIGHT_REDIRECT=0 leaves the code as it is."""
    recording = record([built("jemalloc-c")], env={"HEAPWRIGHT_REDIRECT": "0"})
    assert recording.process.returncode == 7 and notes_of(recording.report) == []
    assert len(notes_of(recording.report, "own malloc")) == 1 and recording.report["allocation_calls"] == 0
    assert "HEAPWRIGHT_REDIRECT=0" in notes_of(recording.report, "linked-in allocator not recorded")[0]


def test_only_recorded_programs_are_changed(built, record):
    """The shell is recorded, and the program is not."""
    recording = record(["sh", "-c", f"{built('jemalloc-c')}; exit 3"], "--only-process", "sh")
    assert recording.process.returncode == 3 and notes_of(recording.report) == []


# --- programs that cannot be recorded ---


@pytest.mark.parametrize("name, text", [("jemalloc-c", "jemalloc (known by the text '<jemalloc>: '"), ("jemalloc-je_", "jemalloc (known by the text"),
                                        ("tcmalloc-c", "tcmalloc (known by the text 'TCMALLOC_SKIP_SBRK'")])
def test_stripped_program(built, record, hw, folder, name, text):
    program = folder / f"{name}-stripped"
    subprocess.run(["strip", built(name), "-o", program], check=True)
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (7, run([program]).stdout)
    [said] = [line for line in recording.process.stderr.splitlines() if "linked in" in line]
    assert text in said and "its symbols were stripped" in said and "strip -g" in said
    assert any(text in note for note in notes_of(recording.report, "static allocator"))
    printed = re.sub(r"\s+", " ", hw("report", recording.trace).stdout)
    assert "its symbols were stripped" in printed and "brings its own malloc" not in printed  # one line for both


def test_stripped_of_debug_information_alone(built, record, folder):
    program = folder / "stripped-g"
    subprocess.run(["strip", "-g", built("jemalloc-je_"), "-o", program], check=True)
    recording = record([program])
    expected = counts_of(run([program]).stdout)
    assert recorded_counts(recording.report_with("--top", "0"), expected) == expected


@pytest.mark.parametrize("code, is_called, why", REFUSED_HERE.values(), ids=REFUSED_HERE)
def test_all_functions_or_none(compile_c, record, hw, code, is_called, why):
    """je_malloc could be redirected, but a free that is not seen would be worse than nothing."""
    program = compile_c(fake_allocator(code, is_called))
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    report = recording.report_with("--top", "0")
    [note] = notes_of(report, "linked-in allocator not recorded")
    assert notes_of(report) == [] and all(entry["size"] != 1013 for entry in report["sizes"])
    assert note == f"jemalloc (je_malloc) in {program}: the code of je_free {why}"
    assert why in re.sub(r"\s+", " ", hw("report", recording.trace, env={**os.environ, "COLUMNS": "300"}).stdout)


def test_function_of_the_same_name(compile_c, record, tools):
    """A static function of the program is not the allocator's: which one is it?"""
    source = ("#include <stdio.h>\nvoid *je_malloc(unsigned long);\nvoid je_free(void *);\nstatic __attribute__((noinline)) void *je_calloc(int a) { __asm__ volatile(\"\");"
              " return (void *)(long)a; }\nint main(void) { void *volatile p = je_malloc(1013); je_free(p); puts(je_calloc(3) ? \"done\" : \"\"); return 0; }\n")
    recording = record([compile_c(source, str(tools.prefixed("je_")), "-lm", "-pthread")])
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    [note] = notes_of(recording.report, "linked-in allocator not recorded")
    assert note.endswith("there are several functions named je_calloc")


FORBIDS_CODE = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
int main(int count, char **arguments)
{
  struct sock_filter steps[] = {
      LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    return 99;
  execv(arguments[1], arguments + 1);
  return 98;
}
"""


def test_system_that_forbids_to_change_code(compile_c, built, record):
    """As systemd's MemoryDenyWriteExecute."""
    recording = record([compile_c(FORBIDS_CODE, name="forbids"), built("jemalloc-je_")])
    assert (recording.process.returncode, recording.process.stdout) == (7, run([built("jemalloc-je_")]).stdout)
    notes = notes_of(recording.report_with("--children"), "linked-in allocator not recorded")
    assert len(notes) == 1 and "does not allow a program to change its code" in notes[0]


STARTS_THREAD = r"""
#include <pthread.h>
#include <unistd.h>
static void *wait(void *unused) { pause(); return unused; }
__attribute__((constructor)) static void begin(void) { pthread_t thread; pthread_create(&thread, 0, wait, 0); }
"""


def test_threads_that_ran_before(compile_c, built, hw, recorder, tmp_path):
    """A library's constructor runs before the recorder begins."""
    library = compile_c(STARTS_THREAD, "-shared", "-fPIC", "-pthread", name="libthread.so")
    trace = tmp_path / "threads.hwt"
    environment = {**os.environ, "LD_PRELOAD": f"{recorder}:{library}", "HEAPWRIGHT_OUTPUT": str(trace)}
    done = run([built("jemalloc-je_")], env=environment)
    assert (done.returncode, done.stdout) == (7, run([built("jemalloc-je_")]).stdout)
    report = json.loads(hw("report", "--json", trace).stdout)
    [note] = notes_of(report, "linked-in allocator not recorded")
    assert note.endswith("other threads ran already when the recorder started")


# --- where it is linked to, and what happens around it ---


USES_LIBRARY = r"""
#include <stdio.h>
void *give(unsigned long size);
void take(void *block);
int main(void)
{
  for (int i = 0; i < 100; i++)
    take(give(1013));
  give(1021);
  puts("done");
  return 3;
}
"""
HAS_ALLOCATOR = r"""
void *je_malloc(unsigned long size);
void je_free(void *block);
__attribute__((visibility("default"))) void *give(unsigned long size) { return je_malloc(size); }
__attribute__((visibility("default"))) void take(void *block) { je_free(block); }
"""


def test_in_a_shared_library(compile_c, record, tools, tmp_path):
    library = compile_c(HAS_ALLOCATOR, "-shared", "-fPIC", str(tools.prefixed("je_")), "-Wl,--exclude-libs,ALL", "-lm", "-pthread", name="libhas.so")
    program = compile_c(USES_LIBRARY, str(library), f"-Wl,-rpath,{tmp_path}")
    report = record([program]).report_with("--top", "0")
    assert recorded_counts(report, [1013, 1021]) == {1013: (100, 0), 1021: (1, 1)}
    check_is_complete(report)
    assert notes_of(report) == [f"jemalloc (je_malloc) in {library}"]


HIDES = """
#include <stdlib.h>
__attribute__((visibility("default"))) void *give(unsigned long size) { return malloc(size); }
__attribute__((visibility("default"))) void take(void *block) { free(block); }
"""


@pytest.fixture
def user_of_stripped(compile_c, tmp_path):
    """user_of_stripped("NAME.a", options): a program whose library has that allocator in place of malloc, and no names of its functions."""

    def make(archive, *options):
        (tmp_path / "exports").write_text("{ global: give; take; local: *; };")
        library = compile_c(HIDES, "-shared", "-fPIC", *options, f"-Wl,--version-script={tmp_path}/exports", file_of(archive), "-lm", "-lstdc++", "-pthread", name="libhides.so")
        subprocess.run(["strip", library], check=True)
        return compile_c(USES_LIBRARY, str(library), f"-Wl,-rpath,{tmp_path}"), library

    return make


@pytest.mark.parametrize("options", [[], ["-Wl,-z,noseparate-code"]], ids=["usual", "constants with code"])
def test_in_a_stripped_library(user_of_stripped, record, hw, options):
    """It was silent: the recording looked complete. A child is no different."""
    program, library = user_of_stripped("libjemalloc_pic.a", *options)
    text = f"jemalloc in {library}: its symbols were stripped; strip -g keeps them"
    recording = record(["sh", "-c", f"{program}; {program}; exit 3"])
    assert recording.process.returncode == 3
    report = recording.report_with("--top", "0", "--children")
    assert notes_of(report, "linked-in allocator not recorded") == [text] * 2
    assert all(entry["size"] != 1013 for entry in report["sizes"])
    done = hw("report", "--children", recording.trace, env={**os.environ, "COLUMNS": "300"})
    assert done.stdout.count("Not seen") == 1 and f"Not seen: {text} (its calls do not reach the recorder)." in done.stdout


def test_a_stripped_library_that_exports_its_malloc(compile_c, record):
    """Its calls reach the recorder, as those of any library that replaces malloc."""
    library = compile_c(HIDES, "-shared", "-fPIC", file_of("libjemalloc_pic.a"), "-lm", "-lstdc++", "-pthread", name="libexports.so")
    subprocess.run(["strip", library], check=True)
    report = record([compile_c(USES_LIBRARY, str(library), f"-Wl,-rpath,{library.parent}")]).report_with("--top", "0")
    assert recorded_counts(report, [1013, 1021]) == {1013: (100, 0), 1021: (1, 1)}
    assert notes_of(report, "linked-in allocator not recorded") == []


EARLY = r"""
#include <stdlib.h>
void *early;
__attribute__((constructor)) static void begin(void) { early = malloc(1237); }
"""


def test_blocks_of_constructors(compile_c, record, tmp_path):
    """A library's constructor runs before the recorder begins, and that before the program's constructors."""
    library = compile_c(EARLY, "-shared", "-fPIC", "-fno-builtin", name="libearly.so")
    program = compile_c('#include <stdlib.h>\nextern void *early;\nstatic void *own;\n__attribute__((constructor)) static void begin(void) { own = malloc(1409); }\n'
                        'int main(void) { void *volatile p = malloc(1301); free(p); free(own); free(early); return 0; }\n',
                        "-fno-builtin", str(library), f"-Wl,-rpath,{tmp_path}", file_of("libjemalloc.a"), "-lm", "-pthread")
    report = record([program]).report_with("--top", "0")
    assert recorded_counts(report, [1237, 1301, 1409]) == {1237: (0, 0), 1301: (1, 0), 1409: (1, 0)}
    assert (report["unmatched_frees"], report["missed_frees"], report["lost_events"]) == (1, 0, 0)


LIBC_BESIDE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>
void *je_malloc(size_t);
void je_free(void *);
size_t je_malloc_usable_size(void *);
int main(void)
{
  for (int i = 0; i < 500; i++) {
    void *volatile mine = malloc(1013), *volatile its = je_malloc(2027);
    memset(mine, 1, malloc_usable_size(mine));
    memset(its, 1, je_malloc_usable_size(its));
    free(mine);
    je_free(its);
  }
  puts("done");
  return 0;
}
"""


def test_next_to_malloc_of_libc(compile_c, record, tools):
    """Each block is asked for its usable size by its own allocator."""
    program = compile_c(LIBC_BESIDE, "-fno-builtin", str(tools.prefixed("je_")), "-lm", "-pthread")
    recording = record([program])
    assert recording.process.returncode == 0
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 2027]) == {1013: (500, 0), 2027: (500, 0)}
    check_is_complete(report)


HANDLER = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
void *je_malloc(size_t);
void je_free(void *);
static volatile int handled;
static void handle(int signal) { (void)signal; handled++; }
int main(void)
{
  struct itimerval often = {{0, 200}, {0, 200}};
  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &often, NULL);
  while (handled < 200) {
    void *volatile block = je_malloc(2027);
    je_free(block);
  }
  puts("done");
  return 0;
}
"""


def test_signals(compile_c, record, tools):
    recording = record([compile_c(HANDLER, "-fno-builtin", str(tools.prefixed("je_")), "-lm", "-pthread")])
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    check_is_complete(recording.report)


@pytest.mark.parametrize("library", ["libtcmalloc_minimal.a", "libjemalloc.a"])
def test_exceptions(compile_cxx, record, library):
    program = compile_cxx(THROWS, "-fno-builtin", file_of(library), "-lm", "-pthread")
    alone = run([program])
    recording = record([program])
    assert alone.returncode == 0 and (recording.process.returncode, recording.process.stdout) == (0, alone.stdout)
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1709, 1811]) == {1709: (1000, 0), 1811: (1, 0)}
    assert report["failed_calls"] >= 1001
    check_is_complete(report)


def test_functions_that_the_allocator_lacks(compile_c, record):
    """jemalloc has no reallocarray: libc's calls realloc, which is the program's."""
    program = compile_c('#include <stdlib.h>\nint main(void) { void *volatile p = malloc(1013); p = reallocarray(p, 13, 157);'
                        ' free(p); p = malloc(1301); free(p); return p ? 5 : 0; }\n', "-fno-builtin", file_of("libjemalloc.a"), "-lm", "-pthread")
    recording = record([program])
    assert recording.process.returncode == 5
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 2041, 1301]) == {1013: (1, 0), 2041: (1, 0), 1301: (1, 0)}
    check_is_complete(report)


@pytest.mark.parametrize("options", [["-pie", "-fPIE"], ["-no-pie"]], ids=["pie", "no-pie"])
def test_interposed_library_stays_as_it_is(compile_c, record, options):
    """A shared jemalloc whose malloc the recorder calls needs no other code, unless the program calls mallocx."""
    source = '#include <stdlib.h>\nvoid *mallocx(size_t, int);\nvoid dallocx(void *, int);\nint main(void) { void *volatile p = malloc(1013); free(p); MORE return 0; }\n'
    libjemalloc = file_of("libjemalloc.so")
    plain = record([compile_c(source.replace("MORE", ""), "-fno-builtin", *options, libjemalloc, name="plain")]).report_with("--top", "0")
    assert notes_of(plain) == [] and recorded_counts(plain, [1013]) == {1013: (1, 0)}
    user = record([compile_c(source.replace("MORE", "void *volatile q = mallocx(2027, 0); dallocx(q, 0);"), "-fno-builtin", *options, libjemalloc, name="user")]).report_with("--top", "0")
    assert len(notes_of(user)) == 1 and recorded_counts(user, [1013, 2027]) == {1013: (1, 0), 2027: (1, 0)}
    check_is_complete(user)


def test_redis(record, tmp_path):
    """A real program, on jemalloc as a library, some of whose own functions it calls."""
    server = shutil.which("redis-server")
    if not server:
        pytest.skip("no redis-server here")
    commands = "".join(f"SET key:{i} {'x' * (i % 900)}\n" for i in range(500)) + "DEBUG JMAP\nINFO memory\nSHUTDOWN NOSAVE\n"
    socket = tmp_path / "redis.socket"
    script = f"{server} --port 0 --unixsocket {socket} --daemonize no >/dev/null & while ! [ -S {socket} ]; do sleep 0.05; done; redis-cli -s {socket} >/dev/null; wait $!"
    recording = record(["sh", "-c", script], input=commands, timeout=60)
    assert recording.process.returncode == 0, recording.process.stderr
    report = json.loads(recording.hw("report", "--json", "--children", recording.trace).stdout)
    assert report["allocation_calls"] > 1000 and report["unmatched_frees"] == report["missed_frees"] == report["lost_events"] == 0


def test_own_malloc_without_reallocarray(compile_c, record):
    """libc's reallocarray calls the program's realloc. So does the recorder's, although it does not redirect that."""
    recording = record([compile_c(PROGRAMS / "own_malloc.c", "-fno-builtin")])
    assert recording.process.returncode == 0
    assert len(notes_of(recording.report, "own malloc")) == 1
