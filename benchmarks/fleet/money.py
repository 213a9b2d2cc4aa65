"""Nights of a fleet with a model on loopback: paid for once, and within the budget."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scripted_model import Usage, scripted_model

from .commands import measure
from .files import faults_in, paths_in
from .trial import RECEIPTS, Result, Trial, command

# Only its price is used; the scripted server answers.
_MODEL = "openai/gpt-4o-mini"
_ANSWER_S = 0.05
_MAX_REQUESTS = 100_000
# The maximum number of files, since nights with a model are slow.
_MAX_FILES = 40
# The budget, as a share of the cost without a budget.
_BUDGET_SHARE = 0.4


def of_processes(trial: Trial) -> Result:
    """Ask from two worker processes."""
    return _measure(trial, "money", ["--workers", "2"])


def on_ray(trial: Trial) -> Result:
    """Ask from two Ray workers."""
    return _measure(trial, "money-on-ray", ["--workers", "2", "--engine", "ray"])


def _measure(trial: Trial, name: str, options: Sequence[str]) -> Result:
    os.environ["OPENAI_API_KEY"] = "none"
    faults = []
    folder = _copy_files(trial, name)
    limited = _copy_files(trial, f"{name}-within")
    with scripted_model(_ANSWER_S, _MAX_REQUESTS) as model:
        model_options = [*options, "--model", _MODEL, "--api-base", model.base]
        first = measure(command(folder, *model_options), (0, 3)).output
        usage = model.usage()
        cost = _cost(usage)
        second = measure(command(folder, *model_options), (0, 3)).output
        repeated = model.usage() - usage
        if repeated.requests:
            faults.append(f"a second night asked {repeated.requests} times: {second['became']}")
        faults += faults_in(folder, str(folder / RECEIPTS))
        budget = round(_BUDGET_SHARE * cost, 6)
        before = model.usage()
        options_within = [*model_options, "--max-cost", str(budget)]
        within = measure(command(limited, *options_within), (0, 1, 3)).output
        spent = _cost(model.usage() - before)
    if not 0 < spent <= budget:
        faults.append(f"{spent:.6f} USD were spent of a budget of {budget:.6f}")
    if abs(spent - float(within["cost_usd"])) > 1e-6:
        faults.append(f"{spent:.6f} USD were spent, but {within['cost_usd']} reported")
    figures = {
        "files": first["files"],
        "requests": usage.requests,
        "cost, USD": round(cost, 6),
        "requests of a second night": repeated.requests,
        "--max-cost, USD": budget,
        "spent, USD": round(spent, 6),
    }
    return Result(figures, faults)


def _copy_files(trial: Trial, name: str) -> Path:
    folder = trial.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in paths_in(trial.files)[:_MAX_FILES]:
        shutil.copy(path, folder)
    return folder


def _cost(usage: Usage) -> float:
    from litellm import cost_per_token

    prompt, answer = cost_per_token(
        _MODEL, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
    )
    return prompt + answer
