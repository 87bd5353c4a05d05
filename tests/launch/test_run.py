"""`heapwright run` and `record --allocator`: a command on another allocator, with no other difference."""

import json
import os
import signal
import subprocess

import pytest

from allocators_library import EXAMPLES, build_allocator


@pytest.fixture(scope="module")
def bump(tmp_path_factory):
    return build_allocator(tmp_path_factory.mktemp("bump"), EXAMPLES / "bump.c")


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    return build_allocator(tmp_path_factory.mktemp("counting"), EXAMPLES / "counting.cc")


def mapped(library):
    """A shell command that prints whether the process that runs it has the library."""
    return f"while read -r line; do case $line in *{library.name}*) echo yes; exit;; esac; done </proc/$$/maps; echo no"


def test_command_alone(bump, hw):
    done = hw("run", "--allocator", bump, "--", "sh", "-c", mapped(bump))
    assert (done.returncode, done.stdout, done.stderr) == (0, "yes\n", "")


@pytest.mark.parametrize("shell", ["dash", "bash"])  # bash has its own setenv
def test_children_have_their_usual_malloc(shell, bump, hw):
    script = f"{shell} -c '{mapped(bump)}'; echo [$LD_PRELOAD$HEAPWRIGHT_ALONE]"
    assert hw("run", "-a", bump, shell, "-c", script).stdout == "no\n[]\n"
    assert hw("run", "-a", bump, "--children", shell, "-c", script).stdout.startswith("yes\n")


def test_what_env_executes_is_the_command(bump, hw, tmp_path):
    """Scripts whose first line names env, too: they used to run on their usual malloc without a message."""
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env dash\n{mapped(bump)}\n")
    script.chmod(0o755)
    inner = f"dash -c '{mapped(bump)}'; echo [$LD_PRELOAD$HEAPWRIGHT_ALONE]"
    assert hw("run", "-a", bump, script).stdout == "yes\n"
    assert hw("run", "-a", bump, "env", "A=b", "env", "dash", "-c", mapped(bump)).stdout == "yes\n"
    assert hw("run", "-a", bump, "env", "dash", "-c", inner).stdout == "no\n[]\n"


def test_what_was_preloaded_stays(bump, counting, build, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(counting), "COUNTING_OUTPUT": str(tmp_path / "counts")}
    done = subprocess.run([build / "bin/heapwright", "run", "-a", bump, "sh", "-c", "echo $LD_PRELOAD; exec true"],
                          capture_output=True, text=True, env=environment)
    assert done.stdout == f"{counting}\n" and done.returncode == 0


def test_variables(bump, hw):
    done = hw("run", "-a", bump, "--env", "ONE=1", "--env", "TWO=two words", "sh", "-c", "echo $ONE $TWO")
    assert done.stdout == "1 two words\n"
    assert hw("run", "-a", bump, "--env", "ONE", "true").returncode == 125


