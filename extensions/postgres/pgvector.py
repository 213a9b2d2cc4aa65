"""Vectors as pgvector spells them."""

from __future__ import annotations

import json
import struct


def as_bytes(vector: str) -> bytes:
    """Return what pgvector writes as little-endian float32."""
    numbers = json.loads(vector)
    return struct.pack(f"<{len(numbers)}f", *numbers)


def as_literal(vector: bytes) -> str:
    """Return little-endian float32 as pgvector reads it."""
    return json.dumps(struct.unpack(f"<{len(vector) // 4}f", vector))
