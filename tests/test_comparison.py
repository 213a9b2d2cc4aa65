"""Each module of `comparison` by itself: what it finds between two texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from slowwave.consolidation.comparison import coverage_guards, roles
from slowwave.consolidation.comparison.acting import other_party
from slowwave.consolidation.comparison.coverage_guards import Gap, find_gap
from slowwave.consolidation.comparison.guards import first_conflict, gravest_objection
from slowwave.consolidation.comparison.mood import moods_of
from slowwave.consolidation.comparison.objections import Objection
from slowwave.consolidation.comparison.pairing import TextPair, literals
from slowwave.consolidation.comparison.reordering import rearranged
from slowwave.consolidation.comparison.word_vectors import WordVectors, content_words
from slowwave.consolidation.text.reading import Reading, read

Guard = Callable[[Reading, Reading], Iterator[Objection]]

# ----------------------------------------------------------------- pairing


def paired(left: str, right: str) -> tuple[str, str]:
    pair = TextPair(read(left), read(right))
    return pair.left.text, pair.right.text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("We do trunk based work.", "We do trunk-based work."),
        ("The service level agreement is signed.", "The SLA is signed."),
        ("User reports bugs to Ann.", "Reports bugs to Ann."),
        ("Images must be tagged.", "Tag images."),
    ],
)
def test_what_both_have_in_two_spellings_comes_out_in_one(left: str, right: str) -> None:
    one, other = paired(left, right)
    assert one.lower() == other.lower()
    assert paired(right, left) == (other, one)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("We re-sign the lease.", "We resign the lease."),
        ("The reports are slow.", "User reports are slow."),
    ],
)
def test_what_only_looks_like_a_spelling_stays_apart(left: str, right: str) -> None:
    assert paired(left, right) == (left, right)


def test_a_literal_that_one_has_alone_is_an_objection_and_of_both_a_conflict() -> None:
    here, there = read("Run `make demo`."), read("Run `make test`.")
    (both,) = literals(here, there)
    (alone,) = literals(here, read("Run it."))
    assert (both.left, both.right, both.conflict) == ("make demo", "make test", True)
    assert (alone.left, alone.right, alone.conflict) == ("make demo", "", False)


def test_an_objection_shows_literals_as_they_stand_in_the_texts() -> None:
    left, right = read("Run `make demo` on Monday."), read("Run `make demo` on Friday.")
    found = first_conflict(left, right)
    assert found is not None
    assert "zq" not in found.why


# ------------------------------------------------------------------- roles


@pytest.mark.parametrize(
    ("guard", "left", "right"),
    [
        (roles.direction, "We moved from Oslo to Bergen.", "We moved from Bergen to Oslo."),
        (roles.roles, "Ann visits Ben.", "Ben visits Ann."),
        (roles.roles, "Ann is visited by Ben.", "Ann visits Ben."),
        (roles.reversed_words, "The api calls the worker.", "The worker calls the api."),
        (
            roles.bindings,
            "The api listens on 80 and the worker on 443.",
            "The api listens on 443 and the worker on 80.",
        ),
    ],
)
def test_who_does_what_tells_two_texts_of_the_same_words_apart(
    guard: Guard, left: str, right: str
) -> None:
    assert list(guard(read(left), read(right))) != []
    assert list(guard(read(right), read(left))) != []
    assert list(guard(read(left), read(left))) == []


@pytest.mark.parametrize(
    ("guard", "left", "right"),
    [
        (roles.roles, "Ann visits Ben.", "Ben is visited by Ann."),
        (roles.roles, "Ann and Ben paint.", "Ben and Ann paint."),
    ],
)
def test_two_ways_to_say_who_does_it_are_not_told_apart(
    guard: Guard, left: str, right: str
) -> None:
    assert list(guard(read(left), read(right))) == []


def test_a_sentence_that_does_not_say_plainly_who_acts_is_doubtful() -> None:
    left, right = read("Ann has Ben paint the fence."), read("Ann paints the fence for Ben.")
    found = list(roles.unclear_roles(left, right))
    assert [one.doubtful for one in found] == [True]


# -------------------------------------------------------------- guards of coverage


@pytest.mark.parametrize(
    ("said", "premise", "kind"),
    [
        ("The kiln is fired at 1240 °C.", "The kiln is fired at night.", "value"),
        ("Helvi fires the kiln at night.", "The kiln is fired at night.", "name"),
        ("The old kiln is hot at night.", "The old kiln is never hot at night.", "denial"),
        ("The old kiln is hot at night.", "The old kiln is now cold at night.", "change"),
        ("Der Ofen ist heiß und nicht kalt.", "The oven is hot.", "language"),
        ("The kiln is fired at night.", "If Ann agrees, the kiln is fired at night.", "scope"),
    ],
)
def test_what_no_network_may_overrule_is_named(said: str, premise: str, kind: str) -> None:
    gap = find_gap(read(said), read(premise))
    assert gap is not None
    assert gap.kind == kind
    assert coverage_guards.WHY[gap.kind].format(gap.said)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        # Both parties in both, in other places.
        ("Vesk pays for tiles that we send back.", "Tiles going back to Vesk are on us."),
        ("Vesk pays for tiles that I send back.", "Tiles going back to Vesk are on me."),
        # Who writes in one of them alone.
        ("In 2026 Vesk glazes the large tiles.", "Glazing the large tiles is up to us in 2026."),
        ("In 2026 Vesk glazes the large tiles.", "Large tiles are ours to glaze in 2026."),
        ("In 2026 we glaze the tiles for Vesk.", "In 2026 Vesk glazes the tiles."),
        ("The maker glazes the large tiles.", "The large tiles are glazed by us."),
    ],
)
def test_what_who_writes_has_to_do_is_not_what_another_does(left: str, right: str) -> None:
    for said, premise in ((left, right), (right, left)):
        gap = find_gap(read(said), read(premise))
        assert gap is not None
        assert gap.kind in ("parties", "name"), gap


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("We pay for large tiles at once.", "Tiles that are large are on us, at once."),
        (
            "Tiles that we send back are glazed by Vesk.",
            "Vesk glazes returned tiles, large or not.",
        ),
        ("We glaze large tiles in our own kiln.", "Large tiles are glazed by us in our kiln."),
    ],
)
def test_two_ways_to_say_that_who_writes_does_it_name_one_party(left: str, right: str) -> None:
    assert other_party(read(left), read(right)) is None


def test_a_sentence_is_not_opposed_by_one_that_says_it_in_more_words() -> None:
    said = read("The kiln in the cellar is fired every night.")
    more = read("The kiln in the cellar is fired every night, and cleaned in the morning.")
    assert find_gap(said, more) is None


def test_one_word_that_differs_is_named_as_it_stands() -> None:
    gap = coverage_guards.differ_in_a_word(
        read("The left door jams."), read("The right door jams.")
    )
    assert gap == Gap("word", "left")


def test_a_value_that_few_facts_share_is_an_anchor_and_a_month_is_none() -> None:
    on_port, in_march = read("It runs on port 8080."), read("It runs in March.")
    assert coverage_guards.share_an_anchor(on_port, read("Port 8080 is taken."))
    assert not coverage_guards.share_an_anchor(in_march, read("March was cold."))


def test_clauses_that_deny_something_else_are_left_out() -> None:
    said = read("The api runs on port 80.")
    premise = coverage_guards.without_other_denials(
        read("The api runs on port 80, not on 8080."), said
    )
    assert "8080" not in premise.text
    denied = read("The api does not run on port 80.")
    assert coverage_guards.without_other_denials(denied, said) is denied


# ------------------------------------------------------- mood, reordering


def test_a_mood_is_found_by_its_name() -> None:
    assert moods_of(read("The kiln may be hot.")) != moods_of(read("The kiln is hot."))
    assert moods_of(read("The kiln is hot.")) == frozenset()


def test_parts_in_another_order_are_one_text_unless_that_changes_who_acts() -> None:
    plain = read("The worker restarts the api in staging.")
    assert rearranged(plain, read("In staging, the worker restarts the api."))
    assert not rearranged(plain, read("The api restarts the worker in staging."))


# -------------------------------------------------------------- objections


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The api listens on 8080.", "The api listens on 9090."),
        ("Ann visits Ben.", "Ben visits Ann."),
        ("The kiln is hot.", "The kiln is not hot."),
    ],
)
def test_an_objection_says_both_sides_and_is_the_same_from_either(left: str, right: str) -> None:
    one = gravest_objection(read(left), read(right))
    other = gravest_objection(read(right), read(left))
    assert one is not None
    assert other is not None
    assert (one.guard, one.left, one.right) == (other.guard, other.right, other.left)
    assert one.conflict
    assert "against" in one.why


# ------------------------------------------------------------ word_vectors


def test_a_word_lies_nearer_to_another_word_for_it_than_to_the_opposite() -> None:
    vectors = WordVectors()
    quits = vectors.vectors(read("The process quits at once."))
    exits = vectors.vectors(read("The process exits at once."))
    stays = vectors.vectors(read("The process paints at once."))
    at = [token.bare for token in content_words(read("The process quits at once."))].index("quits")
    near, far = quits.words[at] @ exits.words[at], quits.words[at] @ stays.words[at]
    assert near > far
    assert len(quits.stems) == len(quits.words)
