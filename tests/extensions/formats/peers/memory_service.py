"""Talks to the real storage of mcp-memory-service: python memory_service.py FILE CALLS [URL].

Its embedding model is one on loopback: at URL, or one that counts words, since which memories are
found is what is asked.
"""

import asyncio
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zlib import crc32

DIMENSIONS = 384


def vector(text):
    counts = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        counts[crc32(word.encode()) % DIMENSIONS] += 1.0
    length = sum(count * count for count in counts) ** 0.5 or 1.0
    return [count / length for count in counts]


class Embedding(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        told = json.dumps({"data": data, "model": "words"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)


server = ThreadingHTTPServer(("127.0.0.1", 0), Embedding)
threading.Thread(target=server.serve_forever, daemon=True).start()
path, calls, *urls = sys.argv[1:]
url = urls[0] if urls else f"http://127.0.0.1:{server.server_port}/v1/embeddings"
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
            told = await storage.store(memory)
        elif name == "retrieve":
            found = await storage.retrieve(arguments[0], n_results=20)
            told = [match.memory.content for match in found]
        elif name == "pause":
            told = await asyncio.sleep(*arguments)
        else:
            told = await getattr(storage, name)(*arguments)
        print(json.dumps(told, default=str))


asyncio.run(main())
os._exit(0)
