"""trace_header.py - reads a trace's header independently, so that a test need not trust the tool that it tests

The layout is `struct hw_trace_header` of src/trace/format.h; docs/trace-format.md describes it.
"""

import ctypes

MAGIC = b"\x89HWT\r\n\x1a\n"
u8, u16, u32, u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


class Anchor(ctypes.LittleEndianStructure):
    _fields_ = [("clock", u64), ("monotonic_ns", u64)]


class Exec(ctypes.LittleEndianStructure):
    _fields_ = [("pid", u32), ("name", ctypes.c_char * 20)]


class Header(ctypes.LittleEndianStructure):
    _fields_ = [
        ("magic", u8 * 8), ("version", u16), ("kind", u16), ("header_bytes", u32), ("machine", u16), ("pointer_bytes", u8),
        ("tick_shift", u8), ("clock", u8), ("origin", u8), ("reserved0", u16), ("page_bytes", u32), ("depth_limit", u32),
        ("window_bytes", u64), ("run_id", u8 * 16), ("image_id", u8 * 16), ("parent_image_id", u8 * 16), ("pid", u32),
        ("ppid", u32), ("process_start", u64), ("inherited_nodes", u32), ("inherited_modules", u32), ("start", Anchor),
        ("start_realtime_ns", u64), ("clock_hz_hint", u64), ("fields", u8), ("started_paused", u8), ("reserved1", u8 * 2), ("clock_cost", u32), ("control", u32),
        ("pid_namespace", u32), ("state", u32), ("children_unseen", u32), ("stop_clock", u64), ("used_bytes", u64), ("last", Anchor),
        ("lost_events", u64), ("truncated_stacks", u64), ("unfinished_stacks", u64), ("audited_stacks", u64),
        ("audit_differences", u64), ("node_limit_hits", u64), ("rss_peak_bytes", u64),
        ("threads", u64 * 256), ("exec", Exec), ("child_exec_count", u32), ("reserved2", u32), ("child_execs", Exec * 64),
    ]


def read_header(path):
    with open(path, "rb") as file:
        header = Header.from_buffer_copy(file.read(ctypes.sizeof(Header)))
    assert bytes(header.magic) == MAGIC, f"{path} is no trace"
    return header


def is_begun(path):
    """Returns whether there is a trace with a header. The file is as long as its window from the start, so only the
    header is read."""
    if not path.exists():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def traces_of_run(path):
    """The trace at `path` and those of its children that exist."""
    children = path.with_name(path.name + ".children")
    return ([path] if path.exists() else []) + sorted(children.glob("*.hwt"))
