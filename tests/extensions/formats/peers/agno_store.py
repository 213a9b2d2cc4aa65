"""Talks to the real database of agno: python agno_store.py CALLS URL. Prints the results.

`tell` takes a user, an id, a text and topics.
"""

import json
import os
import sys
import time

os.environ["AGNO_TELEMETRY"] = "false"
from agno.db.postgres import PostgresDb
from agno.db.schemas.memory import UserMemory

calls, url = sys.argv[1:]
db = PostgresDb(db_url=url.replace("postgresql://", "postgresql+psycopg://"))
for name, *arguments in json.loads(calls):
    result = None
    if name == "pause":
        time.sleep(*arguments)
    elif name == "tell":
        user, memory_id, text, topics = arguments
        db.upsert_user_memory(
            UserMemory(memory=text, memory_id=memory_id, topics=topics, user_id=user, agent_id="a1")
        )
    elif name == "delete":
        db.delete_user_memory(*arguments)
    elif name == "memories":
        memories = db.get_user_memories(user_id=arguments[0])
        result = {match.memory_id: [match.memory, match.topics] for match in memories}
    elif name == "topics":
        result = sorted(db.get_all_memory_topics(*arguments))
    print(json.dumps(result))
