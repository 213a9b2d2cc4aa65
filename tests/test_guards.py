"""Pairs that must stay two memories, guard by guard, and pairs that say the same."""

from __future__ import annotations

import night
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.consolidation.comparison import guards
from slowwave.consolidation.comparison.guards import (
    certain_conflict,
    first_conflict,
    first_difference,
    gravest_objection,
    say_the_same,
)
from slowwave.consolidation.comparison.objections import Guard, Objection
from slowwave.consolidation.text.reading import read

TEXTS = [told.text for told in night.load().told]

# Per guard: two texts, and what the reason must say of each.
APART = {
    "literals": [
        ("Call `save!` on it.", "Call `save` on it.", "save!", "save"),
        ("The wildcard is `?`.", "The wildcard is `!`.", "?", "!"),
        ("The keys are `a`, `b`.", "The keys are `a`, `B`.", "b", "B"),
        ('The delimiter is ";".', 'The delimiter is ",".', ";", ","),
        ("Run git diff main..dev", "Run git diff main...dev", "main..dev", "main...dev"),
        ("It returns [] then.", "It returns {} then.", "[]", "{}"),
        ("Call foo(a, b).", "Call foo(b, a).", "foo(a, b)", "foo(b, a)"),
        ("The file is Makefile.", "The file is makefile.", "Makefile", "makefile"),
        ("Set NODE_ENV=production.", "Set node_env=production.", "NODE_ENV", "node_env"),
    ],
    "units": [
        (
            "`flyTo` takes its duration in milliseconds.",
            "The duration of `flyTo` is given in seconds.",
            "ms",
            "s",
        ),
        ("The timeout (ms) is in the file.", "The file has the timeout, in s.", "ms", "s"),
        ("The exporter counts in KB.", "The exporter's unit is bytes.", "KB", "B"),
        ("All prices are in EUR.", "Prices are given in US dollars.", "EUR", "USD"),
        ("Fees are paid in pounds.", "The fees are paid in euros.", "pound", "EUR"),
        ("Feed is weighed in pounds.", "Feed is weighed in kilos.", "pound", "kg"),
        ("It shows degrees Celsius.", "It shows degrees Fahrenheit.", "°C", "°F"),
        ("It counts in seconds, not minutes.", "It counts in minutes.", "s", "min"),
        ("The lock waits microseconds.", "The lock waits milliseconds.", "µs", "ms"),
    ],
    "values": [
        ("Port 8080", "port 9090", "8080", "9090"),
        ("The api uses port `8080`.", "The api uses port 9090.", "8080", "9090"),
        ("The limit is 5 MB.", "The limit is 5 GB.", "5 MB", "5 GB"),
        ("It waits five minutes.", "It waits ten minutes.", "five minutes", "ten minutes"),
        ("The call takes an hour.", "The call takes two hours.", "an hour", "two hours"),
        ("Runs twice a week.", "Runs three times a week.", "twice", "three times"),
        ("Tom swims every week.", "Tom swims every month.", "every week", "every month"),
        ("The budget is $5k.", "The budget is $5 million.", "$5k", "$5 million"),
        ("Set it to -5 degrees.", "Set it to 5 degrees.", "-5 degrees", "5 degrees"),
        ("The review is at 3pm.", "The review is at 4pm.", "3pm", "4pm"),
        ("The review is at 3.", "The review is at 4pm.", "3", "4pm"),
        ("It left at noon.", "It left at midnight.", "noon", "midnight"),
        ("Rent is due on 3 March.", "Rent is due on 4 March.", "3 March", "4 March"),
        ("Sold on 3 May 2025.", "Sold on 3 May 2026.", "2025", "2026"),
        ("Rent rose in March.", "Rent rose in April.", "March", "April"),
        ("Lunch is on Monday.", "Lunch is on Tuesday.", "Monday", "Tuesday"),
        ("Pinned to v1.2.3.", "Pinned to v1.2.4.", "v1.2.3", "v1.2.4"),
        ("It needs v1.2.", "It needs 1.3.", "v1.2", "1.3"),
        ("The gateway is 10.0.0.1.", "The gateway is 10.0.0.12.", "10.0.0.1", "10.0.0.12"),
        ("It runs on db1.internal.", "It runs on db2.internal.", "db1", "db2"),
        ("See https://a.com/b.", "See https://b.com/a.", "a.com/b", "b.com/a"),
        ("Logs are in /var/a.", "Logs are in /var/b.", "/var/a", "/var/b"),
        ("It sits in config.yaml.", "It sits in src/app.toml.", "config.yaml", "src/app.toml"),
        ("Set max_retries.", "Set min_retries.", "max_retries", "min_retries"),
        ("Closes JIRA-123.", "Closes OPS-123.", "JIRA-123", "OPS-123"),
        ("Pass --force.", "Pass --dry-run.", "--force", "--dry-run"),
        ("The label is 'blue'.", "The label is 'red'.", "blue", "red"),
    ],
    "signs": [
        ("Alert when latency is > 200 ms.", "Alert when latency is < 200 ms.", ">", "<"),
        ("His blood type is A+.", "His blood type is A-.", "+", "-"),
        ("The job is \u2705.", "The job is \u274c.", "\u2705", "\u274c"),
    ],
    "spelled_by_case": [
        ("The key is sk-AbC9.", "The key is sk-abc9.", "AbC9", "abc9"),
        ("The path is /srv/Data.", "The path is /srv/data.", "/srv/Data", "/srv/data"),
        ("The flag is FOO_BAR.", "The flag is foo_bar.", "FOO_BAR", "foo_bar"),
        ("The line has 10 Mb/s.", "The line has 10 MB/s.", "Mb/s", "MB/s"),
        ("Ask Will about it.", "Ask will about it.", "Will", "will"),
    ],
    "commas": [
        ("Let's eat, grandma.", "Let's eat grandma.", "eat, grandma", "eat grandma"),
        ("Tom, said Lena, broke it.", "Tom said Lena broke it.", "tom, said", "tom said"),
    ],
    "names": [
        ("The image belongs to Rosalind.", "The image belongs to Ingrid.", "rosalind", "ingrid"),
        ("Maria is ill.", "Marta is ill.", "maria", "marta"),
        ("Ask Ana about Kafka.", "Ask Ana about Redis.", "kafka", "redis"),
    ],
    "negation": [
        ("Use yarn.", "Do not use yarn.", "nothing", "not"),
        ("Use yarn.", "Don’t use yarn.", "nothing", "not"),
        ("The user can eat nuts.", "The user cannot eat nuts.", "nothing", "not"),
        ("Deploys need approval.", "Deploys need no approval.", "nothing", "no"),
        ("Use pnpm, not yarn.", "Use yarn, not pnpm.", "not", "not"),
        ("Deploy on green builds.", "Avoid deploys on green builds.", "nothing", "Avoid"),
    ],
    "exclusive": [
        ("Test before the push.", "Test after the push.", "before", "after"),
        ("Her bike is purple.", "Her bike is cyan.", "purple", "cyan"),
        ("Deploys go to staging.", "Deploys go to production.", "staging", "production"),
        ("The price went up.", "The price went down.", "up", "down"),
        ("The first try failed.", "The second try failed.", "first", "second"),
        ("All tests pass.", "Some tests pass.", "all", "some"),
        ("He prefers tea.", "She prefers tea.", "he", "she"),
        ("My sister likes tea.", "Your sister likes tea.", "my", "your"),
        ("The flag is on.", "The flag is off.", "on", "off"),
        ("Turn on the flag here.", "Turn off the flag here.", "on", "off"),
        ("The disk is encrypted.", "The disk is unencrypted.", "encrypt", "unencrypt"),
        ("The key is invalid.", "The key is valid.", "invalid", "valid"),
    ],
    "direction": [
        ("It runs from Ulm to Bern.", "It runs from Bern to Ulm.", "from ulm", "from bern"),
        (
            "Copy from the api to the db.",
            "Copy from the db to the api.",
            "from api",
            "from database",
        ),
    ],
    "roles": [
        ("Evan paints for Sam.", "Sam paints for Evan.", "evan > sam", "sam > evan"),
        ("Ana sent Ben the key.", "Ben sent Ana the key.", "ana > ben", "ben > ana"),
        ("Zoë met Álvaro there.", "Álvaro met Zoë there.", "zoë > álvaro", "álvaro > zoë"),
        ("The user owes Dan 5 euros.", "Dan owes the user 5 euros.", "user > dan", "dan > user"),
        ("Ana manages Ben.", "Ana is managed by Ben.", "ana > ben", "ben > ana"),
    ],
    "reversed_words": [
        ("The api calls the worker.", "The worker calls the api.", "api call", "worker call"),
        (
            "The api calls the worker.",
            "The api is called by the worker.",
            "api call",
            "worker call",
        ),
        ("Prefer tabs over spaces.", "Prefer spaces over tabs.", "tabs spaces", "spaces tabs"),
        ("Push, then test.", "Test, then push.", "push test", "test push"),
    ],
    "bindings": [
        (
            "Kafka listens on 9092 and Redis on 6379.",
            "Kafka listens on 6379 and Redis on 9092.",
            "9092, 6379",
            "6379, 9092",
        ),
        (
            "Backups run at 3am, scans at 5am.",
            "Backups run at 5am, scans at 3am.",
            "3:00, 5:00",
            "5:",
        ),
    ],
    "unclear_roles": [
        ("When Ana is away Ben signs.", "Ana signs if Ben has left.", "ana ? ben", "ana > ben"),
        ("Ana checks Ben's gels.", "Ana hands the gels to Ben.", "ana > ben", "ana > ben"),
    ],
    "other_term": [
        ("The window seat is best.", "The aisle seat is best.", "window", "aisl"),
        ("the password is hunter", "the password is tiger", "hunter", "tiger"),
        (
            "Rondo Fleet leases us bank cars.",
            "Rondo Fleet leases us shop vans.",
            "bank cars",
            "shop vans",
        ),
    ],
    "mood": [
        ("The team migrated the data.", "The team wants to migrate the data.", "nothing", "wants"),
        ("The login test passes.", "The login test almost passes.", "nothing", "almost"),
        ("Some customers get it.", "Most customers get it.", "some", "most"),
        ("A deploy needs approval.", "A deploy needs approval unless small.", "nothing", "unless"),
        ("The scanner needs a driver.", "Does the scanner need a driver?", "nothing", "?"),
        ("The app uses Redux.", "The app used to use Redux.", "nothing", "used to"),
        ("The app uses Redux.", "The app could use Redux.", "nothing", "can"),
        ("Sales rose by half.", "Sales rose by a third.", "half", "third"),
        ("Send it to tax and legal.", "Send it to tax or legal.", "nothing", "or"),
    ],
    "permission": [
        ("Guests are welcome in the gym.", "Guests are not allowed in the gym.", "allowed", "not"),
        ("The licence permits resale.", "Resale would breach the licence.", "allowed", "not"),
    ],
    "qualified": [
        ("The plan has API access.", "The plan has API write access.", "nothing", "write"),
    ],
    "tense": [
        ("The job migrates it.", "The job migrated it.", "migrates", "migrated"),
        ("It was slow.", "It is slow.", "was", "is"),
        ("Ann sells boats.", "Ann sold boats.", "sells", "sold"),
        ("The boat is sold by Ann.", "Ann sold the boat.", "sold", "sold"),
        ("Did Ann sell the boat?", "Does Ann sell the boat?", "sell", "sell"),
    ],
    "wording": [
        ("Sales rose by half.", "Sales rose to half.", "by", "to"),
        ("It is enabled.", "It is enabled in staging.", "nothing", "in"),
        ("Only Ana may deploy.", "Ana may deploy.", "only", "nothing"),
        ("The payment from Ana came.", "The payment to Ana came.", "from", "to"),
        ("Ana must sign.", "Ana can sign.", "must", "can"),
        ("They'll pay.", "They pay.", "will", "nothing"),
    ],
}
CASES = [(guard, *case) for guard, cases in APART.items() for case in cases]

