"""Does each lint complain about what it is for, at the right place, and about nothing else?"""

from __future__ import annotations

import pytest

from forensics.rules.lints.complaint import Complaint
from forensics.rules.lints.run import LINTS, lint
from forensics.rules.packfile import PackFile, read_pack_file

HEAD = "schema: forensics/rules/v1\npack: p\nabout: A.\n"


def tool(name: str, when: str, says: str = "effect: repeating", source: str = "name") -> str:
    return (
        f"  - id: {name}\n    because: b\n    source: {source}\n    when: {when}\n    {says}\n    says: s\n"
        "    tests: [{name: a, speaks: true}, {name: b, speaks: false}]\n"
    )


def words(name: str, role: str, listed: str, says: str = "effect: repeating") -> str:
    return (
        f"  - id: {name}\n    because: b\n    role: {role}\n    {says}\n    words: {listed}\n"
        "    tests: [{name: a, speaks: true}, {name: b, speaks: false}]\n"
    )


def shape(name: str, pattern: str, more: str = "kind: id") -> str:
    return (
        f"  - id: {name}\n    because: b\n    {more}\n    pattern: '{pattern}'\n"
        "    tests: [{value: a, speaks: true}, {value: b, speaks: false}]\n"
    )


def pack(section: str, *rules: str) -> bytes:
    return (HEAD + f"{section}:\n" + "".join(rules)).encode()


def said(data: bytes, *beside: PackFile) -> list[tuple[str, str]]:
    """(lint, rule) of every complaint, each once."""
    return list(dict.fromkeys((one.lint, one.rule) for one in lint([("p.yaml", data)], beside)))


SEND = "{at: /tool, words: [send]}"


def test_every_lint_has_a_name_and_says_what_it_is_for() -> None:
    names = [one.name for one in LINTS]
    assert len(names) == len(set(names)) >= 11
    assert all(one.about.endswith(".") and one.about[0].isupper() for one in LINTS)


@pytest.mark.parametrize(
    ("when", "says"),
    [
        (SEND, "effect: repeating"),
        ("{all: [{at: /tool, words: [send]}, {at: /server, equals: a}]}", "effect: repeating"),
        ("{at: /tool, words: [send], matches: '(?s).*x.*'}", "effect: overwriting\n    refines: [p.other]"),
    ],
)
def test_a_rule_that_another_one_always_joins_is_shadowed(when: str, says: str) -> None:
    wider = tool("p.wide", "{at: /tool, words: [send, post]}", "effect: irreversible\n    scope: external")
    other = tool("p.other", "{at: /server, equals: z}")
    assert said(pack("tools", wider, other, tool("p.narrow", when, says))) == [
        *([("lowers-without-refines", "p.narrow")] if "refines" not in says else []),
        ("shadowed", "p.narrow"),
    ]


@pytest.mark.parametrize(
    "narrow",
    [
        tool("p.narrow", SEND, "effect: irreversible"),
        tool("p.narrow", SEND, "scope: external"),
        tool("p.narrow", SEND, "result: handle"),
        tool("p.narrow", SEND, source="description"),
        tool("p.narrow", "{at: /tool, words: [send, mail]}"),
        tool("p.narrow", "{at: /server, words: [send]}"),
        tool("p.narrow", SEND, "effect: repeating\n    refines: [p.wide]"),
    ],
)
def test_a_rule_that_says_more_or_speaks_elsewhere_is_not_shadowed(narrow: str) -> None:
    assert said(pack("tools", tool("p.wide", "{at: /tool, words: [send, post]}"), narrow)) == []


def test_a_veto_that_a_proof_answers_shadows_none_that_stays() -> None:
    wide = tool("p.wide", "{at: /tool, words: [send, post]}", "effect: repeating\n    proof: true")
    assert said(pack("tools", wide, tool("p.narrow", SEND))) == []


def test_of_two_equal_rules_the_later_one_is_named() -> None:
    assert said(pack("tools", tool("p.a", SEND), tool("p.b", SEND))) == [("shadowed", "p.b")]


def test_a_rule_behind_one_that_is_refined_away_is_not_shadowed() -> None:
    wide = tool("p.wide", "{at: /tool, words: [send, post]}")
    silencer = tool("p.silencer", "{at: /server, equals: a}", "effect: irreversible\n    refines: [p.wide]")
    assert said(pack("tools", wide, tool("p.narrow", SEND), silencer)) == []


