"""Models that know the known answers of a life: one says the truth, one nothing but the opposite.

What a night with the first does not do, no model could have it do: it was kept from it, or turned
down. What a night with the second does wrong, a model can have it do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

from slowwave.consolidation.model.calls import TIMEOUT_S, Endpoint
from slowwave.consolidation.model.interface import Call
from slowwave.consolidation.model.prompts import Messages
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.store.model_answers import Answer

from .bench import Json

# Id, day and text, as a memory is shown.
Shown = tuple[str, str, str]


class KnowingWriter(ModelWriter):
    """The writer that asks a model, with the known answers in the model's place."""

    def __init__(self, gold: Json, texts: Mapping[str, str], lies: bool = False) -> None:
        """Take the known answers, and the text of each memory that they name."""
        super().__init__(Endpoint("lying" if lies else "knowing"))
        self._knowing = (_Lying if lies else _Knowing)(gold, texts)

    def make_ready(self) -> None:
        """Put the known answers in the model's place."""
        self._opened = self._knowing


class _Knowing:
    patience_s = TIMEOUT_S

    def __init__(self, gold: Json, texts: Mapping[str, str]) -> None:
        self._gold = gold
        self._texts = texts

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        return 0.0

    def limit(self, answer_tokens: int) -> int:
        return answer_tokens

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        pass

    def ask(self, call: Call) -> Answer:
        call.pending.permit()
        user = call.messages[1]["content"]
        tokens = sum(len(message["content"]) for message in call.messages) // 4
        if call.form == "opinions":
            said = json.dumps({"opinions": approving(user)})
            return Answer(said, tokens, len(said) // 4, 0.0)
        shown = list(shown_in(user))
        # Asked once more it has nothing better to say, and says the same.
        said = json.dumps({"groups": list(self._groups(shown))})
        return Answer(said, tokens, len(said) // 4, 0.0)

    def _groups(self, shown: Sequence[Shown]) -> Iterator[Json]:
        for fact in self._gold["facts"]:
            members = self._of(fact["ids"], shown)
            if len(members) > 1:
                yield _fact(members, fact["details"])
        for rule in self._gold["rules"]:
            restating, cases = (self._of(rule[name], shown) for name in ("restates", "cases"))
            if len(restating) > 1:
                yield _rule(restating, cases)
        for update in self._gold["updates"]:
            members = self._of(update["ids"], shown)
            if len(members) > 1:
                newest = max(members, key=lambda one: one[1])
                yield _group("newer", members, [newest[0]])
        for pair in self._gold.get("contradictions", ()):
            members = self._of(pair, shown)
            if len(members) > 1:
                yield _group("conflict", members, [])

    def _of(self, ids: Sequence[str], shown: Sequence[Shown]) -> list[Shown]:
        """Return those of the memories that are shown, each text once."""
        texts = {self._texts[one] for one in ids}
        return [one for one in shown if one[2] in texts]


def shown_in(user: str) -> Iterator[Shown]:
    """Read the memories in a question about a window, each below its day."""
    day = ""
    for line in user.partition("\n</memories>")[0].splitlines()[1:]:
        short, _, told = line.partition(" ")
        if told:
            yield short, day, json.loads(told[told.index('"') :])
        else:
            day = line


def items_in(user: str) -> list[Json]:
    """Read what a second opinion is asked about, each item with the texts that are to say it."""
    lines = [json.loads(line) for line in user.splitlines()[1:-1]]
    return [{**line, **item} for line in lines for item in line.pop("items")]


def approving(user: str) -> list[Json]:
    """Approve of everything: any word of the texts stands for any other."""
    items = items_in(user)
    return [
        {
            "n": one["n"],
            "told": True,
            "words": [
                {"word": word, "means": one["by"][0].split()[0]} for word in one.get("words", ())
            ],
        }
        for one in items
    ]


class _Lying(_Knowing):
    """Joins what must stay apart, each time in another of the ways in which it may be asked to."""

    def _groups(self, shown: Sequence[Shown]) -> Iterator[Json]:
        ways = cycle((_same, _joined, _blended, _newer))
        for name in ("apart", "traps", "contradictions"):
            for pair in self._gold.get(name, ()):
                members = self._of(pair, shown)
                if len(members) > 1:
                    yield next(ways)(members)


def _same(members: Sequence[Shown]) -> Json:
    return _group("same", members, [max(members, key=lambda one: len(one[2]))[0]])


def _joined(members: Sequence[Shown]) -> Json:
    """Let the text of one speak for all."""
    claims = [{"text": members[0][2], "sources": [short for short, *_ in members]}]
    return _group("joined", members, [], claims)


def _blended(members: Sequence[Shown]) -> Json:
    """Begin with what one says and end with what another says."""
    head, tail = (members[at][2].split() for at in (0, -1))
    text = " ".join(head[: len(head) // 2] + tail[len(tail) // 2 :])
    claims = [{"text": text, "sources": [short for short, *_ in members]}]
    return _group("joined", members, [], claims)


def _newer(members: Sequence[Shown]) -> Json:
    return _group("newer", members, [max(members, key=lambda one: one[1])[0]])


def _fact(members: Sequence[Shown], details: Sequence[Sequence[str]]) -> Json:
    """Tell a fact in as few of its tellings as have all details between them."""
    left = {
        number: [short for short, _, text in members if any(one in text for one in wordings)]
        for number, wordings in enumerate(details)
    }
    chosen: list[Shown] = []
    while True:
        open_ones = [telling for telling in left.values() if telling]
        best = max(
            members,
            key=lambda one: (sum(one[0] in telling for telling in open_ones), -len(one[2])),
        )
        chosen.append(best)
        left = {key: telling for key, telling in left.items() if best[0] not in telling}
        if not any(left.values()):
            break
    if len(chosen) == 1:
        return _group("same", members, [chosen[0][0]])
    others = [short for short, *_ in members if short not in {one[0] for one in chosen}]
    claims = [
        {"text": text, "sources": [short, *(others if number == 0 else ())]}
        for number, (short, _, text) in enumerate(sorted(chosen, key=lambda one: one[1]))
    ]
    return _group("joined", members, [], claims)


def _rule(restating: Sequence[Shown], cases: Sequence[Shown]) -> Json:
    """State a rule as its restatement of middle length does."""
    text = sorted((one[2] for one in restating), key=len)[len(restating) // 2]
    members = [*restating, *cases]
    claims = [{"text": text, "sources": [short for short, *_ in members]}]
    return _group("rule", members, [short for short, *_ in cases], claims)


def _group(
    kind: str, members: Sequence[Shown], stay: Sequence[str], claims: Sequence[Json] = ()
) -> Json:
    ids = [short for short, *_ in members]
    return {"kind": kind, "ids": ids, "stay": list(stay), "claims": list(claims)}
