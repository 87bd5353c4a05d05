"""test_resident.py - a long recording has a process that follows it for viewers to come

If these tests fail, a viewer of a long recording waits long, or shows other figures than one that reads the whole recording.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from conftest import ROOT
from control_groups import cpu_group
from trace_header import read_header
from waiting import child_of, has_ended, wait_until

HERE = Path(__file__).parent
PAIRS = "600000"  # of each thread: more than the recorder writes into 32 MiB
SIGN = b"heapwright live\0"
OF_NOW = {"timeline", "rss_along_time", "rss", "live_bytes_along_time", "control_group"}  # change while the program does nothing


def children(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def resident_of(program):
    """The process that follows the recording, once there is one."""
    monitor = child_of(program.process, 1)
    return wait_until(lambda: next(iter(children(monitor)), None))


def hurry(resident):
    """Lets it compete for the CPUs as other processes do, where that is allowed: otherwise it counts only while they have nothing else
    to do. The copies that it makes of itself do so, too."""
    def threads():
        return map(int, os.listdir(f"/proc/{resident}/task"))

    wait_until(lambda: os.SCHED_IDLE in map(os.sched_getscheduler, threads()))  # one makes itself so when it begins
    for thread in threads():
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, thread, 0)


def copies_of(resident):
    return [child for child in children(resident) if not has_ended(child)]


def bytes_read(pid):
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


def of_then(found):
    """The part of a report that depends neither on the present moment nor on the clock's rate, which becomes more exact."""
    if isinstance(found, dict):
        return {key: of_then(value) for key, value in found.items() if key not in OF_NOW and not key.endswith("_ns")}
    return [of_then(value) for value in found] if isinstance(found, list) else found


def is_cpu_limited():
    """Whether a control group of this process may use only a part of the CPUs' time."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        folder = Path("/sys/fs/cgroup") / controllers / group.lstrip("/")
        for place in folder, *folder.parents:
            for name, free in ("cpu.max", "max"), ("cpu.cfs_quota_us", "-1"):
                with contextlib.suppress(OSError):
                    if not (place / name).read_text().startswith(free):
                        return True
    return False


@pytest.fixture
def needs_cpu():
    """There is no resident analyst where CPU time is limited."""
    if is_cpu_limited():
        pytest.skip("the CPU time of these tests is limited by a control group")


@pytest.fixture
def many(compile_c, needs_cpu):
    return compile_c(HERE / "programs/many.c", f"-I{ROOT}/include", "-pthread", name="many")


@pytest.fixture
def long_run(start_program, many, tmp_path):
    """A recording that is so long that it has a resident analyst; the program waits."""
    program = start_program(tmp_path / "run.hwt", many)
    program.tell(PAIRS)
    return program


@pytest.fixture
def join(view):
    """join(trace, resident): a viewer with a copy of the resident analyst, and that copy. On a busy machine a viewer may have lost
    patience, and have an analyst of its own."""
    def start(trace, resident):
        def attempt():
            known = copies_of(resident)
            viewer = view(trace)
            wait_until(lambda: children(viewer.process.pid) or set(copies_of(resident)) - set(known))
            copies = set(copies_of(resident)) - set(known)
            if children(viewer.process.pid) or len(copies) != 1:  # perhaps also of one that has lost patience
                viewer.end()
                return None
            return viewer, copies.pop()

        return wait_until(attempt)

    return start


@pytest.fixture
def once(hw):
    """once(target): the report as it is now."""
    def ask(*arguments, **more):
        found = hw("live", "--json", "--once", *map(str, arguments), **more)
        assert found.returncode == 0, found.stderr
        return json.loads(found.stdout)

    return ask


def test_a_viewer_gets_a_copy(long_run, join, view, once):
    """It has the same figures as an analyst that reads all, and reads little itself."""
    resident = resident_of(long_run)
    late, copy = join(long_run.trace, resident)
    report = once(long_run.trace)
    wait_until(lambda: late.report()["events"] == report["events"])
    os.kill(resident, signal.SIGKILL)
    whole = once(long_run.trace)
    assert of_then(report) == of_then(whole)
    assert whole["allocation_calls"] > 3 * int(PAIRS) and len(whole["scopes"]) == 1
    alone = view(long_run.trace)
    wait_until(lambda: alone.report()["events"] == report["events"])
    long_run.tell("1000")
    long_run.end()
    for viewer in late, alone:
        wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")  # noqa: B023
    assert of_then(late.report()) == of_then(alone.report())
    wait_until(lambda: has_ended(copy) or not late.end())


def scheduling_of(pid):
    """Its process group; and its session and that one's group in the scheduler, if there are such."""
    about = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    with contextlib.suppress(FileNotFoundError):
        return int(about[2]), (about[3], Path(f"/proc/{pid}/autogroup").read_text())
    return int(about[2]), (about[3], None)


