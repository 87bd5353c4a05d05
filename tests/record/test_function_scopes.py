"""test_function_scopes.py - any function as a scope (--scope): instances, figures and limits as stacks tell them

If this fails, a function without marks in the source has wrong instances, or commands disagree about them.
"""

import json
import subprocess

import pytest

from conftest import ROOT

PROGRAM = ROOT / "tests/record/programs/functions.c"
DECODE = ("--scope", "func=decode")
NEITHER_IN_TURN = 20 + 1  # calls of decode in work that another call of malloc follows, and the two at its end


@pytest.fixture(scope="module")
def trace(tmp_path_factory, hw):
    folder = tmp_path_factory.mktemp("functions")
    program, trace = folder / "functions", folder / "functions.hwt"
    flags = ["-O1", "-g", "-fno-builtin", "-fno-optimize-sibling-calls", "-pthread", f"-I{ROOT}/include", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, PROGRAM, "-o", program], check=True)
    process = hw("record", "-q", "-o", trace, "--", program)
    assert process.returncode == 0
    return trace


@pytest.fixture
def scopes(hw, trace):
    """scopes("--scope", "func=decode", ...): the scopes of the report by path."""

    def run(*options):
        done = hw("report", "--json", *options, trace)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return {" > ".join(scope["path"]): scope for scope in json.loads(done.stdout)["scopes"]}

    return run


def figures(scope, *keys):
    return tuple(scope[key] for key in keys)


def test_instances_and_figures(scopes):
    found = scopes(*DECODE)
    assert set(found) == {"decode", "frame", "frame > decode", "frame > inside", "inside"}
    # the thread's 50 calls are one instance: it calls nothing else that allocates
    assert figures(found["decode"], "instances", "allocation_calls", "free_calls") == (NEITHER_IN_TURN + 1, 2 * (22 + 50), 22 + 50)
    assert figures(found["decode"], "allocated_bytes", "net_bytes", "live_bytes_at_end") == (72 * 110, 72 * 10, 72 * 10)
    assert figures(found["decode"], "instances_left_open", "allocating_instances") == (0, 22)
    assert found["decode"]["max_net_bytes"] == 100 + 50 * 10
    assert figures(found["frame > decode"], "instances", "allocated_bytes") == (1, 110)


def test_several_rules_nest_as_the_frames_do(scopes):
    found = scopes("--scope", "func=render", *DECODE, "--scope", "func=work")
    assert figures(found["work"], "instances", "allocation_calls") == (1, 20 * 4 + 4)
    assert figures(found["work"]["self"], "allocation_calls", "free_calls") == (0, 0)
    assert found["work > decode"]["instances"] == NEITHER_IN_TURN
    assert figures(found["work > render"], "instances", "allocated_bytes", "free_calls") == (20, 20 * 2000, 0)
    assert found["decode"]["instances"] == 1  # of the thread
    assert found["work"]["duration_ns"] >= found["work > decode"]["duration_ns"] + found["work > render"]["duration_ns"]


def test_scopes_of_the_program_split_a_function(scopes):
    found = scopes("--scope", "func=split")
    assert figures(found["split"], "instances", "allocated_bytes") == (2, 1 + 4)
    assert figures(found["frame > split"], "instances", "allocated_bytes") == (2, 1 + 4)
    assert found["inside > split"]["allocated_bytes"] == 2  # still on the stack, and now inside the scope
    assert found["inside"]["allocated_bytes"] == 2


def test_files_and_modules(scopes, hw, trace):
    assert scopes("--scope", "file=functions.c")["functions.c"]["allocation_calls"] > 100
    whole = scopes("--scope", "module=functions")["functions"]
    assert whole["allocated_bytes"] >= 72 * 110 + 40 * 1000
    done = hw("report", "--by", "scope", "--scope", "func=decod", trace)
    assert done.returncode == 0
    assert done.stderr == "heapwright: --scope func=decod matches nothing in this recording; did you mean func=decode?\n"


def test_json_names_the_rules(hw, trace):
    report = json.loads(hw("report", "--json", *DECODE, trace).stdout)
    assert report["scope_rules"] == ["decode"]
    assert "scope_rules" not in json.loads(hw("report", "--json", trace).stdout)


