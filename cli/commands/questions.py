"""slowwave questions: what a run would ask now, for an agent that answers itself."""

from __future__ import annotations

from slowwave.cli.arguments.night_options import AskedOptions
from slowwave.cli.arguments.options import FileArgument, OutputOptions
from slowwave.cli.arguments.place_options import on_place
from slowwave.cli.nights.answer_lines import print_line
from slowwave.cli.nights.rounds import Rounds
from slowwave.cli.views.questions import left_as_text, open_question_as_json, open_questions_as_json
from slowwave.store.places import Place


@on_place
def questions(
    file: FileArgument,
    place: Place,
    *,
    asked: AskedOptions,
    output: OutputOptions,
) -> None:
    """Print the questions a run would ask now, one JSON object per line. Read-only.

    An agent answers them with 'slowwave answer'. 'messages' is the prompt, 'schema' the answer
    format. A question with a 'note' checks an earlier answer: answer it in a fresh context.
    """
    found = Rounds(place, asked, output).questions()
    output.result("questions", file=str(file), **open_questions_as_json(found))
    if output.json:
        return
    for question in found.questions:
        print_line(open_question_as_json(question))
    output.note(left_as_text(found, place.named))
