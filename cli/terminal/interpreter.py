"""Settings of the interpreter and of its environment: made once, before a command runs.

They belong to the process and not to a run: a program that imports the other folders keeps its own,
except for those that litellm reads (`consolidation/model/litellm_client.py`).
"""

from __future__ import annotations

import gc
import os
import sys

# Libraries read these when they are imported, or later: they override what the user
# has set. Nothing is downloaded at run time, and nothing is sent anywhere.
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # onnxruntime 1.29, if it is installed after all, would report each session.
    "ORT_DISABLE_TELEMETRY": "1",
}
# The logs of litellm and openai show whole requests, with the headers that contain the key.
_LOGS = ("LITELLM_LOG", "LITELLM_SET_VERBOSE", "OPENAI_LOG")
# How long a thread may run before another one. A model call takes about ten turns; with Python's
# default of 5 ms, each of them waits while drafts are checked.
_SWITCH_INTERVAL_S = 0.001
# SQLite accepts JSON nested up to 2,000 levels deep; Python recurses for each level, up to 1,000
# by default.
_RECURSION_LIMIT = 5_000


def tune_interpreter() -> None:
    """Set how often Python collects garbage, and how deep it may recurse."""
    sys.setrecursionlimit(_RECURSION_LIMIT)
    # A run creates many objects and frees few: with Python's own thresholds, garbage collection
    # took a third of the processor time of a dry run on 10,000 memories.
    gc.set_threshold(100_000, 20, 100)


def shorten_turns_of_threads() -> None:
    """Let threads take turns more often than by default: for calls of a model."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


def keep_libraries_quiet() -> None:
    """Set what libraries read from the environment; call it before they are imported."""
    os.environ.update(_ENVIRONMENT)
    # tokenizers would warn if a process forked after using it.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in _LOGS:
        os.environ.pop(name, None)
