"""live.py - following a program that allocates at full speed: what it costs the viewer and the program, and how far behind the figures
are"""
import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse

import page
import workloads

PAIRS, TRUES = 30_000_000, 2000
STACKS = {"flat": 2, "deep": 60}  # frames
THREADS = (1, 2, 4, 8)
EVERY_S = 1
PAGE_RUN_S, PAGE_AFTER_S, PAGE_S = 120, 8, 12
BEFORE_S, PAIRS_PER_S, VIEWS = 60, 600_000, 3
TICKS = os.sysconf("SC_CLK_TCK")


class Viewer:
    """A viewer whose page is open: it asks for a document each second. Its figures are those of the process that follows."""

    def __init__(self, tool, trace):
        self.process = subprocess.Popen([tool, "live", trace], stdout=subprocess.PIPE, text=True)
        parts = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.host, self.query = parts.netloc, parts.query
        self.ask("/document")  # so the process that follows has begun
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            self.analyst = int(children.read().split()[0])
        self.behind_ms, self.documents, self.stop = [], 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def ask(self, path):
        connection = http.client.HTTPConnection(self.host, timeout=600)
        connection.request("GET", f"{path}?{self.query}")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def _watch(self):
        while not self.stop.wait(EVERY_S):
            answer, _ = self.ask("/document")
            if answer.status == 200 and answer.headers["Heapwright-State"] != "over":
                self.behind_ms.append(int(answer.headers["Heapwright-Behind-Ms"]))
            self.documents += 1

    def wait_for_end(self):
        while self.ask("/document")[0].headers["Heapwright-State"] != "over":
            time.sleep(0.1)

    def cost(self):
        """CPU seconds of the process that follows and of its writers of documents, its peak RSS, and the events that it counted."""
        events = json.loads(self.ask("/report.json")[1])["events"]
        with open(f"/proc/{self.analyst}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        with open(f"/proc/{self.analyst}/status", encoding="ascii") as status:
            peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
        return (int(fields[11]) + int(fields[12])) / TICKS, (int(fields[13]) + int(fields[14])) / TICKS, peak, events

    def end(self):
        self.stop.set()
        self.thread.join()
        self.process.terminate()
        self.process.wait()


def _run(tools, argv, work, is_followed):
    """([seconds, CPU seconds] of the program and the packer of its recording, figures of the viewer or None)"""
    command, env, trace = tools.command("record-q", argv, {}, os.path.join(work, "live"))
    process = subprocess.Popen(["sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh", *command], env={**os.environ, **env})
    while is_followed and not (os.path.exists(trace) and os.path.getsize(trace)):
        time.sleep(0.002)
    start, viewer = time.monotonic(), None
    try:
        if is_followed:
            viewer = Viewer(tools.tool, trace)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise RuntimeError("the program failed")
        seconds = time.monotonic() - start
        cost = [seconds, usage.ru_utime + usage.ru_stime]
        if not viewer:
            return cost, None
        viewer.wait_for_end()
        cpu_s, writers_s, peak, events = viewer.cost()
        return cost, {"events_per_cpu_s": events / cpu_s, "cpu_s": cpu_s, "documents": viewer.documents, "document_cpu_s": writers_s,
                         "peak_rss_bytes": peak, "events": events, "behind_ms": max(viewer.behind_ms, default=0),
                         "caught_up_s": time.monotonic() - start - seconds}
    finally:
        if viewer:
            viewer.end()


def _both(tools, argv, work):
    """The figures of the viewer, and the costs of the program without and with it."""
    alone, _ = _run(tools, argv, work, False)
    followed, figures = _run(tools, argv, work, True)
    return {"alone": alone, "followed": followed, **figures}


def _page_of_many_stacks(tools, work):
    """How long an update of the page takes in the browser, by view; or why that is not measured."""
    missing = page.what_is_missing()
    if missing:
        return missing
    program = workloads.compile_c("many_stacks.c", work)
    command, env, trace = tools.command("record-q", [program, str(PAGE_RUN_S)], {}, os.path.join(work, "live"))
    with subprocess.Popen(command, env={**os.environ, **env}) as process:
        while not (os.path.exists(trace) and os.path.getsize(trace)):
            time.sleep(0.002)
        viewer = Viewer(tools.tool, trace)
        time.sleep(PAGE_AFTER_S)
        script = os.path.join(workloads.HERE, "live_page.mjs")
        found = subprocess.run(["node", script, f"http://{viewer.host}/?{viewer.query}", str(PAGE_S)], check=True, capture_output=True, text=True)
        viewer.end()
        process.kill()
    return json.loads(found.stdout)


def _began_before(tools, work):
    """How long it takes until all of a recording is there that began a minute ago."""
    program = workloads.compile_c("steady.c", work)
    command, env, trace = tools.command("record-q", [program, str(PAIRS_PER_S)], {}, os.path.join(work, "live"))
    with subprocess.Popen(command, env={**os.environ, **env}, start_new_session=True) as process:
        time.sleep(BEFORE_S)
        seconds = []
        for _ in range(VIEWS):
            start = time.monotonic()
            once = subprocess.run([tools.tool, "live", "--json", "--once", trace], check=True, capture_output=True)
            seconds.append(time.monotonic() - start)
        os.killpg(process.pid, signal.SIGKILL)
    report = json.loads(once.stdout)
    return {"seconds": sorted(seconds)[VIEWS // 2], "events": report["events"], "duration_s": report["duration_ns"] / 1e9}


def measure_live(tools, settings, work):
    program = workloads.compile_c("loop.c", work)
    found = []
    for stack, depth in STACKS.items():
        for threads in THREADS:
            settings.say(f"live: {threads} threads, {stack} stacks")
            argv = [program, str(depth), str(threads), str(int(PAIRS * settings.scale))]
            found.append({"stack": stack, "threads": threads, **_both(tools, argv, work)})
    settings.say("live: the page of a program with many stacks")
    many_stacks = _page_of_many_stacks(tools, work)
    settings.say("live: a recording that began a minute ago")
    before = _began_before(tools, work)
    settings.say(f"live: {TRUES:,} short processes")
    argv = ["sh", "-c", f"i=0; while [ $i -lt {TRUES} ]; do /bin/true; i=$((i+1)); done"]
    return {"runs": found, "many_stacks": many_stacks, "before": before, "short": {"processes": TRUES, **_both(tools, argv, work)}}