def test_exit_status_and_signal(bump, hw):
    assert hw("run", "-a", bump, "sh", "-c", "exit 77").returncode == 77
    assert hw("run", "-a", bump, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


def test_a_script_without_a_first_line(bump, hw, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo $1\n")
    script.chmod(0o755)
    assert hw("run", "-a", bump, script, "word").stdout == "word\n"


@pytest.mark.parametrize("command, status, error", [
    (["nosuchcommand"], 127, "cannot run 'nosuchcommand': no such command"),
    (["/etc/passwd"], 126, "cannot run '/etc/passwd': Permission denied"), ([], 125, "which command?")], ids=lambda value: str(value)[:20])
def test_commands_that_cannot_be_run(command, status, error, bump, hw):
    done = hw("run", "-a", bump, *command)
    assert done.returncode == status and error in done.stderr and done.stdout == ""


def test_an_allocator_that_is_none(hw):
    for command in (["run", "-a"], ["record", "-o", "/nowhere/x.hwt", "--allocator"]):
        done = hw(*command, "nosuch", "--", "echo", "hello")
        assert done.returncode == 125 and "there is no allocator 'nosuch'" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("has_recorder", [False, True], ids=["plain", "with the recorder"])
def test_a_static_program_is_told(bump, hw, build, record, tmp_path, has_recorder):
    """What can be preloaded is about the loader; that the program can be recorded says nothing about it."""
    source, program = tmp_path / "static.c", tmp_path / "static"
    source.write_text("#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile block;\n"
                      "int main(int count, char **words) { block = malloc(9); return count > 1 ? execvp(words[1], words + 1) : 6; }\n")
    recorder = [f"-Wl,@{build}/lib/heapwright-record.options", build / "lib/libheapwright-record.a"] * has_recorder
    subprocess.run(["gcc", "-static", source, *recorder, "-o", program], check=True)
    says = f"heapwright: '{program}' is statically linked, so that nothing can be preloaded into it: it runs on its own malloc\n"
    done = hw("run", "-a", bump, program)
    assert (done.returncode, done.stderr) == (6, says)
    assert hw("run", "-a", bump, program, "sh", "-c", mapped(bump)).stdout == "no\n"
    assert hw("run", "-a", bump, "--children", program, "sh", "-c", mapped(bump)).stdout == "yes\n"
    process = record([program], "-a", str(bump)).process
    assert process.returncode == 6 and process.stderr.startswith(says if has_recorder else says.split(":")[0])
    assert process.stderr.count("is statically linked") == 1


OWN_MALLOC = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static _Alignas(16) char arena[1 << 20];
static size_t used;
HIDDEN void *malloc(size_t bytes)
{
  void *block = arena + used;
  used += (bytes + 15) / 16 * 16;
  return used <= sizeof arena ? block : NULL;
}
HIDDEN void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
HIDDEN void *realloc(void *block, size_t bytes) { return block ? memmove(malloc(bytes), block, bytes) : malloc(bytes); }
HIDDEN void free(void *block) { (void)block; }
int main(void)
{
  char *volatile block = malloc(9);
  return block >= arena && block < arena + sizeof arena ? 6 : 1;
}
"""


@pytest.mark.parametrize("flags", [[], ["-rdynamic"]], ids=["plain", "rdynamic"])
def test_a_program_with_its_own_malloc_is_told(flags, compile_c, hw, record):
    """The linker exports it, since libc calls it: so libc and all libraries use it, too. The evidence used to name the heap."""
    program = compile_c("#define HIDDEN\n" + OWN_MALLOC, "-fno-builtin", *flags)
    says = f"heapwright: '{program}' defines malloc itself, which comes before that of a library: it runs on its own malloc\n"
    done = hw("run", "-a", "heap", program)
    assert (done.returncode, done.stderr) == (6, says)
    for threads in ("caching", "central"):
        *_, last = hw("run", "-a", "heap", "--stats", "--env", f"HEAPWRIGHT_HEAP_THREADS={threads}", program).stderr.splitlines()
        assert last.endswith(" ends; nothing was allocated on the heap: perhaps the program has another malloc. Invalid frees: 0")
    recording = record([program], "-a", "heap")
    assert recording.process.returncode == 6 and recording.process.stderr.startswith(says)
    assert record([program], "-q", "-a", "heap").process.stderr == says  # an option without effect is no hint
    [note] = recording.report["images"][0]["notes"]
    assert (note["kind"], note["text"]) == ("own malloc", str(program)) and recording.report["allocation_calls"] == 0
    text = " ".join(hw("report", recording.trace).stdout.split())
    assert f"{program.name} brings its own malloc" in text and "malloc of" not in text
    assert "own malloc" not in record([program]).process.stderr  # nothing else was asked for


def test_a_program_with_its_own_malloc_that_is_not_exported_is_told(compile_c, hw, record):
    """Libraries use the heap."""
    program = compile_c('#define HIDDEN __attribute__((visibility("hidden")))\n' + OWN_MALLOC, "-fno-builtin")
    done = hw("run", "-a", "heap", program)
    assert (done.returncode, done.stderr) == (6, f"heapwright: '{program}' has its own malloc (not exported) linked in, and uses that\n")
    recording = record([program], "-a", "heap")
    assert "has its own malloc (not exported) linked in: its calls do not reach the recorder\n" in recording.process.stderr
    assert "; malloc of libheapwright-heap.so" in " ".join(hw("report", recording.trace).stdout.split())


def test_record_on_an_allocator(counting, record, tmp_path, compile_c):
    """Both see the same calls: the recorder comes first and calls the next library."""
    program = compile_c("""#include <stdlib.h>
int main(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); return calloc(3, 5) == NULL; }
""", "-O0", "-fno-builtin")
    output = tmp_path / "counts"
    recording = record([program], "--allocator", str(counting), env={"COUNTING_OUTPUT": str(output)})
    assert recording.process.returncode == 0
    counted = [int(word) for word in output.read_text().split() if word.isdigit()]
    report = recording.report
    assert report["allocation_calls"] >= 1001 and report["lost_events"] == 0
    assert counted[0] >= report["allocation_calls"] - 5 and counted[0] >= 1001


def test_record_on_an_allocator_of_which_the_path_has_a_blank(record, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    library = build_allocator(folder, EXAMPLES / "bump.c")
    recording = record(["sh", "-c", f"grep -c {library.name} /proc/$$/maps"], "-a", str(library))
    assert recording.process.returncode == 0 and int(recording.process.stdout) > 0
    assert json.loads(json.dumps(recording.report))["allocation_calls"] > 0


def test_pool(hw):
    """tlsf is the default; its size and statistics are options."""
    done = hw("run", "-S", "32M", "--stats", "printenv", "HEAPWRIGHT_POOL_SIZE")
    assert done.returncode == 0 and done.stdout == f"{32 << 20}\n"
    assert "largest free block" in done.stderr
    done = hw("run", "sh", "-c", "grep -c libheapwright-tlsf /proc/$$/maps; echo $HEAPWRIGHT_POOL_SIZE")
    assert int(done.stdout.split()[0]) > 0 and len(done.stdout.split()) == 1


def test_a_pool_of_no_size_is_an_error(hw):
    """It does not silently use the default."""
    done = hw("run", "--pool-size", "0", "--stats", "true")
    assert done.returncode == 0 and "HEAPWRIGHT_POOL_SIZE=0 is too small; 100000000 bytes are used\n" in done.stderr


@pytest.mark.parametrize("options, which", [(["--stats"], "--stats is for tlsf and heap"), (["--pool-size", "64M"], "--pool-size is for tlsf")])
def test_options_of_an_allocator_do_nothing_on_another_one(options, which, hw, bump):
    done = hw("run", "-a", bump, *options, "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert done.stderr == f"heapwright: {which}; {bump} ignores it\n"


def test_figures_of_the_heap(hw):
    done = hw("run", "-a", "heap", "--stats", "--env", "HEAPWRIGHT_HEAP_THREADS=central", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "HEAPWRIGHT_HEAP_THREADS=central\n" in done.stderr and "unused bytes" in done.stderr


def test_figures_of_the_heap_go_where_the_option_says(hw, tmp_path):
    """--stats used to replace the file of HEAPWRIGHT_STATS without a message, and --env to replace --stats."""
    file = tmp_path / "stats"
    environment = {**os.environ, "HEAPWRIGHT_STATS": str(file)}
    done = hw("run", "-a", "heap", "--stats", "echo", "hello", env=environment)
    assert (done.returncode, done.stdout) == (0, "hello\n") and "unused bytes" in done.stderr and not file.exists()
    assert done.stderr.startswith(f"heapwright: --stats writes to stderr: nothing is written to '{file}', which HEAPWRIGHT_STATS names; ")
    assert "--stats" not in hw("run", "-a", "heap", "--stats", "true", env={**environment, "HEAPWRIGHT_STATS": "stderr"}).stderr
    done = hw("run", "-a", "heap", "echo", env=environment)
    assert (done.returncode, done.stderr) == (0, "") and "unused bytes" in file.read_text()  # `true` allocates nothing
    done = hw("run", "-a", "heap", "--stats", "--env", f"HEAPWRIGHT_STATS={file}", "true")
    assert (done.returncode, done.stderr) == (125, "heapwright: --stats means --env HEAPWRIGHT_STATS=stderr: "
                                                   f"leave it or --env HEAPWRIGHT_STATS={file} out\n")


FOO, SCRIPT = {**os.environ, "HEAPWRIGHT_HEAP_FOO": "1"}, "sh -c 'ls; true' >/dev/null; ls >/dev/null"


@pytest.mark.parametrize("words", [["run", "-a", "heap"], ["run", "-a", "heap", "--children"], ["run", "-a", "heap", "env"],
                                   ["record", "-q", "-o", "FOLDER/x.hwt", "-a", "heap"]], ids=" ".join)
@pytest.mark.parametrize("is_option", [False, True])
def test_a_misspelt_variable_of_the_heap_is_said_once(words, is_option, hw, tmp_path):
    """The tool says it, and not the heap again in each process."""
    words = [word.replace("FOLDER", str(tmp_path)) for word in words]
    options = ["--env", "HEAPWRIGHT_HEAP_FOO=1"] if is_option else []
    done = hw(words[0], *options, *words[1:], "sh", "-c", SCRIPT, env=None if is_option else FOO)
    assert done.returncode == 0 and done.stderr.count("HEAPWRIGHT_HEAP_FOO") == 1, done.stderr
    assert done.stderr.startswith("heapwright: the environment variable HEAPWRIGHT_HEAP_FOO is none of heapwright's and has no effect")


def test_a_misspelt_variable_of_the_heap_from_env_is_said(hw):
    """The tool does not see it; other variables of such a name are the program's."""
    done = hw("run", "-a", "heap", "env", "HEAPWRIGHT_HEAP_FOO=1", "true")
    assert done.stderr == "heapwright: HEAPWRIGHT_HEAP_FOO=1 has no effect: the heap has no such setting\n"
    done = hw("run", "-a", "tlsf", "printenv", "HEAPWRIGHT_HEAP_FOO", env=FOO)
    assert done.stdout == "1\n"


def test_variables_are_the_program_s_without_the_heap(hw, tmp_path):
    """A library whose path only contains the name of the heap was taken for it."""
    folder = tmp_path / "libheapwright-heap.so.d"
    folder.mkdir()
    done = hw("run", "-a", build_allocator(folder, EXAMPLES / "bump.c"), "printenv", "HEAPWRIGHT_HEAP_FOO", env=FOO)
    assert done.stdout == "1\n"


def test_variables_of_the_pool_are_known(hw, bump):
    done = hw("run", "-a", bump, "true", env={**os.environ, "HEAPWRIGHT_POOL_SIZE": "1000000", "HEAPWRIGHT_POOL_POLICY": "fail"})
    assert done.returncode == 0 and done.stderr == ""
