"""latency.py - the time that a recorder adds to single calls: latency.c with its trace in memory, and on a busy disk."""
import json
import os
import statistics
import threading

import measure

BLOCK = bytes(1 << 20)
FILE_BYTES = 256 << 20
MEMORY_FOLDER = "/dev/shm"


class BusyDisk:
    """While entered, a thread writes a file in `folder` repeatedly and waits for the disk every 16 MiB."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "busy")
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._write)
        self.written = 0

    def _write(self):
        with open(self.path, "wb", buffering=0) as out:
            while not self.stop.is_set():
                out.write(BLOCK)
                self.written += len(BLOCK)
                if self.written % (16 << 20) == 0:
                    os.fdatasync(out.fileno())
                if self.written % FILE_BYTES == 0:
                    out.seek(0)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        os.remove(self.path)


class Idle:
    """No other load."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def _one(tools, name, program, calls, folder, log):
    argv, env, _ = tools.command(name, [program, str(calls)], {}, os.path.join(folder, name))
    printed = os.path.join(folder, "printed")
    with open(printed, "w+b") as out:
        measure.run(argv, env, log, stdout=out)
        out.seek(0)
        line = next(line for line in out.read().decode().splitlines() if line.startswith("{"))
    os.remove(printed)
    return json.loads(line)


def _middle(results):
    """The median of each figure over the rounds, and the maximum of every round."""
    keys = [key for key in results[0] if key.endswith("_ns")]
    found = {key: statistics.median(each[key] for each in results) for key in keys}
    found["max_ns_of_rounds"] = sorted(each["max_ns"] for each in results)
    found["fifo"] = all(each["fifo"] for each in results)
    found["calls"] = results[0]["calls"]
    return found


def measure_latency(tools, names, program, settings, disk_folder):
    """Returns {place: {recorder: figures}}. `disk_folder` is on the busy disk."""
    found = {}
    memory = os.path.join(MEMORY_FOLDER, f"heapwright-bench.{os.getpid()}")
    os.makedirs(memory, exist_ok=True)
    log = os.path.join(disk_folder, "stderr")
    places = {"tmpfs": (memory, Idle()), "busy disk": (disk_folder, BusyDisk(disk_folder))}
    try:
        for place, (folder, load) in places.items():
            settings.say(f"latency: {settings.latency_calls:,} calls, trace on {place}")
            results = {name: [] for name in names}
            with load:
                for _ in range(settings.latency_rounds):
                    for name in names:
                        results[name].append(_one(tools, name, program, settings.latency_calls, folder, log))
            found[place] = {name: _middle(each) for name, each in results.items()}
    finally:
        for folder, _, files in os.walk(memory, topdown=False):
            for file in files:
                os.remove(os.path.join(folder, file))
            os.rmdir(folder)
    return found
