"""A connection to PostgreSQL: how it is set up, how it waits, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from slowwave.store.errors import FileHeld, StoreError, UnusableFile
from slowwave.store.extras import install_hint
from slowwave.store.formats.base import ChangedMeanwhile

from .url import DatabaseUrl

if TYPE_CHECKING:
    from psycopg import Connection, Error

# What holds unless the URL says otherwise: how long we wait for a server, in seconds, and who is.
_DEFAULTS: dict[str, str | int] = {"connect_timeout": 10, "application_name": "slowwave"}
# How long we wait for another's transaction.
_LOCK_S = 10
# How long a statement may take: the longest that a night needs, over all rows of a tenant, takes
# seconds.
STATEMENT_S = 300
_MOST_SHOWN = 300


@contextmanager
def connected(url: DatabaseUrl) -> Iterator[Connection[tuple[Any, ...]]]:
    """Connect to a database; errors within the block become `StoreError`s that name it."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo
    except ImportError as error:
        raise StoreError(
            "The package psycopg is not installed.", f"Install it {install_hint('postgres')}"
        ) from error
    try:
        said = conninfo_to_dict(url.conninfo)
        conninfo = make_conninfo(
            url.conninfo, **{name: value for name, value in _DEFAULTS.items() if name not in said}
        )
    except psycopg.Error:
        # What libpq says of it may repeat a password.
        raise UnusableFile(
            f"{url} is no URL that PostgreSQL takes.",
            "It is postgresql://USER@HOST:PORT/DATABASE; a password is better kept in ~/.pgpass "
            "or PGPASSWORD.",
        ) from None
    try:
        # Transactions begin where we say so. No statement is prepared: a pooler in between may
        # hand the next one to another server process.
        conn = psycopg.connect(
            conninfo, autocommit=True, prepare_threshold=None, client_encoding="utf8"
        )
    except psycopg.OperationalError as error:
        raise UnusableFile(
            f"{url} cannot be reached: {_in_a_line(error)}",
            "Are the host, the database, the user and the password as they should be?",
        ) from None
    with closing(conn):
        try:
            yield conn
        except psycopg.Error as error:
            raise _explain(error, url) from error


@contextmanager
def transaction(conn: Connection[tuple[Any, ...]], writes: bool) -> Iterator[None]:
    """Begin a transaction with one picture of all rows; the caller commits, or all is taken back.

    What another changes meanwhile cannot be changed by us any more: `ChangedMeanwhile`.
    """
    conn.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ {'READ WRITE' if writes else 'READ ONLY'}")
    try:
        # Rows that the database hides from us would count as deleted: it is to refuse instead.
        conn.execute("SET LOCAL row_security = off")
        conn.execute(f"SET LOCAL lock_timeout = '{_LOCK_S}s'")
        conn.execute(f"SET LOCAL statement_timeout = '{STATEMENT_S}s'")
        yield
    finally:
        if not conn.closed and not conn.broken:
            conn.rollback()


def _explain(error: Error, url: DatabaseUrl) -> StoreError:
    """Turn what PostgreSQL says into what a user can act on.

    Anything else, such as a statement that it does not understand, is a defect of ours and is
    raised as it came.
    """
    from psycopg import OperationalError, errors

    said = _in_a_line(error)
    match error:
        case errors.SerializationFailure() | errors.DeadlockDetected() | errors.UniqueViolation():
            return ChangedMeanwhile(url)
        case errors.LockNotAvailable():
            return FileHeld(f"{url} is locked by another program.", "Try again in a moment.")
        case errors.QueryCanceled():
            return StoreError(
                f"{url} ended a statement: {said}.",
                "Nothing of the last change was made. A trigger, a view or a busy server may keep "
                f"it from ending within {STATEMENT_S} seconds.",
            )
        case errors.ReadOnlySqlTransaction():
            return StoreError(f"{url} is read only.", "Nothing was changed.")
        case errors.InsufficientPrivilege() if "row-level security" in said:
            return StoreError(
                f"{url}: row security would hide rows from this user, and slowwave would take them "
                "for deleted ones.",
                "Use a user that sees every row: the tables' owner, or one with BYPASSRLS.",
            )
        case errors.InsufficientPrivilege():
            return StoreError(f"{url}: {said}.", "Nothing was changed.")
        case errors.UndefinedTable() | errors.UndefinedColumn():
            return UnusableFile(f"{url} is not as it should be: {said}.")
        case errors.DiskFull():
            return StoreError(f"The disk of {url} is full.", "Make room, then try again.")
        case errors.IntegrityError() | errors.RaiseException() | errors.DataError():
            return StoreError(f"{url} refuses the change: {said}.", "Nothing was changed.")
        case OperationalError():
            return StoreError(
                f"The connection to {url} was lost: {said}",
                "All of the last change was made, or nothing of it. Run the command again.",
            )
    raise error


def _in_a_line(error: Error) -> str:
    """Return what PostgreSQL says, without the statement and the rows that it may repeat."""
    said = error.diag.message_primary or str(error)
    return " ".join(said.split())[:_MOST_SHOWN].rstrip(".")
