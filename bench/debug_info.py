"""debug_info.py - a report on a program with a gigabyte of debug information: thousands of sources, each with its own names."""
import json
import os
import subprocess

import measure
import recorders
import suite

PLACEHOLDER = "part_0000"  # as long as every part's name
MOST_PARTS = 10_000
FIRST_PARTS = 100  # enough to measure the size of a part: the linker keeps shared data once


def _debug_bytes(program):
    """The bytes of the sections whose names begin with .debug_."""
    listed = subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout
    found = 0
    for line in listed.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1].startswith(".debug_"):
            found += int(words[5], 16)
    return found


def _link(work, part, count):
    """Links a program of `count` parts, all of which run. `part` is the object file of one; its name is replaced."""
    folder, main = os.path.join(work, "parts"), os.path.join(work, "main.cc")
    os.makedirs(folder, exist_ok=True)
    names = [f"part_{number:04}" for number in range(count)]
    for name in names:
        with open(os.path.join(folder, name + ".o"), "wb") as out:
            out.write(part.replace(PLACEHOLDER.encode(), name.encode()))
    with open(main, "w", encoding="ascii") as out:
        out.writelines(f"namespace {name} {{ double run(int); }}\n" for name in names)
        out.write("int main(int count, char **)\n{\n  double sum = 0;\n")
        out.writelines(f"  sum += {name}::run(10 * count);\n" for name in names)
        out.write("  return sum < 0;\n}\n")
    program, objects = os.path.join(work, "program"), os.path.join(work, "objects")
    with open(objects, "w", encoding="utf-8") as out:
        out.writelines(f'"{os.path.join(folder, name)}.o"\n' for name in names)
    subprocess.run(["g++", "-O1", "-o", program, main, "@" + objects], check=True)
    for name in names:
        os.remove(os.path.join(folder, name + ".o"))
    return program


def make_program(work, byte_count):
    """Builds a program with at least `byte_count` bytes of debug information. Returns (path, parts, bytes of debug information).
    Its object files need twice that on the disk meanwhile."""
    source, compiled = os.path.join(os.path.dirname(__file__), "debug_part.cc"), os.path.join(work, "part.o")
    subprocess.run(["g++", "-std=c++20", "-g", "-O2", f"-DPART={PLACEHOLDER}", "-c", source, "-o", compiled], check=True)
    with open(compiled, "rb") as part_file:
        part = part_file.read()
    few, many = (_debug_bytes(_link(work, part, count)) for count in (1, FIRST_PARTS))
    count = 1 + -(-max(byte_count - few, 0) * (FIRST_PARTS - 1) // (many - few))
    if count > MOST_PARTS:
        raise SystemExit(f"bench: --debug-info takes {few + (many - few) // (FIRST_PARTS - 1) * MOST_PARTS} bytes at most")
    program = _link(work, part, count)
    return program, count, _debug_bytes(program)


def _named_parts(tool, trace):
    """How many of the parts the complete report names, with lines."""
    report = subprocess.run([tool, "report", "--json", trace], check=True, capture_output=True).stdout
    frames = (frame for stack in json.loads(report)["top"] for frame in stack["stack"])
    runs = {frame["function"] for frame in frames if frame["line"] and (frame["function"] or "").endswith("::run(int)")}
    return len(runs)


def measure_debug_info(tools, byte_count, settings, work):
    """The cost of a report on a recording of such a program, and in a full run of heaptrack's interpreter. Raises
    measure.Failed, also if the report does not name every part."""
    suit = suite.Suite(tools, [], work, settings)
    settings.say("debug-info: builds the program")
    program, parts, debug_bytes = make_program(work, byte_count)
    found = {"parts": parts, "debug_bytes": debug_bytes, "file_bytes": os.path.getsize(program)}
    settings.say("debug-info: records it and reports")
    traces, peers = {}, [recorders.HEAPTRACK_RAW] if tools.heaptrack and settings.full else []
    for name in (recorders.PACKED, *peers):
        argv, env, path = tools.command(name, [program], {}, os.path.join(work, name))
        measure.run(argv, env, suit.log)
        traces[name] = recorders.trace_of(path)
    found["analysis"], _ = suit.our_analysis(traces[recorders.PACKED])
    if _named_parts(tools.tool, traces[recorders.PACKED]) != parts:
        raise measure.Failed([tools.tool, "report", traces[recorders.PACKED]], 0, f"not all of {parts} parts have their names")
    if peers:
        settings.say("debug-info: heaptrack_interpret")
        costs, _ = suit.peer_analysis(traces[recorders.HEAPTRACK_RAW])
        found["analysis"].update(costs)
    return found
