"""fleet.py - many recorded processes on one machine, whose figures a scraper reads: python3 bench/fleet.py [--processes N] ...

It prints what the recordings cost per process, what the server costs, and how large an answer is. docs/fleet.md has the figures.
"""
import argparse
import http.client
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_s(pid):
    """CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


def pss_bytes(pid):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def sums_of(pids):
    """CPU seconds and bytes of the processes that are there."""
    cpu, memory = 0.0, 0
    for pid in pids:
        try:
            cpu, memory = cpu + cpu_s(pid), memory + pss_bytes(pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return cpu, memory


def scrape(port, query):
    """Seconds, bytes and samples of an answer."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", f"/metrics{query}", headers={"Accept": OPEN_METRICS})
    body = connection.getresponse().read()
    connection.close()
    return time.monotonic() - start, len(body), sum(1 for line in body.splitlines() if line and not line.startswith(b"#"))


class Fleet:
    def __init__(self, tool, folder, options):
        self.folder = folder
        program = folder / "fleet"
        subprocess.run(["gcc", "-O1", "-g", HERE / "fleet.c", "-o", program], check=True)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [program, str(options.seconds + 3600), str(options.requests)]
        self.recorders = [] if options.bare else [
            subprocess.Popen([tool, "record", "-q", *options.record.split(), "-o", folder / f"{number}.hwt", "--", *command], **quiet)
            for number in range(options.processes)]
        self.bare = [subprocess.Popen(command, **quiet) for _ in range(options.processes)] if options.bare else []

    def pids(self):
        """The programs, and what records them."""
        if self.bare:
            return [process.pid for process in self.bare], []
        programs, others = [], []
        for recorder in self.recorders:
            children = children_of(recorder.pid)
            programs += children[:1]
            others += [recorder.pid, *children[1:]]
        return programs, others

    def trace_bytes(self):
        return sum(path.stat().st_blocks * 512 for path in self.folder.glob("*.hwt"))

    def end(self):
        for pid in self.pids()[0]:
            os.kill(pid, 9)
        for process in self.recorders + self.bare:
            process.wait()


def server_pids(server):
    return [server.pid, *children_of(server.pid)]


def ended_cpu_s():
    """CPU time of all processes that have ended and were waited for, the server's own ones included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(fleet, server, port, options):
    programs, others = fleet.pids()
    scrape(port, options.query)  # all recordings have been found and read
    before = [sums_of(pids) for pids in (programs, others, server_pids(server))]
    trace_before, start = fleet.trace_bytes(), time.monotonic()
    scrapes = []
    while time.monotonic() - start < options.seconds:
        time.sleep(options.every)
        scrapes.append(scrape(port, options.query))
    elapsed = time.monotonic() - start
    after = [sums_of(pids) for pids in (programs, others, server_pids(server))]
    count = options.processes
    cpu = [100 * (later[0] - earlier[0]) / elapsed for earlier, later in zip(before[:2], after)]
    print(f"processes                       {count}, {options.requests} requests/s of 10 allocations each")
    print(f"time                            {elapsed:.0f} s, a scrape every {options.every:g} s")
    print(f"CPU of a program                {cpu[0] / count:.3f} % of a core")
    print(f"CPU that records it             {cpu[1] / count:.3f} %")
    print(f"memory that records it          {after[1][1] / count / 1e6:.2f} MB")
    print(f"trace                           {(fleet.trace_bytes() - trace_before) / count / (elapsed / 60) / 1e3:.1f} kB per process and minute")
    print(f"memory of the server            {after[2][1] / 1e6:.1f} MB, {after[2][1] / count / 1e6:.2f} MB per process")
    print(f"bytes of a scrape               {statistics.median(row[1] for row in scrapes):.0f}, {scrapes[-1][1] / count:.0f} per process")
    print(f"samples of a scrape             {scrapes[-1][2]}, {scrapes[-1][2] / count:.1f} per process")
    times = sorted(row[0] for row in scrapes)
    print(f"time of a scrape                median {1000 * statistics.median(times):.0f} ms, highest {1000 * times[-1]:.0f} ms")


def end_server(server, options):
    """Its CPU time is exact only when it has ended; it includes the time in which it found the recordings."""
    before, start = ended_cpu_s(), time.monotonic()
    server.terminate()
    server.wait()
    cpu = 100 * (ended_cpu_s() - before) / (start - options.began)
    print(f"CPU of the server               {cpu:.2f} %, {cpu / options.processes:.4f} % per process")


def measure_bare(fleet, options):
    """The programs without heapwright."""
    programs, _ = fleet.pids()
    before = sums_of(programs)
    time.sleep(options.seconds)
    print(f"CPU of a program, not recorded  {100 * (sums_of(programs)[0] - before[0]) / options.seconds / options.processes:.3f} % of a core")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=HERE.parent / "build", type=Path)
    parser.add_argument("--processes", default=200, type=int)
    parser.add_argument("--seconds", default=300, type=int)
    parser.add_argument("--every", default=15.0, type=float, help="seconds between two scrapes")
    parser.add_argument("--requests", default=20, type=int, help="per process and second")
    parser.add_argument("--query", default="", help="of the scrapes, such as ?top=10")
    parser.add_argument("--record", default="", help="options of heapwright record")
    parser.add_argument("--bare", action="store_true", help="the programs alone, to compare with")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="heapwright-fleet-"))
    tool = options.build / "bin/heapwright"
    fleet = Fleet(tool, folder, options)
    server = None
    try:
        time.sleep(5)
        if options.bare:
            measure_bare(fleet, options)
        else:
            options.began = time.monotonic()
            server = subprocess.Popen([tool, "live", "--serve", "127.0.0.1:0", folder], stdout=subprocess.PIPE, text=True)
            port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
            time.sleep(5)
            measure(fleet, server, port, options)
            end_server(server, options)
    finally:
        if server and server.poll() is None:
            server.terminate()
            server.wait()
        fleet.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
