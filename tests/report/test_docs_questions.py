"""test_docs_questions.py - the examples of docs/questions.md that show all their commands print what the page shows

If this fails, the page promises more than the tool does. The lines that the page shows must be printed in that
order; other lines may come between them. IDs in brackets, and those of processes in their table, may differ. Figures
of resident memory depend on the kernel and libc: they may differ by a tenth, and those of less than a megabyte by
any amount.
"""

import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/questions.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "s": 1, "ms": 1}


def worked_examples():
    """Sections whose session builds its program: title, files by name, the session."""
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        blocks = BLOCK.findall(section)
        session = next((text for _, text in blocks if text.startswith("$ gcc ")), None)
        if session is None:
            continue
        program = next(text for language, text in blocks if language == "c")
        files = {re.search(r"(\w+\.c)\b", session)[1]: program}
        for name in re.findall(r"--suppressions (\S+)", session):
            files[name] = next(text for _, text in blocks if "leak:" in text)
        yield pytest.param(files, session, id=section.splitlines()[0])


def is_near(shown, printed):
    """Returns whether two lines have the same words, and similar numbers: within a tenth or 1 MB, since the code of
    libc differs between releases. The recorder may have freed all its memory at the time of a look."""
    shown, printed = (re.sub(r" \+ [\d.]+ k?B recorder$", "", line) for line in (shown, printed))
    number = r"-?\d[\d,.]*(?: (?:B|kB|MB|s|ms)\b)?"
    if re.sub(number, "#", shown).split() != re.sub(number, "#", printed).split():
        return False
    for a, b in zip(re.findall(number, shown), re.findall(number, printed)):
        value, other = (float(n.split()[0].replace(",", "")) * UNITS[(n.split() + ["B"])[1]] for n in (a, b))
        if abs(value - other) > max(abs(value) / 10, 1e6):
            return False
    return True


PROCESS = re.compile(r"^ +\d+(?= +[\d,]+ +[\d.,]+ k?B +[\d.]+ % +[\d.,]+ k?B +\w+$)")


def is_same(shown, printed, session):
    plain = [re.sub(r"\s+", " ", re.sub(r"\(\d+\)", "(ID)", PROCESS.sub(" ID", line))) for line in (shown, printed)]
    return plain[0] == plain[1] or plain[1].startswith(plain[0] + " ") or ("RSS" in session and is_near(*plain))


@pytest.mark.parametrize("files, session", worked_examples())
def test_example(build, tmp_path, files, session):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    environment = {"PATH": f"{build}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        command, _, shown = step.partition("\n")
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
        printed = iter(done.stdout.splitlines())
        for line in filter(str.strip, shown.splitlines()):
            assert any(is_same(line, other, session) for other in printed), f"{command}: not in its place: {line}\n{done.stdout}"


def test_there_are_examples():
    assert len(list(worked_examples())) >= 5