def test_it_competes_with_the_program_by_its_priority(long_run):
    """The scheduler may give each session the same part of the CPUs, whatever the priority within it. Signals of a terminal do not
    reach it nevertheless."""
    resident = resident_of(long_run)
    wait_until(lambda: scheduling_of(resident)[0] == resident)
    group, session = scheduling_of(child_of(long_run.process))
    assert group != resident
    assert scheduling_of(resident)[1] == session


def test_what_lies_before_is_not_read_again(long_run, join, view, once):
    resident = resident_of(long_run)
    hurry(resident)
    events = once(long_run.trace)["events"]

    def has_all(viewer):
        return viewer.report()["events"] >= events - 2000  # all but those of the child

    alone = view("--pid", child_of(long_run.process), long_run.trace)  # of one process: it has an analyst of its own
    wait_until(lambda: has_all(alone))
    everything = bytes_read(alone.analyst())
    alone.end()
    wait_until(lambda: bytes_read(resident) > everything / 2)

    def reads_little():  # once the resident analyst has caught up
        viewer, copy = join(long_run.trace, resident)
        wait_until(lambda: has_all(viewer))
        try:
            found = bytes_read(copy)
        except FileNotFoundError:  # another copy has taken its place
            found = everything
        viewer.end()
        return found < everything / 4

    wait_until(reads_little)


def test_the_recording_is_called_as_the_viewer_calls_it(long_run, once, tmp_path):
    resident = resident_of(long_run)
    for path in "run.hwt", "./run.hwt", "../" + tmp_path.name + "/run.hwt":
        served = once(path, cwd=tmp_path)
        assert served["trace"] == path
        assert {image["trace"] for image in served["images"]} > {path}
        assert all(image["trace"].startswith(path) for image in served["images"])
    (tmp_path / "link.hwt").symlink_to("run.hwt")
    assert len(once("link.hwt", cwd=tmp_path)["images"]) == 1  # it has no folder of children
    assert not has_ended(resident)


def test_other_documents(long_run, hw, serve, once):
    """The text, and the metrics of a server: as without the resident analyst."""
    calls = once(long_run.trace)["allocation_calls"]

    def documents():
        text = hw("live", "--once", long_run.trace).stdout
        served = serve(long_run.trace)
        wait_until(lambda: sum(value for _, value in served.metrics().find("allocations_total")) == calls)
        served.end()
        rows = [line.split() for line in text.splitlines() if "work" in line]
        return [(row[-6], *row[-4:]) for row in rows]  # blocks, share and name: growth is of the last seconds

    resident = resident_of(long_run)
    rows = documents()
    os.kill(resident, signal.SIGKILL)
    assert rows and documents() == rows


@pytest.mark.parametrize("how", ["end", "launcher", "monitor", "viewer"])
def test_no_process_is_left(long_run, join, once, how):
    resident, launcher = resident_of(long_run), long_run.process
    viewer, copy = join(long_run.trace, resident)
    command, monitor = child_of(launcher), child_of(launcher, 1)
    if how == "end":
        long_run.end()
    elif how == "launcher":
        launcher.kill()
    elif how == "monitor":
        os.kill(monitor, signal.SIGKILL)
    else:
        viewer.process.kill()
        wait_until(lambda: has_ended(copy))
        assert not has_ended(resident)
        long_run.end()
    wait_until(lambda: has_ended(resident))
    if how in ("end", "monitor"):
        assert viewer.report()["allocation_calls"] > 0
    if how == "launcher":
        long_run.process.stdin.close()
        wait_until(lambda: has_ended(command))
    elif how == "monitor":
        long_run.end()
    assert once(long_run.trace)["allocation_calls"] > 3 * int(PAIRS)
    viewer.end()
    wait_until(lambda: has_ended(copy))


@pytest.mark.parametrize("option", ["--keep=1h", "--no-pack"])
def test_not_of_every_recording(start_program, many, tmp_path, option):
    """A recording that began earlier than one that has a resident analyst, and has as many events, has none."""
    program = start_program(tmp_path / "other.hwt", many, (option,))
    program.tell(PAIRS)
    again = start_program(tmp_path / "again.hwt", many)
    again.tell(PAIRS)
    resident_of(again)
    monitor = child_of(program.process, 1)
    assert read_header(program.trace).used_bytes > 33 << 20
    assert children(monitor) == []


