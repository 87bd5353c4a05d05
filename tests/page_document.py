"""page_document.py - reads the document of the HTML page as described in docs/page-data.md, for the tests"""

import base64
import json
import re
from collections import namedtuple

ENDINGS = ("temporary", "below_1ms", "below_1s", "below_1min", "1min_or_longer", "left", "unseen")
Entry = namedtuple("Entry", "slice calls bytes live_bytes ended")
OF_INSTANCES = ("begin_ns", "duration_ns", "scope", "sequence", "number", "allocation_calls", "free_calls")
OF_INSTANCE_CALLS = ("allocated_bytes", "net_bytes", "max_net_bytes", "inside_bytes")
PLACE = re.compile(r'<script[^>]*id="?heapwright-data"?[^>]*>(.*?)</script>', re.S)


def unpack(text):
    """The numbers of a packed column."""
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(text, validate=True):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    assert shift == 0
    return numbers


def signed(number):
    return number >> 1 if number % 2 == 0 else -(number >> 1) - 1


class Table:
    """Rows of a table: table[3].calls; packed columns and plain ones."""

    def __init__(self, columns, count):
        self.columns = {}
        for key, column in columns.items():
            if key == "lifetimes":
                self.columns.update((name, unpack(text)) for name, text in column.items())
            elif key != "series" and isinstance(column, (str, list)):
                self.columns[key] = unpack(column) if isinstance(column, str) else column
        assert {len(column) for column in self.columns.values()} == {count}
        self.count = count
        self.series = unpack_series(columns["series"], count) if "series" in columns else None

    def sum(self, key):
        return sum(self.columns[key])

    def __getitem__(self, key):
        return self.columns[key]


def unpack_slices(text, rows, read):
    """By row: the results of read(slice, numbers) for each slice that is not empty; the slice comes first in each."""
    numbers = iter(unpack(text))
    series = []
    for _ in range(rows):
        entries, at = [], 0
        for _ in range(next(numbers)):
            at += next(numbers)
            entries.append(read(at, numbers))
        assert [entry[0] for entry in entries] == sorted({entry[0] for entry in entries})
        series.append(entries)
    assert next(numbers, None) is None
    return series


def read_entry(at, numbers):
    calls, size, live, which = next(numbers), next(numbers), signed(next(numbers)), next(numbers)
    ended = {ending: next(numbers) if which >> i & 1 else 0 for i, ending in enumerate(ENDINGS)}
    assert which < 1 << len(ENDINGS) and sum(count > 0 for count in ended.values()) == which.bit_count()
    return Entry(at, calls, size, live, ended)


def unpack_series(text, rows):
    """By row: its entries."""
    return unpack_slices(text, rows, read_entry)


def read_part(at, numbers):
    untimed, total, longest = next(numbers), next(numbers), next(numbers)
    bands, band = {}, 0
    for _ in range(next(numbers)):
        band += next(numbers)
        bands[band] = next(numbers)
    return at, untimed, total, longest, bands


def unpack_durations(text, rows):
    """By row: of each slice with calls (slice, untimed, sum_ns, max_ns, {band: calls})."""
    return unpack_slices(text, rows, read_part)


