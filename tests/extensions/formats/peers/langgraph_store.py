"""Talks to the real store of LangGraph: python langgraph_store.py FILE|URL CALLS.

Prints what each call gives; `put` takes a user's name, a key and a value.
"""

import json
import sys
import time

path, calls = sys.argv[1:]
if path.startswith("postgresql:"):
    from langgraph.store.postgres import PostgresStore as Store
else:
    from langgraph.store.sqlite import SqliteStore as Store
with Store.from_conn_string(path) as store:
    store.setup()
    for name, user, *arguments in json.loads(calls):
        if name == "pause":
            time.sleep(user)
            print("null")
        elif name == "put":
            store.put(("memories", user), *arguments)
            print("null")
        elif name == "delete":
            store.delete(("memories", user), *arguments)
            print("null")
        else:
            found = store.search(("memories", user), limit=100)
            print(json.dumps({match.key: match.value for match in found}))
