"""What does everybody ask of an audited corpus? Ready questions, in the SQL that a reader may take as a beginning."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A ready question: its name, what it asks, and how that is said."""

    name: str
    asks: str
    sql: str


QUESTIONS = (
    Question(
        "refusing-tools",
        "Which tools make traces unreplayable? Their class, what it rests on, and how many traces they are named in.",
        """\
SELECT count(*) AS traces, sum(calls)::BIGINT AS calls, tool, class, rests_on, effect, server,
       list_sort(list_distinct(flatten(list(reasons)))) AS reasons
FROM tools
WHERE len(reasons) > 0
GROUP BY tool, server, class, effect, rests_on
ORDER BY traces DESC, calls DESC, tool, server, class, effect, rests_on""",
    ),
    Question(
        "one-tool-away",
        "Which single tool stands between a trace and its clearance? What to vouch for, or to mend, first.",
        """\
SELECT count(*) AS traces, tool, server, code
FROM (SELECT any_value(tool) AS tool, any_value(server) AS server, any_value(code) AS code
      FROM reasons
      GROUP BY file, evidence, trace
      HAVING count(*) = 1 AND count(tool) = 1)
GROUP BY ALL
ORDER BY traces DESC, tool, server, code""",
    ),
    Question(
        "leaking-handles",
        "Which tools bring values into a trace that its later steps hold? Of minted values alone.",
        """\
SELECT sum(number)::BIGINT AS handles, tool, kind, sum(in_argument)::BIGINT AS in_argument,
       sum(in_model_output)::BIGINT AS in_model_output, sum(in_final_answer)::BIGINT AS in_final_answer,
       sum(shown)::BIGINT AS shown, count(*) AS traces
FROM handles
WHERE kind <> 'reference'
GROUP BY tool, kind
HAVING handles > 0 AND in_argument + in_model_output + in_final_answer > 0
ORDER BY in_argument DESC, in_model_output DESC, tool, kind""",
    ),
    Question(
        "handle-ways",
        "From which tool to which do minted values go as arguments?",
        """\
SELECT count(*) AS traces, tool AS minted_by, into_tool
FROM (SELECT tool, unnest(into_tools) AS into_tool FROM handles WHERE kind <> 'reference')
GROUP BY ALL
ORDER BY traces DESC, minted_by, into_tool""",
    ),
    Question(
        "reasons",
        "Why are traces refused?",
        """\
SELECT code, count(DISTINCT (file, evidence, trace)) AS traces, count(DISTINCT tool) AS tools
FROM reasons
GROUP BY code
ORDER BY traces DESC, code""",
    ),
    Question(
        "levels",
        "How many traces of each format may be replayed, and how?",
        """\
SELECT format, count(*) AS traces, count(*) FILTER (level = 'dynamic') AS dynamic,
       count(*) FILTER (level = 'inject') AS inject, count(*) FILTER (level = 'static') AS static
FROM traces
GROUP BY format
ORDER BY traces DESC, format""",
    ),
    Question(
        "weeks",
        "How many traces were cleared week by week, by the times that they record?",
        """\
SELECT date_trunc('week', started)::DATE AS week, count(*) AS traces, count(*) FILTER (cleared) AS cleared,
       count(*) FILTER (level = 'static') AS static
FROM traces
GROUP BY week
ORDER BY week""",
    ),
    Question(
        "findings",
        "What was found, the heaviest first?",
        """\
SELECT severity, code, count(*) AS findings, count(DISTINCT file) AS files
FROM findings
GROUP BY rank, severity, code
ORDER BY rank DESC, findings DESC, code""",
    ),
    Question(
        "touched-twice",
        "Which runs may have touched the world twice?",
        """\
SELECT file, trace, steps, code, message
FROM findings
WHERE code IN ('duplicate_side_effect', 'possible_duplicate_side_effect', 'unknown_outcome', 'idempotency_key_changed')
ORDER BY rank DESC, file, trace, code""",
    ),
    Question(
        "unread",
        "Which evidences could not be read, and why?",
        """\
SELECT error, name, error_message
FROM files
WHERE status = 'refused'
ORDER BY error, name""",
    ),
    Question(
        "same-bytes",
        "Which files hold the same bytes as another?",
        """\
SELECT sha256, count(*) AS files, list_sort(list(name)) AS names
FROM files
WHERE sha256 <> '' AND member_sha256 IS NULL
GROUP BY sha256
HAVING count(*) > 1
ORDER BY files DESC, sha256""",
    ),
)
BY_NAME = {one.name: one for one in QUESTIONS}
