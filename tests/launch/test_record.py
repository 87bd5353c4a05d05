"""test_record.py - the launcher: the command does not notice it; how it ends, and which files it leaves"""

import collections
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import time
from pathlib import Path

import pytest

from small_disk import small_disk
from trace_header import is_begun, read_header
from waiting import child_of, has_ended, wait_until

PACKED, RAW = 2, 1
SHOW_STATE = """
import os, resource, signal, sys
ignored = [s.name for s in signal.Signals if signal.getsignal(s) == signal.SIG_IGN]
print(sorted(ignored), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
print(os.getpriority(os.PRIO_PROCESS, 0), os.getpgrp(), os.getsid(0), os.getcwd(), os.umask(0o22))
print([resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_STACK)])
print(sorted(os.listdir('/proc/self/fd')))
"""


@pytest.fixture
def allocate(compile_c):
    return compile_c(Path(__file__).parent / "programs/allocate.c", name="allocate")


@pytest.fixture
def start(build, tmp_path):
    """start(command, ...options): `heapwright record` in the background; its Popen and its trace."""
    started = []

    def run(command, *options, trace=tmp_path / "run.hwt", **more):
        arguments = [str(build / "bin/heapwright"), "record", "-o", str(trace), *options, "--", *map(str, command)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        started.append(process)
        return process, trace

    yield run
    for process in started:
        if process.poll() is None:
            process.terminate()  # which also ends the command
        process.communicate()


def catches(pid, number):
    caught = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(caught[1], 16) >> (number - 1) & 1 == 1


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


# --- exit statuses ---


@pytest.mark.parametrize("status", [0, 1, 42, 125, 255])
def test_exits_as_the_command(record, status):
    assert record(["sh", "-c", f"exit {status}"]).process.returncode == status


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT])
def test_exits_with_128_and_the_signal(record, number):
    recording = record(["sh", "-c", f"ulimit -c 0; kill -{int(number)} $$"])
    assert recording.process.returncode == 128 + number
    assert recording.report["images"][0]["exit_signal"] == number


def test_command_not_found_is_127(hw, tmp_path):
    done = hw("record", "-o", tmp_path / "x.hwt", "--", "no-such-command-here")
    assert done.returncode == 127
    assert "no-such-command-here" in done.stderr
    assert not (tmp_path / "x.hwt").exists()


def test_command_that_cannot_be_executed_is_126(hw, tmp_path):
    script = tmp_path / "plain.txt"
    script.write_text("hello\n")
    assert hw("record", "-o", tmp_path / "x.hwt", "--", script).returncode == 126
    assert hw("record", "-o", tmp_path / "x.hwt", "--", tmp_path).returncode == 126


def test_script_without_interpreter_line_runs_in_the_shell(record, tmp_path):
    script = tmp_path / "script"
    script.write_text('echo "from $0 with $1"\nexit 3\n')
    script.chmod(0o755)
    recording = record([script, "a word"])
    assert recording.process.stdout == f"from {script} with a word\n"
    assert recording.process.returncode == 3


@pytest.mark.parametrize("arguments", [["--no-such-option", "true"], [], ["--env", "x", "true"], ["--max-size", "1K", "true"],
                                       ["--max-size", "0", "true"], ["--depth", "0", "true"], ["--duration", "0s", "true"],
                                       ["--only-process", "", "true"], ["-o", "", "true"], ["--allocator", "", "true"]])
def test_wrong_usage_is_125(hw, tmp_path, arguments):
    done = hw("record", *arguments, cwd=tmp_path)
    assert done.returncode == 125
    assert done.stderr.startswith("heapwright: ")


# --- where the trace goes ---


def test_default_name_has_command_and_pid(hw, tmp_path):
    assert hw("record", "/bin/ls", cwd=tmp_path).returncode == 0
    (trace,) = tmp_path.glob("heapwright.ls.*.hwt")
    assert trace.name == f"heapwright.ls.{read_header(trace).pid}.hwt"
    assert trace.stat().st_mode & 0o777 == 0o600


def test_percent_signs(hw, tmp_path):
    assert hw("record", "-o", "100%%-%c-%x.hwt", "ls", cwd=tmp_path).returncode == 0
    assert [p.name for p in tmp_path.glob("*.hwt")] == ["100%-ls-x.hwt"]


