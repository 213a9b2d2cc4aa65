"""What a model would cost in tokens, USD and seconds, and how it answered sample questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowwave.cli.terminal.output import clean
from slowwave.cli.terminal.wording import counted

if TYPE_CHECKING:
    from slowwave.consolidation.model.samples import SampleAnswer, WindowPrice
    from slowwave.consolidation.proposals import Undecided, Window
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.writing.writer import Writer

# What served models write in a second.
_TOKENS_A_SECOND = 60


@dataclass(frozen=True)
class CostEstimate:
    """What windows would cost at most, with checks and repairs."""

    windows: int
    prompt_tokens: int
    answer_tokens: int
    seconds: int
    # In USD by the model's name; None if the price is unknown.
    prices: dict[str, float | None]


def estimate_cost(outcome: Outcome, writer: Writer, concurrency: int) -> CostEstimate | None:
    """Return what asking would cost; None if nothing is left to a model, or it was asked.

    Without a model, the prices are those of examples.
    """
    windows: Sequence[Window | Undecided] = [
        asked.window for asked in outcome.asked if asked.state == "planned"
    ]
    if writer.model is None:
        windows = outcome.plan.undecided
    if not windows:
        return None
    from slowwave.consolidation.model.known_models import EXAMPLES, price_of
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    prompt = sum(window.prompt_tokens for window in windows)
    answer = sum(window.answer_tokens for window in windows)
    prices: dict[str, float | None] = {}
    for name in EXAMPLES if writer.model is None else (writer.model,):
        written = price_of(name, prompt, answer)
        checked = price_of(writer.checker or name, prompt, answer)
        prices[name] = None
        if written is not None and checked is not None:
            prices[name] = round(written + (FOLLOW_UPS - 1) * checked, 6)
    at_once = min(concurrency, len(windows))
    return CostEstimate(
        windows=len(windows),
        prompt_tokens=round(FOLLOW_UPS * prompt),
        answer_tokens=round(FOLLOW_UPS * answer),
        seconds=round(FOLLOW_UPS * answer / _TOKENS_A_SECOND / at_once),
        prices=prices,
    )


def cost_as_text(cost: CostEstimate | None, concurrency: int) -> list[str]:
    """Return an estimate as the last lines of a report; [] if there is none."""
    if cost is None:
        return []
    prices = [
        f"unknown for {name}" if usd is None else f"up to {usd_of(usd)} with {name}"
        for name, usd in cost.prices.items()
    ]
    lines = [
        f"With a model: {counted(cost.windows, 'question')}, up to "
        f"{cost.prompt_tokens:,} input and {cost.answer_tokens:,} output tokens, about "
        f"{counted(cost.seconds, 'second')} with "
        f"{counted(concurrency, 'call')} at a time.",
        f"Price: {', '.join(prices)}. All are estimates, without reasoning tokens.",
    ]
    return ["", *map(clean, lines)]


def answer_as_text(answer: SampleAnswer) -> str:
    """Return how a model answered a sample question."""
    status = "answered in the requested format" if answer.why is None else "no usable answer"
    usage = answer.usage
    tokens = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written"
    cost = "price unknown" if usage.cost_usd is None else usd_of(usage.cost_usd)
    return clean(
        f"{answer.kind}: {answer.model}, {status} in {answer.seconds:.1f} s; {tokens}, {cost}."
    )


def price_as_text(price: WindowPrice) -> str:
    """Return what a full window costs."""
    size = f"{price.prompt_tokens:,} tokens read, {price.answer_tokens:,} written"
    if price.cost_usd is None:
        return f"A full window ({size}): price unknown, so max_cost and monthly_budget refuse it."
    from slowwave.consolidation.planning.estimates import FOLLOW_UPS

    total = usd_of(FOLLOW_UPS * price.cost_usd)
    return (
        f"A full window ({size}): {usd_of(price.cost_usd)}, with checks and repairs up to {total}."
    )


def usd_of(usd: float) -> str:
    """Return an amount for people: two digits that say something."""
    return f"{usd:.2f} USD" if usd >= 1 or usd == 0 else f"{usd:.4f} USD"
