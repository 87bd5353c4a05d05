"""make_seeds.py - seeds for fuzz_cfi.c: make_seeds.py BUILD FOLDER

Instructions of each kind in a frame of an ordinary call and of a signal, and .eh_frame_hdr with a piece of .eh_frame
without a table. The first byte tells fuzz_cfi.c what the rest is.
"""
import pathlib
import struct
import sys

CODE, SIGNAL_CODE, RAW = 1, 3, 0

INSTRUCTIONS = {
    "offset": [0x0E, 0x30, 0x86, 2, 0x83, 3],
    "bp": [0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x0A, 0x0C, 7, 8, 0x0B],
    "plt": [0x0F, 11, 0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22],
    "realigned": [0x0C, 10, 0, 0x10, 6, 2, 0x76, 0, 0x0F, 3, 0x76, 0x78, 0x06],
    "value": [0x14, 3, 1, 0x15, 12, 0x7F, 0x16, 13, 3, 0x77, 8, 0x06, 0x09, 14, 0],
    "signal": [0x0F, 4, 0x77, 0xA0, 1, 0x06, 0x10, 6, 3, 0x77, 0xF8, 0, 0x10, 7, 3, 0x77, 0xA0, 1, 0x10, 16, 3, 0x77, 0xA8, 1],
}


def frames():
    """A CIE with augmentation zR and one FDE, after a header without a table."""
    cie = struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0"
    fde = struct.pack("<IiI", 4 + len(cie) + 4, 64, 4096) + b"\0\x41\x0e\x10\x86\x02\0\0"
    records = b"".join(struct.pack("<I", len(record)) + record for record in (cie, fde))
    return b"\x01\x1b\xff\xff" + struct.pack("<i", 4) + records + bytes(4)


def main():
    folder = pathlib.Path(sys.argv[2])
    for name, code in INSTRUCTIONS.items():
        kind = SIGNAL_CODE if name == "signal" else CODE
        (folder / name).write_bytes(bytes([kind, *code]))
    (folder / "frames").write_bytes(bytes([RAW]) + frames())


if __name__ == "__main__":
    main()
