"""recorders.py - the compared ways to run a command: without a recorder, with heapwright, with heaptrack."""
import dataclasses
import os
import shutil

PLAIN, USUAL, PACKED, RAW, HEAPTRACK, HEAPTRACK_RAW = "plain", "record", "record-q", "raw", "heaptrack", "heaptrack-r"

OURS = (USUAL, PACKED, RAW)

TITLES = {
    PLAIN: "no recorder",
    USUAL: "record",
    PACKED: "record -q",
    RAW: "not packed",
    HEAPTRACK: "heaptrack",
    HEAPTRACK_RAW: "heaptrack -r",
}


@dataclasses.dataclass
class Recorders:
    """`build` is heapwright's build tree, `heaptrack` the path of heaptrack, or None."""

    build: str
    heaptrack: str

    @property
    def tool(self):
        return os.path.join(self.build, "bin", "heapwright")

    @property
    def library(self):
        return os.path.join(self.build, "lib", "libheapwright-record.so")

    def names(self):
        """In the order of a round."""
        peers = [HEAPTRACK, HEAPTRACK_RAW] if self.heaptrack else []
        return [PLAIN, USUAL, PACKED, RAW, *peers]

    def command(self, name, argv, env, folder):
        """(argv, env, path of the trace) for running `argv` under the recorder `name` with its trace in `folder`, which
        is emptied first."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        ours = os.path.join(folder, "trace.hwt")
        peers = os.path.join(folder, "trace")
        if name == PLAIN:
            return argv, env, None
        if name in (USUAL, PACKED):
            quiet = ["-q"] if name == PACKED else []  # no summary at the end, so nothing is counted while packing
            return [self.tool, "record", *quiet, "-o", ours, "--", *argv], env, ours
        if name == RAW:
            return argv, {**env, "LD_PRELOAD": self.library, "HEAPWRIGHT_OUTPUT": ours}, ours
        # heaptrack appends a suffix that depends on the installed compressor.
        if name == HEAPTRACK:
            return [self.heaptrack, "-o", peers, *argv], env, peers
        return [self.heaptrack, "-r", "-o", peers, *argv], env, peers


def trace_of(path):
    """The file that a recorder wrote: `path`, with one of heaptrack's suffixes or without."""
    folder, stem = os.path.split(path)
    for name in sorted(os.listdir(folder)):
        if name == stem or (stem == "trace" and name.startswith("trace.")):
            return os.path.join(folder, name)
    raise FileNotFoundError(f"no trace at {path}")


def find_heaptrack():
    return shutil.which("heaptrack", path="/usr/bin:/usr/local/bin")
