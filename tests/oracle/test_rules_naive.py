"""Does the indexed, compiled and remembering matcher say what a naive one says?

The naive matcher below interprets a condition as docs/reference/rule-packs.md describes it, with nothing compiled,
indexed or remembered, and with Python's own `re` where the product has RE2. It is asked about conditions and subjects
that Hypothesis makes, and about every shipped rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.classes import Effect, ToolFacts
from forensics.core.policy import BasePolicy, Policy, TrustEntry
from forensics.rules import load_rules
from forensics.rules.conditions import compile_condition, needed_keys
from forensics.rules.implication import can_hold, implies
from forensics.rules.members import MemberRules
from forensics.rules.model import Condition, ToolRule
from forensics.rules.tool_index import ToolIndex
from forensics.rules.words import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATTERNS_SEE = 64 * 1024
NOTHING = object()


def holds(condition: Condition, subject: Mapping[str, Any]) -> bool:
    """The naive matcher: each part of the description of a condition, in its order."""
    return (
        (condition.tool is None or globs(condition.tool, subject.get("tool")))
        and (condition.server is None or globs(condition.server, subject.get("server")))
        and (condition.at is None or any(passes(condition, value) for value in values(condition, subject)))
        and all(holds(part, subject) for part in condition.all)
        and (not condition.any or any(holds(part, subject) for part in condition.any))
        and (condition.not_ is None or not holds(condition.not_, subject))
    )


def globs(pattern: str, value: object) -> bool:
    regex = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in pattern)
    return isinstance(value, str) and re.fullmatch(regex, value, re.DOTALL) is not None


def values(condition: Condition, subject: object) -> Iterator[object]:
    places = [condition.at] if isinstance(condition.at, str) else condition.at or ()
    wanted = {" ".join(split_words(key)) for key in condition.keys}
    for place in places:
        for value in resolve(subject, place.split("/")[1:]):
            yield from members(value, wanted) if wanted else [value]


def resolve(value: object, tokens: list[str]) -> Iterator[object]:
    if not tokens:
        yield value
        return
    token = tokens[0].replace("~1", "/").replace("~0", "~")
    if tokens[0] == "*":
        inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    elif isinstance(value, dict) and token in value:
        inside = [value[token]]
    elif isinstance(value, list) and re.fullmatch("[0-9]+", token) and int(token) < len(value):
        inside = [value[int(token)]]
    else:
        yield from () if "*" in tokens else (NOTHING,)  # of what is not there, no member is missing
        return
    for one in inside:
        yield from resolve(one, tokens[1:])


def members(value: object, wanted: set[str]) -> list[object]:
    found: list[object] = []
    if isinstance(value, dict):
        found = [one for key, one in value.items() if " ".join(split_words(key)) in wanted]
    elif isinstance(value, list):
        found = [one for one in value if isinstance(one, str) and " ".join(split_words(one)) in wanted]
    return found or [NOTHING]


def passes(condition: Condition, value: object) -> bool:
    there = value is not NOTHING and value is not None and value not in ("", [], {})
    texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    split = [split_words(text) for text in texts]
    return (value is not NOTHING or condition.present is False) and all(
        (
            condition.present is None or condition.present is there,
            condition.equals is msgspec.UNSET or same(value, condition.equals),
            not condition.in_ or any(same(value, one) for one in condition.in_),
            condition.matches is None
            or (isinstance(value, str) and re.fullmatch(condition.matches, seen(value)) is not None),
            not condition.unseen or (isinstance(value, str) and seen(value) != value),
            not condition.words or any(word in condition.words for words in split for word in words),
            not condition.verbs or any(words[0] in condition.verbs for words in split if words),
            not condition.phrases or (isinstance(value, str) and any(found(p, value) for p in condition.phrases)),
        )
    )


def seen(text: str) -> str:
    """What patterns see of a text."""
    data = text.encode("utf-8", "surrogatepass")
    return text if len(data) <= PATTERNS_SEE else data[:PATTERNS_SEE].decode("utf-8", "ignore")


def found(phrase: str, text: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(phrase)}(?![a-z])", text.lower()) is not None


def same(left: object, right: object) -> bool:
    """Equality of JSON: by its text, in which 1 and 1.0 are one number and true is none."""
    return normal(left) == normal(right)


def normal(value: object) -> object:
    if isinstance(value, bool) or value is None:
        return ("word", value)
    if isinstance(value, (int, float)):
        return ("number", value)
    if isinstance(value, list):
        return [normal(one) for one in value]
    return {key: normal(one) for key, one in value.items()} if isinstance(value, dict) else value


# what Hypothesis makes -----------------------------------------------------------------------------------------------

NAMES = ["get_page", "createIssue", "db.read", "exec", "x"]
KEYS = ["query", "outputPath", "output_path", "method", "n", "mode", "force", "a"]
TEXTS = ["SELECT a FROM b", "POST", "read", "", "x y", "get_page", "delete the page", "create", "k-1"]
keys, names, texts = st.sampled_from(KEYS), st.sampled_from(NAMES), st.sampled_from(TEXTS)
long = st.integers(70_000, 70_001).map(lambda size: "delete " + "a" * size)
scalars = texts | long | st.integers(0, 2) | st.booleans() | st.none() | st.sampled_from([1.0, 0.0])
some = scalars | st.lists(scalars, max_size=2) | st.dictionaries(keys, scalars, max_size=2)
objects = st.dictionaries(keys, some, max_size=4)
subjects = st.fixed_dictionaries(
    {"tool": names, "server": st.none() | names, "arguments": objects | scalars, "input_schema": st.none() | objects}
)
places = st.sampled_from(
    ["/arguments", "/arguments/n", "/arguments/*", "/arguments/*/a", "/arguments/a/0", "/tool", "/input_schema"]
)
tests = st.fixed_dictionaries(
    {},
    optional={
        "keys": st.lists(keys, max_size=2).map(tuple),
        "present": st.booleans(),
        "equals": some,
        "in_": st.lists(scalars, max_size=3).map(tuple),
        "matches": st.sampled_from(["(?s).*a.*", "[a-z]+", "(?i)select .*", "get_.*|x"]),
        "unseen": st.booleans(),
        "words": st.lists(st.sampled_from(["get", "page", "a", "read"]), max_size=2).map(tuple),
        "verbs": st.lists(st.sampled_from(["get", "delete", "create"]), max_size=2).map(tuple),
        "phrases": st.lists(st.sampled_from(["the page", "x", "from b"]), max_size=2).map(tuple),
    },
)

schemas = st.none() | st.dictionaries(st.sampled_from(["properties", "anyOf", "query"]), some | objects, max_size=3)
tools = st.fixed_dictionaries(
    {
        "tool": names,
        "server": st.none() | names,
        "description": st.none() | texts,
        "http": st.none() | st.fixed_dictionaries({"method": texts, "path": texts}),
        "hints": st.dictionaries(st.sampled_from(["read", "a"]), scalars | st.lists(scalars, max_size=1)),
        "replay_class": st.none() | texts,
        "tool_type": st.none() | texts,
        "input_schema": schemas,
        "output_schema": schemas,
    }
)
SEEN = ["/tool", "/server", "/description", "/http", "/http/method", "/hints", "/hints/read", "/replay_class"]
SEEN += ["/input_schema", "/input_schema/properties", "/input_schema/properties/query", "/input_schema/anyOf/*"]
SEEN += ["/input_schema/properties/*/a", "/input_schema/*", "/output_schema/properties", "/output_schema/query"]


def over(place: st.SearchStrategy[str]) -> st.SearchStrategy[Condition]:
    """Conditions whose pointers are among these."""
    several = st.lists(place, min_size=1, max_size=2, unique=True).map(tuple)
    leaves = st.builds(lambda at, more: Condition(at=at, **more), place | several, tests) | st.builds(
        Condition, tool=st.sampled_from(["*", "get_*", "exec", "?"]) | names
    )
    return st.recursive(
        leaves,
        lambda inner: st.builds(
            Condition,
            all=st.lists(inner, max_size=2).map(tuple),
            any=st.lists(inner, max_size=2).map(tuple),
            not_=st.none() | inner,
        ),
        max_leaves=6,
    )


conditions, about_tools = over(places), over(st.sampled_from(SEEN))


@given(conditions, subjects)
def test_a_compiled_condition(condition: Condition, subject: dict[str, Any]) -> None:
    assert compile_condition(condition)(subject) is holds(condition, subject)


@given(st.lists(conditions, max_size=6), st.lists(subjects, min_size=1, max_size=4))
def test_an_index_over_conditions(several: list[Condition], asked: list[dict[str, Any]]) -> None:
    index = MemberRules("arguments", several)
    for subject in asked * 2:
        assert index.holding(subject) == tuple(i for i, one in enumerate(several) if holds(one, subject))


@given(conditions, conditions, st.lists(subjects, min_size=1, max_size=8))
def test_what_follows_from_structure_holds(given_: Condition, then: Condition, asked: list[dict[str, Any]]) -> None:
    follows, possible = implies(given_, then), can_hold(given_)
    for subject in asked:
        if holds(given_, subject):
            assert possible
            assert holds(then, subject) or not follows


@given(conditions, subjects)
def test_what_an_index_skips_does_not_hold(condition: Condition, subject: dict[str, Any]) -> None:
    """An index leaves a rule out where a key that it needs is not there."""
    if not holds(condition, subject):
        return
    needed, there = needed_keys(condition, "arguments"), subject["arguments"]
    keys = {" ".join(split_words(key)) for key in there} if isinstance(there, dict) else set()
    assert needed is None or not needed.isdisjoint(keys) or isinstance(there, list)


@pytest.mark.parametrize(
    ("schema", "wanted"), [(None, False), ({}, False), ({"anyOf": []}, False), ({"anyOf": [{}]}, True)]
)
def test_a_star_means_members_and_where_there_is_none_none_is_missing(schema: object, wanted: bool) -> None:  # noqa: FBT001
    condition, subject = Condition(at="/input_schema/anyOf/*", present=False), {"input_schema": schema}
    assert (compile_condition(condition)(subject), holds(condition, subject)) == (wanted, wanted)


@given(st.lists(about_tools, max_size=6), st.lists(tools, min_size=1, max_size=4))
def test_an_index_over_conditions_on_tools(several: list[Condition], asked: list[dict[str, Any]]) -> None:
    index = ToolIndex(several)
    for subject in asked * 2:
        assert index.holding(subject) == tuple(i for i, one in enumerate(several) if holds(one, subject))


# the shipped rules ---------------------------------------------------------------------------------------------------

RULES = load_rules()
EVERYBODY = Policy(
    name="all",
    base=BasePolicy.STRICT,
    digest="sha256:all",
    trust=tuple(TrustEntry(pack=pack.pack) for pack in RULES.packs),
)
SHIPPED = [rule for pack in RULES.packs for rule in pack.tools]
EXAMPLES = [test for rule in SHIPPED for test in rule.tests]


def is_silent(rule: ToolRule) -> bool:
    """Whether a rule says only where an effect lands: of a tool that has none that is not told."""
    return (rule.effect, rule.result) == (None, None)


def naive_ids(keep: Callable[[ToolRule], bool], subject: dict[str, Any]) -> set[str]:
    """The rules of a stage that hold and that no rule which holds refines."""
    holding = [rule for rule in SHIPPED if keep(rule) and holds(rule.when, subject)]
    return {rule.id for rule in holding} - {other for rule in holding for other in rule.refines}


def subject_of(facts: ToolFacts) -> dict[str, Any]:
    method = None if facts.http is None else {"method": facts.http[0].upper(), "path": facts.http[1]}
    known = {key: getattr(facts, key) for key in facts.__struct_fields__ if key not in ("name", "http", "locator")}
    return {"tool": facts.name, "http": method, **known}


tried = st.sampled_from(EXAMPLES)


@given(tried, tried, tried)
def test_every_shipped_rule(tool: Any, called: Any, answered: Any) -> None:
    """A tool out of one example, called with the arguments of another, answering with the result of a third."""
    said = {"name": tool.name or "x", "description": tool.description, **tool.facts}
    facts = msgspec.convert(said, ToolFacts)
    arguments = None if called.arguments is msgspec.UNSET else called.arguments
    subject = subject_of(facts)
    pieces = RULES.tool_evidence(facts, EVERYBODY)
    shipped = {rule.id for rule in SHIPPED}
    writes = any(piece.effect not in (None, Effect.NONE) for piece in pieces)
    unsaid = set() if writes else {rule.id for rule in SHIPPED if is_silent(rule)}
    about_tool = naive_ids(lambda rule: rule.source not in ("arguments", "result"), subject)
    assert {piece.rule for piece in pieces} & shipped == about_tool - unsaid
    subject["arguments"] = arguments
    heard = {piece.rule for piece in RULES.call_evidence(facts, arguments, EVERYBODY)}
    assert heard == naive_ids(lambda rule: rule.source == "arguments", subject)
    if isinstance(answered.result, dict) and "content" not in answered.result:
        subject["result"] = answered.result
        told = {piece.rule for piece in RULES.result_evidence(facts, arguments, answered.result)}
        assert told == naive_ids(lambda rule: rule.source == "result", subject)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_a_shipped_rule(number: int) -> None:
    example = EXAMPLES[number]
    test_every_shipped_rule.hypothesis.inner_test(example, example, example)  # type: ignore[attr-defined]
