"""test_answer.py - `-o FILE`: a file appears whole or not at all, its suffix names the format, and nothing of value is replaced"""

import json
import os
import resource
import shlex
import signal
import subprocess
import tempfile

import pytest

PROGRAM = """
#include <stdlib.h>
int main(void)
{
  void *volatile block = malloc(4711);
  free(block);
}
"""


@pytest.fixture
def trace(record, compile_c):
    return record([compile_c(PROGRAM)]).trace


def test_the_suffix_names_the_format(hw, trace, tmp_path):
    for name, options in [("out.json", []), ("out.txt", ["--json"])]:
        done = hw("report", trace, "-o", tmp_path / name, *options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert json.loads((tmp_path / name).read_text())["sizes"]
    assert hw("report", trace, "--output", tmp_path / "plain.txt").returncode == 0
    assert (tmp_path / "plain.txt").read_text() == hw("report", trace).stdout


def test_an_unknown_suffix_names_the_known_ones(hw, trace, tmp_path):
    for name in ["out.odt", "out", ".json", "json"]:
        done = hw("report", trace, "-o", name, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr == f"heapwright: -o {name}: its suffix names no format; the known ones are .txt, .json, .pdf, .svg, .png, .gp, .html and .page.json, or say --format\n"
        assert not (tmp_path / name).exists()


def test_the_suffix_of_an_export_names_its_command(hw, trace, tmp_path):
    for name, format in [("x.pb.gz", "pprof"), ("a file.folded", "folded"), ("x.svg.sqlite", "sqlite")]:
        done = hw("report", trace, "-o", name, cwd=tmp_path)
        said, _, command = done.stderr.partition(" run: ")
        assert (done.returncode, said) == (2, f"heapwright: -o {name}: report writes .txt, .json, .html and plots; for {format}")
        assert shlex.split(command) == ["heapwright", "export", str(trace), "-o", name]
        assert not (tmp_path / name).exists()
        assert hw(*shlex.split(command)[1:], cwd=tmp_path).returncode == 0
        assert (tmp_path / name).exists()
    assert hw("report", "-o", "x.folded", cwd=tmp_path).stderr.endswith(" run: heapwright export -o x.folded\n")


def files_in(folder):
    return sorted(os.listdir(folder))


# Stops the tool when the file is complete, but does not have its name yet.
NO_RENAME = """
#include <unistd.h>
int rename(const char *from, const char *to)
{
  (void)from, (void)to;
  if (write(STDERR_FILENO, "there\\n", 6) == 6)
    for (;;)
      pause();
  return -1;
}
"""


@pytest.mark.parametrize("command", ["report", "export"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_part_of_a_file(build, compile_c, trace, tmp_path, command, number):
    """After Ctrl-C, NAME.XXXXXX used to stay."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "out.json").write_text("what was there")
    held = compile_c(NO_RENAME, "-shared", "-fPIC", name="held.so")
    options = ["--format", "speedscope"] if command == "export" else []
    with subprocess.Popen([build / "bin/heapwright", command, trace, "-o", folder / "out.json", *options], stderr=subprocess.PIPE,
                          env={**os.environ, "LD_PRELOAD": str(held)}) as tool:
        assert tool.stderr.readline() == b"there\n"
        assert len(files_in(folder)) == 2
        tool.send_signal(number)
        assert tool.wait(60) == -number
    assert files_in(folder) == ["out.json"] and (folder / "out.json").read_text() == "what was there"


@pytest.mark.parametrize("before", [None, "what was there"])
def test_a_file_that_grows_too_large_is_not_left(hw, trace, tmp_path, before):
    folder = tmp_path / "folder"
    folder.mkdir()
    if before:
        (folder / "out.json").write_text(before)
    found = files_in(folder)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    done = hw("report", trace, "-o", folder / "out.json", preexec_fn=limit)
    assert done.returncode == 2
    assert done.stderr == f"heapwright: cannot write {folder}/out.json: File too large\n"
    assert files_in(folder) == found
    assert not before or (folder / "out.json").read_text() == before


def test_a_full_disk_is_said(hw, trace):
    done = hw("report", trace, "--json", "-o", "/dev/full")
    assert done.returncode == 2
    assert done.stderr == "heapwright: cannot write /dev/full: No space left on device\n"


def test_trouble_with_the_recording_leaves_the_file_as_it_was(hw, tmp_path):
    (tmp_path / "out.json").write_text("what was there")
    assert hw("report", "nothing.hwt", "-o", "out.json", cwd=tmp_path).returncode == 2
    assert files_in(tmp_path) == ["out.json"]
    assert (tmp_path / "out.json").read_text() == "what was there"


def test_a_recording_is_not_replaced(hw, trace):
    before = trace.read_bytes()
    done = hw("report", trace, "--json", "-o", trace)
    assert done.returncode == 2
    assert done.stderr == f"heapwright: -o {trace}: this is a recording, which is not overwritten; name another file\n"
    assert trace.read_bytes() == before


def test_folders_and_links(hw, trace, tmp_path):
    assert hw("report", trace, "--json", "-o", tmp_path).stderr == f"heapwright: cannot write {tmp_path}: Is a directory\n"
    assert hw("report", trace, "-o", tmp_path / "no/out.json").returncode == 2
    (tmp_path / "real.json").write_text("old")
    os.chmod(tmp_path / "real.json", 0o600)
    os.symlink("real.json", tmp_path / "link.json")
    assert hw("report", trace, "-o", tmp_path / "link.json").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["pid"]
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_to(hw, trace):
    done = hw("report", trace, "--json", "-o", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"]


def test_a_file_without_a_name_is_written_to(build, trace):
    """As /dev/stdout may be: this link was replaced by a file."""
    with tempfile.TemporaryFile() as file:
        link = f"/proc/self/fd/{file.fileno()}"
        subprocess.run([build / "bin/heapwright", "report", trace, "--json", "-o", link], pass_fds=[file.fileno()], check=True)
        file.seek(0)
        assert json.loads(file.read())["schema"]


def test_dash_is_stdout(hw, trace):
    for options in [[], ["--json"]]:
        assert hw("report", trace, *options, "-o", "-").stdout == hw("report", trace, *options).stdout != ""


def test_the_mode_of_a_file_is_the_usual_one_or_stays(hw, trace, tmp_path):
    """`umask` is for new files: the mode of a replaced file was set by a user."""
    for path, before, after in [("new.json", None, 0o640), ("old.json", 0o666, 0o666)]:
        if before:
            (tmp_path / path).write_text("old")
            os.chmod(tmp_path / path, before)
        assert hw("report", trace, "-o", tmp_path / path, preexec_fn=lambda: os.umask(0o027)).returncode == 0
        assert (tmp_path / path).stat().st_mode & 0o777 == after


def test_why_a_write_failed_is_known_at_the_end(hw, trace):
    """The reason for a failed early write used to be lost when another call failed harmlessly in between."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*hw("help").args[:1], "report", trace, "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "heapwright: stdout: writing failed: No space left on device\n"
