"""core.py - what it costs to read a core dump: a heap of many blocks that refer to each other (graph.c). The program has debug
information: types are a part of the cost."""
import json
import os
import shutil
import subprocess

import measure
import workloads

QUESTIONS = (("summary", ()), ("leaks", ("--leaks",)), ("who refers to a block", ("--who",)), ("retained", ("--retained",)))


def _dump(program, block_count, work):
    """Returns the path of the core dump, and how many blocks are lost in it."""
    with subprocess.Popen([program, str(block_count)], stdout=subprocess.PIPE, text=True) as process:
        lost = int(process.stdout.readline())
        subprocess.run(["gcore", "-o", os.path.join(work, "core"), str(process.pid)], check=True, capture_output=True)
        process.kill()
    return os.path.join(work, f"core.{process.pid}"), lost


def measure_core(tools, block_count, settings, work):
    """The cost of each question. Raises measure.Failed, also if the leaks are not those that the program lost."""
    if not shutil.which("gcore"):
        settings.say("core: gdb is not installed; not measured")
        return {}
    log, program = os.path.join(work, "stderr"), workloads.compile_c("graph.c", work, "-g")
    settings.say(f"core: builds {block_count:,} blocks")
    dump, lost = _dump(program, block_count, work)
    words = [tools.tool, "core", "--leaks", "--json", program, dump]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    if found["leaked_blocks"] != lost:
        raise measure.Failed(words, 0, f"{found['leaked_blocks']:,} leaks instead of {lost:,}")
    address = hex(found["leaks"][0].get("address", 4096))
    results, size = {}, os.path.getsize(dump)
    for title, options in QUESTIONS:
        settings.say(f"core: {title}")
        argv = [tools.tool, "core", *options, *([address] if "--who" in options else []), program, dump]
        try:
            costs = [measure.run_one_process(argv, log) for _ in range(settings.rounds)]
        except measure.Failed:
            continue  # --retained needs too much memory for so many blocks
        cost, peak = min(costs, key=lambda each: each[0].wall_s)
        results[title] = {"wall_s": cost.wall_s, "cpu_s": cost.cpu_s, "more_bytes": max(0, peak - size)}
    os.unlink(dump)
    return {"blocks": block_count, "bytes": size, "lost": lost, "questions": results}
