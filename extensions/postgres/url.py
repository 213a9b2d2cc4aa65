"""A database's URL in the place of a file's path."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from slowwave.store.errors import StoreError
from slowwave.store.places import Address

_SCHEMES = ("postgresql://", "postgres://")
# What of a query is never shown.
_SECRET = frozenset({"password", "sslpassword"})


def is_database_url(text: str) -> bool:
    """Whether a name is the URL of a PostgreSQL database."""
    return text.startswith(_SCHEMES)


class DatabaseUrl(Address):
    """One tenant's rows in a database, named as postgresql://HOST/DATABASE#TENANT.

    No file lies there. Its name never has the password.
    """

    # As libpq takes it, with the password.
    conninfo: str
    # None where the URL does not say it.
    tenant: str | None
    _shown: str

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """Read a URL. Raises `StoreError` if it could be read in two ways."""
        try:
            parts = urlsplit(text)
        except ValueError:
            raise _unclear() from None
        # A mark within a password would end the part that has it, and the rest be shown.
        if any("@" in one for one in (parts.path, parts.query, parts.fragment)):
            raise _unclear()
        return cls._of(text.partition("#")[0], unquote(parts.fragment) or None)

    @classmethod
    def _of(cls, conninfo: str, tenant: str | None) -> DatabaseUrl:
        shown = _shown(conninfo, tenant)
        url = cls(shown)
        url.conninfo, url.tenant, url._shown = conninfo, tenant, shown
        return url

    def of(self, tenant: str | None) -> DatabaseUrl:
        """Return the name of another tenant in the same database; None: of the database itself."""
        return self._of(self.conninfo, tenant)

    def __str__(self) -> str:
        """Return it as it may be shown."""
        return self._shown

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Let it go to another process."""
        return type(self)._of, (self.conninfo, self.tenant)


def _shown(conninfo: str, tenant: str | None) -> str:
    parts = urlsplit(conninfo)
    who, at, host = parts.netloc.rpartition("@")
    kept = [
        one
        for one in parts.query.split("&")
        if unquote(one.partition("=")[0]).strip().lower() not in _SECRET
    ]
    query = f"?{'&'.join(kept)}" if any(kept) else ""
    named = "" if tenant is None else f"#{quote(tenant, safe='/:,;=')}"
    return f"{parts.scheme}://{who.partition(':')[0]}{at}{host}{parts.path}{query}{named}"


def _unclear() -> StoreError:
    return StoreError(
        "The database's URL cannot be read.",
        "In a password or a tenant's name write @ as %40, # as %23, / as %2F and ? as %3F.",
    )