# The same statement twice: nothing in these is a conflict.
SAME = [
    ("Durations are given in ms.", "Durations are given in milliseconds."),
    ("Within days Ann sends the minutes of the talk.", "Ann sends the minutes within days."),
    ("Ann sends the minutes in days.", "In days, the minutes are sent by Ann."),
    ("The van climbs in second gear for hours.", "For hours, the van climbs in second gear."),
    ("It waits 900 microseconds.", "It waits 0.9 ms."),
    # The Greek letter, and the micro sign.
    ("It waits 900 \u03bcs.", "It waits 900 \u00b5s."),
    ("It waits five minutes.", "It waits 5 min."),
    ("A five-minute break.", "A 5-minute break."),
    ("The review is at 3pm.", "The review is at 15:00."),
    ("The review is on 3 March.", "The review is on March 3rd."),
    ("Pinned to v1.2.3.", "Pinned to 1.2.3."),
    ("Tom swims twice a week.", "Tom swims two times a week."),
    ("The cost is $5.", "The cost is 5 dollars."),
    ("Ana wrote the report.", "The report was written by Ana."),
    ("Ana manages Ben.", "Ben is managed by Ana."),
    ("The worker calls the api.", "The api is called by the worker."),
    ("The disk was full on 14 March.", "On 14 March the disk was full."),
    ("In staging the api calls the worker.", "The api calls the worker in staging."),
    ("At 9:30 the standup starts.", "The standup starts at 9:30."),
    ("Ana and Ben met.", "Ben and Ana met."),
    ("User said that Ana likes tea.", "Ana likes tea."),
    ("The gateway's timeout is 45 s.", "The timeout of the gateway is 45 seconds."),
    ("Do not use yarn.", "Never use yarn."),
    ("Don't use yarn.", "Do not use yarn."),
    ("Do not use yarn.", "Avoid yarn."),
    ("The disk is unencrypted.", "The disk is not encrypted."),
    ("Run `yarn install` first.", "Run yarn install first."),
    ("Vault auto-unseals.", "Vault's auto-unseal works."),
]


