"""test_sanitizers.py - programs that are built with a sanitizer behave as without the recorder; they also find the same
errors and leaks

Breaks if the recorder comes between a sanitizer's runtime and the program: the program would not start, die, or
report other results.
"""

import os
import re
import shutil
import subprocess

import pytest

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int shared;
static void *work(void *unused) { shared++; return malloc(10); }
int main(int count, char **words) {
  pthread_t thread;
  char *block = malloc(100), *preload = getenv("FOREIGN");
  pthread_create(&thread, 0, work, 0);
  void *given; pthread_join(thread, &given);
  printf("%s %d %d %s %s\\n", words[0], count, shared, preload ? preload : "-", words[count - 1]);
  fflush(stdout);
  if (count > 1 && words[1][0] == 'l') { block = 0; given = 0; return 0; }
  free(given);
  free(block);
  if (count > 1 && words[1][0] == 'u') block[3] = 1;
  return count > 1 && words[1][0] == 's' ? 7 : 0;
}
"""
KINDS = {
    "gcc-thread": ("gcc", ["-fsanitize=thread"]),
    "gcc-leak": ("gcc", ["-fsanitize=leak"]),
    "gcc-address": ("gcc", ["-fsanitize=address"]),
    "gcc-address-static": ("gcc", ["-fsanitize=address", "-static-libasan"]),
    "gcc-undefined": ("gcc", ["-fsanitize=undefined"]),
    "clang-address": ("clang", ["-fsanitize=address"]),
    "clang-thread": ("clang", ["-fsanitize=thread"]),
}
LEFT_ALONE = KINDS.keys() - {"gcc-address-static", "gcc-undefined"}  # their runtimes are hidden, or have no malloc


# Runtimes of clang that are shared libraries: the option, and the names of the libraries.
SHARED = {"address": "asan", "scudo": "scudo"}


@pytest.mark.parametrize("kind", SHARED)
def test_shared_runtime_of_clang(kind, hw, tmp_path):
    if not shutil.which("clang"):
        pytest.skip("no clang here")
    (tmp_path / "hello.c").write_text(SOURCE)
    runtime = subprocess.run(["clang", f"-print-file-name=libclang_rt.{SHARED[kind]}-{os.uname().machine}.so"], capture_output=True, text=True,
                             check=True).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip("this clang has no such runtime here")
    subprocess.run(["clang", "-g", "-pthread", f"-fsanitize={kind}", "-shared-libsan", f"-Wl,-rpath,{os.path.dirname(runtime)}", "hello.c",
                    "-o", kind], cwd=tmp_path, check=True)
    recorded = hw("record", "-q", "-o", tmp_path / "run.hwt", "--", tmp_path / kind, "status")
    assert recorded.returncode == 7 and "is built with a sanitizer" in recorded.stderr


def test_library_that_is_built_with_a_sanitizer(hw, tmp_path):
    """Its program file does not show it, so only the process can find it out: `record` names it among the causes."""
    (tmp_path / "lib.c").write_text("#include <stdlib.h>\nvoid *make(void) { return malloc(10); }\n")
    (tmp_path / "main.c").write_text("#include <stdlib.h>\nvoid *make(void);\nint main(void) { free(make()); return 4; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-fsanitize=leak", "lib.c", "-o", "libmake.so"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "main.c", "-o", "main", "-L.", "-lmake", f"-Wl,-rpath,{tmp_path}"], cwd=tmp_path, check=True)
    recorded = hw("record", "-o", tmp_path / "run.hwt", "--", tmp_path / "main")
    assert recorded.returncode == 4
    assert "nothing was recorded" in recorded.stderr and "sanitizer" in recorded.stderr


@pytest.fixture(scope="module", params=KINDS)
def program(request, tmp_path_factory):
    compiler, flags = KINDS[request.param]
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    path = tmp_path_factory.mktemp("sanitized") / request.param
    source = path.with_suffix(".c")
    source.write_text(SOURCE)
    done = subprocess.run([compiler, "-g", "-O0", "-pthread", *flags, source, "-o", path], capture_output=True, text=True)
    if "libclang_rt" in done.stderr:  # a package of its own
        pytest.skip("this clang has no such runtime here")
    assert done.returncode == 0, done.stderr
    return path


def masked(done):
    """Without addresses, process numbers and times."""
    def mask(text):
        return re.sub(r"\b(0x)?[0-9a-f]*\d[0-9a-f]*\b", "N", text)

    return done.returncode, done.stdout, mask(done.stderr)


@pytest.mark.parametrize("how", ["", "leak", "use after free", "status"])
@pytest.mark.parametrize("as_child", [False, True], ids=["command", "child"])
def test_behaves_as_without(program, hw, tmp_path, how, as_child):
    words = [program, *([how] if how else [])]
    command = ["sh", "-c", '"$@"; exit $?', "sh", *words] if as_child else words
    environment = {**os.environ, "FOREIGN": "kept"}
    plain = subprocess.run(command, capture_output=True, text=True, env=environment)
    recorded = hw("record", "-q", "-o", tmp_path / "run.hwt", "--", *command, env=environment)
    notes = [line for line in recorded.stderr.splitlines(True) if line.startswith("heapwright: ")]
    recorded.stderr = "".join(line for line in recorded.stderr.splitlines(True) if line not in notes)
    assert masked(recorded) == masked(plain)
    if program.name in LEFT_ALONE and not as_child:
        (note,) = notes
        assert "is built with a sanitizer" in note and "is not recorded" in note


def test_other_preloads_stay(hw, tmp_path, compile_c):
    """A recorder that removes itself from LD_PRELOAD keeps the other names there, and leaves the environment as it
    was."""
    sanitized = compile_c("#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv(\"LD_PRELOAD\")); return 0; }\n",
                          "-fsanitize=thread", name="sanitized")
    other = tmp_path / "libother.so"
    subprocess.run(["gcc", "-x", "c", "-shared", "-fPIC", "-o", other, "-"], input="int other;\n", text=True, check=True)
    done = hw("record", "-q", "-o", tmp_path / "run.hwt", "--", "sh", "-c", sanitized, env={**os.environ, "LD_PRELOAD": str(other)})
    assert (done.returncode, done.stdout) == (0, f"{other}\n")


def test_interpreter_of_a_script(hw, tmp_path, compile_c):
    """The interpreter in a script's first line is executed again by its own name, not by the script's."""
    sanitized = compile_c("#include <stdio.h>\nint main(int count, char **words) {\n  for (int i = 0; i < count; i++) puts(words[i]);\n  return 5; }\n",
                          "-fsanitize=leak", name="sanitized")
    script = tmp_path / "script"
    script.write_text(f"#!{sanitized} -x\n")
    script.chmod(0o755)
    plain = subprocess.run([script, "a b", ""], capture_output=True, text=True)
    done = hw("record", "-q", "-o", tmp_path / "run.hwt", "--", "sh", "-c", f"'{script}' 'a b' ''")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout) == (5, f"{sanitized}\n-x\n{script}\na b\n\n")


def test_run_leaves_it_on_its_own_malloc(hw, compile_c):
    sanitized = compile_c("#include <stdlib.h>\nint main(void) {\n  return !malloc(3); }\n", "-fsanitize=address", name="sanitized")
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = hw("run", "-a", "tlsf", "--", sanitized, env=environment)
    assert done.returncode == 0
    assert "is built with a sanitizer" in done.stderr and "it runs on its own malloc" in done.stderr
