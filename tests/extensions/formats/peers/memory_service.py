"""Talks to the real storage of mcp-memory-service: python memory_service.py CALLS FILE URL.

URL: that of an embedding model.
"""

import asyncio
import json
import os
import sys

calls, path, url = sys.argv[1:]
os.environ |= {
    "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
    "MCP_EXTERNAL_EMBEDDING_URL": url,
    "MCP_EXTERNAL_EMBEDDING_MODEL": "words",
    # Else most of what is to be consolidated is refused.
    "MCP_SEMANTIC_DEDUP_ENABLED": "false",
}

from mcp_memory_service.models.memory import Memory  # noqa: E402 - it reads the environment
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage  # noqa: E402 - the same
from mcp_memory_service.utils.hashing import generate_content_hash  # noqa: E402 - the same


async def main():
    storage = SqliteVecMemoryStorage(path)
    await storage.initialize()
    for name, *arguments in json.loads(calls):
        if name == "store":
            (text,) = arguments
            memory = Memory(content=text, content_hash=generate_content_hash(text), tags=["t"])
            result = await storage.store(memory)
        elif name == "retrieve":
            matches = await storage.retrieve(arguments[0], n_results=20)
            result = [match.memory.content for match in matches]
        elif name == "pause":
            result = await asyncio.sleep(*arguments)
        else:
            result = await getattr(storage, name)(*arguments)
        print(json.dumps(result, default=str))


asyncio.run(main())
os._exit(0)
