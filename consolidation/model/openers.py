"""Choose the model that a name, a function or an object names, and the writer that asks it."""

from __future__ import annotations

from typing import Literal

from slowwave.consolidation.errors import ModelError
from slowwave.consolidation.writing.writer import BuiltInWriter, Writer

from .cli_model import PREFIX, ProgramModel
from .interface import Opener
from .litellm_model import Endpoint
from .model_writer import ModelWriter
from .python_model import CompletesMessages, FunctionModel, ModelLike


def opener_of(model: ModelLike, api_base: str | None = None) -> Opener:
    """Return the opener of a model. Raises `ModelError` for anything else.

    model: litellm's name, or that of a program (`cli:claude`); a function; or an object with
    litellm's `completion`; the first model that it names is asked.
    """
    if api_base is not None and "://" not in api_base:
        raise ModelError("The base URL of the model has no scheme.", "Begin it with http://.")
    if isinstance(model, str):
        return ProgramModel(model) if model.startswith(PREFIX) else Endpoint(model, api_base)
    if isinstance(model, Endpoint | ProgramModel | FunctionModel):
        return model
    if isinstance(model, CompletesMessages):
        return FunctionModel.completing(model)
    if callable(model):
        return FunctionModel.calling(model)
    raise ModelError(
        f"An object of type {type(model).__name__} is not a model.",
        "Pass a name, a function of messages and a schema, or an object with `completion`.",
    )


def chosen_writer(
    model: ModelLike | None, checker: ModelLike | None, writer: Writer | None = None
) -> Writer:
    """Return the writer, or one that asks the model, or else the built-in one.

    checker: who checks the drafts; by default the model, "none" for nobody. Raises `ModelError`.
    """
    if model is None and checker is None:
        return writer or BuiltInWriter()
    if model is None or writer is not None:
        raise ModelError("Pass a model, perhaps with a checker, or a writer.")
    opener = opener_of(model)
    checked_by: Opener | Literal["same", "none"] = "same"
    if checker == "none":
        checked_by = "none"
    elif checker is not None and checker != model:
        checked_by = opener_of(checker)
    return ModelWriter(opener, opener.concurrency, checker=checked_by)
