"""slowwave mcp: the memory file as tools of an agent, by the Model Context Protocol."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder

from .foreign import refuse_foreign
from .output import Output, clean
from .settings import ConfigOption, FileArgument, JsonOption, QuietOption, is_on_command_line

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from slowwave.consolidation.agent import AgentMemory

_TOKEN = "SLOWWAVE_MCP_TOKEN"  # noqa: S105 - the name of a variable
_MISSING = (
    "The MCP server needs the package mcp: pip install 'slowwave[mcp]', or in a clone "
    "pip install -c constraints.txt '.[mcp]'."
)


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
    embedder: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
    ] = DEFAULT_MODEL,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Serve the memory file to an agent by the Model Context Protocol, on stdin and stdout.

    Only what reads is offered, unless --allow-writes is given. It ends when the agent does.
    """
    if http is None and any(is_on_command_line(context, one) for one in ("host", "token")):
        raise typer.BadParameter("--host and --token go with --http.")
    _refuse_open_door(http, host, token)
    refuse_foreign(file)
    try:
        from .mcp_tools import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise typer.BadParameter(_MISSING) from None
    with _opened(file, tenant, embedder, allow_writes) as memory:
        _serve(make_server(memory, file, allow_writes), http, host, token, Output(json, quiet))


def _refuse_open_door(http: int | None, host: str, token: str | None) -> None:
    """Refuse to serve everybody who reaches this machine."""
    if token is not None and not token.strip():
        raise typer.BadParameter(f"The token is blank: see --token, and {_TOKEN}.")
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
    from slowwave.store.file import bring_up_to_date, open_reading

    if not writes:
        with open_reading(file):
            pass
    elif file.exists():
        bring_up_to_date(file)
    return AgentMemory(file, tenant, SentenceEmbedder(embedder))


def _serve(
    server: MCPServer, http: int | None, host: str, token: str | None, output: Output
) -> None:
    if http is None:
        server.run("stdio")
        return
    from .mcp_http import listening, serve_http

    with listening(host, http) as listener:
        port = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        output.note(clean(f"Serving at http://{shown}:{port}/mcp"))
        serve_http(server, listener, host, token)
