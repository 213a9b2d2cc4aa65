"""What a model is asked about proposals, and what its answers mean for them.

A question is about one proposal, or about several pairs that are to be judged. It knows its
messages, reads the answer, and says what to ask once more if the answer cannot be used.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import get_args

from slowwave.consolidation.planning.estimates import (
    MOST_PAIRS,
    Estimate,
    Question,
    estimate_judging,
    estimate_writing,
)
from slowwave.consolidation.planning.extractive import compose_update
from slowwave.consolidation.proposals import Claim, Draft, Proposal, Source, Usage, Written
from slowwave.consolidation.text.reading import read
from slowwave.consolidation.text.token_count import count_tokens
from slowwave.consolidation.verification.verify import find_loss
from slowwave.consolidation.writing.writer import Answers, Check, Job, judged, portions
from slowwave.store.ledger import Answer, KeptAnswer
from slowwave.store.records import json_text

from . import prompts
from .answers import Unreadable, read_form
from .prompts import Judgement

# The most tokens of an answer beyond what is expected; a model may be wordier than its sources.
ANSWER_MARGIN = 400
# Of the message that asks for a repair, beside the answer and its faults.
_TOKENS_OF_REPAIR = 40

_JUDGEMENTS: dict[str, Judgement] = {one: one for one in get_args(Judgement)}


@dataclass
class Attempt:
    """A proposal on its way, and what was used for it so far."""

    job: Job
    usage: Usage = field(default_factory=Usage)

    @property
    def proposal(self) -> Proposal:
        """The proposal."""
        return self.job.proposal

    def end(self, written: Written) -> Written:
        """Give what became of it, with all that it took."""
        return replace(written, usage=self.usage)


class Writing:
    """A question about one proposal: what to write of its sources."""

    def __init__(self, model: str, job: Job) -> None:
        """Make the first question."""
        self.turns = (Attempt(job),)
        self.kind = _question_of(job.proposal)
        self._model = model
        self._sources = _owner_first(job)
        self.messages = prompts.ask_to_write(self.kind, self._sources)
        self.estimate = estimate_writing(self.kind, self._sources)
        # What the answer stands for in the cache: not the repair of one that could not be read.
        self._kept_for = self.messages
        self._repaired = False

    @property
    def most_tokens(self) -> int:
        """The most that the answer may have."""
        return self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: Answers) -> Answer | None:
        """Give the answer that was paid for before."""
        return answers.find(self._key)

    def is_readable(self, text: str) -> bool:
        """Say whether an answer is of the form that was asked for, whatever it is worth."""
        try:
            read_form(prompts.FORMS[self.kind], text)
        except Unreadable:
            return False
        return True

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Give what is to be kept of an answer that can be read, whatever it is worth."""
        return [(self._key, self._model, answer)]

    def settle(self, text: str, check: Check) -> Iterator[Written | Asking]:
        """Read the answer now, and give what became of the proposal, or what to ask once more."""
        understood = self._understand(self.turns[0].proposal, text)
        if isinstance(understood, Draft):
            check.announce(understood)
        return self._settled(text, understood, check)

    def _settled(
        self, text: str, understood: Draft | Written, check: Check
    ) -> Iterator[Written | Asking]:
        (turn,) = self.turns
        written = understood
        if isinstance(written, Draft):
            written = judged(turn.proposal, written, check)
        if written.state in ("rejected", "failed") and not self._repaired:
            faults = (written.why or "").split("; ")
            self._repaired = True
            self.messages = prompts.repair(self.messages, text, faults)
            self.estimate = _with_repair(self.estimate, text, faults)
            if written.state == "rejected":
                self._kept_for = self.messages
            yield self
        elif written.state == "rejected" and isinstance(understood, Draft):
            yield turn.end(_without_the_model(written, check))
        else:
            yield turn.end(written)

    @property
    def _key(self) -> str:
        asked = hashlib.sha256(json_text(self._kept_for).encode()).hexdigest()
        return hashlib.sha256(f"{self._model}\n{asked}".encode()).hexdigest()

    def _understand(self, proposal: Proposal, text: str) -> Draft | Written:
        """Give the draft in an answer, or what became of the proposal without one."""
        try:
            form = read_form(prompts.FORMS[self.kind], text)
        except Unreadable as error:
            return Written(proposal, None, "failed", str(error))
        if isinstance(form, prompts.RuleAnswer):
            if not form.rule:
                return Written(proposal, None, "declined", "the model found no rule in them")
            form = prompts.SynthesisAnswer(
                claims=[prompts.StatedClaim(text=form.rule, sources=form.sources)]
            )
        assert isinstance(form, prompts.SynthesisAnswer)  # noqa: S101 - no other form is left
        if self.kind == "grow":
            return _grown(proposal, self._sources, form)
        ids = prompts.short_ids(self._sources)
        return Draft(tuple(_claims(form, ids)))


