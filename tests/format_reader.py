"""format_reader.py - reads a trace as described in docs/trace-format.md, independently of all other code

It was written from that page alone. If the page leaves out a field or describes it wrongly, the events of the raw
and the packed form of one recording differ, or their sums differ from the report's. It does not check its input,
which must be a whole trace.
"""

import mmap
import struct
import subprocess
from collections import defaultdict, namedtuple

MAGIC = bytes.fromhex("89 48 57 54 0D 0A 1A 0A")
HEADER_BYTES, CHUNKS_OFF, CHUNK_HEADER_BYTES, SECTION_HEADER_BYTES = 4096, 1052672, 64, 64
TOOL, EVENTS, END, LEFT, BASE = 1, 2, 3, 4, 5
SAVED = 5
ALLOC, ALLOC_ALIGNED, FREE, DELETE, FREE_VIA, REALLOC, FAILED, NODE, RECORD, ALLOC_RECENT, ALLOC_AGAIN, NODE_CHILD = range(1, 13)
COUNTS, TEMPORARY = 12, 13  # records of a sample
ENTRY_FREE_OF_OP = {FREE: "free", DELETE: "delete"}
BIRTH_ALLOC, BIRTH_ALIGNED, BIRTH_REALLOC, BIRTH_FAILED = range(4)

# kind: "alloc", "free", "realloc", "failed"; `old` is for realloc only; entry is for a free whose op does not contain
# it
Event = namedtuple("Event", "tick kind node size usable address old alignment entry duration ticks temporary", defaults=[None] * 9 + [False])
Node = namedtuple("Node", "number parent module entry address")
Trace = namedtuple("Trace", "events nodes records")  # events: by thread, in order
# live: of the LEFT sections, the ticks of the blocks that live at the cut, by address
Base = namedtuple("Base", "cut cells threads slices peak_tick peak_bytes peak_blocks calls live records")
Cell = namedtuple("Cell", "thread node size usable ended missed failed peak_blocks")
Slice = namedtuple("Slice", "live_bytes live_blocks max_bytes allocation_calls free_calls allocated_bytes")


