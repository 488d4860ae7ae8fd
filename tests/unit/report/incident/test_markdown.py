"""Does a ticket say how much of each text it holds, and which of several runs each sentence is about?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from forensics.api import examine
from forensics.report.incident.compose import ReportOptions
from forensics.report.incident.content import Level
from forensics.report.incident.markdown.ticket import MOST, markdown

if TYPE_CHECKING:
    from pathlib import Path

END = "the-end-of-it"


def wrote(
    folder: Path, name: str, *, asked: str = "go", said: str = "Done.", length: int = 250, calls: int = 1
) -> Path:
    """A run that writes pages of a text of that length."""
    path = folder / name
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    for number in range(calls):
        arguments = json.dumps({"page": number, "body": "x" * length + " " + END})
        function = {"name": "write_page", "arguments": arguments}
        asks = {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
        messages += [asks, {"role": "tool", "tool_call_id": f"c{number}", "content": "written"}]
    path.write_text(json.dumps({"messages": [*messages, {"role": "assistant", "content": said}]}))
    return path


def ticket(evidence: Path, content: Level = Level.PREVIEW) -> str:
    return markdown(examine(evidence).report(ReportOptions(content=content))).decode()


def test_a_text_stands_as_far_as_the_head_says(tmp_path: Path) -> None:
    said = ticket(wrote(tmp_path, "a.json"))
    assert "- content: preview, at most 400 characters of a text;" in said
    assert said.count(END) == 2  # in the table of effects and in the timeline
    assert "- 2 of 4 texts that are left out or cut here, 0 in the JSON report" in said  # what no call says


def test_the_head_says_so_where_a_ticket_takes_less(tmp_path: Path) -> None:
    said = ticket(wrote(tmp_path, "a.json", length=4000, calls=30), content=Level.FULL)
    assert "- content: full, at most 100 characters of a text;" in said
    assert len(said) <= MOST
    assert max(map(len, re.findall("x+", said))) < 100


def test_content_in_full_is_whole_where_it_fits(tmp_path: Path) -> None:
    said = ticket(wrote(tmp_path, "a.json", length=2000), content=Level.FULL)
    assert "- content: full; secrets" in said
    assert said.count(END) == 2


def test_of_several_runs_each_sentence_says_of_which_it_is(tmp_path: Path) -> None:
    for name in ("one", "two"):
        wrote(tmp_path, f"{name}.json", asked=f"Please {name}", said=f"{name} is done.")
    said = ticket(tmp_path)
    story = said[said.index("## What happened") : said.index("## Effects")]
    assert "In one.json, it was asked: “Please one”; in two.json, it was asked: “Please two”" in story
    assert "In one.json, the last words were: “one is done.”; in two.json, the last words were: “two is done.”" in story
    assert "In one.json, write\\_page was called once" in story
    assert "In two.json, write\\_page was called once" in story


def test_the_steps_of_several_runs_lead_back_to_their_files(tmp_path: Path) -> None:
    wrote(tmp_path, "one.json")
    wrote(tmp_path, "two.json")
    said = ticket(tmp_path)
    first, second = re.findall(r"in `(one|two).json`, steps (\d+) to (\d+): refused", said)
    assert (first, second) == (("one", "0", "4"), ("two", "5", "9"))
    assert re.search(r"decided by step 2, ", said)
    assert re.search(r"decided by step 7 \(step 2 where the file is read by itself\), ", said)


def test_two_runs_of_one_file_are_told_by_their_ids(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    lines = [wrote(folder, "x.json", asked=f"Please {n}").read_text() for n in (1, 2)]
    (tmp_path / "both.jsonl").write_text("\n".join(lines))
    story = ticket(tmp_path / "both.jsonl")
    assert re.search(r"In (\S+) of both.jsonl, it was asked: “Please 1”; in (?!\1)\S+ of both.jsonl, it was", story)
