"""What a real model answered about a life, kept by the texts it was asked about.

Such answers hold when the prompts are worded or the windows cut otherwise. What nobody answered yet
is written beside them as prompts, and answers to those are taken in:

    python -m benchmarks.quality.life FILE GOLD --answers ANSWERS.json
    (a model answers ANSWERS.json.missing/*.txt, each in a file of the same name that ends in .json)
    python -m benchmarks.quality.answered ANSWERS.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from slowwave.consolidation.model.answer_forms import GroupsAnswer, OpinionsAnswer
from slowwave.consolidation.model.calls import TIMEOUT_S, Endpoint
from slowwave.consolidation.model.interface import Call
from slowwave.consolidation.model.parsing import parse_answer
from slowwave.consolidation.model.prompts import Messages
from slowwave.consolidation.model.writer import ModelWriter
from slowwave.store.model_answers import Answer
from slowwave.store.records import json_text

from .bench import Json
from .knowing import Shown, items_in, shown_in


class AnsweredWriter(ModelWriter):
    """The writer that asks a model, with kept answers in the model's place."""

    def __init__(self, kept: Path) -> None:
        """Take the file of answers; it need not be there yet."""
        super().__init__(Endpoint("answered"))
        self._kept = kept

    def make_ready(self) -> None:
        """Put the kept answers in the model's place."""
        self._opened = self._opened or _Answered(Kept.read(self._kept), missing_beside(self._kept))


def missing_beside(kept: Path) -> Path:
    """Return the folder for prompts that nobody answered yet."""
    return kept.with_name(f"{kept.name}.missing")


class Kept:
    """Answers by the texts that they are about."""

    def __init__(self, windows: list[Json], repairs: list[Json], opinions: dict[str, Any]) -> None:
        """Take windows and repairs (the texts shown, the groups said), and opinions by item."""
        self.windows = windows
        self.repairs = repairs
        self.opinions = opinions

    @classmethod
    def read(cls, path: Path) -> Kept:
        """Read the file; nothing is kept if there is none."""
        if not path.exists():
            return cls([], [], {})
        return cls(**json.loads(path.read_text("utf-8")))

    def write(self, path: Path) -> None:
        """Write the file."""
        found = {"windows": self.windows, "repairs": self.repairs, "opinions": self.opinions}
        path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")

    @cached_property
    def seen(self) -> frozenset[str]:
        """Return every text that was shown in a window."""
        return frozenset(text for one in self.windows for text in one["shown"])

    def groups_among(self, shown: Sequence[Shown]) -> Iterator[Json]:
        """Yield what was said of those that are shown, the rest left out."""
        short_of = {text: short for short, _, text in shown}
        for window in self.windows:
            for group in window["groups"]:
                named = _by_short(group, short_of)
                if len(named["ids"]) > 1:
                    yield named

    def repaired(self, shown: Sequence[Shown], faulty: Sequence[Json]) -> list[Json] | None:
        """Return what was said when these groups were asked about again; None if nothing was."""
        short_of = {text: short for short, _, text in shown}
        about = _about(shown, faulty)
        found = [one for one in self.repairs if one["about"] == about]
        return [_by_short(group, short_of) for group in found[-1]["groups"]] if found else None


def _by_short(group: Json, short_of: Mapping[str, str]) -> Json:
    """Return a group with short ids for texts, and without those that are not shown."""
    claims = [
        {**claim, "sources": [short_of[one] for one in claim["sources"] if one in short_of]}
        for claim in group["claims"]
    ]
    return {
        "kind": group["kind"],
        "ids": [short_of[one] for one in group["ids"] if one in short_of],
        "stay": [short_of[one] for one in group["stay"] if one in short_of],
        "claims": [claim for claim in claims if claim["sources"]],
    }


def _by_text(group: Json, text_of: Mapping[str, str]) -> Json:
    return {
        "kind": group["kind"],
        "ids": [text_of[one] for one in group["ids"] if one in text_of],
        "stay": [text_of[one] for one in group["stay"] if one in text_of],
        "claims": [
            {
                "text": claim["text"],
                "sources": [text_of[one] for one in claim["sources"] if one in text_of],
            }
            for claim in group["claims"]
        ],
    }