class Bytes:
    """Reads a list of bytes, varints and zigzags."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self):
        return unzigzag(self.varint())

    def take(self, count):
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def address(self, last):
        value = self.varint()
        return (last + unzigzag(value >> 1) * (1 if value & 1 else 16)) % 2**64

    @property
    def is_read(self):
        return self.at == len(self.data)


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def unzstd(data):
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout


def usual_usable(size):
    return max(24, ((size + 23) & ~15) - 8)


def read_trace(path):
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # a raw one is as long as its window
    assert data[:8] == MAGIC and struct.unpack_from("<H", data, 8)[0] == 1
    is_packed = struct.unpack_from("<H", data, 10)[0] == 2
    return read_packed(data) if is_packed else read_raw(data)


def counts_of(trace, base=None):
    """Returns [allocations, bytes, frees] of each thread of a sample, whose older events may be in a base."""
    chunks, sums, last_in_sum = {}, [], {}
    for payload in [payload for kind, payload in trace.records + (base.records if base else []) if kind == COUNTS]:
        is_sum, thread, stream, sequence, *numbers = struct.unpack("<BIIIQQQ", payload)
        if is_sum:
            sums.append((thread, numbers))
            last_in_sum[stream] = max(sequence, last_in_sum.get(stream, 0))
        else:
            chunks[stream, sequence] = thread, numbers
    counted = sums + [chunk for (stream, sequence), chunk in chunks.items() if sequence > last_in_sum.get(stream, -1)]
    counts = defaultdict(lambda: [0, 0, 0])
    for thread, numbers in counted:
        counts[thread] = [sum(pair) for pair in zip(counts[thread], numbers)]
    return counts


def saved_until(path):
    """Returns the tick at which a trace was saved while its program ran, or None: all of its events are earlier."""
    with open(path, "rb") as file:
        header = file.read(HEADER_BYTES)
    state, = struct.unpack_from("<I", header, 160)
    stop_clock, = struct.unpack_from("<Q", header, 168)
    return stop_clock >> header[19] if state == SAVED else None


# --- chunks ---


def read_raw(data):
    window_bytes, = struct.unpack_from("<Q", data, 32)
    page_bytes, = struct.unpack_from("<I", data, 24)
    streams, at = defaultdict(list), CHUNKS_OFF
    while at < window_bytes:
        magic, chunk_bytes, off = struct.unpack_from("<4sIQ", data, at)
        if magic != bytes.fromhex("48 57 43 4B") or off != at or data[at + 16 : at + 24] != data[56:64]:
            at += page_bytes
            continue
        stream, sequence = struct.unpack_from("<II", data, at + 24)
        streams[stream].append((sequence, at))
        at += chunk_bytes
    trace = Trace(defaultdict(list), [], [])
    for chunks in streams.values():
        assert [sequence for sequence, _ in sorted(chunks)] == list(range(len(chunks)))
        for _, at in sorted(chunks):
            valid_bytes, = struct.unpack_from("<I", data, at + 56)
            Chunk(data[at : at + CHUNK_HEADER_BYTES + valid_bytes]).read(trace)
    return trace


class Chunk:
    def __init__(self, data):
        self.thread, self.fields, _, self.tick, self.address = struct.unpack_from("<IHHQQ", data, 32)
        self.bytes = Bytes(data[CHUNK_HEADER_BYTES:])
        self.slots = {}
        self.node = self.node_address = 0
        self.temporary = False

    def read(self, trace):
        while not self.bytes.is_read:
            first = self.bytes.u8()
            op, dt = first & 15, first >> 4
            self.tick += self.bytes.varint() if dt == 15 else dt
            if op in (NODE, NODE_CHILD):
                trace.nodes.append(self.read_node(op))
            elif op == RECORD:
                kind = self.bytes.u8()
                record = (kind, self.bytes.take(self.bytes.varint()))
                if kind == TEMPORARY:
                    self.temporary = True
                else:
                    trace.records.append(record)
                if kind == 2:
                    self.thread = Bytes(record[1]).varint()
            else:
                event = self.read_event(op)
                duration = self.bytes.varint() if self.fields & 2 else None
                trace.events[self.thread].append(event._replace(duration=duration, temporary=self.temporary))
                self.temporary = False

    def read_node(self, op):
        if op == NODE:
            number = self.node + 1 + self.bytes.zigzag()
            parent = number - self.bytes.zigzag()
        else:
            number, parent = self.node + 1, self.node
        module = self.bytes.varint()
        entry = self.bytes.u8() if module & 1 else 0
        self.node, self.node_address = number, (self.node_address + self.bytes.zigzag()) % 2**64
        return Node(number, parent, module >> 1, entry, self.node_address)

    def read_size(self):
        value = self.bytes.varint()
        if not self.fields & 1:
            return value, None
        return value >> 1, usual_usable(value >> 1) + (self.bytes.zigzag() if value & 1 else 0)

    def next_address(self, last=None):
        self.address = self.bytes.address(self.address if last is None else last)
        return self.address

    def read_event(self, op):
        get, tick = self.bytes, self.tick
        if op in (FREE, DELETE):
            return Event(tick, "free", address=self.next_address(), entry=ENTRY_FREE_OF_OP[op])
        if op == FREE_VIA:
            entry = get.u8()
            return Event(tick, "free", address=self.next_address(), entry=entry)
        if op == FAILED:
            return Event(tick, "failed", alignment=get.u8(), node=get.varint(), size=get.varint())
        if op == REALLOC:
            node, ticks, old = get.varint(), get.varint(), self.next_address()
            size, usable = self.read_size()
            self.tick += ticks
            return Event(tick, "realloc", node, size, usable, self.next_address(), old, ticks=ticks)
        if op in (ALLOC_RECENT, ALLOC_AGAIN):
            slot = get.u8()
            node, size, usable, last = self.slots[slot]
            if op == ALLOC_RECENT:
                size, usable = self.read_size()
            address = self.next_address(last)
            self.slots[slot] = (node, size, usable, address)
            return Event(tick, "alloc", node, size, usable, address)
        assert op in (ALLOC, ALLOC_ALIGNED), op
        alignment = get.u8() if op == ALLOC_ALIGNED else None
        node = get.varint()
        size, usable = self.read_size()
        address = self.next_address()
        if op == ALLOC:
            self.slots[(node * 0x9E3779B1 % 2**32) >> 24] = (node, size, usable, address)
        return Event(tick, "alloc", node, size, usable, address, alignment=alignment)


# --- bases ---


def read_base(path):
    """Reads the base of a packed trace."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    at, left, found = HEADER_BYTES, [], None
    while at < len(data):
        _, kind, packed_bytes, plain_bytes, stream, first, _, codec, first_tick, _, count = struct.unpack_from("<IIQQIIIIQQQ", data, at)
        body = data[at + SECTION_HEADER_BYTES : at + SECTION_HEADER_BYTES + packed_bytes]
        if kind == BASE and stream == len(left):
            found = first_tick, left, unzstd(body)
        left = left + [(first, codec, first_tick, count, body, plain_bytes)] if kind == LEFT else []
        at += (SECTION_HEADER_BYTES + packed_bytes + 7) & ~7
    cut, left, sums = found
    return read_sums(cut, read_left(left), sums)


