"""The indexed matchers find what naive ones find: rules about tools, and phrases of descriptions."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.core.classes import ToolFacts
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules
from forensics.rules.conditions import compile_condition
from forensics.rules.descriptions import DRESS, DescriptionReader
from forensics.rules.engine import RuleSet, _subject
from forensics.rules.names import NameReader
from forensics.rules.words import Lexicon, Phrases, letter_runs, phrase_pattern, split_words

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
LEXICON = Lexicon(tuple(rule for pack in RULES.packs for rule in pack.words))
NAMES = NameReader(LEXICON)
WORDS = sorted({word for pack in RULES.packs for rule in pack.words for word in rule.words})
KEYS = [
    "output_path",
    "sql",
    "query",
    "code",
    "dryRun",
    "action",
    "id",
    "ifMatch",
    "options",
    "idempotencyKey",
    "confirm",
]
SCHEMAS = st.dictionaries(
    st.sampled_from(["properties", "anyOf", "$defs", "type"]),
    st.dictionaries(
        st.sampled_from(KEYS),
        st.fixed_dictionaries(
            {},
            optional={
                "enum": st.lists(st.sampled_from(["get", "delete", "open"])),
                "description": st.sampled_from(WORDS),
            },
        ),
        max_size=4,
    ),
)
TOOLS = st.builds(
    ToolFacts,
    name=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("_".join),
    description=st.none() | st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    input_schema=st.none() | SCHEMAS,
    output_schema=st.none() | SCHEMAS,
    hints=st.dictionaries(st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint"]), st.booleans()),
    replay_class=st.sampled_from([None, "read_only", "side_effecting"]),
    tool_type=st.sampled_from([None, "READ", "WRITE"]),
    http=st.sampled_from([None, ("GET", "/a/delete"), ("POST", "/a")]),
)


def asked_naively(rules: RuleSet, facts: ToolFacts) -> list[str]:
    subject = _subject(facts)
    return [one.rule.id for one in rules._tool_rules if compile_condition(one.rule.when)(subject)]  # noqa: SLF001 - what the index leaves out


@given(TOOLS)
def test_no_rule_that_holds_is_left_out(facts: ToolFacts) -> None:
    subject = _subject(facts)
    asked = [RULES._tool_rules[i].rule.id for i in RULES._index.holding(subject)]  # noqa: SLF001
    assert asked == asked_naively(RULES, facts)


def test_the_tests_of_every_rule_agree_too() -> None:
    for pack in RULES.packs:
        for rule in pack.tools:
            for test in rule.tests:
                facts = ToolFacts(**{"name": test.name or "x", "description": test.description, **test.facts})
                subject = _subject(facts)
                asked = [RULES._tool_rules[i].rule.id for i in RULES._index.holding(subject)]  # noqa: SLF001
                assert asked == asked_naively(RULES, facts)


@given(st.lists(st.sampled_from([*WORDS, "the", "it", ".", ",", "x"]), max_size=12).map(" ".join))
def test_phrases_are_found_as_a_pattern_finds_them(text: str) -> None:
    lower = text.lower()
    for role in ("write_phrase", "result_phrase"):
        found = {rule.id for rule, _, _ in Phrases(LEXICON, role).find(lower, letter_runs(lower))}
        rules = {rule.id: rule for rule in LEXICON.words(role).values()}
        assert found == {one for one, rule in rules.items() if phrase_pattern(rule.words).search(lower)}


def test_a_phrase_is_no_part_of_a_longer_word() -> None:
    def found(text: str) -> list[str]:
        return [phrase for _, phrase, _ in Phrases(LEXICON, "write_phrase").find(text, letter_runs(text))]

    assert found("it sends mail") == ["sends"]
    assert found("it resends mail") == found("senders") == []
    assert split_words("reSends") == ("re", "sends")


ENDS = re.compile(r"(?<=[.!?])(?:\s|$)|\s[-\u2013\u2014*]+\s|[\u2022|]")
"""Where a sentence ends, said in the simplest way."""


@given(st.lists(st.sampled_from(["get it", "x.y", ".", "!", "e.g.", "-", "--", " - ", "*", "\u2022", "|", " ", "a-b"])))
def test_a_description_is_cut_where_its_sentences_end(parts: list[str]) -> None:
    text = " ".join("".join(parts).split())
    reader = DescriptionReader(LEXICON)
    reader.read(text)
    naive = {part.strip(DRESS) for part in ENDS.split(text)} - {""}
    assert {part.strip(DRESS) for part in reader._sentences} - {""} == naive  # noqa: SLF001 - what was cut


@given(
    st.lists(st.sampled_from([*WORDS, "2", "v2", "17"]), min_size=1, max_size=5), st.sampled_from(["_", "-", ".", "__"])
)
def test_a_name_is_read_like_the_names_that_differ_in_numbers(words: list[str], between: str) -> None:
    once = [NAMES.read(between.join([*words, number])) for number in ("1", "23")]
    assert once == [NAMES._read_words(between.join([*words, number])) for number in ("1", "23")]  # noqa: SLF001


@settings(max_examples=8)  # a rule set is made anew for each
@given(st.lists(TOOLS, min_size=2, max_size=8))
def test_what_is_remembered_is_what_is_found_anew(several: list[ToolFacts]) -> None:
    anew = RuleSet(RULES.packs, RULES.digest)
    for facts in reversed(several):
        assert RULES.tool_evidence(facts, NOBODY) == anew.tool_evidence(facts, NOBODY)
