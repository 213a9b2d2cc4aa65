"""Errors that prevent a run, each with a message for the user."""


class ConsolidationError(Exception):
    """A run cannot begin or continue; nothing was changed. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Take the message and the hint, which are shown separately."""
        super().__init__(message)
        self.message = message
        self.hint = hint


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
