"""A program under valgrind: some of its tools replace the recorder's malloc by their own.

Breaks if a report shows three allocations for a program that made thousands, and does not say why.
"""

import shutil

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")

MADE = 500
SOURCE = f"""
#include <stdlib.h>
int main(void)
{{
  for (int i = 0; i < {MADE}; i++)
    if (!malloc(10))
      return 1;
  return 0;
}}
"""


def recorded(record, program, *options):
    """The calls of the program, and the notes on what was not recorded in its images."""
    recording = record(["valgrind", "-q", *options, program])
    images = recording.report["images"]
    return recording, sum(image["allocation_calls"] for image in images if image["executable"] == str(program)), [
        note["text"].rsplit("/", 1)[-1] for image in images for note in image["notes"] if note["kind"] == "own malloc"]


def test_malloc_of_a_tool_is_named(record, hw, compile_c):
    program = compile_c(SOURCE, "-fno-builtin")
    recording, calls, unseen = recorded(record, program, "--tool=memcheck")
    assert calls < MADE and len(unseen) == 1 and unseen[0].startswith("vgpreload_memcheck-")
    assert f"Not seen: {unseen[0]} brings its own malloc" in " ".join(hw("report", "--children", recording.trace).stdout.split())
    # valgrind is a shell script, which makes more allocations than are recorded of the program.
    of_another = " ".join(hw("report", recording.trace).stdout.split())
    assert "other process images" in of_another
    assert f"Not seen: in {program.name}, which is not shown, {unseen[0]} brings its own malloc" in of_another


def test_tools_without_one_hide_nothing(record, compile_c):
    program = compile_c(SOURCE, "-fno-builtin")
    _, calls, unseen = recorded(record, program, "--tool=none")
    assert calls >= MADE and not unseen


def test_long_recording(record, compile_c):
    """Longer than the first part of the trace that is mapped: valgrind's mremap cannot map the next one."""
    rounds = 1200000
    source = SOURCE.replace(f"i < {MADE}", f"i < {rounds}").replace("!malloc(10)", "!(blocks[i] = malloc((size_t)i * 7919 % 97))")
    source = source.replace("int main", f"static void *blocks[{rounds}];\nint main").replace("  return 0;", f"  for (int i = 0; i < {rounds}; i++) free(blocks[i * 7919L % {rounds}]);\n  return 0;")
    program = compile_c(source, "-fno-builtin")
    recording = record(["valgrind", "-q", "--tool=none", program], "--max-size", "100M")  # in many short parts
    images = recording.report["images"]
    assert sum(image["allocation_calls"] for image in images if image["executable"] == str(program)) >= rounds
    assert not any(image["silences"] for image in images)
