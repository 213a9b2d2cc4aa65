"""The writer that asks a model, and believes nothing that it says.

One thread keeps the books; calls run in threads and come back to it. A proposal is asked about
once, and once more if its answer cannot be read or does not verify.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from threading import Thread

from pydantic import ValidationError

from slowwave.store.ledger import Answer
from slowwave.store.records import json_text

from . import prompts
from .calls import Ask, CallFailed, Endpoint, Messages, open_model
from .extractive import Source
from .proposals import Claim, Draft, Operation, Proposal, Usage, Written
from .reading import read
from .verify import find_loss
from .write import Answers, Check, Job, judged

# The most tokens of an answer beyond what its sources take.
ANSWER_MARGIN = 400


@dataclass(frozen=True)
class Budget:
    """What a run may use at the most; None is without limit. Time in seconds.

    A call that is tried again counts as one.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None

    def spent(self, usage: Usage, calls: int, started: float) -> str | None:
        """Give which limit forbids another call, None if none does.

        `calls` counts those under way too.
        """
        if self.calls is not None and calls >= self.calls:
            return f"the budget of {self.calls} calls is used up"
        tokens = usage.prompt_tokens + usage.completion_tokens
        if self.tokens is not None and tokens >= self.tokens:
            return f"the budget of {self.tokens} tokens is used up"
        if self.cost_usd is not None and usage.cost_usd is None:
            return f"the model's price is not known: {self.cost_usd:g} USD cannot be kept to"
        if self.cost_usd is not None and (usage.cost_usd or 0.0) >= self.cost_usd:
            return f"the budget of {self.cost_usd:g} USD is used up"
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return f"the budget of {self.seconds:g} seconds is used up"
        return None


@dataclass
class _Turn:
    """A proposal on its way: what is being asked about it."""

    job: Job
    messages: Messages
    repaired: bool = False
    usage: Usage = field(default_factory=Usage)

    @property
    def proposal(self) -> Proposal:
        return self.job.proposal

    @property
    def key(self) -> str:
        return hashlib.sha256(json_text(self.messages).encode()).hexdigest()


class ModelWriter:
    """Writes with a model. Merges that need a judgement are judged, the others are not asked."""

    name = "model"

    def __init__(self, endpoint: Endpoint, concurrency: int = 4, budget: Budget | None = None):
        """Take where the model is, how many calls may be under way, and what they may use."""
        self._endpoint = endpoint
        self._concurrency = concurrency
        self._budget = budget or Budget()
        self._ask: Ask | None = None

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self._endpoint.model

    def prompt_hash(self, operation: Operation) -> str:
        """Give the hash of the instructions and of the model."""
        text = f"{self._endpoint.model}\n{prompts.INSTRUCTIONS[operation]}"
        return hashlib.sha256(text.encode()).hexdigest()

    def make_ready(self) -> None:
        """Load litellm. Raises `ModelError` if it does not know the model, or a key is missing."""
        if self._ask is None:
            self._ask = open_model(self._endpoint)

    def write(self, jobs: Sequence[Job], check: Check, answers: Answers) -> Iterator[Written]:
        """Give what became of each proposal, as the answers come. Raises `ModelError`."""
        if not jobs:
            return
        self.make_ready()
        assert self._ask is not None  # noqa: S101 - make_ready has set it
        session = _Session(self._endpoint.model, self._ask, self._budget, check, answers)
        waiting = deque(
            _Turn(job, prompts.question(job.proposal.operation, job.sources)) for job in jobs
        )
        flying: dict[Future[Answer], _Turn] = {}
        while waiting or flying:
            while waiting and len(flying) < self._concurrency:
                turn = waiting.popleft()
                started = session.start(turn)
                if isinstance(started, Future):
                    flying[started] = turn
                else:
                    yield from session.settle(turn, started, waiting)
            done, _ = wait(flying, return_when=FIRST_COMPLETED) if flying else (set(), None)
            for future in done:
                turn = flying.pop(future)
                yield from session.settle(turn, session.landed(turn, future), waiting)


# What came of asking: an answer, or the written-off proposal.
_Came = Answer | Written


