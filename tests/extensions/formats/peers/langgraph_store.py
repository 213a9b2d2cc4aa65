"""Talks to the real store of LangGraph: python langgraph_store.py CALLS FILE|URL.

Prints the results; `put` takes a user's name, a key and a value.
"""

import json
import sys
import time

calls, path = sys.argv[1:]
if path.startswith("postgresql:"):
    from langgraph.store.postgres import PostgresStore as Store
else:
    from langgraph.store.sqlite import SqliteStore as Store
with Store.from_conn_string(path) as store:
    store.setup()
    for name, user, *arguments in json.loads(calls):
        result = None
        if name == "pause":
            time.sleep(user)
        elif name == "put":
            store.put(("memories", user), *arguments)
        elif name == "delete":
            store.delete(("memories", user), *arguments)
        else:
            items = store.search(("memories", user), limit=100)
            result = {match.key: match.value for match in items}
        print(json.dumps(result))
