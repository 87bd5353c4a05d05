"""test_names.py - names that are not harmless text, in the page's document and in the page

Breaks if a name ends the element that contains the document, is cut, or makes the JSON invalid; or if the document
grows with its names beyond the promised limit.
"""

import re

import pytest
from page_document import read_html, read_page

BYTES_MAX = 3_000_000
PROGRAM = """
#include <stdlib.h>

#define NAMED(name) __attribute__((noinline)) void *name(size_t size) { return malloc(size); }
NAMES

int main(void)
{
CALLS
  return 0;
}
"""
NAMES = ["</script><script>alert(1)</script>", "<!-- never closed", "a&b;\\\"c' d", "\U0001f600 emoji", "<!--heapwright-data-->",
         "tab\tand\nline", b"ba\xffd\xc0 utf8", "long_" + "name<T>::" * 1111 + "end"]


def compile_names(compile_c, names):
    """A program whose function number i, with this name, allocates 1000 + i bytes: no compiler accepts such names,
    but a table does."""
    names = [name if isinstance(name, bytes) else name.encode() for name in names]
    stand_ins = [f"f{i}_".ljust(len(name), "x") for i, name in enumerate(names)]
    assert all(len(name) == len(other) for name, other in zip(names, stand_ins))
    lines = "\n".join(f"NAMED({name})" for name in stand_ins)
    calls = "\n".join(f"  if ({name}({1000 + i}) == NULL) return 1;" for i, name in enumerate(stand_ins))
    program = compile_c(PROGRAM.replace("NAMES", lines).replace("CALLS", calls), "-g0", "-fno-builtin", "-fno-optimize-sibling-calls")
    data = program.read_bytes()
    for name, stand_in in zip(names, stand_ins):
        assert data.count(b"\0" + stand_in.encode() + b"\0") == 1
        data = data.replace(b"\0" + stand_in.encode() + b"\0", b"\0" + name + b"\0")
    program.write_bytes(data)
    return program


def allocator_of(page, size):
    """The name of the function that requested the only block of that size."""
    (row,) = [row for row in range(page.stacks.count) if page.stacks["smallest"][row] == size == page.stacks["largest"][row]]
    return page.frames_of(page.stacks["node"][row])[0][0]


@pytest.fixture
def recording(record, compile_c):
    return record([compile_names(compile_c, NAMES)])


def test_names_in_the_document(recording, hw, tmp_path):
    hw("report", "-o", tmp_path / "run.page.json", recording.trace)
    page = read_page(tmp_path / "run.page.json")
    names = {stack["smallest"]: stack["stack"][0]["function"] for stack in recording.report["top"] if stack["smallest"] == stack["largest"]}
    for i in range(len(NAMES)):
        assert allocator_of(page, 1000 + i) == names[1000 + i]
    assert len(allocator_of(page, 1000 + len(NAMES) - 1)) > 9999
    assert allocator_of(page, 1000) == NAMES[0] and allocator_of(page, 1003) == NAMES[3]


def test_names_in_the_page(recording, hw, tmp_path):
    """The page has as many tags as without any names, and its document equals the other one."""
    for suffix in ("html", "page.json"):
        assert hw("report", "-o", tmp_path / f"run.{suffix}", recording.trace).returncode == 0
    page = read_html(tmp_path / "run.html")
    assert page.document == read_page(tmp_path / "run.page.json").document
    assert [allocator_of(page, 1000 + i) for i in (0, 1, 4)] == [NAMES[0], NAMES[1], NAMES[4]]
    template = (tmp_path / "run.html").read_text()
    assert "alert(1)</script>" not in template
    assert not re.search(r"(src|href)=[\"']?https?:", template)


def test_names_that_are_too_long_are_shortened(record, compile_c, hw, tmp_path):
    names = [f"n{i}_".encode() + (b"\xff\xc3" if i == 77 else b"xx") * 4500 + f"_{i}".encode() for i in range(300)]
    recording = record([compile_names(compile_c, names)])
    hw("report", "-o", tmp_path / "run.html", recording.trace)
    assert (tmp_path / "run.html").stat().st_size < BYTES_MAX
    page = read_html(tmp_path / "run.html")
    for i in (0, 77, 299):
        name = allocator_of(page, 1000 + i)
        assert name.startswith(f"n{i}_") and name.endswith(f"_{i}") and "…" in name and len(name) < 9000
        assert name.count("\ufffd" if i == 77 else "x") > 100


def test_a_program_is_called_as_it_was_run(record, compile_c, hw, tmp_path):
    """Through a link: the path is still the file's."""
    program = compile_c("#include <stdlib.h>\nint main(void) { return malloc(20) == NULL; }", name="file_of_it")
    (tmp_path / "link_to_it").symlink_to(program)
    recording = record([tmp_path / "link_to_it"])
    assert hw("report", "-o", tmp_path / "run.html", recording.trace).returncode == 0
    document = read_html(tmp_path / "run.html").document
    modules, strings = document["modules"], document["strings"]
    names = {strings[path]: strings[name] for path, name in zip(modules["path"], modules["name"])}
    assert names.pop(str(program)) == "link_to_it"
    assert names and all(path.endswith(f"/{name}") for path, name in names.items())