class Judging:
    """A question about several pairs, each of which is a proposal with a cache of its own."""

    def __init__(self, model: str, turns: Mapping[str, Attempt]) -> None:
        """Take the pairs by their numbers."""
        self.kind: Question = "judge"
        self._model = model
        self._numbered = dict(turns)
        pairs = {number: turn.job.sources for number, turn in turns.items()}
        self.messages = prompts.ask_to_judge(pairs)
        self.estimate = estimate_judging(list(pairs.values()))
        self._repaired = False

    @property
    def turns(self) -> tuple[Attempt, ...]:
        """The proposals."""
        return tuple(self._numbered.values())

    @property
    def most_tokens(self) -> int:
        """The most that the answer may have."""
        return self.estimate.answer + ANSWER_MARGIN

    def kept(self, answers: Answers) -> Answer | None:
        """Give nothing: what was kept about a pair was found before it came here."""
        return None

    def is_readable(self, text: str) -> bool:
        """Say whether an answer is of the form that was asked for, whatever it is worth."""
        return not isinstance(_judgements(text), str)

    def to_keep(self, answer: Answer) -> list[KeptAnswer]:
        """Give what was said of each pair, with its share of the price."""
        judgements = _judgements(answer.answer)
        if isinstance(judgements, str):
            return []
        taken = Usage(0, 0, answer.prompt_tokens, answer.completion_tokens, answer.cost_usd)
        parts = share(taken, len(self._numbered))
        kept = []
        for (number, turn), part in zip(self._numbered.items(), parts, strict=True):
            if number in judgements:
                tokens = part.prompt_tokens, part.completion_tokens
                said = Answer(judgements[number], *tokens, part.cost_usd)
                kept.append((_pair_key(self._model, turn.job), self._model, said))
        return kept

    def settle(self, text: str, check: Check) -> Iterator[Written | Asking]:
        """Give what became of the pairs, and ask once more about those that were left out."""
        judgements = _judgements(text)
        unreadable = judgements if isinstance(judgements, str) else None
        said = {} if isinstance(judgements, str) else judgements
        for number, turn in self._numbered.items():
            if number in said:
                yield turn.end(decide(turn.job, said[number], check))
        missing = {one: turn for one, turn in self._numbered.items() if one not in said}
        if missing and not self._repaired:
            yield self._again(missing, text, unreadable)
        elif missing:
            for turn in missing.values():
                yield turn.end(_unjudged(turn.proposal, unreadable))

    def _again(self, missing: Mapping[str, Attempt], text: str, unreadable: str | None) -> Judging:
        faults = [unreadable] if unreadable else [f"there is no entry for {one}" for one in missing]
        question = Judging(self._model, missing)
        question.messages = prompts.repair(question.messages, text, faults)
        question.estimate = _with_repair(question.estimate, text, faults)
        question._repaired = True
        return question


Asking = Writing | Judging


def batches(model: str, turns: Sequence[Attempt]) -> Iterator[Judging]:
    """Give questions about pairs, so many to a call, none of them about two tenants."""
    for _, group in groupby(turns, key=lambda turn: turn.proposal.tenant):
        for part in portions(list(group), MOST_PAIRS):
            numbers = (f"p{number}" for number in range(1, len(part) + 1))
            yield Judging(model, dict(zip(numbers, part, strict=True)))


def kept_judgement(model: str, job: Job, answers: Answers) -> Judgement | None:
    """Give what a model said of a pair before, whatever other pairs it saw beside it."""
    kept = answers.find(_pair_key(model, job))
    return None if kept is None else _JUDGEMENTS.get(kept.answer)


def decide(job: Job, judgement: Judgement, check: Check) -> Written:
    """Turn a judgement on two memories into a merge, an update, or a decision against both."""
    if judgement == "same":
        return _merged(job)
    if judgement == "newer":
        return _updated(job, check)
    why = {
        "different": "the model judged them different",
        "unclear": "the model could not tell whether the later one replaces the earlier",
    }
    return Written(job.proposal, None, "declined", why[judgement])


def share(used: Usage, count: int) -> list[Usage]:
    """Share out what a call took over those that it was about, to the last token.

    Requests and kept answers cannot be divided: they stand with the first.
    """
    cost = None if used.cost_usd is None else used.cost_usd / count
    asked, answered = _split(used.prompt_tokens, count), _split(used.completion_tokens, count)
    parts = [Usage(0, 0, *tokens, cost) for tokens in zip(asked, answered, strict=True)]
    parts[0] = replace(parts[0], calls=used.calls, cached=used.cached)
    return parts


