"""Talks to the real store of Hermes: python hermes.py CALLS. Prints the results as JSON."""

import json
import sys
import time

from tools.memory_tool import MemoryStore

store = MemoryStore()
store.load_from_disk()
for name, *arguments in json.loads(sys.argv[1]):
    function = time.sleep if name == "pause" else getattr(store, name)
    print(json.dumps(function(*arguments) if callable(function) else function))
