#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with small traces for fuzz_tune, in the form that fuzz_reader reads."""

import subprocess
import sys
from pathlib import Path

subprocess.run([sys.executable, "-B", Path(__file__).resolve().parents[1] / "trace/make_seeds.py", *sys.argv[1:]], check=True)
