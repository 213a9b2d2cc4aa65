"""Paths, options and writers that several benchmarks use."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, Literal

from slowwave.consolidation.model.litellm_model import Endpoint
from slowwave.consolidation.model.model_writer import ModelWriter
from slowwave.consolidation.model.recording import open_recordings

ROOT = Path(__file__).resolve().parents[2]
QUALITY = ROOT / "fixtures" / "quality"
# The folder of the shared data, which need not exist.
SHARED = Path(os.environ.get("DATA") or ROOT.parent / "shared" / "data")

Json = dict[str, Any]


def make_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows the docstring of a module as it is."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_model_options(parser: argparse.ArgumentParser, is_required: bool = False) -> None:
    """Add the options that `writer_of` reads."""
    parser.add_argument("--model", required=is_required, help="the model, as litellm names it")
    parser.add_argument("--api-base", help="the base URL of the model's server")
    parser.add_argument("--checker", default="same", help="a model's name, same or none")
    parser.add_argument("--record", type=Path, help="append each answer to this recording")
    parser.add_argument("--replay", type=Path, help="the recorded answers of a model")


def writer_of(args: argparse.Namespace) -> ModelWriter:
    """Return the writer that the options name."""
    named: dict[str, Literal["same", "none"]] = {"same": "same", "none": "none"}
    return ModelWriter(
        Endpoint(args.model or "writer", args.api_base),
        recordings=open_recordings(args.record, args.replay),
        checker=named.get(args.checker) or Endpoint(args.checker, args.api_base),
    )


def replaying(recording: Path, checker: str = "checker") -> ModelWriter:
    """Return a writer that answers from a recording. checker: as of `--checker`."""
    options = {"model": None, "api_base": None, "record": None}
    return writer_of(argparse.Namespace(replay=recording, checker=checker, **options))
