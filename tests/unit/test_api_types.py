"""Does the library say what it expected, where it is handed something else?"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import forensics
from forensics import Options
from forensics.api_compare import Other
from forensics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

api: Any = forensics
SAMPLES = Path(__file__).parents[2] / "samples"
DICT: Any = {"effect": "none"}


@pytest.mark.parametrize("wrong", [DICT, 5, b"strict", Options(), Options, ["strict"]])
@pytest.mark.parametrize("guard", [api.assert_dynamically_replayable, api.clear])
def test_a_policy_of_another_type(guard: Callable[..., Any], wrong: object) -> None:
    (trace,) = api.load(SAMPLES / "readonly.db")
    with pytest.raises(ConfigurationError, match=r"^a policy must be str, Path or None, and is ") as raised:
        guard(trace, policy=wrong)
    assert "`strict`, `inject`, or the path of a policy file" in raised.value.hint


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("policy", DICT, "Options.policy must be str, Path or None, and is of type dict"),
        ("rules", "packs/", "Options.rules must be tuple or list, and is of type str"),
        ("rules", ("packs/",), "each of Options.rules must be Path, and is of type str"),
        ("trace", 7, "Options.trace must be str or None, and is of type int"),
        ("as_of", "2026-01-01", "Options.as_of must be date or None, and is of type str"),
        ("as_of", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "must be a day, and is a moment"),
        ("limits", {"size": 1}, "Options.limits must be Limits, and is of type dict"),
        ("redact", "no", "Options.redact must be bool, and is of type str"),
    ],
)
def test_an_option_of_another_type(field: str, wrong: object, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        api.Options(**{field: wrong})


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda at: api.assert_dynamically_replayable(str(at)), "a trace must be Trace, and is of type str"),
        (lambda at: api.clear(api.load(at)), "a trace must be Trace, and is of type tuple"),
        (api.to_networkx, "a trace must be Trace, and is of type "),
        (lambda _: api.examine(5), "evidence must be str, Path or Iterable, and is of type int"),
        (lambda at: api.examine([at, None]), "each evidence must be str or Path, and is of type NoneType"),
        (lambda at: api.examine(at, "inject"), "options must be Options, and is of type str"),
        (lambda _: api.load(None), "an evidence must be str or Path, and is of type NoneType"),
        (lambda at: api.load(at, {}), "options must be Options, and is of type dict"),
        (lambda at: api.rerun(at, None, "live"), "a plan must be Plan, and is of type str"),
        (lambda at: api.rerun([at]), "an evidence must be str or Path, and is of type list"),
        (lambda at: api.compare_runs(at, at, Options(), "b"), "other must be Other, and is of type str"),
        (lambda at: api.compare_runs(at, None, Options(), Other()), "an evidence must be str or Path"),
        (lambda at: api.match(at, at, Other()), "options must be Options, and is of type Other"),
        (lambda at: api.save_case(at, Options), "options must be Options, and is the class Options"),
    ],
)
def test_what_else_may_be_handed_in(ask: Callable[[Path], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ask(SAMPLES / "readonly.db")


def test_evidence_may_come_one_by_one() -> None:
    """`Path.glob` gives each path once."""
    examined = api.examine(path for path in [SAMPLES / "readonly.db", SAMPLES / "pager.db"])
    assert [one.name for one in examined.examined] == ["readonly.db", "pager.db"]
