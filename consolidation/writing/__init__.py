"""Turn a plan into checked drafts."""
