#!/usr/bin/python3
"""program_table.py --packages quick|all   prints the Debian packages of the programs in programs.txt; --list prints the programs."""

import argparse
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("programs.txt")


@dataclass(frozen=True)
class Program:
    name: str
    packages: tuple  # Debian packages, beyond a minimal system
    script: str
    quick: bool  # installs in seconds and runs in a few
    exit_status: int
    timeout: int  # seconds, without the recorder
    unseen: bool  # static: the recorder cannot see it, and `record` reports that on standard error
    others_unseen: bool  # it starts processes that are static or another user's; `record` reports long-lived ones
    any_malloc: bool  # it can run on a preloaded malloc


def parse_head(head, script):
    name, packages, attributes = (part.strip() for part in head.split("|"))
    words = [attribute.split() for attribute in attributes.split(",")]
    numbers = {word[0]: int(word[1]) for word in words if len(word) == 2}
    flags = {word[0] for word in words if len(word) == 1}
    unknown = (flags - {"quick", "slow", "unseen", "others-unseen", "fixed-malloc"}) | (numbers.keys() - {"exit", "timeout"})
    if unknown:
        raise ValueError(f"{TABLE.name}: {name}: what is {', '.join(sorted(unknown))}?")
    return Program(name, tuple(packages.split()), script, "quick" in flags, numbers.get("exit", 0),
                   numbers.get("timeout", 60), "unseen" in flags, "others-unseen" in flags,
                   "fixed-malloc" not in flags)


def load():
    """Returns all programs of the table, in its order."""
    programs = []
    for section in TABLE.read_text().split("\n=== ")[1:]:
        head, script = section.split("\n", 1)
        programs.append(parse_head(head, script.split("\n# ---- ")[0].rstrip() + "\n"))
    return programs


def chosen(tier):
    return [program for program in load() if tier == "all" or program.quick]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", choices=("quick", "all"))
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.packages:
        print(*sorted({package for program in chosen(arguments.packages) for package in program.packages}))
    if arguments.list:
        for program in load():
            print(f"{program.name:24} {'quick' if program.quick else 'slow':6} {' '.join(program.packages)}")


if __name__ == "__main__":
    main()
