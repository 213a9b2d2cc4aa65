"""An answer is read with any text around it, and never if it is cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from counting import calls
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from slowwave.consolidation.model.answer_forms import breaks_off, parse_answer
from slowwave.consolidation.model.unanswered import UnreadableAnswer


class Claim(BaseModel):
    text: str
    sources: list[str]


class Answer(BaseModel):
    claims: list[Claim]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ANSWERS = st.lists(
    st.fixed_dictionaries({"text": TEXTS, "sources": st.lists(st.sampled_from(["m1", "m2"]))})
).map(lambda claims: {"claims": claims})
PROSE = st.text(st.characters(categories=["L", "P", "Z"], exclude_characters='<>{}"'))


def read(text: str) -> dict[str, Any]:
    return parse_answer(Answer, text).model_dump()


@given(answer=ANSWERS, before=PROSE, after=PROSE, thought=ANSWERS, indent=st.none() | st.just(2))
def test_an_answer_is_found_among_prose_and_thoughts(
    answer: dict[str, Any], before: str, after: str, thought: dict[str, Any], indent: int | None
) -> None:
    text = json.dumps(answer, indent=indent)
    assert read(f"{before}{text}{after}") == answer
    assert read(f"{before}\n```json\n{text}\n```\n{after}") == answer
    assert read(f"{before}</think>{text}{after}") == answer
    thought_of = json.dumps(thought).replace("<", "\\u003c")
    assert read(f"<think>{before}{thought_of}</think>\n{before}{text}") == answer
    assert read(f"{before}{thought_of}{after}{text}") == answer


def test_capitalized_and_additional_keys_are_accepted() -> None:
    spelled = '{"Claims": [{"TEXT": "a", " sources": [], "title": 1}], "confidence": 0.9}'
    assert read(spelled) == {"claims": [{"text": "a", "sources": []}]}


@given(answer=ANSWERS, data=st.data())
def test_a_truncated_answer_is_not_an_answer(answer: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(answer)
    cut = text[: data.draw(st.integers(2, len(text) - 1))]
    assert breaks_off(cut)
    with pytest.raises(UnreadableAnswer, match="breaks off before its end"):
        read(cut)
    # An earlier thought is not used in its place.
    with pytest.raises(UnreadableAnswer):
        read(f"{text} Or rather: {cut}")


@pytest.mark.parametrize("cut", ['{"claims": nul', '{"claims": -', '{"claims": [{"text": "\\u00'])
def test_an_answer_can_break_off_within_a_word(cut: str) -> None:
    assert breaks_off(cut)


@given(text=st.text())
def test_a_text_without_claims_is_unreadable(text: str) -> None:
    breaks_off(text)
    with pytest.raises(UnreadableAnswer):
        read(f"x{text}".replace("claims", ""))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{}", "[]", "null", "no JSON", "{'claims': []}", '{"claims" []}', '{"a": nul}'),
        *('{"claims": null}', "<think>The first", "<think>{}"),
    ],
)
def test_a_text_without_an_answer_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["{", "[", " ", "\n", '{"', '{"a":', '{"a": 1,', '{"a":[', "<think>", "\n<think", "</think>"],
)
def test_parsing_takes_linear_work(piece: str) -> None:
    def unreadable(size: int) -> None:
        with pytest.raises(UnreadableAnswer):
            read(piece * (size // len(piece)))

    assert calls(lambda: unreadable(40_000)) <= 5 * calls(lambda: unreadable(10_000))
