"""A fleet's nights with a model on loopback: paid for once, and within the budget."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scripted_model import ScriptedModel, Taken, scripted_model

from .commands import measured
from .files import faults_in, paths_in
from .trial import RECEIPTS, Found, Trial, command

# Whose price is reckoned with; the answers are the scripted server's.
_MODEL = "openai/gpt-4o-mini"
_ANSWER_S = 0.05
_MAX_REQUESTS = 100_000
# So many of the files: what a model is asked of a file takes longer than all else.
_FILES = 40
# The share of what the nights cost without a budget.
_OF_THE_COST = 0.4


def of_processes(trial: Trial) -> Found:
    """Ask by two worker processes."""
    return _asked(trial, "money", ["--workers", "2"])


def on_ray(trial: Trial) -> Found:
    """Ask by two workers of Ray's."""
    return _asked(trial, "money-on-ray", ["--workers", "2", "--engine", "ray"])


def _asked(trial: Trial, name: str, options: Sequence[str]) -> Found:
    os.environ["OPENAI_API_KEY"] = "none"
    faults = []
    place = _some(trial, name)
    with scripted_model(_ANSWER_S, _MAX_REQUESTS) as model:
        asking = [*options, "--model", _MODEL, "--api-base", model.base]
        whole = measured(command(place, *asking), (0, 3)).said
        paid = model.taken()
        second = measured(command(place, *asking), (0, 3)).said
        again = model.taken()
        if again.requests > paid.requests:
            more = again.requests - paid.requests
            faults.append(f"a second night asked {more} times: {second['became']}")
        faults += faults_in(place, str(place / RECEIPTS))
        budget = round(_OF_THE_COST * _cost(paid), 6)
        within = _within(trial, f"{name}-within", asking, budget)
        spent = _cost(_since(model, again))
    if not 0 < spent <= budget:
        faults.append(f"{spent:.6f} USD were spent of {budget:.6f}")
    if abs(spent - within) > 1e-6:
        faults.append(f"{spent:.6f} USD were spent, and {within:.6f} told")
    figures = {
        "files": whole["files"],
        "requests": paid.requests,
        "cost, USD": round(_cost(paid), 6),
        "requests of a second night": again.requests - paid.requests,
        "--max-cost, USD": budget,
        "spent, USD": round(spent, 6),
    }
    return Found(figures, faults)


def _within(trial: Trial, name: str, asking: Sequence[str], budget: float) -> float:
    """Have the nights done within a budget, and return what is told of the cost."""
    place = _some(trial, name)
    said = measured(command(place, *asking, "--max-cost", str(budget)), (0, 1, 3)).said
    return float(said["cost_usd"])


def _some(trial: Trial, name: str) -> Path:
    """Copy some of the files."""
    place = trial.folder / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path in paths_in(trial.files)[:_FILES]:
        shutil.copy(path, place)
    return place


def _since(model: ScriptedModel, before: Taken) -> Taken:
    now = model.taken()
    return Taken(*(here - there for here, there in zip(now, before, strict=True)))


def _cost(taken: Taken) -> float:
    from litellm import cost_per_token

    prompt, answer = cost_per_token(
        _MODEL, prompt_tokens=taken.prompt_tokens, completion_tokens=taken.completion_tokens
    )
    return prompt + answer
