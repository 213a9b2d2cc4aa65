"""What litellm's own tables say of a model, without importing litellm, which takes seconds."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.runtime.threads import run_in_thread

if TYPE_CHECKING:
    from .interface import Model
    from .litellm_model import Endpoint

_PRICES = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"
# Models for which a dry run shows a price if none was chosen.
EXAMPLES = ("anthropic/claude-haiku-4-5", "openai/gpt-5-mini", "gemini/gemini-2.5-flash")


def refuse_unready(endpoint: Endpoint) -> None:
    """Refuse a model that litellm does not know, or whose key is not set or cannot be sent.

    Imports litellm only if its tables and the environment are inconclusive. Raises `ModelError`.
    """
    provider = provider_of(endpoint.model)
    variable = key_variable(provider or "")
    key = os.environ.get(variable, "")
    if key.strip() and re.fullmatch(r"[!-~]+", key) is None:
        raise ModelError(
            f"The key in {variable} has a character that no key has, such as a line break.",
            "Set it again, without whitespace or line breaks (CRLF, if it is from a file).",
        )
    if provider is None or not (endpoint.api_base or key.strip()):
        # In a thread, since an import that is interrupted breaks later ones.
        run_in_thread(endpoint.open)


def key_variable(provider: str) -> str:
    """Return the variable that most providers' keys have."""
    return re.sub(r"\W", "_", provider).upper() + "_API_KEY"


def refuse_unpriced(model: Model) -> None:
    """Refuse a model whose price is unknown, to litellm too. Raises `ModelError`."""
    if price_of(model.model, 1, 1) is not None:
        return
    if run_in_thread(model.open).price(1, 1) is None:
        raise ModelError(
            f"The price of '{model.model}' is unknown, so a budget in USD cannot be enforced.",
            "Limit max_tokens or max_calls instead of max_cost or monthly_budget.",
        )


def price_of(model: str, prompt_tokens: int, answer_tokens: int) -> float | None:
    """Return what a call costs in USD; None if the table does not know it."""
    entry = _entry_of(model)
    asked, answered = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(asked, int | float) or not isinstance(answered, int | float):
        return None
    return float(asked * prompt_tokens + answered * answer_tokens)


def provider_of(model: str) -> str | None:
    """Return the provider of a name; None if litellm's tables are inconclusive."""
    prefix, slash, _ = model.partition("/")
    if not slash:
        provider = _entry_of(model).get("litellm_provider")
        return provider if isinstance(provider, str) else None
    providers = _table(_PROVIDERS).get("providers", {})
    return prefix if prefix in providers or bool(_entry_of(model)) else None


def _entry_of(model: str) -> dict[str, Any]:
    """Return the row of a model, with or without its provider's name before it."""
    table = _table(_PRICES)
    prefix, _, name = model.partition("/")
    entry = table.get(model)
    if entry is None and table.get(name, {}).get("litellm_provider") == prefix:
        entry = table[name]
    return entry if isinstance(entry, dict) else {}


@cache
def _table(name: str) -> dict[str, Any]:
    """Return a table that comes with litellm; {} if this version has none."""
    package = find_spec("litellm")
    for folder in () if package is None else package.submodule_search_locations or ():
        try:
            table = json.loads(Path(folder, name).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(table, dict):
            return table
    return {}
