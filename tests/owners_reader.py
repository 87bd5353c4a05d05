"""owners_reader.py - reads the owners of docs/annotate.md from an image of memory, as that page describes them"""

import struct

MAGIC = b"heapwrig-owners\n"
MASK = (1 << 64) - 1


def check_of(key, address, stack, meta):
    mixed = key ^ address ^ stack << 32 ^ (meta << 24 & MASK | meta >> 40)
    return (mixed * 0x9e3779b97f4a7c15 & MASK) >> 32


class Owners:
    """The root, the stacks {number: [addresses]}, and the blocks {address: (bytes, stack number)} of an image."""

    def __init__(self, image, base, order="<"):
        self.image, self.base, self.order = image, base, order
        at = next(at for at in self.places(MAGIC) if self.unpack("Q", base + at + 24)[0] == base + at)
        root = self.root = base + at
        mark, version, self.word, self.is_inline = self.unpack("IHBB", root + 16)
        assert (mark, version) == (0x01020304, 1)
        self.key, self.chunks, self.chunk_log2, self.chunk_count, self.used, self.stack_count, self.stacks_lost, self.frames_max, \
            self.red_zone, self.front, self.align, self.sequence, self.incident_count = self.unpack("QQIIIIIIIIIII", root + 32)
        self.stacks = dict(self.read_stacks())
        self.blocks = dict(self.read_blocks())

    def places(self, text):
        at = self.image.find(text)
        while at >= 0:
            yield at
            at = self.image.find(text, at + 1)

    def unpack(self, form, address):
        return struct.unpack_from(self.order + form, self.image, address - self.base)

    def words(self, address, count):
        return self.unpack(("I" if self.word == 4 else "Q") * count, address)

    def read_stacks(self):
        for index, chunk in enumerate(self.words(self.chunks, self.chunk_count)):
            at = 0 if index else 8
            while (index << self.chunk_log2) + at < 8 * self.used:
                count = self.unpack("I", chunk + at + 8)[0]
                if count == 0:
                    break
                yield ((index << self.chunk_log2) + at) // 8, self.words(chunk + at + 16, count)
                at += -(-(16 + count * self.word) // 8) * 8

    def read_blocks(self):
        for address in range(-(-(self.base + 16) // self.align) * self.align, self.base + len(self.image), self.align):
            check, stack, meta = self.unpack("IIQ", address - 16)
            if meta >> 56 == 0x48 and check == check_of(self.key, address, stack, meta):
                yield address, (meta & (1 << 48) - 1, stack)
