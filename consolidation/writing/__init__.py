"""A plan to drafts that were checked."""
