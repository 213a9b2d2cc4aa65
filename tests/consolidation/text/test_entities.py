"""The names in a text."""

from __future__ import annotations

import pytest

from slowwave.consolidation.facts.specifics import names_in

# Written for this test: a memory, and what a reader would say that it names.
LABELLED: list[tuple[str, set[str]]] = [
    ("Rosalind owns the ci-base image.", {"Rosalind", "ci-base"}),
    ("The invoice gateway times out after 45 seconds.", set()),
    ("Aunt Beatrix lives in Lisbon.", {"Aunt Beatrix", "Lisbon"}),
    ("Kafka listens on db1.internal:9092.", {"Kafka", "db1.internal:9092"}),
    ("Set MAX_RETRIES in config/app.toml to 5.", {"MAX_RETRIES", "config/app.toml"}),
    ("The user's brother Henrik moved to Oslo in March.", {"Henrik", "Oslo"}),
    ("User said that Tom Baker plays chess.", {"Tom Baker"}),
    ("Run `yarn install` before the build.", {"yarn install"}),
    ("PROJ-123 blocks the release of v2.1.0.", {"PROJ-123", "v2.1.0"}),
    ("See https://example.com/docs for the API.", {"https://example.com/docs", "API"}),
    ("Never deploy on Friday.", set()),
    ("The standup is at 9:30 on Mondays.", set()),
    ("Pass --dry-run to the importer.", {"--dry-run"}),
    ("The cat is called Miso.", {"Miso"}),
    ("GitLab runners need Docker 27.", {"GitLab", "Docker"}),
    ("Logs are in /var/log/app.", {"/var/log/app"}),
    ("split_sku drops the leading zeros.", {"split_sku"}),
    ("The parser lives in src/parser.py.", {"src/parser.py"}),
    ("Dr. Lindqvist tunes the piano.", {"Lindqvist"}),
    ("Send it to ann@example.com.", {"ann@example.com"}),
    ("My sister's dog is old.", set()),
    ("Zoë and Álvaro adopted a hamster.", {"Zoë", "Álvaro"}),
    ("The password for the wifi is on the fridge.", set()),
    ("Our VPN runs on WireGuard.", {"VPN", "WireGuard"}),
    ("UserService calls loadProfile twice.", {"UserService", "loadProfile"}),
    ("Netflix costs the user 12 euros a month.", {"Netflix"}),
    ("The gateway at 10.0.0.1 is down.", {"10.0.0.1"}),
    ("Prefer tabs over spaces.", set()),
    ("Grandpa Joe was born in Turin in 1931.", {"Grandpa Joe", "Turin"}),
    ("The storefront repo uses Node 20.11.", {"Node"}),
    ("A colleague from Siemens called about the order.", {"Siemens"}),
    ("The invoice-gateway retries three times.", {"invoice-gateway"}),
    ("She edits with vim inside tmux.", {"vim", "tmux"}),
    ("redis runs on the nuc under the stairs.", {"redis", "nuc"}),
    ("Errors go to Sentry, alerts to PagerDuty.", {"Sentry", "PagerDuty"}),
    ("Deploys to eu-north-1 need Terraform.", {"eu-north-1", "Terraform"}),
    ("Postgres is what the ledger uses.", {"Postgres"}),
    ("Rent is due on the first of the month.", set()),
    ("The label says “Fragile”.", {"Fragile"}),
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "We met Aunt Beatrix and Tom. Rosalind met Ben.",
            ("Aunt Beatrix", "Ben", "Tom"),
        ),
        ("Rosalind's image is Rosalind’s.", ("Rosalind",)),
        ("Redis, Redis and (Redis).", ("Redis",)),
        ("Set `max_size` in `a.toml`.", ("a.toml", "max_size")),
        ("Nothing here.", ()),
        ("", ()),
    ],
)
def test_names_are_sorted_and_unique(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_most_names_are_found_with_few_false_positives() -> None:
    labelled = [(set(names_in(text)), expected) for text, expected in LABELLED]
    right = sum(len(names & expected) for names, expected in labelled)
    assert right / sum(len(names) for names, _ in labelled) >= 0.85
    assert right / sum(len(expected) for _, expected in labelled) >= 0.65
