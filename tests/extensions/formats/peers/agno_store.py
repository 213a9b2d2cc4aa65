"""Talks to the real database of agno: python agno_store.py URL CALLS. Prints what each call gives.

`tell` takes a user, an id, a text and topics.
"""

import json
import os
import sys
import time

os.environ["AGNO_TELEMETRY"] = "false"
from agno.db.postgres import PostgresDb
from agno.db.schemas.memory import UserMemory

url, calls = sys.argv[1:]
db = PostgresDb(db_url=url.replace("postgresql://", "postgresql+psycopg://"))
for name, *arguments in json.loads(calls):
    if name == "pause":
        time.sleep(*arguments)
        print("null")
    elif name == "tell":
        user, known, text, topics = arguments
        db.upsert_user_memory(
            UserMemory(memory=text, memory_id=known, topics=topics, user_id=user, agent_id="a1")
        )
        print("null")
    elif name == "delete":
        db.delete_user_memory(*arguments)
        print("null")
    elif name == "memories":
        found = db.get_user_memories(user_id=arguments[0])
        print(json.dumps({match.memory_id: [match.memory, match.topics] for match in found}))
    elif name == "topics":
        print(json.dumps(sorted(db.get_all_memory_topics(*arguments))))
