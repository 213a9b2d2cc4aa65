"""Conversations that are queued for a model, in the files of a fleet."""

from __future__ import annotations

from pathlib import Path

from cli_calls import Cli
from conversations import LYON, asking, contents, let_wait, remembering
from model_server import ModelServer, refuses
from nights import fill


def test_queued_conversations_are_read(
    tmp_path: Path, chat: Path, cli: Cli, server: ModelServer
) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    path = folder / "a.db"
    assert cli("import", "--empty", path).code == 0
    fill(path, ["The tyres are at the garage."])
    let_wait(cli, path, chat)
    assert cli("import", "--empty", folder / "b.db").code == 0
    fleet = ("fleet", "maintain", folder, "--receipts", tmp_path / "receipts")
    server.responder = lambda asked: refuses(401)
    cli(*fleet, *asking(server)).ends(3)
    server.responder = remembering(LYON)
    cli(*fleet, *asking(server)).ends(0).says('"calls": 2')
    assert LYON["content"] in contents(path)
