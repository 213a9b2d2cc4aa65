"""What a model says was learned from traces, as far as the traces bear it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowwave.consolidation.model.answer_forms import ExperienceAnswer, StatedClaim
from slowwave.consolidation.model.asker import Asker
from slowwave.consolidation.model.experience_prompt import ask_about_traces
from slowwave.consolidation.proposals import Claim, Draft, Source
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.thresholds import WINDOW_TOKENS
from slowwave.consolidation.verification.verify import find_faults
from slowwave.consolidation.verification.words import is_verbatim
from slowwave.consolidation.writing.answer_store import AnswerStore

from .compression import (
    MOST_CONTEXTS,
    MOST_DECISIONS,
    Attempt,
    Decision,
    Learned,
    Task,
    facts_of,
    told_to_a_model,
)
from .traces import Worked

# Expected of an answer.
_ANSWER_TOKENS = 600


def compress_by_model(task: Task, asker: Asker, answers: AnswerStore) -> Learned:
    """Return what a model says was learned; of each claim that does not hold, why it is left out.

    Raises `CallFailed`, and `LimitReached`.
    """
    sources = _shown(task)
    if not sources:
        return Learned(task, (), (), facts_of(task))
    stated = asker.ask(
        "experience",
        ExperienceAnswer,
        ask_about_traces(task.name, sources),
        _ANSWER_TOKENS,
        answers,
    )
    ids = {f"t{number}": one.id for number, one in enumerate(sources, start=1)}
    said: list[tuple[Worked | None, Claim]] = [
        *((one.outcome, _claim(one, ids)) for one in stated.decisions),
        *((None, _claim(one, ids)) for one in stated.contexts),
    ]
    sound, turned_down = _sound(said, sources, task, asker.name)
    decisions = tuple(Decision(how, claim) for how, claim in sound if how is not None)
    contexts = tuple(claim for how, claim in sound if how is None)
    return Learned(
        task,
        decisions[:MOST_DECISIONS],
        contexts[:MOST_CONTEXTS],
        facts_of(task),
        asker.name,
        tuple(turned_down),
    )


def _shown(task: Task) -> list[Source]:
    """Return the traces as a model is shown them: the latest that fit, in the order of time."""
    import numpy as np

    nowhere = np.zeros(1, dtype=np.float32)  # traces have no vectors: nothing is searched by them
    shown: list[Source] = []
    left = WINDOW_TOKENS
    for one in reversed(task.attempts):
        text = told_to_a_model(one.trace)
        left -= count_tokens(text)
        if left < 0:
            break
        if text:
            shown.append(Source(one.memory.id, text, one.memory.observed_at, nowhere))
    return shown[::-1]


def _claim(stated: StatedClaim, ids: Mapping[str, str]) -> Claim:
    return Claim(
        " ".join(stated.text.split()), tuple(ids[one] for one in stated.sources if one in ids)
    )


def _sound(
    said: Sequence[tuple[Worked | None, Claim]], sources: Sequence[Source], task: Task, model: str
) -> tuple[list[tuple[Worked | None, Claim]], list[str]]:
    """Return what the traces bear out, and why the rest is left out."""
    attempts = {one.memory.id: one for one in task.attempts}
    text_of = {one.id: one.text for one in sources}
    sound: list[tuple[Worked | None, Claim]] = []
    turned_down: list[str] = []
    for how, claim in said:
        why = _fault(how, claim, sources, attempts)
        if why is not None:
            turned_down.append(f"{claim.text}: {why}")
            continue
        own_words = not is_verbatim(claim.text, [text_of[one] for one in claim.sources])
        worded = Claim(claim.text, claim.sources, written_by=model) if own_words else claim
        sound.append((how, worded))
    return sound, turned_down


def _fault(
    how: Worked | None, claim: Claim, sources: Sequence[Source], attempts: Mapping[str, Attempt]
) -> str | None:
    if not claim.sources:
        return "it cites no trace that was shown"
    if not claim.text:
        return "it says nothing"
    if how is not None and not any(_went(attempts[one], how) for one in claim.sources):
        return f"no trace that it cites says that something {how}"
    cited = [one for one in sources if one.id in claim.sources]
    # That a trace says more is no fault here: what is lost is kept with the trace.
    faults = find_faults(Draft((claim,)), cited, "synthesize")
    return next((one.why for one in faults if one.claim is not None), None)


def _went(attempt: Attempt, how: Worked) -> bool:
    trace = attempt.trace
    return how in (trace.outcome, *(one.outcome for one in trace.steps))
