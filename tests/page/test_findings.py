"""test_findings.py - the page shows findings in the words of the text report, with links to their stacks

Breaks if one fact has two wordings, or if a finding leads to another stack's row.
"""

import pytest
from page_document import read_page

PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) void *giant(void) { return malloc(50000000); }
__attribute__((noinline)) void *churn(void) { return malloc(24); }
int main(void)
{
  void *kept = giant();
  for (int i = 0; i < 20000; i++)
    free(churn());
  return kept == NULL;
}
"""


@pytest.fixture
def recording(record, compile_c):
    return record([compile_c(PROGRAM, "-fno-builtin", "-fno-optimize-sibling-calls")])


def test_findings(recording, hw, tmp_path):
    hw("report", "-o", tmp_path / "run.page.json", recording.trace)
    page = read_page(tmp_path / "run.page.json")
    text = " ".join(hw("report", recording.trace, env={"LC_ALL": "C.UTF-8", "COLUMNS": "300"}).stdout.split())
    findings = {finding["kind"]: finding for finding in page.document["findings"]}
    assert findings.keys() >= {"giant", "churn"}
    for kind, finding in findings.items():
        assert f"{finding['label']} {finding['text']}" in text
        assert "\x1b" not in finding["text"]
    for kind in ("giant", "churn"):
        row = findings[kind]["row"]
        assert page.frames_of(page.stacks["node"][row])[0][0] == kind and kind in findings[kind]["text"]
    in_report = [{key: value for key, value in finding.items() if key != "stack"} for finding in recording.report["findings"]]
    assert in_report == [{key: value for key, value in finding.items() if key != "row"} for finding in page.document["findings"]]