def read_left(sections):
    trace = Trace(defaultdict(list), [], [])
    for _, codec, first_tick, count, body, _ in sections:
        assert codec in (1, 2)
        Columns(body, 22 if codec == 2 else 21, first_tick).read(trace, count)
    live = {}
    for event in sorted((event for events in trace.events.values() for event in events), key=lambda event: event.tick):
        if event.kind == "alloc":
            live[event.address] = event.tick
        elif event.kind == "free":
            del live[event.address]
    return live, trace.records


def read_sums(cut, left, sums):
    cell_count, thread_count, slice_count, _, _, _, peak_tick, peak_bytes, peak_blocks, *_, calls = struct.unpack_from("<4I10Q", sums)
    at, cells, threads, slices = 96, [], [], []
    for _ in range(cell_count):
        thread, node, size, usable, *ended, missed, failed, peak = struct.unpack_from("<IIQQ5QQQQ", sums, at)
        cells.append(Cell(thread, node, size, usable, ended, missed, failed, peak))
        at += 88
    for _ in range(thread_count):
        thread, _, free_calls, foreign_frees = struct.unpack_from("<IIQQ", sums, at)
        threads.append((thread, free_calls, foreign_frees))
        at += 24
    for _ in range(slice_count):
        slices.append(Slice(*struct.unpack_from("<6Q", sums, at)))
        at += 48
    assert at == len(sums)
    return Base(cut, cells, threads, slices, peak_tick, peak_bytes, peak_blocks, calls, *left)


# --- sections ---


def read_packed(data):
    trace, at, streams, types = Trace(defaultdict(list), [], []), HEADER_BYTES, defaultdict(list), []
    while not types or types[-1] != END:
        magic, kind, packed_bytes, plain_bytes, stream, first, _, codec, first_tick, _, count = struct.unpack_from("<4sIQQIIIIQQQ", data, at)
        assert magic == bytes.fromhex("48 57 53 43")
        body = data[at + SECTION_HEADER_BYTES : at + SECTION_HEADER_BYTES + packed_bytes]
        if kind == EVENTS:
            streams[stream].append((first, codec, first_tick, count, body, plain_bytes))
        types.append(kind)
        at += (SECTION_HEADER_BYTES + packed_bytes + 7) & ~7
    for sections in streams.values():
        for _, codec, first_tick, count, body, plain_bytes in sorted(sections, key=lambda section: section[0]):
            if codec == 0:
                read_chunks(unzstd(body), plain_bytes, trace)
            else:
                Columns(body, 21 + (codec == 2), first_tick).read(trace, count)
    return trace


def read_chunks(plain, plain_bytes, trace):
    assert len(plain) == plain_bytes
    at = 0
    while at < len(plain):
        end = at + CHUNK_HEADER_BYTES + struct.unpack_from("<I", plain, at + 56)[0]
        Chunk(plain[at:end]).read(trace)
        at = end


