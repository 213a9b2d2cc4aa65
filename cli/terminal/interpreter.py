"""Settings of the interpreter and of its environment: made once, before a command runs.

They belong to the process and not to a night: a program that imports the other
folders keeps its own.
"""

from __future__ import annotations

import gc
import os
import sys

# What libraries read when they are imported, or later: whatever the user's environment says,
# nothing is fetched at run time, and nothing is sent to anybody.
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    # onnxruntime 1.29, should it be there after all, would tell its maker about each session.
    "ORT_DISABLE_TELEMETRY": "1",
    # Otherwise litellm fetches a price list and reads any .env that it finds.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    # Otherwise it logs each call, to nobody, in threads of its own: a tenth of what a call takes.
    "LOGGING_EXECUTOR_MAX_PENDING_TASKS": "0",
}
# The logs of litellm and openai show whole requests, with the headers that hold the key.
_LOGS = ("LITELLM_LOG", "LITELLM_SET_VERBOSE", "OPENAI_LOG")

# How long a thread may run before another has its turn. A model's call needs some ten turns on its
# way out and back; with Python's own 5 ms each of them waits while drafts are checked.
_TURN_S = 0.001


# SQLite takes JSON whose values lie up to 2,000 levels deep within each other, and Python, which
# calls itself for each level, ends at 1,000 by itself.
_LEVELS = 5_000


def tune_interpreter() -> None:
    """Set how often Python looks for garbage, and how deep it may call itself."""
    sys.setrecursionlimit(_LEVELS)
    # A night makes many objects and lets few go: with Python's own thresholds the search for
    # garbage among them took a third of the processor time of a survey of 10,000 memories.
    gc.set_threshold(100_000, 20, 100)


def shorten_turns_of_threads() -> None:
    """Let threads take turns more often than Python has them do by itself: for calls of a model."""
    sys.setswitchinterval(_TURN_S)


def keep_libraries_quiet() -> None:
    """Set what libraries read from the environment; to be called before they are imported."""
    os.environ.update(_ENVIRONMENT)
    # tokenizers would warn if a process forked after it was used.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in _LOGS:
        os.environ.pop(name, None)
