"""test_docs.py - the worked example of docs/ci.md prints what the page shows

If this fails, the page promises more than the tool does.
"""

import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/ci.md"


def test_worked_example(build, tmp_path):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    program = next(text for language, text in blocks if language == "c")
    rules, session = [text for language, text in blocks if language == ""][:2]
    (tmp_path / "tables.c").write_text(program)
    (tmp_path / "budgets").write_text(rules)
    steps = re.split(r"^\$ ", session, flags=re.M)[1:]
    script = "".join(f"{step.splitlines()[0]}\n" for step in steps)
    expected = "".join(step.partition("\n")[2] for step in steps)
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={"PATH": f"{build}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "100"})
    assert done.stdout == expected, done.stderr
