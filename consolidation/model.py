"""The writer that asks a model, through litellm, and believes nothing that it says.

One thread keeps the books; calls run in a pool of threads and come back to it. A proposal is asked
about once, and once more if its answer cannot be read or does not verify.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from slowwave.store.ledger import Answer
from slowwave.store.records import json_text

from . import prompts
from .errors import ModelError
from .proposals import Claim, Draft, Operation, Proposal, Usage, Written
from .verify import find_loss
from .write import Answers, Check, Job, judged

# litellm waits 6,000 s by default; a draft that takes longer than this will not come.
TIMEOUT_S = 60.0
# Of a rate limit, a server's error or a broken connection: how often it is tried, waiting in
# between from one second on, twice as long each time.
ATTEMPTS = 3
FIRST_WAIT_S = 1.0
# The most tokens of an answer beyond what its sources take.
ANSWER_MARGIN = 400

Messages = list[dict[str, str]]
# Takes messages, the operation and the most tokens of the answer; raises `CallFailed`.
Ask = Callable[[Messages, Operation, int], Answer]


class CallFailed(Exception):
    """One call failed for good. Its message says how."""


@dataclass(frozen=True)
class Budget:
    """What a run may use at the most; None is without limit. Time in seconds."""

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
        if self.cost_usd is not None and (usage.cost_usd or 0.0) >= self.cost_usd:
            return f"the budget of {self.cost_usd} USD is used up"
        if self.seconds is not None and time.monotonic() - started >= self.seconds:
            return f"the budget of {self.seconds:g} seconds is used up"
        return None


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached. `model` is litellm's name for it."""

    model: str
    api_base: str | None = None
    timeout_s: float = TIMEOUT_S
    first_wait_s: float = FIRST_WAIT_S


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
        pool = ThreadPoolExecutor(self._concurrency)
        flying: dict[Future[Answer], _Turn] = {}
        try:
            while waiting or flying:
                while waiting and len(flying) < self._concurrency:
                    turn = waiting.popleft()
                    started = session.start(turn, pool)
                    if isinstance(started, Future):
                        flying[started] = turn
                    else:
                        yield from session.settle(turn, started, waiting)
                done, _ = wait(flying, return_when=FIRST_COMPLETED) if flying else (set(), None)
                for future in done:
                    turn = flying.pop(future)
                    yield from session.settle(turn, session.landed(turn, future), waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


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

    def start(self, turn: _Turn, pool: ThreadPoolExecutor) -> Future[Answer] | _Came:
        """Ask about a proposal: a call in the pool, a kept answer, or a refusal to pay for it."""
        kept = self._answers.find(self._key(turn))
        if kept is not None:
            turn.usage += Usage(cached=1)
            return kept
        spent = self._budget.spent(self._usage, self._calls, self._began)
        if spent is not None:
            return Written(turn.proposal, None, "skipped", spent, usage=turn.usage)
        self._calls += 1
        most = ANSWER_MARGIN + sum(len(source.text) for source in turn.job.sources) // 2
        return pool.submit(self._ask, turn.messages, turn.proposal.operation, most)

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


def _understand(turn: _Turn, text: str, check: Check) -> Written:
    """Give what an answer means for the proposal; "rejected" if it cannot be used."""
    operation = turn.proposal.operation
    try:
        form = prompts.FORMS[operation].model_validate_json(_json_part(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        why = f"the answer is not the JSON that was asked for ({where or 'all'}: {first['msg']})"
        return Written(turn.proposal, None, "rejected", why)
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


def _decide(turn: _Turn, form: prompts.JudgementAnswer) -> Written:
    """Turn a judgement on two memories into a merge, or into a decision against it."""
    proposal = turn.proposal
    if form.judgement == "different":
        return Written(proposal, None, "declined", "the model judged them different")
    earlier, later = turn.job.sources[0], turn.job.sources[-1]
    faults = find_loss(later.text, [earlier.text])
    if faults:
        # "Same" was wrong: no repair can make it right.
        why = f"the model judged them {form.judgement}, but " + "; ".join(faults)
        return Written(proposal, None, "declined", why)
    return Written(proposal, None, "planned", survivor=later.id)


def _json_part(text: str) -> str:
    """Give the JSON object in an answer that may have a fence or a sentence around it."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    return match.group() if match else text


def open_model(endpoint: Endpoint) -> Ask:
    """Load litellm and give the function that asks the model and gives its answer.

    Raises `ModelError` if litellm does not know the model or a key is missing. The function
    raises `CallFailed`.
    """
    # Else litellm fetches a price list and reads any .env it finds, at its import.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    _require_key(endpoint, litellm)
    caller = _Caller(endpoint, litellm)
    return caller.ask


def _require_key(endpoint: Endpoint, litellm: Any) -> None:
    try:
        litellm.get_llm_provider(endpoint.model, api_base=endpoint.api_base)
    except litellm.exceptions.BadRequestError as error:
        raise ModelError(
            f"litellm does not know the model '{endpoint.model}'. "
            "Names look like openai/gpt-4o-mini or ollama/llama3."
        ) from error
    found = litellm.validate_environment(endpoint.model, api_base=endpoint.api_base)
    if not found["keys_in_environment"] and endpoint.api_base is None and found["missing_keys"]:
        raise ModelError(
            f"There is no key for the model '{endpoint.model}': "
            f"set {' and '.join(found['missing_keys'])}."
        )


class _Caller:
    """Asks one model; knows which form of structured output it understands."""

    def __init__(self, endpoint: Endpoint, litellm: Any) -> None:
        self._endpoint = endpoint
        self._litellm = litellm
        self._forms = ["json_schema", "json_object", "none"]

    def ask(self, messages: Messages, operation: Operation, most_tokens: int) -> Answer:
        """Ask, with retries where they can help. Raises `CallFailed`."""
        import tenacity

        errors = self._litellm.exceptions
        passing = (
            errors.RateLimitError,
            errors.InternalServerError,
            errors.ServiceUnavailableError,
            errors.APIConnectionError,
            errors.BadGatewayError,
            errors.Timeout,
        )
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(passing),
            wait=tenacity.wait_exponential(multiplier=self._endpoint.first_wait_s),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            reraise=True,
        )
        try:
            return retrying(self._ask_in_any_form, messages, operation, most_tokens)
        except errors.Timeout as error:
            raise CallFailed(
                f"the model did not answer within {self._endpoint.timeout_s:g} seconds"
            ) from error
        except errors.OpenAIError as error:
            raise CallFailed(f"the model could not be asked: {_first_line(error)}") from error

    def _ask_in_any_form(
        self, messages: Messages, operation: Operation, most_tokens: int
    ) -> Answer:
        errors = self._litellm.exceptions
        while True:
            form = self._forms[0]
            try:
                return self._ask_once(messages, operation, most_tokens, form)
            except (errors.BadRequestError, errors.UnsupportedParamsError):
                # Another thread may have found out meanwhile that this form is not understood.
                if len(self._forms) == 1 and form == self._forms[0]:
                    raise
                if form == self._forms[0]:
                    self._forms.pop(0)

    def _ask_once(
        self, messages: Messages, operation: Operation, most_tokens: int, form: str
    ) -> Answer:
        response = self._litellm.completion(
            model=self._endpoint.model,
            messages=messages,
            api_base=self._endpoint.api_base,
            # A server of one's own wants no key, but the client wants one to send.
            api_key=self._key(),
            timeout=self._endpoint.timeout_s,
            max_tokens=most_tokens,
            temperature=0,
            max_retries=0,
            num_retries=0,
            drop_params=True,
            **_response_format(form, operation),
        )
        choice = response.choices[0]
        if choice.finish_reason == "length":
            raise CallFailed("the model's answer was cut off")
        usage = getattr(response, "usage", None)
        return Answer(
            choice.message.content or "",
            getattr(usage, "prompt_tokens", 0) or 0,
            getattr(usage, "completion_tokens", 0) or 0,
            self._cost(response),
        )

    def _key(self) -> str | None:
        if self._endpoint.api_base is None:
            return None
        _, _, key, _ = self._litellm.get_llm_provider(
            self._endpoint.model, api_base=self._endpoint.api_base
        )
        return key or os.environ.get("OPENAI_API_KEY") or "none"

    def _cost(self, response: Any) -> float | None:
        """Give the price of a call in USD; None if litellm knows no price for the model."""
        try:
            return float(self._litellm.completion_cost(completion_response=response))
        except Exception as error:  # noqa: BLE001 - litellm raises a bare Exception for "no price"
            del error
            return None


def _response_format(form: str, operation: Operation) -> dict[str, Any]:
    if form == "none":
        return {}
    shape = prompts.schema(operation)
    if form == "json_object":  # the spelling of llama.cpp's server
        return {"response_format": {"type": "json_object", "schema": shape}}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": operation, "schema": shape},
        }
    }


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