@pytest.mark.parametrize(
    ("rules", "complained"),
    [
        ((words("w.a", "write", "[send]"), words("w.b", "write", "[send]")), ["w.b"]),
        ((words("w.a", "write", "[send, post, send]"),), ["w.a"]),
        ((words("w.a", "write", "[send]"), words("w.b", "verb_or_noun", "[send]")), ["w.b"]),
        ((words("w.a", "write", "[send]"), words("w.b", "read", "[send]", "effect: none")), ["w.b"]),
        (
            (words("w.a", "read", "[diff]", "effect: none"), words("w.b", "read_noun", "[diff]", "effect: none")),
            ["w.b"],
        ),
        (
            (
                words("w.a", "write", "[send]", "effect: repeating\n    where: names"),
                words("w.b", "noun_or_verb", "[send]"),
            ),
            [],
        ),
        ((words("w.a", "write", "[send]"), words("w.b", "read_opening", "[send]", "effect: none")), []),
    ],
)
def test_a_word_that_another_rule_takes_is_shadowed(rules: tuple[str, ...], complained: list[str]) -> None:
    assert said(pack("words", *rules)) == [("shadowed", rule) for rule in complained]


def test_a_shape_behind_the_same_pattern_is_shadowed() -> None:
    first, again = shape("s.a", "[a-z]{4}[0-9]{4}"), shape("s.b", "[a-z]{4}[0-9]{4}", "kind: other")
    assert said(pack("shapes", first, again)) == [("shadowed", "s.b")]
    only = shape("s.a", "[a-z]{4}[0-9]{4}", "kind: id\n    only_under: id_key")
    assert said(pack("shapes", only, again)) == []


@pytest.mark.parametrize(
    "when",
    [
        "{all: [{at: /tool, words: [send]}, {not: {at: /tool, words: [send, post]}}]}",
        "{all: [{at: /http/method, equals: GET}, {at: /http/method, in: [POST, PUT]}]}",
        "{at: /http/method, equals: GET, in: [POST, PUT]}",
        "{at: /hints/x, present: false, words: [a]}",
        "{any: [{at: /tool, equals: a, in: [b]}, {all: [{at: /tool, words: [x]}, {not: {at: /tool, words: [x]}}]}]}",
        "{at: /arguments/x, present: true}",
        "{at: /result, keys: [id]}",
        "{at: /name, words: [send]}",
        "{at: /tool, words: [Send]}",
        "{at: /tool, verbs: [send_now]}",
        "{at: /description, phrases: ['The Page']}",
        "{at: /input_schema/properties, keys: ['--']}",
    ],
)
def test_what_can_never_speak_is_unreachable(when: str) -> None:
    assert said(pack("tools", tool("p.a", when))) == [("unreachable", "p.a")]


@pytest.mark.parametrize(
    "when",
    [
        "{all: [{at: /tool, words: [send]}, {not: {at: /tool, words: [post]}}]}",
        "{all: [{at: /http/method, in: [GET, POST]}, {at: /http/method, in: [POST, PUT]}]}",
        "{at: /input_schema/properties, keys: [outputPath, output-path]}",
        "{at: /description, phrases: ['the page']}",
        "{at: /http/method, matches: 'P.*'}",
    ],
)
def test_what_can_speak_is_not(when: str) -> None:
    assert said(pack("tools", tool("p.a", when))) == []


def test_a_rule_about_arguments_can_not_silence_one_about_the_tool() -> None:
    about_tool = tool("p.tool", SEND)
    about_call = tool("p.call", "{at: /arguments, keys: [mode], equals: read}", source="arguments").replace(
        "says: s", "says: s\n    refines: [p.tool]"
    )
    assert said(pack("tools", about_tool, about_call)) == [("unreachable", "p.call")]


@pytest.mark.parametrize(
    ("role", "listed"),
    [
        ("write", "[Send]"),
        ("read", "[don't]"),
        ("read_opening", "[v2]"),
        ("lead_in", "['[beta]']"),
        ("write_phrase", "['It  sends']"),
        ("names_result", "[new_id]"),
    ],
)
def test_a_word_as_no_text_is_split_is_unreachable(role: str, listed: str) -> None:
    effect = "effect: none" if role.startswith("read") else "effect: repeating"
    assert said(pack("words", words("w.a", role, listed, effect))) == [("unreachable", "w.a")]


@pytest.mark.parametrize(
    ("when", "source"),
    [
        ("{not: {at: /tool, words: [get]}}", "name"),
        ("{at: /hints/x, present: false}", "schema"),
        ("{words: [send]}", "name"),
        ("{}", "name"),
        ("{tool: '*'}", "pack"),
        ("{at: /tool, words: [send]}", "pack"),
        ("{at: /tool, matches: '(?s).*'}", "name"),
        ("{at: /arguments, matches: '[a-z]+'}", "arguments"),
        ("{at: /arguments/force, present: false}", "arguments"),
        ("{at: /result, keys: [a]}", "result"),
    ],
)
def test_what_speaks_about_plain_things_is_too_wide(when: str, source: str) -> None:
    assert ("too-wide", "p.a") in said(pack("tools", tool("p.a", when, source=source)))


@pytest.mark.parametrize(("role", "word"), [("write", "a"), ("read", "the"), ("write_phrase", "it")])
def test_a_word_of_every_text_is_too_wide(role: str, word: str) -> None:
    effect = "effect: none" if role == "read" else "effect: repeating"
    assert said(pack("words", words("w.a", role, f"[{word}]", effect))) == [("too-wide", "w.a")]


