"""short.py - the time that recording adds to runs of many short processes, with their traces, packing and summary; and a report on ten
thousand processes. heaptrack has no figures here: it records only the first process."""
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import time

import measure
import recorders

ROUNDS = 3
TRUES, MANY = 200, 10_000
LOOP = "i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done"
SOURCES = "/usr/src/binutils/binutils-*.tar.xz"  # from binutils-source: a real ./configure, and a library to build
PARTS = ["libiberty", "include", "config", "config.sub", "config.guess", "config-ml.in", "install-sh", "mkinstalldirs", "move-if-change"]
APACHE = "/usr/sbin/apache2"
REQUESTS = 60
CONFIGURATION = """ServerRoot {folder}
User nobody
Group nogroup
PidFile {folder}/pid
ErrorLog {folder}/error
Listen 127.0.0.1:{port}
ServerName x
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot {folder}
"""
SERVED = """apache2 -d . -f conf -k start
i=0; until curl -sf http://127.0.0.1:{port}/page >/dev/null; do i=$((i+1)); [ $i -lt 500 ] || {{ cat error >&2; exit 1; }}; sleep 0.01; done
i=0; while [ $i -lt {requests} ]; do curl -sf http://127.0.0.1:{port}/page >/dev/null; i=$((i+1)); done
apache2 -d . -f conf -k stop
while [ -e pid ]; do sleep 0.01; done
"""


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _nothing(folder):
    del folder


def _serve(folder):
    """Makes the files that the script SERVED needs."""
    port = _free_port()
    with open(os.path.join(folder, "conf"), "w", encoding="ascii") as conf:
        conf.write(CONFIGURATION.format(folder=folder, port=port))
    with open(os.path.join(folder, "page"), "w", encoding="ascii") as page:
        page.write("page\n" * 1000)
    with open(os.path.join(folder, "script"), "w", encoding="ascii") as script:
        script.write(SERVED.format(port=port, requests=REQUESTS))


def _unpack(work):
    """Unpacks libiberty's sources. Returns their folder, or None if they are not installed."""
    found = glob.glob(SOURCES)
    if not found:
        return None
    subprocess.run(["tar", "-xf", found[0], "-C", work, "--strip-components=1", "--wildcards", *(f"*/{part}" for part in PARTS)], check=True)
    return os.path.join(work, "libiberty")


def _workloads(work, say):
    """(name, text, function that prepares the new folder, argv)"""
    found = [("true", f"{TRUES} times /bin/true from a shell", _nothing, ["sh", "-c", LOOP.format(TRUES)])]
    sources = _unpack(work)
    if sources:
        configure = [os.path.join(sources, "configure"), "--quiet"]
        found += [
            ("configure", "./configure of libiberty", _nothing, configure),
            ("make", "make -j2 of libiberty", lambda folder: subprocess.run(configure, cwd=folder, check=True, capture_output=True),
             ["make", "-s", "-j2"]),
        ]
    else:
        say("short: ./configure and make not measured: binutils-source is not installed (tools/setup.sh bench)")
    if os.path.exists(APACHE) and shutil.which("curl"):
        found.append(("apache", f"apache2 and {REQUESTS} times curl", _serve, ["sh", "-eu", "script"]))
    else:
        say("short: apache2 not measured: apache2-bin or curl is not installed (tools/setup.sh bench)")
    return found


def _one(tools, name, workload, work):
    """(seconds, processes that left a trace). All files stay until everything is measured: for each new file, ext4 without a journal
    checks the files that were removed in the last minutes."""
    _, _, prepare, argv = workload
    folder = tempfile.mkdtemp(dir=work)
    os.chmod(folder, 0o755)
    prepare(folder)
    command, env, trace = tools.command(name, argv, {}, os.path.join(folder, "traces"))
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, capture_output=True, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    if done.returncode:
        raise measure.Failed(command, done.returncode, done.stderr.decode(errors="replace"))
    return seconds, 1 + len(glob.glob(glob.escape(f"{trace}.children") + "/*.hwt")) if trace else 0


def _measure(tools, workload, names, work):
    seconds, processes = {name: [] for name in names}, 0
    for _ in range(ROUNDS):
        for name in names:
            took, seen = _one(tools, name, workload, work)
            seconds[name].append(took)
            processes = max(processes, seen)
    return {"text": workload[1], "processes": processes, "wall_s": seconds}


def _report_on_many(tools, work):
    command, env, trace = tools.command(recorders.PACKED, ["sh", "-c", LOOP.format(MANY)], {}, os.path.join(work, "many"))
    log = os.path.join(work, "stderr")
    measure.run(command, env, log)
    steps = {"report": [], "second report": [], "report --children": ["--children"], "report --json": ["--json"],
             "report -o run.html": ["-o", os.path.join(work, "run.html")]}
    found = {}
    for step, options in steps.items():
        cost, peak = measure.run_one_process([tools.tool, "report", *options, trace], log)
        found[step] = {"wall_s": cost.wall_s, "max_rss_bytes": peak}
    return {"processes": MANY + 1, "steps": found}


def measure_short(tools, settings, work):
    """{"runs": by workload, "many": a report on ten thousand processes}. Raises measure.Failed."""
    names = [recorders.PLAIN, *recorders.OURS]
    runs = {}
    for workload in _workloads(work, settings.say):
        settings.say(f"short: {workload[1]}")
        runs[workload[0]] = _measure(tools, workload, names, work)
    settings.say(f"short: a report on {MANY:,} processes")
    return {"runs": runs, "many": _report_on_many(tools, work)}
