"""slowwave mcp: the memory file as tools of an agent, over the Model Context Protocol."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.arguments.model_options import ModelOptions
from slowwave.cli.arguments.options import EmbedderOption, FileArgument, OutputOptions, per_call
from slowwave.cli.arguments.place_options import refuse_foreign
from slowwave.cli.arguments.settings import is_on_command_line
from slowwave.cli.terminal.output import Output
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.extras import install_hint
from slowwave.store.file import open_reading

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from slowwave.consolidation.agent import AgentMemory

_TOKEN = "SLOWWAVE_MCP_TOKEN"  # noqa: S105 - the name of a variable
_MISSING = f"The MCP server requires the package mcp; {install_hint('mcp')}."


def mcp(
    context: typer.Context,
    file: FileArgument,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="The tenant whose memories the agent sees.")
    ] = "default",
    *,
    allow_writes: Annotated[
        bool,
        per_call(
            "--allow-writes",
            help="Let the agent add, consolidate, rate and undo. Creates FILE if needed.",
        ),
    ] = False,
    http: Annotated[
        int | None,
        per_call(
            metavar="PORT",
            min=0,
            max=65_535,
            help="Serve streamable HTTP instead of stdin and stdout. 0 chooses a free port.",
        ),
    ] = None,
    host: Annotated[
        str,
        per_call(
            metavar="ADDRESS",
            help="With --http: the address to bind to. Any but loopback requires --token.",
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        per_call(
            metavar="SECRET",
            envvar=_TOKEN,
            help="With --http: the token that requests must carry. Prefer the environment: other "
            "users can see a command line.",
        ),
    ] = None,
    embedder: EmbedderOption = DEFAULT_MODEL,
    asking: ModelOptions,
    output: OutputOptions,
) -> None:
    """Serve the memory file to an agent by the Model Context Protocol.

    Without --allow-writes, all tools are read-only. Only consolidate_run and ingest call the model,
    within the limits of one run. The server ends when the agent closes the connection.
    """
    if http is None and any(is_on_command_line(context, name) for name in ("host", "token")):
        raise typer.BadParameter("--host and --token require --http.")
    if asking.model is None and is_on_command_line(context, "max_cost"):
        raise typer.BadParameter("--max-cost requires --model.")
    if not allow_writes and is_on_command_line(context, "model"):
        raise typer.BadParameter(
            "--model requires --allow-writes: only consolidate_run and ingest call it."
        )
    _refuse_unsafe_server(http, host, token)
    refuse_foreign(file)
    try:
        from slowwave.cli.mcp.offer import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise typer.BadParameter(_MISSING) from None
    with _opened(file, tenant, embedder, allow_writes) as memory:
        server = make_server(memory, file, allow_writes, asking.writer)
        _serve(server, http, host, token, output)


def _refuse_unsafe_server(http: int | None, host: str, token: str | None) -> None:
    """Refuse to serve other machines without a token, and a token that no request can carry."""
    if token is not None and (
        token != token.strip() or not token.isascii() or not token.isprintable()
    ):
        raise typer.BadParameter(
            "An HTTP header cannot carry that token: choose printable ASCII characters, without "
            f"spaces around them (see --token and {_TOKEN})."
        )
    if http is not None and token is None and not _is_loopback(host):
        raise typer.BadParameter(
            f"Other machines can reach {host}: specify --token, or set {_TOKEN}."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _opened(file: Path, tenant: str, embedder: str, writes: bool) -> AgentMemory:
    """Return the memories to serve. Raises `StoreError` if the file is not a memory file."""
    from slowwave.consolidation.agent import AgentMemory

    if not writes or file.exists():
        with open_reading(file):
            pass
    return AgentMemory(file, tenant, SentenceEmbedder(embedder))


def _serve(
    server: MCPServer, http: int | None, host: str, token: str | None, output: Output
) -> None:
    if http is None:
        server.run("stdio")
        return
    from slowwave.cli.mcp.offer import listening, serve_http

    with listening(host, http) as listener:
        port = listener.getsockname()[1]
        address = f"[{host}]" if ":" in host else host
        output.note(f"Serving at http://{address}:{port}/mcp")
        serve_http(server, listener, host, token)
