"""Secrets in conversations: masked before anything is stored, asked or reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_calls import Cli
from commands import setting
from conversations import asking, contents, remembering, stated
from counting import calls
from mcp import Client
from mcp_client import ask, in_this_process
from model_server import ModelServer, says
from nights import rows

from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.ingest.secrets import kinds_of_secrets, mask_secrets
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.conversations.messages import Conversation, Message
from slowwave.store.file import create_file

PASSWORD, KEY = "Regen-Tonne?88", "ghp_R4nd0mLettersOfNoMeaning0123456789ab"
TALK = [
    {"role": "user", "content": f"The password of the NAS is {PASSWORD} and never changes."},
    {"role": "assistant", "content": f"Noted, I'll log in with {PASSWORD}."},
    {"role": "user", "content": f"I always push with {KEY}, from the laptop."},
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK))
    return path


def traces(folder: Path, *but: Path) -> list[str]:
    """Return the files that contain a secret."""
    secrets = (PASSWORD.encode(), KEY.encode())
    files = (path for path in folder.rglob("*") if path.is_file() and path not in but)
    return [path.name for path in files if any(map(path.read_bytes().count, secrets))]


def queued(path: Path) -> str:
    return str(rows(path, "SELECT content FROM waiting_messages"))


@pytest.mark.parametrize("is_read", [False, True], ids=["queued", "read"])
def test_masked_secrets_are_in_no_table_question_recording_or_report(
    memory_file: Path, talk: Path, cli: Cli, server: ModelServer, is_read: bool
) -> None:
    server.responder = remembering(stated("User pushes from the laptop.", "the laptop"))
    recording = ("--record", talk.with_name("recording.jsonl"))
    options = (*asking(server), *recording) if is_read else ("--json",)
    ended = cli("ingest", memory_file, talk, *options)
    (read,) = ended.json["conversations"]
    assert [masked["message"] for masked in read["masked"]] == [1, 2, 3]
    assert read["masked"][2]["kinds"] == ["GitHub Token"]
    run = cli("log", memory_file, ended.json["run"], "--json")
    assert "GitHub Token" in run.out
    for text in (ended.out, ended.err, run.out, *map(str, server.asked)):
        assert PASSWORD not in text
        assert KEY not in text
    assert traces(talk.parent, talk) == []
    assert bool(server.asked) == is_read
    assert ("[masked: GitHub Token]" in queued(memory_file)) != is_read
    cli("ingest", memory_file, talk, "--again").says("; GitHub Token in message 3.")


def test_allow_secrets_keeps_secrets(memory_file: Path, talk: Path, cli: Cli) -> None:
    cli("ingest", memory_file, talk)
    ended = cli("ingest", memory_file, talk, "--allow-secrets", "--json")
    assert ended.json["conversations"][0]["masked"] == []
    assert KEY in queued(memory_file)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("my password is now gruen7specht", "gruen7specht"),
        ("The Wi-Fi password at my desk was Herbst2031!", "Herbst2031!"),
        ("Password for staging: kingfisher", "kingfisher"),
        ("the router's password got reset, it's Om77!kkR again", "Om77!kkR"),
        ("log in with password Gr0ttenolm", "Gr0ttenolm"),
        ("The password went from Winter25! to Fruehling26! last week.", "Winter25!"),
        ("The password went from Winter25! to Fruehling26! last week.", "Fruehling26!"),
        ("Mein Passwort ist Dohle?1999 am Rechner", "Dohle?1999"),
        ("MYSQL_PASSWORD=kingfisher", "kingfisher"),
        ('the passphrase I use is "four plain small words"', "four plain small words"),
        ("My PIN is 80317.", "80317"),
        ("send Authorization: Bearer 9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
        ("see https://example.org/x?token=kf93hf83hf", "kf93hf83hf"),
        ("postgres://anna:kf93hf83@db.example.org/app", "kf93hf83"),
        ("the secret access key is wJalrXUtnFEM", "wJalrXUtnFEM"),
        ("it is AKIA2E0A8F3B244C9986 on AWS", "AKIA2E0A8F3B244C9986"),
        ("I pay with 5555 5555 5555 4444 at the office.", "5555 5555 5555 4444"),
        ("a key: Zq8v/2mP+xK91LwTfR0bYcN4sHdJ7uEg", "Zq8v/2mP+xK91LwTfR0bYcN4sHdJ7uEg"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza\nAAAB\n", "b3BlbnNza"),
    ],
)
def test_secrets_are_recognized(text: str, secret: str) -> None:
    conversation = Conversation("talk", (Message("user", f"Hi. {text}"),))
    masked, kinds = mask_secrets(conversation)
    assert secret not in masked.messages[0].text
    assert masked.messages[0].text.startswith("Hi. ")
    assert list(kinds) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "Passwords have 12 characters and are changed every 90 days.",
        "My password manager is 1Password.",
        "The password is stored in the vault of atlas-api.",
        "Secrets: never commit them.",
        "The token limit is 8192.",
        "Is the token for k8s? it may be.",
        "password: ${DB_PASSWORD}",
        "The private key: /etc/pki/portal2.key",
        "Never send the password to db-1 or to anna@example.org!",
        "The token is signed with RS256, the secret is hashed with argon2id.",
        "password = read_password()",
        "Release 4.2 is commit 07a564e1b2c3d4e5f60718293a4b5c6d7e8f9012.",
        "The build is 6ba7b810-9dad-11d1-80b4-00c04fd430c8 on 203.0.113.7.",
        "Logs are in /var/lib/atlas/exports/2026-03-01/handlers_v2/part-00017.parquet.",
        "Our order number is 4012888888881882, of 1772359200123.",
    ],
)
def test_text_about_secrets_or_random_ids_is_not_masked(text: str) -> None:
    assert kinds_of_secrets(text) == ()


@pytest.mark.parametrize("piece", ["eyJ", "//a/", "password is "])
def test_a_long_hostile_message_is_searched_with_linear_work(piece: str) -> None:
    def work(count: int) -> int:
        return calls(lambda: list(kinds_of_secrets(piece * count)))

    # As one piece, 120,000 characters take the patterns of the library minutes.
    assert list(kinds_of_secrets(piece * (120_000 // len(piece)))) == []
    assert work(4_000) <= 5 * work(1_000) + 100


def test_add_and_correct_name_the_kind_of_a_secret(memory_file: Path, cli: Cli) -> None:
    added = cli("add", memory_file, f"Push with {KEY}.", "--json").ends(0, "GitHub Token")
    assert contents(memory_file) == [f"Push with {KEY}."]
    corrected = cli("correct", memory_file, added.json["id"], "--text", f"Use {KEY}.", "--json")
    for ended in (added, corrected.ends(0, "GitHub Token")):
        assert (ended.json["secrets"], KEY in ended.err) == (["GitHub Token"], False)
    retracted = cli("correct", memory_file, corrected.json["memory"]["id"], "--retract", "--json")
    assert retracted.json["secrets"] == []


def test_the_title_of_an_export_is_masked(tmp_path: Path, cli: Cli) -> None:
    path, export = tmp_path / "memory.db", tmp_path / "export.json"
    create_file(path)
    message = {"sender": "human", "text": "I prefer tea."}
    export.write_text(json.dumps([{"name": f"Push with {KEY}", "chat_messages": [message]}]))
    assert cli("ingest", path, export).code == 0
    assert rows(path, "SELECT conversation FROM waiting_messages")
    assert traces(tmp_path, export) == []


def test_a_secret_of_an_earlier_turn_is_masked_later(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    memory = AgentMemory(memory_file, embedder=embedder)
    with memory.conversation("say") as talk:
        for message in TALK:
            talk.say(**message)
    # A later conversation of the name, and all messages so far with a known id.
    memory.conversation("say").say("user", f"Try {PASSWORD} again.")
    first, second = {**TALK[0], "id": "m-1"}, {**TALK[1], "id": "m-2"}
    for passed in ([first], [first, second]):
        AgentMemory(memory_file, embedder=embedder).conversation("so far").keep(passed)
    contents = [row["content"] for row in rows(memory_file, "SELECT content FROM waiting_messages")]
    assert "Try [masked: Password or Token] again." in contents[1]
    assert "log in with [masked: Password or Token]." in contents[2]
    assert traces(memory_file.parent) == []


def test_names_and_ids_are_masked_without_losing_a_message(
    memory_file: Path, embedder: SentenceEmbedder
) -> None:
    memory = AgentMemory(memory_file, embedder=embedder)
    name = f"password={PASSWORD}"
    with memory.conversation(name) as talk:
        for text in ("I live in Lyon.", "I live in Graz."):
            talk.keep([{"role": "user", "name": KEY, "content": text, "id": f"token={KEY}"}])
    memory.ingest([{"role": "user", "name": KEY, "content": "I prefer tea."}], name)
    row, whole = rows(memory_file, "SELECT * FROM waiting_messages")
    assert row["conversation"] == whole["conversation"] == "password=[masked: Password or Token]"
    assert row["content"].count('"speaker":"[masked: GitHub Token]"') == 2
    assert traces(memory_file.parent) == []
    # Such a name identifies a session.
    memory.conversation("V1StGXR8_Z5jdHi6B-myTaQxWc3").say("user", "Hi.")
    assert rows(memory_file, "SELECT 1 FROM waiting_messages WHERE conversation LIKE 'V1StGXR8%'")


def test_the_answers_of_a_model_are_masked(
    memory_file: Path, talk: Path, cli: Cli, server: ModelServer
) -> None:
    leaking = {**stated("User pushes from the laptop.", "the laptop"), "subject": KEY}
    answer = {"memories": [leaking], "reasoning": f"It is {KEY}."}
    server.responder = lambda asked: says(answer)
    ended = cli("ingest", memory_file, talk, *asking(server), setting("checker", "none"))
    assert ended.json["reasons"][0]["reasoning"] == "It is [masked: GitHub Token]."
    assert traces(talk.parent, talk) == []


def test_the_answers_of_an_agent_are_masked(memory_file: Path) -> None:
    async def conversation(client: Client) -> None:
        messages = [TALK[0], {"role": "user", "content": "I live in Lyon near the river"}]
        await ask(client, "ingest", messages=messages, conversation="c", read_now=True)
        (question,) = (await ask(client, "consolidation_questions"))["questions"]
        fact = stated("I live in Lyon near the river", "I live in Lyon near the river")
        reasoning = f"Not {PASSWORD}, nor {KEY}."
        answer = {"memories": [fact], "reasoning": reasoning}
        answers = [{"id": question["id"], "answer": answer}]
        done = await ask(client, "consolidation_answer", answers=answers)
        assert done["conversations"]["memories"]["stored"] == 1

    in_this_process(conversation, memory_file, "--allow-writes")
    assert traces(memory_file.parent) == []
