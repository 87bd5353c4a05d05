"""workloads.py - the measured programs, and the preparation that they need."""
import dataclasses
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"

SQLITE_ROWS = 452_000
JSON_ROWS = 97_600
LOOP_PAIRS = 4_000_000
LOOPS = [(5, 1), (50, 1), (150, 1), (50, 2), (50, 8)]  # (depth, threads)

SQL = """create table t(a integer primary key, b text, c real);
with recursive count(x) as (select 1 union all select x + 1 from count where x < {rows})
  insert into t select x, hex(randomblob(20)), x * 1.5 from count;
create index i on t(b);
select count(*) from t a join t b on a.b = b.b;
select substr(b, 1, 2) p, count(*), avg(c), length(group_concat(a)) from t group by p order by p limit 3;
"""


@dataclasses.dataclass
class Workload:
    """One command. `goal_raw` is the goal for the added time, as a share of `heaptrack -r`'s. `heaptrack_is_huge`:
    heaptrack_interpret needs about 20 GB."""

    name: str
    text: str
    argv: list
    goal_raw: float
    env: dict = dataclasses.field(default_factory=dict)
    threads: int = 1
    heaptrack_is_huge: bool = False

    @property
    def exe(self):
        return os.path.realpath(self.argv[0])


def compile_c(source, work, *flags):
    program = os.path.join(work, os.path.splitext(source)[0])
    root = os.path.dirname(HERE)
    folders = [f"-I{os.path.join(root, name)}" for name in ("src", "include")]
    subprocess.run(["gcc", "-std=gnu17", "-O2", *flags, *folders, "-o", program, os.path.join(HERE, source), "-pthread"],
                   check=True)
    return program


def _output_of(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _sqlite(work, scale):
    script = os.path.join(work, "work.sql")
    with open(script, "w", encoding="ascii") as out:
        out.write(SQL.format(rows=int(SQLITE_ROWS * scale)))
    return Workload("sqlite3", "sqlite3: fill, index, join and group a table in memory",
                    ["/usr/bin/sqlite3", ":memory:", f".read {script}"], 1 / 3)


def _python(_work, scale):
    return Workload("python3", "python3 with PYTHONMALLOC=malloc: write, read and sort JSON",
                    [PYTHON, os.path.join(HERE, "json_work.py"), str(int(JSON_ROWS * scale))], 1 / 3,
                    env={"PYTHONMALLOC": "malloc"})


def compiler_command():
    """The compiler proper, as g++ would call it, without the driver and the assembler."""
    compiler = _output_of("g++", "-print-prog-name=cc1plus")
    flags = ["-quiet", "-O2", "-std=c++20", "-D_GNU_SOURCE"]
    multiarch = _output_of("g++", "-print-multiarch")
    return [compiler, *flags, *(["-imultiarch", multiarch] if multiarch else [])]


def _cc1plus(work, _scale):
    source = os.path.join(HERE, "all_of_std.cc")
    return Workload("cc1plus", "cc1plus -O2 on a C++20 file that includes all of the standard library",
                    [*compiler_command(), source, "-o", os.path.join(work, "all_of_std.s")], 1 / 2,
                    heaptrack_is_huge=True)


def _loop(depth, threads):
    def prepare_loop(work, scale):
        argv = [os.path.join(work, "loop"), str(depth), str(threads), str(int(LOOP_PAIRS * scale))]
        plural = "s" if threads > 1 else ""
        return Workload(f"loop-{depth}-{threads}", f"malloc/free loop, depth {depth}, {threads} thread{plural}", argv,
                        1 / 5, threads=threads)

    return prepare_loop


MAKERS = {
    "sqlite3": _sqlite,
    "python3": _python,
    "cc1plus": _cc1plus,
    **{f"loop-{depth}-{threads}": _loop(depth, threads) for depth, threads in LOOPS},
}
NAMES = list(MAKERS)


def prepare(work, scale, names):
    """The workloads in `names` (all, if it is empty), ready to run. Their files are in the folder `work`."""
    unknown = set(names) - set(MAKERS)
    if unknown:
        raise SystemExit(f"bench: no workload {', '.join(sorted(unknown))}; there are {', '.join(MAKERS)}")
    compile_c("loop.c", work)
    return [make(work, scale) for name, make in MAKERS.items() if not names or name in names]
