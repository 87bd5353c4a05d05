"""test_program_allocator.py - breaks if a program that is served by its own allocator looks as if it hardly used the
heap

These allocators have no free, so that the recorder leaves them alone.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ALLOCATOR = """
#include <stddef.h>
{storage} void *{name}(size_t bytes);
{storage} __attribute__((noinline)) void *{name}(size_t bytes)
{{
  static _Alignas(16) char arena[4096];
  static size_t used;
  void *block = arena + used;
  used += (bytes + 15) / 16 * 16;
  return used <= sizeof arena ? block : 0;
}}
"""

USER = """
#include <stdio.h>
#include <stdlib.h>
void *{name}(size_t bytes);
int main(void)
{{
  void *volatile seen = malloc(100); /* libc's, which is recorded */
  void *(*volatile function)(size_t) = {name};
  char *volatile block = function(50);
  return block && block != seen ? 0 : 1;
}}
"""

NAMES = {
    "je_malloc": "jemalloc (je_malloc)",
    "_rjem_malloc": "jemalloc (_rjem_malloc)",
    "mi_malloc": "mimalloc (mi_malloc)",
    "tc_malloc": "tcmalloc (tc_malloc)",
    "rpmalloc": "rpmalloc (rpmalloc)",
    "scalable_malloc": "TBB's allocator (scalable_malloc)",
}
HIDDEN = "its own malloc (not exported)"


def whole(name, storage=""):
    return ALLOCATOR.format(name=name, storage=storage) + USER.format(name=name)


def said(recording):
    """Returns the messages about allocators that record prints before the program begins."""
    return [line for line in recording.process.stderr.splitlines() if "linked in" in line]


def noted(recording):
    return [note["text"] for image in recording.report["images"] for note in image["notes"] if note["kind"] == "static allocator"]


def text_of(hw, recording):
    done = hw("report", recording.trace, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_named(hw, recording, program, allocator):
    assert recording.process.returncode == 0, recording.process.stderr
    assert said(recording) == [f"heapwright: '{program}' has {allocator} linked in: its calls do not reach the recorder"]
    assert noted(recording) == [allocator]
    line = f"Not seen: {program.name} has {allocator} linked in, whose calls do not reach the recorder."
    assert text_of(hw, recording).splitlines().count(line) == 1


def check_unnamed(hw, recording):
    assert recording.process.returncode == 0, recording.process.stderr
    assert said(recording) == [] and noted(recording) == []
    assert "linked in" not in text_of(hw, recording)


@pytest.mark.parametrize("name", NAMES)
def test_known_allocators_are_named(record, hw, compile_c, name):
    program = compile_c(whole(name))
    check_named(hw, record([program]), program, NAMES[name])


@pytest.mark.parametrize("flags", [["-rdynamic"], ["-no-pie"], ["-flto"], ["-Wl,--build-id=none"]], ids=lambda flags: flags[0])
def test_however_it_was_linked(record, hw, compile_c, flags):
    program = compile_c(whole("je_malloc"), *flags)
    check_named(hw, record([program]), program, NAMES["je_malloc"])


def test_static_function(record, hw, compile_c):
    program = compile_c(whole("mi_malloc", storage="static").replace("void *mi_malloc(size_t bytes);\nint", "int"))
    check_named(hw, record([program]), program, NAMES["mi_malloc"])


def test_malloc_that_is_not_exported(record, hw, compile_c):
    hidden = '__attribute__((visibility("hidden")))'
    source = "#include <stddef.h>\n" + hidden + " void *malloc(size_t);\n" + ALLOCATOR.format(name="malloc", storage=hidden)
    program = compile_c(source + "#include <stdio.h>\nint main(void) { return malloc(50) && puts(\"x\") > 0 ? 0 : 1; }\n", "-fno-builtin")
    check_named(hw, record([program]), program, HIDDEN)


def test_exported_malloc_is_the_recorder_s_to_note(record, hw, compile_c):
    """The je_malloc below it adds no message."""
    source = ALLOCATOR.format(name="je_malloc", storage="")
    source += "void *malloc(size_t bytes);\nvoid *malloc(size_t bytes) { return je_malloc(bytes); }\n"
    source += "void free(void *block);\nvoid free(void *block) { (void)block; }\n"
    program = compile_c(source + "int main(void) { return malloc(50) ? 0 : 1; }\n", "-fno-builtin")
    recording = record([program])
    check_unnamed(hw, recording)
    assert [note["kind"] for image in recording.report["images"] for note in image["notes"]] == ["own malloc"]


@pytest.mark.parametrize("flags", [[], ["-no-pie", "-fno-pie"]], ids=["pie", "no-pie"])
def test_user_of_a_shared_allocator_is_not_named(record, hw, compile_c, tmp_path, flags):
    library = compile_c(ALLOCATOR.format(name="je_malloc", storage=""), "-shared", "-fPIC", name="libshared.so")
    program = compile_c(USER.format(name="je_malloc"), *flags, str(library), f"-Wl,-rpath,{tmp_path}")
    check_unnamed(hw, record([program]))


def test_ordinary_program_is_not_named(record, hw):
    check_unnamed(hw, record(["sh", "-c", "true"]))


def test_quiet_record_leaves_it_to_the_report(record, compile_c):
    recording = record([compile_c(whole("je_malloc"))], "--quiet")
    assert recording.process.stderr == ""
    assert noted(recording) == [NAMES["je_malloc"]]


def test_found_through_path_and_as_an_interpreter(record, hw, compile_c, tmp_path):
    program = compile_c(whole("je_malloc"), name="inner")
    found = record(["inner"], env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert "'inner' has jemalloc (je_malloc) linked in" in said(found)[0] and noted(found) == [NAMES["je_malloc"]]
    script = tmp_path / "script"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    check = record([script])
    assert f"'{script}' has jemalloc (je_malloc) linked in" in said(check)[0] and noted(check) == [NAMES["je_malloc"]]


def test_no_frame_in_the_executable(record, hw, compile_cxx):
    """Then no build ID was recorded: only libstdc++'s pool is recorded of the program."""
    program = compile_cxx(
        "#include <cstddef>\n#include <string>\n"
        'extern "C" { __attribute__((noinline)) void *je_malloc(std::size_t n) { static char a[64]; return n < 64 ? a : nullptr; } }\n'
        "int main() { std::string text(\"x\"); return je_malloc(text.size()) ? 0 : 1; }\n"
    )
    recording = record([program])
    assert str(program) not in [module["path"] for module in recording.report["modules"]]
    check_named(hw, recording, program, NAMES["je_malloc"])


