"""Talks to the real mem0: python mem0_store.py CALLS URL. Prints the results.

`tell` takes who, an id, a text and its vector, and writes what Memory.add writes once its models
have answered; the others are the calls of the same name, of a Memory whose models are never asked.
"""

import json
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from hashlib import md5

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()
from mem0.memory.main import Memory
from mem0.memory.storage import SQLiteManager
from mem0.utils.lemmatization import lemmatize_for_bm25
from mem0.vector_stores.pgvector import PGVector

calls, url = sys.argv[1:]
nobody = dict.fromkeys(("dbname", "user", "password", "host", "port"))
store = PGVector(
    **nobody,
    collection_name="mem0",
    embedding_model_dims=384,
    diskann=False,
    hnsw=True,
    connection_string=url,
)


class Embedder:
    """Returns the vector that the caller passed."""

    vector = None

    def embed(self, text, memory_action=None):
        return self.vector


memory = Memory.__new__(Memory)
memory.vector_store = store
memory.embedding_model = Embedder()
memory.db = SQLiteManager(":memory:")
memory._entity_store = None
for name, *arguments in json.loads(calls):
    result = None
    if name == "pause":
        time.sleep(*arguments)
    elif name == "tell":
        ids, memory_id, text, vector = arguments
        now = datetime.now(UTC).isoformat()
        payload = {
            **ids,
            "data": text,
            "text_lemmatized": lemmatize_for_bm25(text),
            "hash": md5(text.encode(), usedforsecurity=False).hexdigest(),
            "created_at": now,
            "updated_at": now,
        }
        store.insert(vectors=[vector], ids=[memory_id], payloads=[payload])
    elif name == "update":
        memory_id, text, vector = arguments
        memory._update_memory(memory_id, text, {text: vector})
    elif name == "delete":
        memory._delete_memory(*arguments)
    elif name == "get_all":
        result = memory._get_all_from_vector_store(arguments[0], 1000)
    elif name == "search":
        query, vector, filters = arguments
        memory.embedding_model.vector = vector
        result = memory._search_vector_store(query, filters, 10)
    print(json.dumps(result))