class Page:
    """A document, its tables unpacked."""

    def __init__(self, document):
        assert document["schema"] == "heapwright-page/1"
        self.document = document
        self.run = document["run"]
        self.strings = document["strings"]
        self.stacks = Table(document["stacks"], document["stacks"]["count"])
        self.nodes = Table(document["nodes"], document["nodes"]["count"])
        self.sizes = Table(document["sizes"], document["sizes"]["count"])
        self.size_series = Table(document["size_series"], len(document["size_series"]["from"]))
        self.threads = Table(document["threads"], len(document["threads"]["name"]))
        self.handovers = Table(document["handovers"], len(document["handovers"]["owner"]))
        slices = {key: column for key, column in document["slices"].items() if isinstance(column, list)}
        self.slices = Table(slices, len(slices["from_ns"]))
        for name in ("sites", "frames", "modules"):
            setattr(self, name, Table(document[name], len(next(iter(document[name].values())))))

    def frames_of(self, node):
        """(function, file, line, address in the module) of a node plus 1, innermost first: as listed by `report
        --json`."""
        found = []
        while node > 0:
            site = self.nodes["site"][node - 1]
            end = self.sites["frame"][site + 1] if site + 1 < self.sites.count else self.frames.count
            for at in range(self.sites["frame"][site], end):
                name, file = self.text(self.frames["function"][at]), self.text(self.frames["file"][at])
                found.append((name, file, self.frames["line"][at] or None, self.sites["address"][site]))
            parent = self.nodes["parent"][node - 1]
            node = node - parent if parent > 0 else 0
        return tuple(found)

    def text(self, index):
        return self.strings[index] if index >= 0 else None

    def rows_by_frames(self):
        """The rows that belong to one stack, by their frames and entry point."""
        found = {}
        for row in range(self.stacks.count):
            if self.stacks["cut"][row] == 0:
                key = self.frames_of(self.stacks["node"][row]) + (self.document["entries"][self.stacks["entry"][row]],)
                assert key not in found
                found[key] = row
        return found


def within(entries, first, last):
    """Sums of a row's entries in slices [first, last]: calls, bytes."""
    chosen = [entry for entry in entries if first <= entry.slice <= last]
    return sum(entry.calls for entry in chosen), sum(entry.bytes for entry in chosen)


def live_at(entries, last):
    """Live blocks and bytes at the end of slice `last`."""
    chosen = [entry for entry in entries if entry.slice <= last]
    return sum(entry.calls - sum(entry.ended.values()) for entry in chosen), sum(entry.live_bytes for entry in chosen)


def lifetimes_within(entries, first, last):
    """By the names of docs/json.md: for the blocks that were freed in slices [first, last], or that are live at the
    end of these."""
    chosen = [entry for entry in entries if first <= entry.slice <= last]
    found = {ending: sum(entry.ended[ending] for entry in chosen) for ending in ENDINGS[:5]}
    left = sum(entry.ended["left"] for entry in entries if entry.slice <= last)
    return found | {"until_end": live_at(entries, last)[0] + left}


def read_sizes(numbers):
    head = next(numbers)
    return {next(numbers): signed(next(numbers)) for _ in range(head >> 1)}, bool(head & 1)


def read_instances(document):
    """The instances as dicts, with the columns' differences added up."""
    fields = document["instances"]
    columns = {key: unpack(fields[key]) for key in OF_INSTANCES}
    of_calls = {key: iter(unpack(fields[key])) for key in OF_INSTANCE_CALLS}
    sizes = iter(unpack(fields["sizes"]))
    lanes = [lane for lane in fields["lanes"] for _ in range(lane["count"])]
    assert {len(column) for column in columns.values()} == {fields["count"]} == {len(lanes)}
    found, latest, begin, before = [], {}, 0, None
    for i, lane in enumerate(lanes):
        each = {key: column[i] for key, column in columns.items()} | {"lane": lane}
        begin = each["begin_ns"] + (begin if lane is before else 0)
        sequence, number = latest.get(each["scope"], (0, 0))
        each["begin_ns"], before = begin, lane
        each["sequence"] = sequence + 1 + signed(each["sequence"] - 1) if each["sequence"] else None
        each["number"] = number + signed(each["number"] - 1) if each["number"] else None
        latest[each["scope"]] = (each["sequence"] or sequence, number if each["number"] is None else each["number"])
        if each["allocation_calls"] + each["free_calls"]:
            each |= {key: next(column) if key in ("allocated_bytes", "max_net_bytes") else signed(next(column))
                     for key, column in of_calls.items()}
            each["sizes"], each["has_others"] = read_sizes(sizes)
        found.append(each)
    assert next(sizes, None) is None and all(next(column, None) is None for column in of_calls.values())
    for text in fields["texts"]:
        found[text["instance"]]["text"] = text["text"]
    return found


def read_page(path):
    return Page(json.loads(path.read_text()))


def read_html(path):
    """The page's document; it is the only content of its element."""
    (text,) = PLACE.findall(path.read_text())
    assert "<" not in text
    return Page(json.loads(text))
