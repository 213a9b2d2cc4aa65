"""Errors that prevent a run, each with a message for the user."""

from slowwave.store.errors import SlowwaveError


class ConsolidationError(SlowwaveError):
    """A run cannot begin or continue."""


class EmbedderError(ConsolidationError):
    """The embedding model cannot be loaded."""


class QueryTooLong(ConsolidationError):
    """A search query is longer than any memory."""


class RecordingError(ConsolidationError):
    """A recording of a model's answers cannot be read or written."""


class ModelError(ConsolidationError):
    """The model cannot be asked; no call was made."""


class QuestionsError(ConsolidationError):
    """The questions to measure recall cannot be read."""
