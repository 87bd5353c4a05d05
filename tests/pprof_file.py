"""pprof_file.py - reads a profile.proto as described in its specification, for the tests"""

import gzip


def fields(data):
    """(field, value) of a protobuf message: a number, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        assert key & 7 in (0, 2)
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            count = varint()
            at += count
            yield key >> 3, data[at - count : at]


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Pprof:
    def __init__(self, path):
        whole = list(fields(gzip.decompress(path.read_bytes())))
        self.strings = [value.decode("utf-8") for field, value in whole if field == 6]
        assert self.strings[0] == ""
        self.types = [self.strings[dict(fields(value))[1]] for field, value in whole if field == 1]
        self.functions = {(f := dict(fields(value)))[1]: (self.strings[f[2]], self.strings[f.get(4, 0)]) for field, value in whole if field == 5}
        self.mappings = {(m := dict(fields(value)))[1]: m for field, value in whole if field == 3}
        self.first_mapping = next((dict(fields(value))[1] for field, value in whole if field == 3), None)  # none if nothing is live
        self.locations = {}
        for field, value in whole:
            if field == 4:
                parts = list(fields(value))
                head = dict(part for part in parts if part[0] != 4)
                self.locations[head[1]] = (head, [dict(fields(line)) for number, line in parts if number == 4])
        samples = [list(fields(value)) for field, value in whole if field == 2]
        self.samples = [(packed(s[1]), [signed(value) for value in packed(s[2])]) for s in map(dict, samples)]
        self.labels = [{self.strings[label[1]]: self.strings[label[2]] for label in (dict(fields(part)) for field, part in sample if field == 3)} for sample in samples]
        self.default = self.strings[next(value for field, value in whole if field == 14)]
        self.comments = [self.strings[value] for field, value in whole if field == 13]

    def total(self, name):
        return sum(values[self.types.index(name)] for _, values in self.samples)
