"""make_seeds.py - seeds for fuzz_pool.c: make_seeds.py BUILD FOLDER

Allocations of each magnitude, freed in order and in reverse; aligned ones; adjacent regions; resizes.
"""
import pathlib
import sys

HEAD = bytes([0, 1])


def alloc(magnitude, rest):
    return bytes([0, magnitude, rest])


def free(which):
    return bytes([7, which & 255, which >> 8])


def main():
    folder = pathlib.Path(sys.argv[2])
    magnitudes = [32 * high + shift for high in (0, 1, 7) for shift in range(8, 20)]
    allocs = b"".join(alloc(magnitude, 255 - magnitude) for magnitude in magnitudes)
    seeds = {
        "in-order": allocs + free(0) * len(magnitudes),
        "holes": allocs + b"".join(free(which) for which in range(0, 12, 2)) + allocs,
        "aligned": b"".join(bytes([3, bits, 12, 77]) for bits in range(20)) + free(3) * 8,
        "regions": b"".join(bytes([4, 43, 0, 200]) + alloc(45, 9) for _ in range(9)),
        "resized": allocs + b"".join(bytes([5 + which % 2, which, 0, 32 + which, 50]) for which in range(12)),
    }
    for name, operations in seeds.items():
        (folder / name).write_bytes(HEAD + operations)


if __name__ == "__main__":
    main()
