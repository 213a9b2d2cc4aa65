"""What a text says: its names, denials, sentences and language."""

from __future__ import annotations

import night
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.consolidation.facts.languages import is_english
from slowwave.consolidation.facts.reading import Reading, read
from slowwave.consolidation.text.lead_ins import without_announcements

TEXTS = [memory.text for memory in night.load().memories]

NAMES = [
    ("Rosalind owns the image.", ["rosalind"]),
    ("The image belongs to Rosalind.", ["rosalind"]),
    ("Rosalind's image is old.", ["rosalind"]),
    ("The image is Rosalind's.", ["rosalind"]),
    ("Anne-Marie and Zoë met O'Brien.", ["anne-marie", "zoë", "o'brien"]),
    ("Aunt Beatrix sent it.", ["beatrix"]),
    ("Kafka is slow. Zookeeper was fine.", ["kafka", "zookeeper"]),
    ("CI runs on GitLab.", ["ci"]),
    ("The user met Kim on Monday in March.", ["kim"]),
    ("I think I'm right.", []),
    ("Restart the worker.", []),
    ("Use the worker.", []),
    ("Never restart on Friday.", []),
    ("Unless it fails, wait.", []),
    ("Builds fail at night.", []),
    ("Note: backups fail.", []),
    *((text, []) for text in ("", "…", "!!!", "👍", "`", "'s", "12", "- -")),
]

DENIED = [
    ("Do not use yarn.", {"use"}),
    ("Don’t use yarn.", {"use"}),
    ("Never deploy on Friday.", {"deploy"}),
    ("The api has no cache.", {"cach"}),
    ("It runs without root.", {"root"}),
    ("It is not in need of a restart.", {"need"}),
    ("Use pnpm, not yarn.", {"yarn"}),
    ("It cannot write and never reads.", {"write", "read"}),
    ("Use yarn.", set()),
]

DEICTIC = {
    "It broke yesterday.": True,
    "The user moves house next week.": True,
    "It was moved last Friday.": True,
    "The key was changed two days ago.": True,
    "Tomorrow is the launch.": True,
    "This month rent went up.": True,
    "It broke on 3 March.": False,
    "The last build was green.": False,
    "The next server is db2.": False,
    "This rule is old.": False,
}

SENTENCES = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Ask Dr. Lind, e.g. Monday. Then wait.", ["Ask Dr. Lind, e.g. Monday.", "Then wait."]),
    ("Set v1.2.3 in a.b.c to 5.0 now.", ["Set v1.2.3 in a.b.c to 5.0 now."]),
    ('She said "No." Then she left.', ['She said "No."', "Then she left."]),
    ("- one\n- two\n\nThree", ["- one", "- two", "Three"]),
    ("It failed. [2026-03-01] It works now.", ["It failed.", "[2026-03-01] It works now."]),
    (
        'It runs. "It stops." Then e.g. v1.2 starts!\nA line',
        ["It runs.", '"It stops."', "Then e.g. v1.2 starts!", "A line"],
    ),
    ("  ", []),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_names_are_found_anywhere_in_a_sentence(text: str, names: list[str]) -> None:
    assert list(read(text).names) == names


@pytest.mark.parametrize(("text", "denied"), DENIED)
def test_a_denial_applies_to_the_next_content_word(text: str, denied: set[str]) -> None:
    assert read(text).denied == denied
    assert bool(read(text).negators) == bool(denied)


@pytest.mark.parametrize(("text", "sentences"), SENTENCES)
def test_texts_are_split_into_sentences(text: str, sentences: list[str]) -> None:
    assert list(read(text).sentences) == sentences


@given(st.text(st.sampled_from("aB1 .!?\"')\n[e.g.Dr"), max_size=80) | st.sampled_from(TEXTS))
def test_sentences_have_every_character_of_the_text(text: str) -> None:
    joined = "".join(Reading(text).sentences)
    assert "".join(joined.split()) == "".join(text.split())


@pytest.mark.parametrize(("text", "deictic"), DEICTIC.items())
def test_relative_days_are_deictic(text: str, deictic: bool) -> None:
    assert read(text).deictic == deictic


def test_numbers_and_units_are_values_instead_of_words() -> None:
    reading = read("The job waits five minutes until 3pm.")
    assert reading.stems == ("job", "wait")
    assert [value.norm for value in reading.measures] == ["300 s", "time 900"]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    reading = Reading(text)
    assert reading.negators or not reading.denied
    assert set(reading.plain) <= set(reading.tokens)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("User said that the kiln is hot.", "the kiln is hot."),
        ("NOTE: User confirmed that the kiln is hot.", "the kiln is hot."),
        ("The user told me that she fires at night.", "The user fires at night."),
        ("- **Kiln** is hot.", "Kiln is hot."),
        ("Remember: the kiln is hot. FYI: it cools slowly.", "the kiln is hot. it cools slowly."),
        *(
            (statement, statement)
            for statement in (
                "The doctor mentioned the lump.",
                "TODO: fire the kiln.",
                "[ ] fire the kiln",
                "The user said no.",
                "-4 degrees is the limit.",
                "Note:",
            )
        ),
    ],
)
def test_only_what_introduces_a_statement_is_removed(text: str, statement: str) -> None:
    assert without_announcements(text) == statement


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("The kiln is fired at 1,240 °C for 20 µs.", True),
        ("kiln temperature", True),
        ("Zoë fires the kiln.", True),
        ("Ask Ana", True),
        ("Der Ofen wird nachts geheizt und nicht am Tag.", False),
        ("Печь горячая.", False),
        ("Ana paga a Juan.", False),
        ("In Graz wohnt Ann.", False),
    ],
)
def test_english_is_distinguished_from_other_languages(text: str, english: bool) -> None:
    assert is_english(text) == english