class Columns:
    NAMES = ("HEAD CHUNKS THREADS OPS TIMES LONG_TIMES REALLOC_TIMES NODES NEW_NODES SIZES USABLE ADDRESSES DISTANCES FAR ENTRIES "
             "RARE TREE_NUMBERS TREE_PARENTS TREE_PCS NEW_PCS RECORDS DURATIONS").split()

    def __init__(self, body, count, first_tick):
        at = 8 * count
        for i in range(count):
            plain, packed = struct.unpack_from("<II", body, 8 * i)
            column = body[at : at + packed] if packed == plain else unzstd(body[at : at + packed])
            assert len(column) == plain
            setattr(self, self.NAMES[i], Bytes(column))
            at += packed
        assert at == len(body)
        self.columns = count
        self.tick = first_tick
        self.fields, _, self.node_count = self.HEAD.varint(), self.HEAD.varint(), self.HEAD.varint()
        self.addresses, self.classes = [0], [0]  # by birth
        self.last_ended = self.top = self.elsewhere = self.far = 0
        self.habits, self.last_new_node = [None], 0
        self.freed = defaultdict(list)  # by class, the latest last

    def read(self, trace, event_count):
        ops = 0
        while not self.CHUNKS.is_read:
            ops += self.CHUNKS.varint()
            self.CHUNKS.varint()
        while not self.THREADS.is_read:
            count, thread = self.THREADS.varint(), self.THREADS.varint()
            trace.events[thread] += [self.read_event() for _ in range(count)]
            ops -= count
        assert ops == 0
        nodes, records = list(self.read_nodes()), list(self.read_records())
        trace.nodes.extend(nodes)
        trace.records.extend(records)
        left = {name for name in self.NAMES[: self.columns] if not getattr(self, name).is_read}
        assert not left, left

    def read_event(self):
        dt = self.TIMES.u8()
        self.tick += self.LONG_TIMES.varint() if dt == 255 else dt
        tick, op = self.tick, self.OPS.u8()
        event = self.read_birth(op) if op < 128 else self.read_free(op)
        duration = self.DURATIONS.varint() if self.fields & 2 else None
        return event._replace(tick=tick, duration=duration)

    def read_node_number(self):
        k = self.NODES.varint()
        if k == 0:
            self.last_new_node += self.NEW_NODES.zigzag()
            self.habits.append([self.last_new_node, 0, None])
        return self.habits[k or -1]

    def read_birth(self, op):
        place, is_sized, kind = op & 15, op >> 4 & 1, op >> 5
        if kind == BIRTH_FAILED:
            return Event(0, "failed", alignment=self.RARE.u8(), node=self.RARE.varint(), size=self.RARE.varint())
        alignment = self.RARE.u8() if kind == BIRTH_ALIGNED else None
        habit = self.read_node_number()
        if is_sized:
            value = self.SIZES.varint()
            if self.fields & 1:
                size = value >> 1
                habit[1:] = size, usual_usable(size) + (self.USABLE.zigzag() if value & 1 else 0)
            else:
                habit[1:] = value, None
        node, size, usable = habit
        old = ticks = None
        if kind == BIRTH_REALLOC:
            ticks = self.REALLOC_TIMES.varint()
            self.tick += ticks
            old = self.read_end(self.OPS.u8(), place == 10)
        address = self.place(place, size, usable, old)
        return Event(0, "realloc" if kind == BIRTH_REALLOC else "alloc", node, size, usable, address, old, alignment, ticks=ticks)

    def place(self, place, size, usable, old):
        granules = ((usual_usable(size) if not usable else usable) + 8) // 16
        class_ = (granules + granules // 256) % 256
        if place < 8:
            address = self.freed[class_].pop(-1 - place)
        elif place == 8:
            address = self.top
        elif place == 9:
            address = self.elsewhere = self.ADDRESSES.address(self.elsewhere)
        else:
            address = old
        if place in (8, 9):
            self.top = address + 16 * granules
        self.addresses.append(address)
        self.classes.append(class_)
        return address

    def read_end(self, op, is_kept):
        if op == 194:
            self.far = self.FAR.address(self.far)
            return self.far
        newest = len(self.addresses) - 1
        if op < 160:
            block = newest - (op - 128)
        elif op < 193:
            block = self.last_ended + op - 160 - 16
        else:
            block = newest - self.DISTANCES.varint()
        self.last_ended = block
        if not is_kept:
            self.freed[self.classes[block]] = (self.freed[self.classes[block]] + [self.addresses[block]])[-16:]
        return self.addresses[block]

    def read_free(self, op):
        entry = self.ENTRIES.u8()
        return Event(0, "free", address=self.read_end(op, False), entry=entry & 127, temporary=entry > 127)

    def read_nodes(self):
        pcs, last, last_pc = [None, None], 0, 1  # of [module, entry, address, number of the pc that came next]
        pcs[1] = [0, 0, 0, 0]
        while not self.TREE_NUMBERS.is_read:
            number = last + 1 + self.TREE_NUMBERS.zigzag()
            parent = number - self.TREE_PARENTS.zigzag()
            code = self.TREE_PCS.varint()
            if code == 1:
                code = pcs[last_pc][3]
            if code == 0:
                address = (pcs[last_pc][2] + self.NEW_PCS.zigzag()) % 2**64
                module = self.NEW_PCS.varint()
                pcs.append([module >> 1, self.NEW_PCS.u8() if module & 1 else 0, address, 0])
                code = len(pcs) - 1
            pcs[last_pc][3] = code
            last, last_pc = number, code
            module, entry, address, _ = pcs[code]
            yield Node(number, parent, module, entry, address)

    def read_records(self):
        while not self.RECORDS.is_read:
            kind = self.RECORDS.u8()
            yield kind, self.RECORDS.take(self.RECORDS.varint())
