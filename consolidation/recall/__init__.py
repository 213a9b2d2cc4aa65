"""Search the memories of a file; superseded texts lead to what replaced them."""
