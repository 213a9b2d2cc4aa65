"""Errors that keep a run from beginning, each with a message for the user."""


class ConsolidationError(Exception):
    """A run cannot begin, or cannot go on; nothing was changed. `hint` says what can be done."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and the hint apart, so that each can be shown in its place."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class EmbedderError(ConsolidationError):
    """The embedding model cannot be loaded."""


class QueryTooLong(ConsolidationError):
    """What is asked is longer than any memory."""


class RecordingError(ConsolidationError):
    """A recording of a model's answers cannot be read or written."""


class ModelError(ConsolidationError):
    """The model cannot be asked at all: nothing was called."""


class QuestionsError(ConsolidationError):
    """The questions that recall is to be measured with cannot be read."""
