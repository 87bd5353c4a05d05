"""suite.py - the measurements of one workload: times in interleaved rounds, memory, traces, their analysis."""
import json
import os
import subprocess

import measure
import recorders

LONG_S = 5
HUGE = "only with --full: its interpreter needs about a minute and 20 GB"
INTERPRETER = "lib/heaptrack/libexec/heaptrack_interpret"


class Suite:
    """Measures workloads under `names` of recorders. `settings` has rounds, full and say (a function that prints)."""

    def __init__(self, tools, names, work, settings):
        self.tools = tools
        self.names = names
        self.work = work
        self.settings = settings
        self.log = os.path.join(work, "stderr")

    def _folder(self, name):
        return os.path.join(self.work, "traces", name)

    def _command(self, name, workload):
        return self.tools.command(name, workload.argv, workload.env, self._folder(name))

    def _names_for(self, workload):
        """(recorders to run on a workload, {recorder that is left out: reason})"""
        if recorders.HEAPTRACK in self.names and workload.heaptrack_is_huge and not self.settings.full:
            rest = [name for name in self.names if name != recorders.HEAPTRACK]
            return rest, {recorders.HEAPTRACK: HUGE}
        return self.names, {}

    def times(self, workload):
        """Runs rounds of A B C D E F, so that other load on the machine affects all of them. A recorder that is far slower
        than the rest runs in the first round only. If heaptrack fails, it is left out and the reason is returned."""
        names, skipped = self._names_for(workload)
        runs = {name: {"wall_s": [], "cpu_s": []} for name in names}
        for turn in range(self.settings.rounds):
            for name in list(runs):
                if turn and name == recorders.HEAPTRACK and workload.heaptrack_is_huge:
                    continue
                argv, env, _ = self._command(name, workload)
                try:
                    cost = measure.run(argv, env, self.log)
                except measure.Failed as failure:
                    if name == recorders.PLAIN or name in recorders.OURS:
                        raise
                    skipped[name] = failure.summary
                    del runs[name]
                    continue
                runs[name]["wall_s"].append(cost.wall_s)
                runs[name]["cpu_s"].append(cost.cpu_s)
        return runs, skipped

    def memory(self, workload, names):
        """Measures in separate runs, because reading smaps_rollup delays the target."""
        found = {}
        for name in names:
            if name == recorders.HEAPTRACK and workload.heaptrack_is_huge:
                continue  # heaptrack -r puts the same library into the target
            argv, env, _ = self._command(name, workload)
            found[name] = measure.peak_memory(argv, env, self.log, workload.exe)
        return found

    def traces(self, names):
        """The traces of the last runs: bytes on disk, and path."""
        found = {}
        for name in names:
            if name == recorders.PLAIN:
                continue
            path = recorders.trace_of(self._command_path(name))
            found[name] = {"path": path, "bytes": measure.allocated_bytes(path), "length": os.path.getsize(path)}
        return found

    def _command_path(self, name):
        return os.path.join(self._folder(name), "trace.hwt" if name in recorders.OURS else "trace")

    def _cost(self, argv, stdin=None, stdout=None):
        cost, peak = measure.run_one_process(argv, self.log, stdin, stdout)
        return {"wall_s": cost.wall_s, "cpu_s": cost.cpu_s, "max_rss_bytes": peak}

    def _best(self, argv, stdin_path=None, stdout_path=os.devnull, without=()):
        """The fastest of up to three runs; a long one is not repeated. The files in `without` are removed before each run."""
        costs = []
        while len(costs) < min(3, self.settings.rounds) and sum(cost["wall_s"] for cost in costs) < LONG_S:
            for path in filter(os.path.exists, without):
                os.remove(path)
            with open(stdin_path or os.devnull, "rb") as given, open(stdout_path, "wb") as out:
                costs.append(self._cost(argv, given, out))
        return min(costs, key=lambda cost: cost["wall_s"])

    def our_analysis(self, trace):
        """(costs, the report): `report` as text and as JSON without the files that an earlier report stored, then with them. The
        returned report has only its first stack, since all of them could be larger than memory."""
        report, kept = [self.tools.tool, "report", trace], [trace + ".sum", trace + ".names"]
        costs = {"report --json": self._best([*report, "--json"], without=kept),
                 "report": self._best(report, without=kept), "second report": self._best(report)}
        with open(os.path.join(self.work, "report.json"), "w+b") as out:
            self._cost([*report, "--json", "--top", "1"], stdout=out)
            out.seek(0)
            return costs, json.load(out)

    def peer_analysis(self, trace):
        """(costs, allocation calls): heaptrack_interpret on the decompressed raw trace, then heaptrack_print."""
        interpreter = os.path.join(os.path.dirname(os.path.dirname(self.tools.heaptrack)), INTERPRETER)
        raw, interpreted = os.path.join(self.work, "peer.raw"), os.path.join(self.work, "peer.interpreted")
        decompress = {".zst": ["zstd", "-dcq", trace], ".gz": ["gzip", "-dc", trace]}[os.path.splitext(trace)[1]]
        with open(raw, "wb") as out:
            subprocess.run(decompress, stdout=out, check=True)
        printed = os.path.join(self.work, "peer.text")
        costs = {
            "heaptrack_interpret": self._best([interpreter], raw, interpreted),
            "heaptrack_print": self._best(["heaptrack_print", interpreted], None, printed),
        }
        calls = None
        with open(printed, encoding="utf-8", errors="replace") as text:
            for line in text:
                if line.startswith("calls to allocation functions:"):
                    calls = int(line.split(":")[1].split()[0])
        for path in (raw, interpreted, printed):
            os.remove(path)
        return costs, calls

    def _add_peer_analysis(self, workload, traces, analysis, skipped):
        """Adds heaptrack's part to `analysis`, or the reason why there is none to `skipped`. Returns its allocation calls."""
        if recorders.HEAPTRACK_RAW not in traces:
            return None
        if workload.heaptrack_is_huge and not self.settings.full:
            skipped["heaptrack_interpret"] = HUGE
            return None
        try:
            costs, calls = self.peer_analysis(traces[recorders.HEAPTRACK_RAW]["path"])
        except measure.Failed as failure:
            skipped["heaptrack_interpret"] = failure.summary
            return None
        analysis.update(costs)
        return calls

    def measure(self, workload):
        say = self.settings.say
        say(f"{workload.name}: {workload.text}")
        runs, skipped = self.times(workload)
        traces = self.traces(runs)
        ours = traces.get(recorders.PACKED) or traces[recorders.RAW]
        analysis, report = self.our_analysis(ours["path"])
        peer_calls = self._add_peer_analysis(workload, traces, analysis, skipped)
        keys = ("allocation_calls", "free_calls", "failed_calls", "peak_bytes", "lost_events", "truncated_stacks")
        found = {
            "text": workload.text,
            "threads": workload.threads,
            "goal_raw": workload.goal_raw,
            "counts": {key: report[key] for key in keys},
            "heaptrack_allocation_calls": peer_calls,
            "runs": runs,
            "traces": traces,
            "analysis": analysis,
            "memory": self.memory(workload, runs),
            "skipped": skipped,
        }
        for trace in traces.values():
            del trace["path"]
        return found
