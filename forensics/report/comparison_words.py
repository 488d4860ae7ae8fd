"""In which words is a comparison told? The same on a terminal, on a page and in a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from forensics.report.documents import ComparisonDocument, DivergenceRow

CAUSES = {
    "input_difference": "what came from outside the run differs",
    "model_difference": "the model said something else",
    "tool_difference": "the tool answered otherwise to the same request",
    "agent_difference": "the agent's own code did something else",
    "generated_id_differs": "a value that the run itself made differs, by itself",
    "handle_changed": "a handle that the agent was shown has another value",
    "masked_failure": "a result that counts as ended well says that it failed",
}

_ACTS = frozenset({"missing", "extra", "order"})


def difference(row: DivergenceRow) -> str:
    """What differs: `the arguments of pay`; of what only one run has, also that: `a call: missing`."""
    return f"{row.what}: {row.kind}" if row.kind in _ACTS else row.what


def result_word(document: ComparisonDocument) -> str:
    """The result as a headline: `EQUAL MODULO HANDLES`."""
    return document.result.replace("_", " ").upper()


def result_sentence(document: ComparisonDocument) -> str:
    """What follows the headline, from its space or colon on."""
    first = document.first_divergence
    side_by_side = f"{plural(document.events_compared, 'event')} side by side"
    if first is not None:
        causes = sum(row.explained_by is None for row in document.divergences)
        rest = len(document.divergences) - causes
        more = (
            f", {rest} more explained by it"
            if causes == 1
            else f" and {causes - 1} more of their own, {rest} explained"
        )
        return f" at step {first.index} of the left run{more if rest or causes > 1 else ''}"
    return {
        "identical": f": {side_by_side}, no difference",
        "equivalent": f": {side_by_side}, only the order of parallel calls differs",
        "equal_modulo_handles": f": {side_by_side}, only {plural(len(document.handles), 'handle')} renamed",
    }.get(document.result, f": {plural(len(document.not_compared), 'thing')} could not be compared")
