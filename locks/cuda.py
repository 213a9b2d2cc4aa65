"""Ends with 1 if torch is the build for graphics cards, which needs locks/cuda.txt."""

import sys
from importlib.metadata import requires

sys.exit(any(one.startswith(("nvidia-", "cuda-")) for one in requires("torch") or ()))