def objections(guard_name: str, one: str, other: str) -> list[Objection]:
    """Return what one guard objects to between two texts."""
    guard: Guard = next(guard for guard in guards._GUARDS if guard.__name__ == guard_name)
    return list(guard(read(one), read(other)))


def test_every_guard_is_tried() -> None:
    assert set(APART) == {guard.__name__ for guard in guards._GUARDS}


@pytest.mark.parametrize(("guard", "one", "other", "here", "there"), CASES)
def test_a_guard_keeps_two_apart_and_says_why(
    guard: str, one: str, other: str, here: str, there: str
) -> None:
    found = objections(guard, one, other)
    assert any(here in objection.left or here == "nothing" for objection in found)
    assert any(here in objection.why and there in objection.why for objection in found)


@pytest.mark.parametrize(("guard", "one", "other", "here", "there"), CASES)
def test_two_that_a_guard_keeps_apart_are_neither_merged_nor_joined(
    guard: str, one: str, other: str, here: str, there: str
) -> None:
    assert first_difference(read(one), read(other)) is not None
    assert first_difference(read(other), read(one)) is not None
    # What only adds something may join a synthesis, which keeps it.
    if guard not in ("wording", "tense", "spelled_by_case", "commas"):
        assert first_conflict(read(one), read(other)) is not None
        assert first_conflict(read(other), read(one)) is not None


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_that_say_the_same_are_in_no_conflict(one: str, other: str) -> None:
    assert first_conflict(read(one), read(other)) is None
    assert first_conflict(read(other), read(one)) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The worker calls the api.", "The api is called by the worker."),
        ("User said that Ana likes tea.", "Ana likes tea."),
        ("Please note: the api uses port 8080.", "The API uses port 8080"),
        ("The disk was full on 14 March.", "On March 14th, the disk was full."),
        ("It's five minutes.", "It is 5 min"),
    ],
)
def test_two_that_differ_in_wording_alone_are_no_different(one: str, other: str) -> None:
    assert first_difference(read(one), read(other)) is None


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_it_does_not_matter_which_of_two_texts_comes_first(one: str, other: str) -> None:
    left, right = read(one), read(other)
    assert (first_difference(left, right) is None) == (first_difference(right, left) is None)
    assert (first_conflict(left, right) is None) == (first_conflict(right, left) is None)