@pytest.mark.parametrize("folder", ["missing", "a-file"])
def test_unusable_folder_is_125_and_nothing_runs(hw, tmp_path, folder):
    (tmp_path / "a-file").write_text("")
    done = hw("record", "-o", tmp_path / folder / "x.hwt", "--", "touch", tmp_path / "ran")
    assert done.returncode == 125
    assert folder in done.stderr
    assert not (tmp_path / "ran").exists()


def open_to_others(folder):
    """Lets every user reach a folder within /tmp or the like: pytest's own ones are closed."""
    parents = [folder, *folder.parents]
    shared = next((i for i, parent in enumerate(parents) if parent.stat().st_mode & stat.S_ISVTX), None)
    if shared is None:
        pytest.skip("other users cannot reach the folder")
    for parent in parents[:shared]:
        parent.chmod(0o777)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_read_only_folder_is_125(build, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    open_to_others(tmp_path)
    done = subprocess.run([str(build / "bin/heapwright"), "record", "-o", str(folder / "x.hwt"), "--", "true"],
                          capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 125
    assert "Permission denied" in done.stderr


def test_replaces_an_earlier_trace(record, tmp_path):
    trace = tmp_path / "again.hwt"
    first = record(["sh", "-c", "ls /; ls /"], trace=trace)
    assert len(first.traces) > 1
    for path in first.traces:  # files that reports keep next to the traces
        path.with_name(path.name + ".sum").write_bytes(b"\x89HWS\r\n\x1a\n and the rest")
    trace.with_name(trace.name + ".names").write_bytes(b"\x89HWN\r\n\x1a\n and the rest")
    second = record(["ls"], trace=trace)
    assert second.process.returncode == 0
    assert [p.name for p in sorted(tmp_path.glob("again*"))] == ["again.hwt"]
    assert second.report["command"] == "ls"


def test_a_link_in_the_place_of_the_folder_is_not_followed(record, tmp_path):
    """Traces elsewhere are not removed with an earlier run if its folder was replaced by a link to them."""
    trace, folder, elsewhere = tmp_path / "x.hwt", tmp_path / "x.hwt.children", tmp_path / "elsewhere"
    record(["sh", "-c", "ls /; ls /"], trace=trace)
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    kept = sorted(elsewhere.iterdir())
    assert record(["ls"], trace=trace).process.returncode == 0
    assert kept and sorted(elsewhere.iterdir()) == kept


def test_keeps_an_earlier_trace_when_none_begins(record, hw, tmp_path):
    trace = tmp_path / "again.hwt"
    record(["ls"], trace=trace)
    before = trace.read_bytes()
    assert hw("record", "-o", trace, "--only-process", "nothing-like-this", "--", "true").returncode == 0
    assert hw("record", "-o", trace, "--", "no-such-command").returncode == 127
    assert trace.read_bytes() == before
    assert [p.name for p in tmp_path.glob("again*")] == ["again.hwt"]


@pytest.mark.parametrize("kind", ["text", "empty", "folder", "link", "fifo"])
def test_refuses_any_other_file(hw, tmp_path, kind):
    target = tmp_path / "precious"
    if kind == "folder":
        target.mkdir()
    elif kind == "link":
        (tmp_path / "elsewhere").write_text("precious")
        target.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(target)
    else:
        target.write_text("precious" if kind == "text" else "")
    done = hw("record", "-o", target, "--", "touch", tmp_path / "ran")
    assert done.returncode == 125
    assert "precious" in done.stderr
    assert not (tmp_path / "ran").exists()
    if kind == "text":
        assert target.read_text() == "precious"


def test_refuses_a_trace_that_is_being_written(start, hw, allocate):
    process, trace = start([allocate, 100000, 1000])
    wait_until(lambda: is_begun(trace))
    done = hw("record", "-o", trace, "--", "true")
    assert done.returncode == 125
    assert "still being written" in done.stderr


# --- the command's surroundings ---


def test_command_finds_everything_as_it_was(record):
    def prepare():
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.nice(3)

    more = dict(capture_output=True, text=True, preexec_fn=prepare, restore_signals=False)
    command = ["/usr/bin/python3", "-c", SHOW_STATE]
    plain = subprocess.run(command, **more)
    more.pop("capture_output")
    recording = record(command, **more, input=None)
    assert recording.process.stdout == plain.stdout


def test_env_and_preload(record, tmp_path, counter):
    recording = record(["sh", "-c", 'echo "$A|$B|$LD_PRELOAD"'], "--env", "A=1 2", "--env", "B=", "--env", f"LD_PRELOAD={counter}",
                       env={"A": "0", "COUNTER_OUTPUT": str(tmp_path / "count")})
    a, b, preload = recording.process.stdout.rstrip("\n").split("|")
    assert (a, b) == ("1 2", "")
    assert preload.split(":")[0].endswith("/libheapwright-record.so")
    assert preload.split(":")[1:] == [str(counter)]


def test_output_is_untouched_and_three_lines_end_it(record):
    recording = record(["sh", "-c", "echo out; echo err >&2"])
    assert recording.process.stdout == "out\n"
    lines = recording.process.stderr.splitlines()
    assert lines[0] == "err"
    assert len(lines) == 4
    assert "allocations" in lines[1] and "peak" in lines[1] and "still allocated" in lines[1]
    assert str(recording.trace.name) in lines[2]
    assert "heapwright report" in lines[3]


@pytest.mark.parametrize("threads", [1, 6])
def test_summary_is_what_the_report_says(hw, build, compile_c, tmp_path, threads):
    """Whether it is counted while it is packed or from the file, the figures are the same."""
    program = compile_c(Path(__file__).parents[2] / "bench/loop.c", name="loop")
    trace = tmp_path / "run.hwt"
    said = hw("record", "-o", trace, "--", program, 5, threads, 300000).stderr
    text = hw("report", trace).stdout
    report = json.loads(hw("report", "--json", trace).stdout)
    allocations, live_blocks = re.search(r"([\d,]+) allocations?, .* in ([\d,]+) blocks? still", said).groups()
    assert int(allocations.replace(",", "")) == report["allocation_calls"] >= 300000
    assert int(live_blocks.replace(",", "")) == report["live_blocks_at_end"]
    peak = re.search(r", ([\d.,]+ \w+) at the peak", said).group(1)
    assert peak in text


def section_codecs(trace):
    """The number of EVENTS sections of a packed trace for each codec."""
    data, off, codecs = trace.read_bytes(), 4096, collections.Counter()
    while off + 64 <= len(data):
        magic, kind, packed_bytes, _, _, _, _, codec = struct.unpack_from("<IIQQIIII", data, off)
        assert magic == 0x43535748
        codecs[codec] += kind == 2
        off = (off + 64 + packed_bytes + 7) & ~7
    return codecs


def test_events_are_packed_as_columns(record, compile_c):
    program = compile_c(Path(__file__).parents[2] / "bench/loop.c", name="loop")
    codecs = section_codecs(Path(record([program, 5, 1, 300000]).trace))
    assert codecs[1] >= 1 and codecs[0] <= 1


def test_one_is_said_as_one(record, compile_c):
    said = record([compile_c("#include <stdlib.h>\nint main(void) { return !malloc(100); }")]).process.stderr
    assert "heapwright: 1 allocation, 100 B at the peak, 100 B in 1 block still allocated at the end\n" in said


def test_names_cannot_drive_the_terminal(hw, tmp_path):
    """A line break or an escape sequence in a name used to make extra lines in the output, or worse."""
    done = hw("record", "-o", "a\nb \x1b[31m\u00e9 %c.hwt", "ls", "/", cwd=tmp_path)
    assert done.returncode == 0
    assert "trace: a\\nb \\x1b[31m\u00e9 ls.hwt (" in done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["heapwright"] * 3
    for command in (["report", "no\nne \x1b"], ["record", "no\nne \x1b"], ["report", "--\x1b"]):
        said = hw(*command, cwd=tmp_path).stderr
        assert "\x1b" not in said and "\\x1b" in said and said.count("\n") == 1, said


def test_no_room_for_a_trace_is_named_as_a_reason(record):
    """The report used to say that the program had allocated nothing."""
    limited = record(["ls", "/"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))).process
    assert limited.returncode == 0 and not limited.stderr.startswith("ls:")
    assert "a trace could not be begun" in limited.stderr and "ulimit -f" in limited.stderr


def test_quiet(record):
    assert record(["true"], "--quiet").process.stderr == ""


def test_a_tool_in_a_path_with_blanks_and_colons(build, tmp_path):
    home = tmp_path / "my tools: x"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    shutil.copy(build / "bin/heapwright", home / "bin")
    shutil.copy(build / "lib/libheapwright-record.so", home / "lib")
    done = subprocess.run([str(home / "bin/heapwright"), "record", "-o", str(tmp_path / "x.hwt"), "--", "echo", "hello"],
                          capture_output=True, text=True, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 0
    assert done.stdout == "hello\n"
    assert done.stderr.count("\n") == 3
    assert read_header(tmp_path / "x.hwt").kind == PACKED


# --- programs that cannot be recorded ---


def test_static_program_runs_with_its_own_status(hw, compile_c, tmp_path):
    program = compile_c('#include <stdio.h>\n#include <stdlib.h>\nint main(void){free(malloc(1));puts("ran");return 9;}\n', "-static")
    done = hw("record", "-o", tmp_path / "x.hwt", "--", program)
    assert (done.returncode, done.stdout) == (9, "ran\n")
    assert "statically linked" in done.stderr
    assert not (tmp_path / "x.hwt").exists()


def test_static_pie_program(hw, compile_c, tmp_path):
    program = compile_c('#include <stdio.h>\nint main(void){puts("ran");return 8;}\n', "-static-pie")
    done = hw("record", "-o", tmp_path / "x.hwt", "--", program)
    assert (done.returncode, done.stdout) == (8, "ran\n")
    assert "statically linked" in done.stderr


def test_what_a_static_program_starts_is_recorded(hw, compile_c, tmp_path):
    program = compile_c('#include <unistd.h>\nint main(void){return execl("/bin/ls","ls","/",(char*)0);}\n', "-static")
    done = hw("record", "-o", tmp_path / "x.hwt", "--", program)
    assert done.returncode == 0
    assert read_header(tmp_path / "x.hwt").kind == PACKED


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_setuid_program_runs_unrecorded(build, compile_c, tmp_path):
    program = compile_c('#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n'
                        'int main(void){free(malloc(9));printf("%d\\n", geteuid());return 5;}\n')
    open_to_others(tmp_path)
    if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
        pytest.skip("the file system ignores setuid")
    program.chmod(0o4755)
    done = subprocess.run([str(build / "bin/heapwright"), "record", "-o", str(tmp_path / "x.hwt"), "--", str(program)],
                          capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    assert (done.returncode, done.stdout) == (5, "0\n")
    assert "setuid" in done.stderr


def test_32_bit_program_starts_without_the_loaders_complaint(hw, tmp_path, compile_c):
    source = '__attribute__((noreturn)) void _start(void){__asm__ volatile("int $0x80"::"a"(1),"b"(6));__builtin_unreachable();}\n'
    program = tmp_path / "small"
    built = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-xc", "-", "-o", str(program)], input=source, text=True, capture_output=True)
    if built.returncode:
        pytest.skip("gcc cannot make 32-bit programs here")
    done = hw("record", "-o", tmp_path / "x.hwt", "--", program)
    assert "32-bit" in done.stderr
    assert "LD_PRELOAD" not in done.stderr.replace("heapwright: ", "")


def has_unseen(report):
    return report["children_unseen"] > 0


def has_looked_thrice(report):
    """The sampling of the resident set also looks for processes, once a second."""
    return any(len({sample["time_ns"] // 1000000000 for sample in image["rss"]}) > 3 for image in report["images"])


def test_unseen_children_are_counted(record_until):
    recording = record_until(has_unseen, ["sh", "-c", "env -i /bin/cat; true"])
    assert recording.report["children_unseen"] == 1
    assert "1 process ran without being recorded" in recording.process.stderr


def test_a_command_that_becomes_another_unseen_is_counted(record_until):
    recording = record_until(has_unseen, ["sh", "-c", "exec env -i /bin/cat"])
    assert recording.report["children_unseen"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("options, count", [([], 1), (["--no-children"], 0), (["--only-process", "*sh"], 0)])
def test_a_program_of_another_user_is_counted(record_until, options, count):
    """It has the recorder if it may read the library, even if it may not write to the trace's folder; reports used to
    omit it."""
    as_nobody = "setpriv --reuid 65534 --clear-groups cat; true"
    looked = has_unseen if count else has_looked_thrice
    assert record_until(looked, ["sh", "-c", as_nobody], *options).report["children_unseen"] == count


def test_who_is_left_out_on_purpose_is_not_counted(record_until):
    assert record_until(has_looked_thrice, ["sh", "-c", "cat; true"], "--no-children").report["children_unseen"] == 0


# --- signals ---


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_signal_sent_to_the_launcher_reaches_the_command(start, number):
    process, trace = start(["sh", "-c", f"trap 'exit 61' {int(number)}; echo trapped; while :; do sleep 0.1; done"])
    assert process.stdout.readline() == "trapped\n"
    os.kill(process.pid, number)
    assert process.wait(20) == 61
    assert read_header(trace).kind == PACKED


class Terminal:
    """A command in its own session, on a pseudo-terminal; its output collects in `text`."""

    def __init__(self, arguments):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(arguments[0], arguments)
        self.text = ""
        self.status = None

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.status is None:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            try:
                self.text += os.read(self.master, 65536).decode() if ready else ""
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)

    def expect(self, text):
        wait_until(lambda: (self.read(0.1), text in self.text)[1] or self.status is not None)
        assert text in self.text

    def press(self, character):
        os.write(self.master, character)

    def close(self):
        os.close(self.master)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


COUNT_INTERRUPTS = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print('ready', flush=True)
while not seen:
    time.sleep(0.05)
time.sleep(0.5)  # a second one would be here by now
print('interrupts', len(seen), flush=True)
sys.exit(33)
"""


def test_interrupt_key_reaches_the_command_once(build, tmp_path):
    trace = tmp_path / "run.hwt"
    terminal = Terminal([str(build / "bin/heapwright"), "record", "-o", str(trace), "--", "/usr/bin/python3", "-c", COUNT_INTERRUPTS])
    terminal.expect("ready")
    terminal.press(b"\x03")
    terminal.read(20)
    terminal.close()
    assert "interrupts 1\r" in terminal.text
    assert terminal.status == 33
    assert read_header(trace).kind == PACKED


def test_suspend_key_and_foreground(build, tmp_path, allocate):
    """A shell with job control sees the launcher stop with its command, and continues both."""
    terminal = Terminal(["/bin/bash", "--norc", "--noprofile", "-i"])
    trace = tmp_path / "run.hwt"
    terminal.press(f"'{build}/bin/heapwright' record -q -o '{trace}' -- '{allocate}' 0 1000 44\n".encode())
    wait_until(lambda: (terminal.read(0.1), is_begun(trace))[1])
    pid = read_header(trace).pid
    terminal.press(b"\x1a")
    wait_until(lambda: (terminal.read(0.1), state_of(pid) == "T")[1])
    terminal.expect("Stopped")
    terminal.press(b"jobs\n")
    terminal.press(b"fg; echo status $?.\n")
    wait_until(lambda: (terminal.read(0.1), state_of(pid) != "T")[1])
    terminal.press(b"\x04")
    terminal.expect("status 44.")
    terminal.press(b"exit\n")
    terminal.read(5)
    terminal.close()
    assert read_header(trace).kind == PACKED


def test_stop_and_continue_sent_to_the_launcher(start, allocate):
    # its own process group, whose leader has a parent outside: the kernel does not stop an orphaned group, which the
    # tests' group may be
    process, _ = start([allocate, 100000, 1000], process_group=0)
    child = child_of(process)
    wait_until(lambda: catches(child, signal.SIGTERM))  # its trace begins before its main does
    os.kill(process.pid, signal.SIGTSTP)
    wait_until(lambda: state_of(child) == "T" and state_of(process.pid) == "T")
    os.kill(process.pid, signal.SIGCONT)
    wait_until(lambda: state_of(child) != "T" and state_of(process.pid) != "T")
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=120)
    assert (process.returncode, output) == (7, "terminated\n")


# --- faults ---


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="needs a tmpfs")
def test_a_trace_in_memory_is_warned_of(record, tmp_path):
    trace = Path("/dev/shm") / f"{tmp_path.parent.name}-{tmp_path.name}.hwt"
    try:
        done = record(["true"], trace=trace).process
    finally:
        trace.unlink(missing_ok=True)
    assert done.returncode == 0 and "the trace is in memory (tmpfs, ramfs)" in done.stderr


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.3, 0.5, 0.8])
def test_killed_launcher_takes_nothing_with_it(start, hw, allocate, delay, tmp_path):
    """The command goes on, and the remaining files contain every event, wherever the packer was killed."""
    rounds = 3000000
    process, trace = start([allocate, rounds])
    wait_until(lambda: is_begun(trace))
    pid = read_header(trace).pid
    time.sleep(delay)
    process.kill()
    process.wait()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    first = report_of(hw, trace)
    packed = tmp_path / "packed.hwt"
    assert hw("import", trace, "-o", packed).returncode == 0
    for report in (first, report_of(hw, packed)):
        assert report["missing_chunks"] == 0 and report["damaged_chunks"] == 0 and report["lost_events"] == 0
        assert sum(stack["calls"] for stack in report["top"] if "main" in str(stack["stack"][0]["function"])) == rounds


def report_of(hw, trace):
    done = hw("report", "--json", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_full_disk_harms_nobody(hw, allocate, tmp_path):
    with small_disk(tmp_path / "small", "6m") as disk:
        done = hw("record", "-o", disk / "x.hwt", "--max-size", "1G", "--", allocate, "3000000", "0", "21")
        assert done.returncode == 21
        assert report_of(hw, disk / "x.hwt")["allocation_calls"] > 0


def test_size_limit(record, allocate):
    recording = record([allocate, "3000000"], "--max-size", "4M")
    assert recording.process.returncode == 0
    image = recording.report["images"][0]
    assert image["silences"]


# --- packing ---


def check_import_says_the_same(hw, raw, packed, least_ratio):
    assert read_header(raw.trace).kind == RAW
    before = raw.report
    assert hw("import", raw.trace, "-o", packed).returncode == 0
    assert read_header(packed).kind == PACKED
    after = report_of(hw, packed)
    assert packed.stat().st_size < raw.trace.stat().st_blocks * 512 / least_ratio
    for report in (before, after):
        report.pop("trace")
        for image in report["images"]:
            image.pop("trace")
    assert after == before


def test_packed_and_raw_say_the_same(record, hw, allocate, tmp_path):
    check_import_says_the_same(hw, record([allocate, "400000"], "--no-pack"), tmp_path / "packed.hwt", 8)


MIXED = r"""
#include <cstdlib>
#include <list>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

static void work(int seed)
{
  std::map<std::string, std::list<std::vector<int>>> all;
  unsigned state = seed;
  for (int i = 0; i < 30000; i++) {
    state = state * 1664525 + 1013904223;
    auto &list = all["a key that is long enough " + std::to_string(state >> 25)];
    list.emplace_back(state >> 28);
    if (list.size() > 10)
      list.clear();
    if (i % 100 == 0)
      operator delete(operator new(100, std::align_val_t{64}), std::align_val_t{64});
    if (i % 77 == 0) {
      void *block = std::malloc(10);
      block = std::realloc(block, 10000);
      std::free(std::realloc(block, 20));
    }
  }
}

int main()
{
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back(work, i);
  for (auto &thread : threads)
    thread.join();
}
"""


@pytest.mark.parametrize("usable", ["--usable", "--no-usable"])
def test_packed_and_raw_say_the_same_of_threads(record, hw, compile_cxx, tmp_path, usable):
    program = compile_cxx(MIXED, "-pthread")
    check_import_says_the_same(hw, record([program], "--no-pack", usable), tmp_path / "packed.hwt", 3)


def test_children_are_packed(record):
    recording = record(["sh", "-c", "ls /; ls /; true"])
    assert len(recording.traces) == 3
    assert {read_header(trace).kind for trace in recording.traces} == {PACKED}
    assert not [p for p in recording.trace.parent.rglob("*") if p.name.endswith((".packing", ".earlier"))]


RUNS_ON = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
  char byte;
  free(malloc(20));
  puts("there");
  fflush(stdout);
  close(1);
  close(2);
  return read(0, &byte, 1) != 0;
}
"""


def test_running_child_keeps_its_trace(record, hw, compile_c):
    child, (until, end) = compile_c(RUNS_ON, name="runs_on"), os.pipe()
    recording = record(["bash", "-c", f"exec 3<&0; read x < <('{child}' <&3); exit 4"], stdin=until)
    os.close(until)
    assert recording.process.returncode == 4
    assert "1 process runs on" in recording.process.stderr
    (child,) = [t for t in recording.traces if t.name.startswith("runs_on")]
    assert read_header(child).kind == RAW
    pid = read_header(child).pid
    os.close(end)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert hw("import", recording.trace, "-o", recording.trace).returncode == 0
    assert read_header(child).kind == PACKED


def test_options_of_children(record):
    assert len(record(["sh", "-c", "ls /; true"], "--no-children").traces) == 1
    only = record(["sh", "-c", "ls /; cat /dev/null; true"], "--only-process", "c?t")
    assert [report["command"].split()[0] for report in [only.report]] == ["cat"]


@pytest.mark.parametrize("pattern", ["friendly", "c?t"])
def test_only_a_process_by_the_name_that_was_run_or_its_file(record, tmp_path, pattern):
    (tmp_path / "friendly").symlink_to(shutil.which("cat"))
    only = record(["sh", "-c", "ls /; ./friendly /dev/null; true"], "--only-process", pattern, cwd=tmp_path)
    assert only.report["command"] == "./friendly /dev/null"


def test_space_is_given_back_while_it_runs(start, allocate):
    """The raw trace of some seconds is far smaller than the data that was written to it."""
    process, trace = start([allocate, 12000000])
    largest = 0
    while process.poll() is None:
        try:
            largest = max(largest, trace.stat().st_blocks * 512)
        except FileNotFoundError:
            pass
        time.sleep(0.02)
    assert process.wait() == 0
    assert 0 < largest < 12000000 * 2 * 4


def test_many_processes_at_once(record):
    """Traces appear and end while others are followed: the data of one trace must not depend on its place in the
    list."""
    done = record(["sh", "-c", "for i in $(seq 40); do sh -c 'sleep 0.3; :' & done; wait"])
    assert done.process.returncode == 0, done.process.stderr
    report = done.report_with("--children")
    assert sum("sleep 0.3; :" in process["command"] for process in report["processes"]) >= 40
    assert report["lost_events"] == report["damaged_chunks"] == 0


@pytest.mark.parametrize("name", ["it's.hwt", "a b.hwt", "$HOME.hwt", "plain.hwt"])
def test_the_next_command_can_be_typed(hw, build, tmp_path, name):
    done = hw("record", "-o", name, "--", "/bin/true", cwd=tmp_path)
    command = next(line for line in done.stderr.splitlines() if "next: " in line).partition("next: ")[2]
    typed = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env={"PATH": f"{build}/bin:/bin"})
    assert typed.returncode == 0 and typed.stdout.startswith(name), typed.stderr


BECOMES_LARGE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile kept;
int main(int count, char **words)
{
  char step;
  kept = malloc(count > 1 ? 100000000 : 1000);
  if (count > 1)
    memset(kept, 1, 100000000);
  if (write(1, "x", 1) != 1 || read(0, &step, 1) != 1 || count > 1)
    return 0;
  return execve(words[0], (char *[]){words[0], "large", NULL}, (char *[]){NULL});
}
"""


@pytest.mark.parametrize("looks", [True, False])
def test_memory_of_what_took_its_place_is_not_its_own(compile_c, start, looks):
    """The next image, not recorded here, used to be sampled into the trace for up to a second, and its peak was
    reported as the first image's; also if nobody looked while it ran."""
    process, trace = start([compile_c(BECOMES_LARGE)], stdin=subprocess.PIPE)
    program, follower = child_of(process), child_of(process, 1)
    for _ in range(2):
        assert process.stdout.read(1) == "x"
        wait_until(lambda: trace.exists() and read_header(trace).rss_peak_bytes > 0)
        if not looks:
            os.kill(follower, signal.SIGSTOP)
        time.sleep(0.3)  # the launcher looks several times; if it does not, this test checks less
        process.stdin.write("\n")
        process.stdin.flush()
    wait_until(lambda: has_ended(program))
    if not looks:
        os.kill(follower, signal.SIGCONT)
    assert process.wait(60) == 0
    image = json.loads(subprocess.run([process.args[0], "report", "--json", trace], capture_output=True, check=True).stdout)["images"][0]
    assert image["rss"] and max(point["rss_bytes"] for point in image["rss"]) < 50_000_000
    assert 0 < read_header(trace).rss_peak_bytes < 50_000_000
