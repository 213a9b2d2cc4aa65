"""The real programs of other agents, run on files that slowwave wrote."""

from __future__ import annotations

import os
import subprocess

import live_agent
from places import FORMATS

SCRIPTS = FORMATS.with_name("peers")
FACTS = [live_agent.fact_about_shed(number) for number in range(12)]
TWICE = [text + end for text in FACTS for end in ("", ".")]


def run(*command: object, **environment: str) -> str:
    """Run a program, and return what it prints."""
    ended = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
