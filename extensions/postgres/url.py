"""The URL of a database instead of the path of a file."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from slowwave.store.errors import StoreError
from slowwave.store.places import Address

_SCHEMES = ("postgresql://", "postgres://")
# Parameters that are never shown.
_SECRET = frozenset({"password", "sslpassword"})


def is_database_url(text: str) -> bool:
    """Whether a name is the URL of a PostgreSQL database."""
    return text.startswith(_SCHEMES)


class DatabaseUrl(Address):
    """A tenant's rows in a database, as postgresql://HOST/DATABASE#TENANT.

    It is not a file. As a string it never contains the password.
    """

    # For libpq, with the password.
    conninfo: str
    # None if the URL does not specify it.
    tenant: str | None
    _shown: str

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """Parse a URL. Raises `StoreError` if it is ambiguous."""
        try:
            parts = urlsplit(text)
        except ValueError:
            raise _ambiguous() from None
        # A special character in a password would end that part, and the rest would be shown.
        if any("@" in part for part in (parts.path, parts.query, parts.fragment)):
            raise _ambiguous()
        return cls._of(text.partition("#")[0], unquote(parts.fragment) or None)

    @classmethod
    def _of(cls, conninfo: str, tenant: str | None) -> DatabaseUrl:
        shown = _shown(conninfo, tenant)
        url = cls(shown)
        url.conninfo, url.tenant, url._shown = conninfo, tenant, shown
        return url

    def of(self, tenant: str | None) -> DatabaseUrl:
        """Return the URL of another tenant in the same database; None for the database itself."""
        return self._of(self.conninfo, tenant)

    def __str__(self) -> str:
        """Return it without secrets."""
        return self._shown

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle it."""
        return type(self)._of, (self.conninfo, self.tenant)


def _shown(conninfo: str, tenant: str | None) -> str:
    parts = urlsplit(conninfo)
    user, separator, host = parts.netloc.rpartition("@")
    shown_pairs = [
        pair
        for pair in parts.query.split("&")
        if unquote(pair.partition("=")[0]).strip().lower() not in _SECRET
    ]
    query = f"?{'&'.join(shown_pairs)}" if any(shown_pairs) else ""
    named = "" if tenant is None else f"#{quote(tenant, safe='/:,;=')}"
    return f"{parts.scheme}://{user.partition(':')[0]}{separator}{host}{parts.path}{query}{named}"


def _ambiguous() -> StoreError:
    return StoreError(
        "The URL of the database is ambiguous.",
        "In a password or a tenant's name, write @ as %40, # as %23, / as %2F and ? as %3F.",
    )
