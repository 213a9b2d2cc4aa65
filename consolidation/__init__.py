"""The judgment: what belongs together, what must stay apart, what a draft may say.

`cycle` is the module to read first. Nothing here prints, and nothing here knows SQL.
"""
