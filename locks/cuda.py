"""Ends with 1 if torch is the build for graphics cards, which needs locks/cuda.txt."""

import sys
from importlib.metadata import requires

sys.exit(any(name.startswith(("nvidia-", "cuda-")) for name in requires("torch") or ()))