def _about(shown: Sequence[Shown], faulty: Sequence[Json]) -> list[str]:
    """Return what a repair is about: for each group what it claims of which texts."""
    text_of = {short: text for short, _, text in shown}
    return sorted(json_text(_by_text(group, text_of)) for group in faulty)


def _faulty_in(user: str) -> list[Json]:
    """Read the groups that a question asks about once more."""
    _, _, behind = user.partition("\n<groups>\n")
    return [json.loads(line) for line in behind.splitlines()[:-1]]


def _items_in(user: str) -> list[Json]:
    """Read what a second opinion is asked about, each without its number."""
    return [{key: one[key] for key in one if key != "n"} for one in items_in(user)]


class _Answered:
    patience_s = TIMEOUT_S

    def __init__(self, kept: Kept, missing: Path) -> None:
        self._kept = kept
        self._missing = missing

    def price(self, prompt_tokens: int, answer_tokens: int) -> float | None:
        return 0.0

    def limit(self, answer_tokens: int) -> int:
        return answer_tokens

    def note_kept(self, messages: Messages, answer: Answer) -> None:
        pass

    def ask(self, call: Call) -> Answer:
        call.pending.permit()
        opinions = call.form == "opinions"
        said = self._opinions(call.messages) if opinions else self._groups(call.messages)
        text = json.dumps(said, ensure_ascii=False)
        tokens = sum(len(message["content"]) for message in call.messages) // 4
        return Answer(text, tokens, len(text) // 4, 0.0)

    def _groups(self, messages: Messages) -> Json:
        user = messages[1]["content"]
        shown, faulty = list(shown_in(user)), _faulty_in(user)
        if faulty:
            groups = self._kept.repaired(shown, faulty)
        elif all(text in self._kept.seen for _, _, text in shown):
            groups = list(self._kept.groups_among(shown))
        else:
            groups = None
        if groups is None:
            self._ask_later(messages)
        return {"groups": groups or []}

    def _opinions(self, messages: Messages) -> Json:
        items = _items_in(messages[1]["content"])
        found = [self._kept.opinions.get(json_text(one)) for one in items]
        if None in found:
            self._ask_later(messages)
        return {
            "opinions": [
                {"n": number, **one} for number, one in enumerate(found, 1) if one is not None
            ]
        }

    def _ask_later(self, messages: Messages) -> None:
        self._missing.mkdir(exist_ok=True)
        text = "\n\n".join(message["content"] for message in messages)
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        (self._missing / f"{name}.txt").write_text(text, "utf-8")


def take_in(kept: Kept, prompt: str, answer: str) -> None:
    """Keep an answer to a prompt. Raises `Unreadable` if it is not in the form asked for."""
    if "\n<items>\n" in prompt:
        items = _items_in(prompt[prompt.index("\n<items>\n") + 1 :])
        for one in parse_answer(OpinionsAnswer, answer).opinions:
            said = {"told": one.told, "words": [word.model_dump() for word in one.words]}
            kept.opinions[json_text(items[one.n - 1])] = said
        return
    user = prompt[prompt.index("\n<memories>\n") + 1 :]
    shown, faulty = list(shown_in(user)), _faulty_in(user)
    text_of = {short: text for short, _, text in shown}
    stated = [one.model_dump() for one in parse_answer(GroupsAnswer, answer).groups]
    groups = [_by_text(one, text_of) for one in stated]
    if faulty:
        kept.repairs.append({"about": _about(shown, faulty), "groups": groups})
    else:
        kept.windows.append({"shown": [text for _, _, text in shown], "groups": groups})


def main(arguments: Sequence[str] | None = None) -> None:
    """Take in the answers that lie beside the prompts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.answered",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("answers", type=Path, help="the file of answers")
    chosen = parser.parse_args(arguments)
    kept = Kept.read(chosen.answers)
    for prompt in sorted(missing_beside(chosen.answers).glob("*.txt")):
        answer = prompt.with_suffix(".json")
        if answer.exists():
            take_in(kept, prompt.read_text("utf-8"), answer.read_text("utf-8"))
            prompt.unlink()
            answer.unlink()
    kept.write(chosen.answers)


if __name__ == "__main__":
    main()
