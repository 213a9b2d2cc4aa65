"""A connection to PostgreSQL: its settings, its timeouts, and the meaning of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from slowwave.extensions.formats.base import ChangedMeanwhile
from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.extras import install_hint

from .url import DatabaseUrl

if TYPE_CHECKING:
    import psycopg
    from psycopg import Error

    Connection = psycopg.Connection[tuple[Any, ...]]

# Unless the URL specifies them: how long we wait for a server, in seconds, and our name.
_DEFAULTS: dict[str, str | int] = {"connect_timeout": 10, "application_name": "slowwave"}
# How long we wait for another transaction, in seconds.
_LOCK_SECONDS = 10
# The maximum time of a statement, in seconds: the longest, over all rows of a tenant, takes some.
STATEMENT_SECONDS = 300
# Characters of a message of PostgreSQL.
_MAX_SHOWN = 300


@contextmanager
def connected(url: DatabaseUrl) -> Iterator[Connection]:
    """Connect to a database; errors within the block become `StoreError`s that name it."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo
    except ImportError as error:
        raise StoreError(
            "The package psycopg is not installed.", f"Install it {install_hint('postgres')}"
        ) from error
    try:
        defaults = _DEFAULTS | conninfo_to_dict(url.conninfo)
        conninfo = make_conninfo(url.conninfo, **{name: defaults[name] for name in _DEFAULTS})
    except psycopg.Error:
        # libpq's message may contain a password.
        raise UnusableFile(
            f"{url} is not a valid PostgreSQL URL.",
            "It is postgresql://USER@HOST:PORT/DATABASE; store a password in ~/.pgpass or "
            "PGPASSWORD.",
        ) from None
    try:
        # We begin transactions explicitly. No statement is prepared: a connection pooler may send
        # the next one to another server process.
        conn = psycopg.connect(
            conninfo, autocommit=True, prepare_threshold=None, client_encoding="utf8"
        )
    except psycopg.OperationalError as error:
        raise UnusableFile(
            f"{url} cannot be reached: {_in_a_line(error)}",
            "Check the host, the database, the user and the password.",
        ) from None
    with closing(conn):
        try:
            yield conn
        except psycopg.Error as error:
            raise _explain(error, url) from error


@contextmanager
def transaction(conn: Connection, writes: bool) -> Iterator[None]:
    """Begin a transaction with one snapshot of all rows; without a commit it is rolled back.

    A write to a row that was changed since raises `ChangedMeanwhile`.
    """
    conn.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ {'READ WRITE' if writes else 'READ ONLY'}")
    try:
        # Rows that row security hides would count as deleted: the database refuses instead.
        conn.execute("SET LOCAL row_security = off")
        _limit(conn)
        yield
    finally:
        if not conn.closed and not conn.broken:
            conn.rollback()


@contextmanager
def short_transaction(conn: Connection) -> Iterator[None]:
    """Begin a transaction that is committed, and that waits for nothing for long."""
    with conn.transaction():
        _limit(conn)
        yield


def _limit(conn: Connection) -> None:
    """Limit the statements of a transaction; a pooler may lend the session to others."""
    conn.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
    conn.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")


def _explain(error: Error, url: DatabaseUrl) -> StoreError:
    """Translate an error of PostgreSQL for users.

    Any other error, such as a statement that it does not understand, is our defect and is raised.
    """
    from psycopg import OperationalError, errors

    message = _in_a_line(error)
    unchanged = "Nothing was changed."
    match error:
        case errors.SerializationFailure() | errors.DeadlockDetected() | errors.UniqueViolation():
            return ChangedMeanwhile(url)
        case errors.LockNotAvailable():
            return FileHeld(f"{url} is locked by another program.", "Try again in a moment.")
        case errors.QueryCanceled():
            return StoreError(
                f"{url} ended a statement: {message}.",
                f"{unchanged} A trigger, a view or a busy server may keep the statement from "
                "finishing within "
                f"{STATEMENT_SECONDS} seconds.",
            )
        case errors.InsufficientPrivilege() if "row-level security" in message:
            return StoreError(
                f"{url}: row security would hide rows from this user, and slowwave would consider "
                "them deleted.",
                "Use a user that sees every row: the tables' owner, or one with BYPASSRLS.",
            )
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return StoreError(f"{url}: {message}.", unchanged)
        case errors.UndefinedTable() | errors.UndefinedColumn():
            return UnusableFile(f"{url} does not have the expected tables: {message}.")
        case errors.DiskFull():
            return StoreError(f"The disk of {url} is full.", "Free some space, then try again.")
        case errors.IntegrityError() | errors.RaiseException() | errors.DataError():
            return StoreError(f"{url} refuses the change: {message}.", unchanged)
    if isinstance(error, OperationalError):
        return StoreError(
            f"The connection to {url} was lost: {message}",
            "The last change was made completely or not at all. Run the command again.",
        )
    raise error


def _in_a_line(error: Error) -> str:
    """Return PostgreSQL's message without the statement and rows that it may repeat."""
    message = error.diag.message_primary or str(error)
    return " ".join(message.split())[:_MAX_SHOWN].rstrip(".")