def test_not_where_processes_are_limited(start_program, many, tmp_path):
    """It would have the limits of the program, and its copies, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (3600, hard))
    program = start_program(tmp_path / "run.hwt", many)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    program.tell(PAIRS)
    wait_until(lambda: has_ended(resident_of(program)))


@pytest.fixture
def cpu_limited():
    with cpu_group(f"heapwright-test-{os.getpid()}") as folder:
        yield folder
        wait_until(lambda: not (folder / "cgroup.procs").read_text())


def test_not_where_the_cpu_time_is_limited(cpu_limited, start_program, many, tmp_path):
    """It would take the program's part, in each version of control groups."""
    program = start_program(tmp_path / "run.hwt", many)
    for pid in program.process.pid, *children(program.process.pid):
        (cpu_limited / "cgroup.procs").write_text(str(pid))
    program.tell(PAIRS)
    wait_until(lambda: has_ended(resident_of(program)))
    program.end()


def test_an_event_that_comes_late_is_counted_in_its_place(needs_cpu, compile_c, start_program, join, once, tmp_path):
    """As in test_live.py, but it comes later than the resident analyst waits. Until that has counted all again, it serves no one."""
    source = HERE / "programs/late.c"
    slow = compile_c(source, "-DSLOW", "-DWAIT_US=6000000", "-shared", "-fPIC", name="libslow.so")
    program = compile_c(source, "-DPAIRS=7000000", "-pthread", slow, f"-Wl,-rpath,{tmp_path}", name="late")
    run = start_program(tmp_path / "late.hwt", program, begins=False)
    resident = resident_of(run)
    run.process.stdin.write("\n")
    run.process.stdin.flush()
    assert run.process.stdout.readline() == "the same\n"

    def has_moved(report):
        assert report["missed_frees"] == 0
        return 100000 in [row["bytes"] for row in report["top"]]

    wait_until(lambda: has_moved(once(run.trace)))
    viewer, _ = join(run.trace, resident)
    wait_until(lambda: (report := viewer.report())["missed_frees"] == 0 and has_moved(report))


# --- sockets of others ---


def name_of(trace):
    about = trace.stat()
    return f"\0heapwright.live.{about.st_dev:x}.{about.st_ino:x}"


@pytest.fixture
def known(program, once):
    """A program whose block is seen: without a resident analyst, since its recording is short."""
    wait_until(lambda: once(program.trace)["live_blocks_at_end"] == 1)
    return program


def listen(trace):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(name_of(trace))
    listener.listen(4)
    return listener


ANSWERS = {"nothing": None, "end": b"", "short": b"x", "long": SIGN + SIGN, "other": SIGN.upper()}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_socket_that_is_not_a_resident_analyst(known, once, answer):
    """It does not answer, it closes, or it answers something else: the viewer reads the recording."""
    def be_wrong():
        with contextlib.suppress(OSError):
            peer, _ = listener.accept()
            peer.recv(1 << 16)
            if answer:
                peer.send(answer)
            if answer is not None:
                peer.close()

    with listen(known.trace) as listener:
        thread = threading.Thread(target=be_wrong)
        thread.start()
        assert once(known.trace)["live_blocks_at_end"] == 1
        thread.join()


def test_a_socket_that_accepts_no_more(known, once):
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listen(known.trace))
        listener.listen(0)
        peer = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        peer.connect(name_of(known.trace))
        assert once(known.trace)["live_blocks_at_end"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_socket_of_another_user_gets_nothing(known, once, tmp_path):
    source = f"""
import os, socket
os.setuid(65534)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind({name_of(known.trace)!r})
listener.listen(4)
print("ready", flush=True)
peer, _ = listener.accept()
try:
    peer.send(b"heapwright live" + bytes(1))
    print(len(peer.recv(1 << 16)), flush=True)
except ConnectionError:
    print(0, flush=True)
"""
    with subprocess.Popen(["/usr/bin/python3", "-c", source], text=True, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == "ready\n"
        assert once(known.trace)["live_blocks_at_end"] == 1
        assert other.stdout.readline() == "0\n"


STRANGER = """
import os, socket
os.setuid(65534)
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
peer.connect(NAME)
print(len(peer.recv(100)))
"""


def test_viewers_that_are_none(long_run, join, once):
    """The resident analyst hangs up, also on another user, and serves the next one."""
    resident = resident_of(long_run)
    viewer, _ = join(long_run.trace, resident)
    viewer.end()
    wait_until(lambda: copies_of(resident) == [])
    for greeting in b"", b"x" * 100, SIGN, SIGN + bytes(3 * 4096 + 24), b"y" * 100000:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(name_of(long_run.trace))
            peer.settimeout(60)
            if greeting:
                peer.send(greeting)
            assert peer.recv(100) == b""
    if os.geteuid() == 0:
        source = STRANGER.replace("NAME", repr(name_of(long_run.trace)))
        assert subprocess.run(["/usr/bin/python3", "-c", source], text=True, capture_output=True, check=True).stdout == "0\n"
    assert copies_of(resident) == []
    join(long_run.trace, resident)
    assert once(long_run.trace)["allocation_calls"] > 3 * int(PAIRS)