def test_a_file_of_rules(scopes, hw, trace, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("# what the program does\nfunc=decode\n\n  func=render  \n")
    found = scopes("--scope-rules", rules)
    assert found["decode"]["instances"] == 22 and found["render"]["instances"] == 20
    assert scopes("--scope-rules", rules, "--scope", "func=work")["work > render"]["instances"] == 20
    rules.write_text("func=decode\nrender\n")
    done = hw("report", "--scope-rules", rules, trace)
    assert done.returncode == 2 and f"{rules}, line 2: a rule for scopes is func=PATTERN" in done.stderr
    assert hw("report", "--scope-rules", tmp_path / "none", trace).returncode == 2


def test_the_text_says_what_an_instance_is(hw, trace):
    text = " ".join(hw("report", "--by", "scope", "--cost", "calls", *DECODE, trace).stdout.split())
    assert "Scopes of rules (decode) begin and end as stacks tell" in text
    assert "22 instances" in text
    assert "Scopes of rules" not in hw("report", "--by", "scope", trace).stdout
    tree = hw("report", "--tree=scopes", "--cost", "calls", *DECODE, "--scope", "func=work", trace).stdout.splitlines()
    rows = [line.split()[-1] for line in tree if line.startswith("   ") and line.split()[-1] in ("work", "decode")]
    assert rows == ["decode", "work", "decode", "decode"]  # of the thread: 100 calls; of work: 44; of the frame: 2


def test_instances_in_detail(scopes):
    worst = scopes("--scope", "func=render", "--instances", "--cost", "bytes")["render"]["worst"]
    assert len(worst) == 10
    assert all(item["sizes"] == {"1000": 2} and item["total_bytes"] == 2000 for item in worst)
    assert worst[0]["duration_ns"] >= 0 and worst[0]["thread"] == "functions"


def test_reports_of_these_scopes_only(hw, trace):
    report = json.loads(hw("report", "--json", *DECODE, "--only", "scope=decode", trace).stdout)
    assert report["selected"]["calls"] == 2 * 73
    rest = json.loads(hw("report", "--json", *DECODE, "--ignore", "scope=decode", trace).stdout)
    assert rest["selected"]["calls"] == report["allocation_calls"] - 2 * 73


def test_a_part_of_the_run(hw, trace, scopes):
    """After the start of a part, its instances count again from 1."""
    whole = scopes(*DECODE)["decode"]
    stacks = json.loads(hw("report", "--json", "--only", "func=decode", trace).stdout)["top"]
    middle = (min(stack["first_ns"] for stack in stacks) + max(stack["last_ns"] for stack in stacks)) // 2
    both = [scopes(*DECODE, side, f"{middle}ns")["decode"] for side in ("--to", "--from")]
    assert all(1 <= part["instances"] <= whole["instances"] for part in both)
    assert sum(part["allocation_calls"] for part in both) == whole["allocation_calls"]


def test_budgets(hw, trace):
    check = ["check", *DECODE, trace]
    assert hw(*check, "--max", "calls(scope=decode)=146").returncode == 0
    assert hw(*check, "--max", "calls(scope=decode)=145").returncode == 1
    assert hw(*check, "--max", "calls(scope=decode,size=10)=73", "--max", "live(scope=decode)=730").returncode == 0
    assert hw(*check, "--baseline", trace, "--max", "calls(scope=decode)=+0").returncode == 0


def test_two_recordings(hw, trace):
    done = hw("diff", "--by", "scope", "--json", *DECODE, "--cost", "calls", trace, trace)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == []


def test_exports_have_the_same_instances(hw, trace, tmp_path, scopes):
    rules = [*DECODE, "--scope", "func=render", "--scope", "func=split"]
    found = scopes(*rules)
    file = tmp_path / "run.chrome.json"
    assert hw("export", "-o", file, *rules, trace).returncode == 0
    open_scopes, begun = {}, {}
    for event in json.loads(file.read_text())["traceEvents"]:
        stack = open_scopes.setdefault(event.get("tid"), [])
        if event["ph"] == "B":
            stack.append(event["name"])
            path = " > ".join(stack)
            begun[path] = begun.get(path, 0) + 1
        elif event["ph"] == "E":
            assert stack.pop() == event["name"] and "left_open" not in event.get("args", {})
    assert not any(open_scopes.values())
    assert begun == {path: scope["instances"] for path, scope in found.items()}
    folded = tmp_path / "run.folded"
    assert hw("export", "-o", folded, "--scopes", "--cost", "calls", *rules, trace).returncode == 0
    in_decode = [int(line.rsplit(" ", 1)[1]) for line in folded.read_text().splitlines() if line.startswith(("decode;", "frame;decode;"))]
    assert sum(in_decode) == 146
