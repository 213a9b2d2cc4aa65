"""The run of `slowwave maintain` on one file or on several."""
