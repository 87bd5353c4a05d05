"""openmetrics.py - reads an answer of /metrics, and checks that it is OpenMetrics 1.0, or Prometheus's older text format"""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def labels_of(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        assert found and found[1] not in labels, text
        labels[found[1]] = re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], found[2])
        at = found.end()
    return labels


class Metrics:
    """families: name to type; samples: a list of (name, labels, value)."""

    def __init__(self, body, is_open):
        lines = body.decode().split("\n")
        assert lines.pop() == "", "the last line ends with a line feed"
        if is_open:
            assert lines.pop() == "# EOF"
        self.families, self.units, self.samples = {}, {}, []
        family, seen = None, set()
        for line in lines:
            if line.startswith("# "):
                _, word, name, rest = line.split(" ", 3)
                if name != family:
                    assert name not in self.families, f"{name} is in two places"
                    family = name
                if word == "TYPE":
                    self.families[name] = rest
                elif word == "UNIT":
                    assert is_open and name.endswith(f"_{rest}")
                    self.units[name] = rest
                else:
                    assert word == "HELP" and rest
                continue
            found = SAMPLE.fullmatch(line)
            assert found, line
            suffix = "_total" if is_open and self.families[family] == "counter" else ""
            assert found[1] == family + suffix, line
            assert found[1].endswith("_total") == (self.families[family] == "counter"), line
            labels = labels_of(found[2] or "")
            key = (found[1], tuple(sorted(labels.items())))
            assert key not in seen, f"twice: {line}"
            seen.add(key)
            self.samples.append((found[1], labels, float(found[3])))

    def find(self, name, **labels):
        """The values by their other labels, as a list."""
        return [(had, value) for sample, had, value in self.samples
                if sample == f"heapwright_{name}" and all(had.get(label) == wanted for label, wanted in labels.items())]

    def value(self, name, **labels):
        """The only value, or None."""
        found = self.find(name, **labels)
        assert len(found) <= 1, found
        return found[0][1] if found else None