@given(st.sampled_from(TEXTS))
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert first_difference(read(text), read(text)) is None
    assert first_difference(read(text), read(f"User said: {text}")) is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    left, right = read(one), read(other)
    assert (first_difference(left, right) is None) == (first_difference(right, left) is None)


@pytest.mark.parametrize("apart", [pair for pairs in APART.values() for pair in pairs])
def test_the_gravest_objection_is_the_first_that_asking_for_each_kind_gives(
    apart: tuple[str, str, str, str],
) -> None:
    one, other = read(apart[0]), read(apart[1])
    in_turn = (
        certain_conflict(one, other) or first_conflict(one, other) or first_difference(one, other)
    )
    assert gravest_objection(one, other) == in_turn


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_two_texts_say_the_same_where_nothing_tells_them_apart(left: str, right: str) -> None:
    for one, other in ((left, right), (left, left)):
        differ = first_difference(read(one), read(other)) is not None
        assert say_the_same(read(one), read(other)) is not differ


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A Juan paga Ana.", "Juan paga a Ana."),
        ("In Graz wohnt Ann.", "Wohnt Ann in Graz."),
    ],
)
def test_no_order_of_words_is_read_as_english_in_another_language(one: str, other: str) -> None:
    assert not say_the_same(read(one), read(other))
    # A model may know better.
    assert certain_conflict(read(one), read(other)) is None


def test_in_another_language_capitals_and_blanks_tell_nothing_apart() -> None:
    one, other = "Der Server wird nachts geheizt.", "der Server  wird nachts geheizt."
    assert say_the_same(read(one), read(other))