@pytest.mark.parametrize("flags", [[], ["-Wl,--build-id=none"]], ids=["build-id", "no build-id"])
def test_another_file_by_now_is_not_looked_into(record, compile_c, flags):
    """In both directions: a rebuilt program is not the one that was recorded."""
    program = compile_c(whole("je_malloc"), *flags)
    recording = record([program])
    assert noted(recording) == [NAMES["je_malloc"]]
    compile_c(whole("other"), *flags)
    assert noted(recording) == []
    plain = record([program])
    compile_c(whole("je_malloc"), *flags)
    assert noted(plain) == []
    program.unlink()
    assert noted(plain) == [] and noted(recording) == []


def test_touched_file_is_told_by_its_build_id(record, compile_c):
    program = compile_c(whole("je_malloc"))
    recording = record([program])
    os.utime(program)
    assert noted(recording) == [NAMES["je_malloc"]]


def test_each_program_of_a_run_is_named_once(record, hw, compile_c):
    one, two = compile_c(whole("je_malloc"), name="one"), compile_c(whole("mi_malloc"), name="two")
    recording = record(["sh", "-c", f"{one}; {two}; {one}; true"])
    assert said(recording) == []  # the shell has none
    done = hw("report", "--children", recording.trace, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "linked in" in line]
    assert sorted(lines) == [f"Not seen: {program} has {NAMES[name]} linked in, whose calls do not reach the recorder."
                             for program, name in (("one", "je_malloc"), ("two", "mi_malloc"))]


def test_stripped_program_is_beyond_it(record, hw, compile_c):
    """The file does not show it, so the report does not claim it. Real allocators are known by their texts (test_linked_allocators.py)."""
    program = compile_c(whole("je_malloc"))
    subprocess.run([shutil.which("strip"), program], check=True)
    check_unnamed(hw, record([program]))