class _Session:
    """The books of one run: what was asked, what it cost, what came of it."""

    def __init__(
        self, model: str, ask: Ask, budget: Budget, check: Check, answers: Answers
    ) -> None:
        self._model = model
        self._ask = ask
        self._budget = budget
        self._check = check
        self._answers = answers
        self._usage = Usage()
        self._calls = 0
        self._began = time.monotonic()

    def start(self, turn: _Turn) -> Future[Answer] | _Came:
        """Ask about a proposal: a call under way, a kept answer, or a refusal to pay for it."""
        kept = self._answers.find(self._key(turn))
        if kept is not None:
            turn.usage += Usage(cached=1)
            return kept
        spent = self._budget.spent(self._usage, self._calls, self._began)
        if spent is not None:
            return Written(turn.proposal, None, "skipped", spent, usage=turn.usage)
        self._calls += 1
        most = ANSWER_MARGIN + sum(len(source.text) for source in turn.job.sources) // 2
        return _begin(self._ask, turn.messages, turn.proposal.operation, most)

    def landed(self, turn: _Turn, future: Future[Answer]) -> _Came:
        """Take a call's answer into the books."""
        try:
            answer = future.result()
        except CallFailed as error:
            turn.usage += Usage(calls=1)
            self._usage += Usage(calls=1)
            return Written(turn.proposal, None, "failed", str(error), usage=turn.usage)
        used = Usage(1, 0, answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)
        turn.usage += used
        self._usage += used
        self._answers.keep(self._key(turn), self._model, answer)
        return answer

    def settle(self, turn: _Turn, came: _Came, waiting: deque[_Turn]) -> Iterator[Written]:
        """Give what became of a proposal, or ask once more about it."""
        if isinstance(came, Written):
            yield came
            return
        written = _understand(turn, came.answer, self._check)
        if written.state == "rejected" and not turn.repaired:
            faults = (written.why or "").split("; ")
            turn.messages = prompts.repair(turn.messages, came.answer, faults)
            turn.repaired = True
            waiting.appendleft(turn)
        else:
            yield replace(written, usage=turn.usage)

    def _key(self, turn: _Turn) -> str:
        return hashlib.sha256(f"{self._model}\n{turn.key}".encode()).hexdigest()


def _begin(ask: Ask, messages: Messages, operation: Operation, most_tokens: int) -> Future[Answer]:
    """Ask in a thread of its own. A daemon: who presses Ctrl-C does not wait for a model."""
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(ask(messages, operation, most_tokens))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def _understand(turn: _Turn, text: str, check: Check) -> Written:
    """Give what an answer means for the proposal; "rejected" if it cannot be used."""
    operation = turn.proposal.operation
    try:
        form = prompts.FORMS[operation].model_validate_json(_json_part(text))
    except ValidationError as error:
        return Written(turn.proposal, None, "rejected", _unreadable(error))
    if isinstance(form, prompts.JudgementAnswer):
        return _decide(turn, form)
    ids = prompts.short_ids(turn.job.sources)
    if isinstance(form, prompts.RuleAnswer):
        if not form.rule:
            return Written(turn.proposal, None, "declined", "the model found no rule in them")
        form = prompts.SynthesisAnswer(
            claims=[prompts.StatedClaim(text=form.rule, sources=form.sources)]
        )
    assert isinstance(form, prompts.SynthesisAnswer)  # noqa: S101 - the last of the three forms
    # An id that was not given stays as it is: the check will name it.
    claims = tuple(
        Claim(claim.text.strip(), tuple(ids.get(short, short) for short in claim.sources))
        for claim in form.claims
    )
    return judged(turn.proposal, Draft(claims), check)


def _unreadable(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    # An answer that ran into its limit of tokens comes as if nothing were wrong with it.
    if "EOF while parsing" in first["msg"]:
        return "the answer breaks off before its end"
    where = ".".join(str(part) for part in first["loc"])
    return f"the answer is not the JSON that was asked for ({where or 'all'}: {first['msg']})"


def _decide(turn: _Turn, form: prompts.JudgementAnswer) -> Written:
    """Turn a judgement on two memories into a merge, or into a decision against it."""
    proposal = turn.proposal
    if form.judgement == "different":
        return Written(proposal, None, "declined", "the model judged them different")
    earlier, later = turn.job.sources
    staying, leaving = later, earlier
    if form.judgement == "same" and _richness(earlier) > _richness(later):
        staying, leaving = earlier, later
    faults = find_loss(staying.text, [leaving.text])
    if faults:
        # No repair can make the judgement right.
        why = f"the model judged them {form.judgement}, but " + "; ".join(faults)
        return Written(proposal, None, "declined", why)
    return Written(proposal, None, "planned", survivor=staying.id)


def _richness(source: Source) -> int:
    """Count the content words: of two wordings, the one that tells more is to stay."""
    return len(read(source.text).stem_set)


def _json_part(text: str) -> str:
    """Give the JSON object in an answer that may have a fence or a sentence around it."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    return match.group() if match else text
