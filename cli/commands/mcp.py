"""slowwave mcp: the memory file as tools of an agent, by the Model Context Protocol."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.model_options import (
    ApiBaseOption,
    CheckerOption,
    ConcurrencyOption,
    MaxCostOption,
)
from slowwave.cli.arguments.options import (
    ConfigOption,
    EmbedderOption,
    FileArgument,
    JsonOption,
    QuietOption,
)
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.arguments.writers import make_writer
from slowwave.cli.files.foreign import refuse_foreign
from slowwave.cli.terminal.output import Output, clean
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.extras import install_hint

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from slowwave.consolidation.agent import AgentMemory

_TOKEN = "SLOWWAVE_MCP_TOKEN"  # noqa: S105 - the name of a variable
_BUDGETS = ("max_calls", "max_tokens", "max_cost", "max_time")
_MISSING = f"The MCP server needs the package mcp; {install_hint('mcp')}."


def mcp(
    context: typer.Context,
    file: FileArgument,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Whose memories the agent sees, and no other's.")
    ] = "default",
    allow_writes: Annotated[
        bool,
        typer.Option(
            "--allow-writes",
            help="Let the agent remember, consolidate, judge and undo; FILE is made if need be.",
        ),
    ] = False,
    http: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65_535,
            help="Serve streamable HTTP and not stdin and stdout; 0 takes any free port.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Where --http listens; beyond loopback with a token."),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="SECRET",
            envvar=_TOKEN,
            help="What each request over HTTP must bring along; better in the environment, since "
            "others see a command line.",
        ),
    ] = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="litellm's name of a model, which consolidate_run asks; without it none is asked.",
        ),
    ] = None,
    api_base: ApiBaseOption = None,
    checker: CheckerOption = None,
    concurrency: ConcurrencyOption = 4,
    max_calls: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Requests at the most in one consolidate_run."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Tokens at the most in one.")
    ] = None,
    max_cost: MaxCostOption = None,
    max_time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="No call after so many seconds of one."),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Serve the memory file to an agent by the Model Context Protocol, on stdin and stdout.

    Only what reads is offered, unless --allow-writes is given. It ends when the agent does.
    """
    if http is None and any(is_on_command_line(context, one) for one in ("host", "token")):
        raise typer.BadParameter("--host and --token go with --http.")
    asking = ("api_base", "checker", "concurrency", *_BUDGETS)
    for one in asking:
        if model is None and is_on_command_line(context, one):
            raise typer.BadParameter(f"--{one.replace('_', '-')} goes with --model.")
    if not allow_writes and is_on_command_line(context, "model"):
        raise typer.BadParameter("--model goes with --allow-writes: only consolidate_run asks it.")
    limits = (max_calls, max_tokens, max_cost, max_time)
    writer_of = partial(make_writer, model, api_base, checker, concurrency, limits, None)
    _refuse_open_door(http, host, token)
    refuse_foreign(file)
    try:
        from slowwave.cli.mcp.offer import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise typer.BadParameter(_MISSING) from None
    with _opened(file, tenant, embedder, allow_writes) as memory:
        server = make_server(memory, file, allow_writes, writer_of)
        _serve(server, http, host, token, Output(json, quiet))


def _refuse_open_door(http: int | None, host: str, token: str | None) -> None:
    """Refuse to serve everybody who reaches this machine, and a token that no request can bring."""
    if token is not None and not token.strip():
        raise typer.BadParameter(f"The token is blank: see --token, and {_TOKEN}.")
    if token is not None and (
        token != token.strip() or not token.isascii() or not token.isprintable()
    ):
        raise typer.BadParameter(
            "No HTTP header carries that token as it is: choose one of printable ASCII characters "
            f"without blanks around them (see --token, and {_TOKEN})."
        )
    if http is not None and token is None and not _is_loopback(host):
        raise typer.BadParameter(
            f"{host} is reached from elsewhere: that needs --token, or {_TOKEN} set."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _opened(file: Path, tenant: str, embedder: str, writes: bool) -> AgentMemory:
    """Return the memories to serve. Raises `StoreError` at once if the file is none."""
    from slowwave.consolidation.agent import AgentMemory
    from slowwave.store.file import migrate_file, open_reading

    if not writes:
        with open_reading(file):
            pass
    elif file.exists():
        migrate_file(file)
    return AgentMemory(file, tenant, SentenceEmbedder(embedder))


def _serve(
    server: MCPServer, http: int | None, host: str, token: str | None, output: Output
) -> None:
    if http is None:
        server.run("stdio")
        return
    from slowwave.cli.mcp.http import listening, serve_http

    with listening(host, http) as listener:
        port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        output.note(clean(f"Serving at http://{shown}:{port}/mcp"))
        serve_http(server, listener, host, token)
