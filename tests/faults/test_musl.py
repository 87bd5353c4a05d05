"""test_musl.py - programs on musl run as without the recorder, which loads there and does nothing

Breaks if the library needs a symbol that musl lacks: each such child in a build would no longer start.
"""

import os
import shutil
import subprocess

import pytest

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
    """The recorder prints nothing itself, and `record` names the program."""
    process = record(["sh", "-c", program], "-q").process
    assert (process.returncode, process.stdout) == (3, "text 0 0\n")
    assert process.stderr.startswith("heapwright: 1 process ran without being recorded: program (")
    assert process.stderr.count("\n") == 1


def test_command(program, record):
    process = record([program], "-q").process
    assert (process.returncode, process.stdout) == (3, "text 0 0\n")
    assert "uses musl" in process.stderr


def test_preload_alone(program, recorder, tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(tmp_path / "run.hwt")}
    done = subprocess.run([program], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (3, "text 0 0\n", "")
    assert not (tmp_path / "run.hwt").exists()