def _split(whole: int, count: int) -> list[int]:
    cuts = [whole * number // count for number in range(count + 1)]
    return [end - start for start, end in pairwise(cuts)]


def _pair_key(model: str, job: Job) -> str:
    parts = [model, prompts.INSTRUCTIONS["judge"], prompts.pair_entry(job.sources)]
    return hashlib.sha256(json_text(parts).encode()).hexdigest()


def _merged(job: Job) -> Written:
    """Let one of two that a model calls the same stay: the later, unless the earlier tells more."""
    earlier, later = job.sources
    staying, leaving = later, earlier
    if _richness(earlier) > _richness(later):
        staying, leaving = earlier, later
    faults = find_loss(staying.text, [leaving.text])
    if faults:
        return _overruled(job, "same", faults)
    return Written(job.proposal, None, "planned", survivor=staying.id)


def _updated(job: Job, check: Check) -> Written:
    """Let the later of two say what is so now, and the earlier what was so before."""
    earlier, later = job.sources
    if earlier.observed_at == later.observed_at:
        return _overruled(job, "newer", ["both were said at the same time"])
    lost = find_loss(later.text, [earlier.text])
    # Only what has something else in its place is over; the rest of the earlier one still holds.
    if len(lost) > len(find_loss(earlier.text, [later.text])):
        return _overruled(job, "newer", lost)
    proposal = replace(job.proposal, operation="update")
    draft = compose_update([[later], [earlier]])
    faults = check.faults(proposal, draft)
    return _overruled(job, "newer", faults) if faults else Written(proposal, draft, "planned")


def _overruled(job: Job, judgement: Judgement, faults: Sequence[str]) -> Written:
    """Decline: no repair can make a wrong judgement right."""
    why = f"the model judged them {judgement}, but " + "; ".join(faults)
    return Written(job.proposal, None, "declined", why)


def _richness(source: Source) -> int:
    """Count the content words: of two wordings, the one that tells more is to stay."""
    return len(read(source.text).stem_set)


def _unjudged(proposal: Proposal, unreadable: str | None) -> Written:
    why = unreadable or "the model did not answer about this pair"
    return Written(proposal, None, "failed", why)


def _judgements(text: str) -> dict[str, Judgement] | str:
    """Read the judgements by the number of the pair; a sentence if the answer cannot be read.

    Of a pair that is judged in two ways nothing is known.
    """
    try:
        form = read_form(prompts.JudgementAnswer, text)
    except Unreadable as error:
        return str(error)
    said = {(one.pair, one.judgement) for one in form.judgements}
    counts = Counter(pair for pair, _ in said)
    return {pair: judgement for pair, judgement in said if counts[pair] == 1}


def _without_the_model(rejected: Written, check: Check) -> Written:
    """Write what would be written without a model: a night with one is no worse than without."""
    fallback = rejected.proposal.fallback
    written = rejected if fallback is None else judged(rejected.proposal, fallback, check)
    if written.state == "rejected":
        return rejected
    why = f"written without the model, whose draft was turned down: {rejected.why}"
    return replace(written, why=why)


def _question_of(proposal: Proposal) -> Question:
    if proposal.operation == "extract":
        return "extract"
    return "synthesize" if proposal.survivor is None else "grow"


def _owner_first(job: Job) -> tuple[Source, ...]:
    """Put the memory that grows in front, the others in order of time."""
    owner = job.proposal.survivor
    return tuple(sorted(job.sources, key=lambda source: source.id != owner))


def _grown(
    proposal: Proposal, sources: Sequence[Source], form: prompts.SynthesisAnswer
) -> Draft | Written:
    """Put what the others add behind the memory that grows, which stays word for word."""
    owner = sources[0]
    standing = {sentence: {owner.id} for sentence in _sentences(owner.text)}
    added = []
    for claim in _claims(form, prompts.short_ids(sources, first=0)):
        if claim.text in standing:
            standing[claim.text].update(claim.sources)
        elif owner.id in claim.sources:
            why = f"a claim cites m0 and is not a sentence of it: {claim.text}"
            return Written(proposal, None, "rejected", why)
        else:
            added.append(claim)
    kept = [Claim(text, tuple(sorted(cited))) for text, cited in standing.items()]
    return Draft((*kept, *added))


def _sentences(text: str) -> Sequence[str]:
    """Give the sentences of a memory, or all of it as one where they would not make it again."""
    sentences = read(text).sentences
    again = " ".join(dict.fromkeys(sentences)) == text
    return sentences if again else [text]


def _claims(form: prompts.SynthesisAnswer, ids: Mapping[str, str]) -> Iterator[Claim]:
    # An id that was not given stays as it is: the check will name it.
    for claim in form.claims:
        cited = tuple(ids.get(short, short) for short in claim.sources)
        yield Claim(claim.text.strip(), cited)


def _with_repair(estimate: Estimate, answer: str, faults: Sequence[str]) -> Estimate:
    more = count_tokens(answer) + sum(map(count_tokens, faults)) + _TOKENS_OF_REPAIR
    return Estimate(estimate.prompt + more, estimate.answer)
