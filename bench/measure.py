"""measure.py - runs one command and measures its cost: wall and CPU time of its whole process tree, and peak memory."""
import ctypes
import dataclasses
import os
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
SAMPLE_S = 0.01
POLL_S = 0.002  # used while the time is measured, too
OTHERS_EVERY = 5  # samples: the memory of the other processes changes slowly


class Failed(Exception):
    """A command failed; `summary` describes it in one line."""

    def __init__(self, argv, status, errors):
        command = os.path.basename(argv[0])
        self.summary = f"{command} ended with status {status}: {' '.join(errors.split())[-200:] or 'no message'}"
        super().__init__(f"{self.summary}\n{' '.join(argv)}")


@dataclasses.dataclass
class Cost:
    wall_s: float
    cpu_s: float  # user and system time of all processes of the command


def adopt_orphans():
    """Makes this process the parent of every descendant that outlives its own, so that its CPU time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def volunteer_for_oom_killer():
    """heaptrack's interpreter can need more memory than there is: then it should be killed, and no other program."""
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("800")


def _start(argv, env, log, stdin, stdout):
    full = {**os.environ, **env}
    with open(log, "wb") as errors:
        return subprocess.Popen(argv, env=full, stdin=stdin or subprocess.DEVNULL, stdout=stdout or subprocess.DEVNULL,
                                stderr=errors)


def _finish(process, argv, log, start):
    _, status, usage = os.wait4(process.pid, 0)
    cpu = usage.ru_utime + usage.ru_stime + wait_for_orphans()
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(log, "rb") as errors:
            raise Failed(argv, process.returncode, errors.read().decode(errors="replace"))
    return Cost(wall, cpu)


def wait_for_orphans():
    """Waits for processes that an earlier command left running, so that they do not count for the next one. Returns their CPU time."""
    cpu = 0
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return cpu
        cpu += usage.ru_utime + usage.ru_stime


def run(argv, env, log, stdin=None, stdout=None):
    """Runs the command until it and all processes that it started have ended. Its stderr goes to the file `log`. Raises Failed."""
    start = time.monotonic()
    process = _start(argv, env, log, stdin, stdout)
    return _finish(process, argv, log, start)


def run_while(argv, env, log, use):
    """Runs the command, calls use() meanwhile, which must make it end, and returns its cost. Raises Failed."""
    start = time.monotonic()
    process = _start(argv, env, log, None, None)
    use()
    return _finish(process, argv, log, start)


def _descendants(pid):
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                    todo += [int(child) for child in children.read().split()]
        except OSError:
            pass  # gone meanwhile
    return found


def _pss_bytes(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _peak_rss_bytes(pid):
    """Its peak RSS so far. (ru_maxrss would include our own peak, which it keeps over fork and exec.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _is_running(pid, exe):
    try:
        return os.readlink(f"/proc/{pid}/exe") == exe
    except OSError:
        return False


def _has_ended(pid):
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def run_one_process(argv, log, stdin=None, stdout=None, env=None):
    """As run, for a command that is one process. Returns (cost, peak RSS, sampled every 2 ms)."""
    start = time.monotonic()
    process = _start(argv, env or {}, log, stdin, stdout)
    peak = 0
    while not _has_ended(process.pid):
        peak = max(peak, _peak_rss_bytes(process.pid))
        time.sleep(POLL_S)
    return _finish(process, argv, log, start), peak


def peak_memory(argv, env, log, exe):
    """Runs the command. Returns the peak PSS of the process that runs `exe`, and of all others together, sampled about
    every 10 ms. Raises Failed."""
    start = time.monotonic()
    process = _start(argv, env, log, None, None)
    target, peak, others_peak, count = None, 0, 0, 0
    while not _has_ended(process.pid):
        if target is None or count % OTHERS_EVERY == 0:
            tree = _descendants(process.pid)
            if target is None:
                target = next((pid for pid in tree if _is_running(pid, exe)), None)
            others_peak = max(others_peak, sum(_pss_bytes(pid) for pid in tree if pid != target))
        if target is not None:
            peak = max(peak, _pss_bytes(target))
        count += 1
        time.sleep(SAMPLE_S)
    _finish(process, argv, log, start)
    if not peak:
        raise Failed(argv, 0, f"never saw {exe} run")
    return {"target_peak_pss_bytes": peak, "others_peak_pss_bytes": others_peak}


def allocated_bytes(path):
    """The size on the disk of a file, or of a folder with its contents; sparse parts take no space."""
    total = os.stat(path).st_blocks * 512 if os.path.isfile(path) else 0
    for folder, _, names in os.walk(path):
        total += sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for name in names)
    return total
