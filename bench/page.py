"""page.py - the HTML page of the two largest recordings, in a real Chromium: its size, its first paint, the steps of dragging its brush."""
import json
import os
import shutil
import subprocess

import measure
import recorders
import workloads

WORKLOADS = ["python3", "cc1plus"]  # the most events; the most stack nodes
BROWSER = os.path.join(os.path.dirname(workloads.HERE), "web", "node_modules", "playwright-core")


def what_is_missing():
    """Returns why the page cannot be measured here, or ""."""
    for name in ("node", "chromium"):
        if shutil.which(name) is None:
            return f"{name} is not installed (tools/setup.sh web)"
    return "" if os.path.exists(BROWSER) else "web/node_modules does not exist (tools/build_page.sh --install)"


def _measure_one(tools, workload, say, work):
    log = os.path.join(work, "stderr")
    argv, env, trace = tools.command(recorders.PACKED, workload.argv, workload.env, os.path.join(work, "page"))
    page = os.path.join(work, "page.html")
    say(f"page: records {workload.text}")
    measure.run(argv, env, log)
    written, peak = measure.run_one_process([tools.tool, "report", "-o", page, trace], log)
    say("page: opens it")
    command = ["node", os.path.join(workloads.HERE, "page.mjs"), "--json", page]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HW_CHROMIUM": shutil.which("chromium")})
    if done.returncode != 0:
        raise measure.Failed(command, done.returncode, done.stderr)
    return {"text": workload.text, "bytes": os.path.getsize(page), "written_cpu_s": written.cpu_s, "max_rss_bytes": peak,
            **json.loads(done.stdout)}


def measure_page(tools, settings, work):
    """The figures by workload, or {} if there is no browser. Raises measure.Failed."""
    missing = what_is_missing()
    if missing:
        settings.say(f"page: not measured: {missing}")
        return {}
    return {workload.name: _measure_one(tools, workload, settings.say, work)
            for workload in workloads.prepare(work, settings.scale, WORKLOADS)}
