"""How long memories stay active: how fast they fade, when they expire, which go first."""