def test_a_shape_of_plain_words_is_too_wide() -> None:
    assert said(pack("shapes", shape("s.a", "[a-z]+"))) == [("too-wide", "s.a")]
    assert said(pack("shapes", shape("s.a", "[a-z]+", "kind: id\n    only_under: id_key"))) == []
    assert said(pack("shapes", shape("s.a", "[a-z]+", "kind: null"))) == []


@pytest.mark.parametrize(
    ("rule", "complained"),
    [
        (tool("p.a", SEND, "effect: none"), True),
        (tool("p.a", SEND, "result: stable"), True),
        (tool("p.a", "{tool: 'get_*'}", "effect: none", source="pack"), True),
        (tool("p.a", "{tool: Read}", "effect: none", source="pack"), False),
        (tool("p.a", "{at: /hints/safe, equals: true}", "effect: none", source="declaration"), False),
        (tool("p.a", SEND, "result: volatile"), False),
    ],
)
def test_a_rule_that_lowers_names_what_it_lowers(rule: str, *, complained: bool) -> None:
    assert said(pack("tools", rule)) == ([("lowers-without-refines", "p.a")] if complained else [])


def test_a_narrower_rule_that_says_less_lowers_nothing_without_refines() -> None:
    wide = tool("p.wide", "{at: /tool, words: [send, post]}", "effect: irreversible")
    narrow = tool("p.narrow", "{all: [{at: /tool, words: [send]}, {at: /tool, words: [draft]}]}", "effect: overwriting")
    told = said(pack("tools", wide, narrow))
    assert told == [("lowers-without-refines", "p.narrow"), ("shadowed", "p.narrow")]
    refined = narrow.replace("says: s", "says: s\n    refines: [p.wide]")
    assert said(pack("tools", wide, refined)) == []


def test_a_pack_can_not_lower_a_shipped_word() -> None:
    shipped = read_pack_file("shipped.yaml", pack("words", words("w.send", "write", "[send]", "effect: irreversible")))
    mine = pack("words", words("w.mine", "write", "[send]", "effect: overwriting"))
    assert said(mine, shipped) == [("lowers-without-refines", "w.mine")]
    none = pack("words", words("w.none", "write", "[zap]", "effect: none"))
    assert said(none, shipped) == [("lowers-without-refines", "w.none")]


@pytest.mark.parametrize(
    ("pattern", "effect", "complained"),
    [
        ("^get.*", "repeating", True),
        ("get.*$", "repeating", True),
        ("(?i)(a|^b)", "repeating", True),
        (r"\Aget\z", "repeating", True),
        (r"\$[0-9]+", "repeating", False),
        ("[^/]+/x", "repeating", False),
        ("[$^]x", "repeating", False),
        ("(?s).*send.*", "repeating", False),
        ("(?s).*read.*", "none", True),
        ("(?s)read.*", "none", False),
        (r".*read\.*", "none", False),
    ],
)
def test_a_pattern_is_anchored_where_it_must_be(pattern: str, effect: str, *, complained: bool) -> None:
    rule = tool("p.a", f"{{at: /tool, matches: '{pattern}'}}", f"effect: {effect}\n    refines: [p.b]")
    told = said(pack("tools", rule, tool("p.b", "{at: /server, equals: z}")))
    assert told == ([("regex-not-anchored", "p.a")] if complained else [])


def test_an_exception_must_be_as_narrow_as_a_rule_that_lowers() -> None:
    when = "{all: [{at: /tool, words: [send]}, {not: {at: /tool, matches: '.*draft.*'}}]}"
    assert said(pack("tools", tool("p.a", when))) == [("regex-not-anchored", "p.a")]


def test_complaints_are_in_the_order_of_places_and_the_same_each_time() -> None:
    data = pack("tools", tool("p.b", "{at: /tool, words: [B, A]}"), tool("p.a", "{at: /name, equals: x}"))
    found = lint([("p.yaml", data)])
    assert found == tuple(sorted(found, key=lambda one: (one.line, one.column))) == lint([("p.yaml", data)])
    assert found[0] == Complaint("p.yaml", 8, 31, "unreachable", "p.b", "rule 'p.b': no text is ever split into 'B'")


def test_a_file_that_can_not_be_read_does_not_hide_the_others() -> None:
    found = lint([("bad.yaml", b"[1"), ("p.yaml", pack("tools", tool("p.a", "{words: [x]}")))])
    assert [(one.file, one.lint) for one in found] == [("bad.yaml", "form"), ("p.yaml", "too-wide")]


def test_a_pattern_that_can_not_be_matched_stops_the_lints_that_match() -> None:
    data = pack("tools", tool("p.a", "{at: /tool, matches: '(?=a)b'}"), tool("p.b", "{not: {at: /tool, words: [x]}}"))
    assert said(data) == [("pattern-not-linear", "p.a")]
