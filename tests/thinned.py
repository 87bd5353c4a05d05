"""thinned.py - makes a sampled trace of an exact recording, as a recorder that samples would have written it

It is written from docs/trace-format.md alone. All random choices follow from a seed. The exact figures of the same
recording are what the estimates of the sampled trace are compared with.
"""

import heapq
import math
import random
import struct
from collections import defaultdict

from format_reader import CHUNKS_OFF, COUNTS, HEADER_BYTES, NODE, RECORD, read_trace

PAGE, CHUNK_BYTES = 4096, 1 << 18
SAMPLED, TEMPORARY, RETIRED = 4, 13, 2
ALLOC, FREE, FAILED = 1, 3, 7


def probability(size, sample_bytes):
    return -math.expm1(-max(size, 1) / sample_bytes)


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint(value << 1 if value >= 0 else ~(value << 1))


class Stream:
    """The chunks of one thread. Each begins with the counts of its calls."""

    def __init__(self, number, thread, tick):
        self.number, self.thread, self.tick = number, thread, tick
        self.chunks, self.counts = [], [0, 0, 0]
        self.begin()

    def begin(self):
        self.base_tick, self.address, self.node, self.node_address = self.tick, 0, 0, 0
        self.bytes = bytearray([RECORD, COUNTS, 13 + 24]) + struct.pack("<BIIIQQQ", 0, self.thread, self.number, len(self.chunks), 0, 0, 0)

    def end(self):
        self.bytes[16:40] = struct.pack("<QQQ", *self.counts)
        self.chunks.append((self.base_tick, bytes(self.bytes)))
        self.counts = [0, 0, 0]

    def count(self, allocations, size, frees):
        self.counts = [a + b for a, b in zip(self.counts, (allocations, size, frees))]

    def put(self, op, tick, fields):
        """`fields` are bytes, or numbers that are addresses."""
        if len(self.bytes) > CHUNK_BYTES:
            self.end()
            self.begin()
        passed, self.tick = tick - self.tick, tick
        self.bytes += bytes([op | min(passed, 15) << 4]) + (varint(passed) if passed >= 15 else b"")
        for field in fields:
            if isinstance(field, int):
                delta, self.address = field - self.address, field
                field = varint((delta << 1 if delta >= 0 else ~(delta << 1)) << 1 | 1)
            self.bytes += field

    def put_record(self, kind, payload=b""):
        self.put(RECORD, self.tick, [bytes([kind]), varint(len(payload)), payload])

    def put_node(self, node):
        fields = zigzag(node.number - self.node - 1) + zigzag(node.number - node.parent)
        fields += varint(node.module << 1 | bool(node.entry)) + (bytes([node.entry]) if node.entry else b"")
        at = node.address if node.address < 2**63 else node.address - 2**64
        self.put(NODE, self.tick, [fields + zigzag(at - self.node_address)])
        self.node, self.node_address = node.number, at


class Call:
    """One call of a thread: a block may end, and then a block may begin."""

    def __init__(self, thread, event):
        self.thread, self.event = thread, event
        self.old = event.address if event.kind == "free" else event.old
        self.new = event.address if event.kind in ("alloc", "realloc") else None


def calls_of(trace):
    """All calls in the order of time; those of one thread in their own order."""
    threads = [[Call(thread, event) for event in events] for thread, events in trace.events.items()]
    return list(heapq.merge(*threads, key=lambda call: call.event.tick))


def thin(source, to, sample_bytes, seed):
    """Writes the trace `to`, raw, with a sample of the events of the trace `source`."""
    chance = random.Random(seed)
    trace = read_trace(source)
    calls = calls_of(trace)
    header = bytearray(source.read_bytes()[:HEADER_BYTES])
    header[56:72] = chance.randbytes(16)  # another image
    first = calls[0].event.tick
    definitions = Stream(0, calls[0].thread, first)
    for kind, payload in trace.records:
        definitions.put_record(kind, payload)
    for node in trace.nodes:
        definitions.put_node(node)
    streams = {thread: Stream(1 + i, thread, first) for i, thread in enumerate(trace.events)}
    owners, sampled, latest = {}, set(), defaultdict(int)
    for call in calls:
        stream, event = streams[call.thread], call.event
        ends = begins = False
        if call.old:
            stream.count(0, 0, 1)
            ends = call.old in sampled
            if ends and latest[owners[call.old]] == call.old:
                stream.put_record(TEMPORARY)
            sampled.discard(call.old)
        if call.new:
            stream.count(1, event.size, 0)
            owners[call.new] = call.thread
            latest[call.thread] = call.new
            sampled.discard(call.new)
            begins = chance.random() < probability(event.size, sample_bytes)
            if begins:
                sampled.add(call.new)
        if ends:
            stream.put(FREE, event.tick, [call.old])
        if begins:
            stream.put(ALLOC, event.tick + (event.ticks or 0), [varint(event.node), varint(event.size), call.new])
        if event.kind == "failed":
            stream.put(FAILED, event.tick, [bytes([event.alignment]), varint(event.node), varint(event.size)])
    write(to, header, sample_bytes, [definitions, *streams.values()])


def write(to, header, sample_bytes, streams):
    tag, body = bytes(header[56:64]), bytearray()
    for stream in streams:
        stream.end()
        for sequence, (base_tick, data) in enumerate(stream.chunks):
            size = -(-(64 + len(data)) // PAGE) * PAGE
            body += struct.pack("<4sIQ8sIIIHHQQII", b"HWCK", size, CHUNKS_OFF + len(body), tag, stream.number, sequence, stream.thread,
                                SAMPLED, 0, base_tick, 0, len(data), RETIRED) + data
            body += bytes(-len(body) % PAGE)
    struct.pack_into("<H", header, 10, 1)
    struct.pack_into("<Q", header, 32, CHUNKS_OFF + len(body))
    struct.pack_into("<B", header, 144, SAMPLED)
    struct.pack_into("<Q", header, 176, CHUNKS_OFF + len(body))
    struct.pack_into("<Q", header, 3912, sample_bytes)
    to.write_bytes(bytes(header) + bytes(CHUNKS_OFF - HEADER_BYTES) + body)
