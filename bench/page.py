"""page.py - the HTML page of the two largest recordings, and of a million instances of scopes, in a real Chromium: its size, its
first paint, the steps of dragging its brush and its lanes."""
import json
import os
import shutil
import subprocess

import measure
import recorders
import workloads

WORKLOADS = ["python3", "cc1plus"]  # the most events; the most stack nodes
INSTANCES = 1_000_000
BROWSER = os.path.join(os.path.dirname(workloads.HERE), "web", "node_modules", "playwright-core")


def what_is_missing():
    """Returns why the page cannot be measured here, or ""."""
    for name in ("node", "chromium"):
        if shutil.which(name) is None:
            return f"{name} is not installed (tools/setup.sh web)"
    return "" if os.path.exists(BROWSER) else "web/node_modules does not exist (tools/build_page.sh --install)"


def _record(tools, workload, say, work):
    argv, env, trace = tools.command(recorders.PACKED, workload.argv, workload.env, os.path.join(work, "page"))
    say(f"page: records {workload.text}")
    measure.run(argv, env, os.path.join(work, "stderr"))
    return trace


def _record_scopes(tools, say, work):
    program, trace = workloads.compile_c("scope_instances.c", work), os.path.join(work, "instances.hwt")
    say(f"page: records {INSTANCES:,} instances of scopes")
    subprocess.run([tools.tool, "record", "-q", "-o", trace, "--", program, str(INSTANCES)], check=True)
    return trace


def _measure_one(tools, trace, text, say, work):
    log = os.path.join(work, "stderr")
    page = os.path.join(work, "page.html")
    written, peak = measure.run_one_process([tools.tool, "report", "-o", page, trace], log)
    say("page: opens it")
    command = ["node", os.path.join(workloads.HERE, "page.mjs"), "--json", page]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HW_CHROMIUM": shutil.which("chromium")})
    measure.wait_for_orphans()  # of the browser
    if done.returncode != 0:
        raise measure.Failed(command, done.returncode, done.stderr)
    return {"text": text, "bytes": os.path.getsize(page), "written_cpu_s": written.cpu_s, "max_rss_bytes": peak,
            **json.loads(done.stdout)}


def measure_page(tools, settings, work):
    """The figures by workload, or {} if there is no browser. Raises measure.Failed."""
    missing = what_is_missing()
    if missing:
        settings.say(f"page: not measured: {missing}")
        return {}
    found = {}
    for workload in workloads.prepare(work, settings.scale, WORKLOADS):
        trace = _record(tools, workload, settings.say, work)
        found[workload.name] = _measure_one(tools, trace, workload.text, settings.say, work)
    trace = _record_scopes(tools, settings.say, work)
    found["scopes"] = _measure_one(tools, trace, f"{INSTANCES:,} instances of scopes", settings.say, work)
    return found
