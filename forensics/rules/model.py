"""What may stand in a rule pack or in a policy file? The typed model, its JSON Schema, and conversion with all faults.

The fast path is `msgspec.convert`. Only a document that fails it is validated against the JSON Schema generated from
the same types, which names every fault with its position instead of the first one.
"""

# Annotations are no text here: msgspec would compile each one when the first file is read, at every start.
import datetime
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from forensics.core.late import late
from forensics.rules.yaml_strict import Path, Position, StrictYaml, rule_error

if TYPE_CHECKING:
    from jsonschema import ValidationError

PACK_SCHEMA = "forensics/rules/v1"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of what a file may hold: unknown keys are faults."""


class EffectName(StrEnum):
    """The values of the effect axis as a file spells them; `unknown` is never said."""

    NONE = "none"
    OVERWRITING = "overwriting"
    REPEATING = "repeating"
    IRREVERSIBLE = "irreversible"


class ResultName(StrEnum):
    """The values of the result axis as a file spells them."""

    STABLE = "stable"
    VOLATILE = "volatile"
    HANDLE = "handle"


class ScopeName(StrEnum):
    """Where an effect lands, as a file spells it."""

    NONE = "none"
    SESSION = "session"
    LOCAL = "local"
    EXTERNAL = "external"


class Condition(_Strict, frozen=True, rename={"not_": "not", "in_": "in"}):
    """One test of a subject: `{tool, server, http, hints, replay_class, tool_type, input_schema, output_schema,
    arguments, result}`.

    `at` is a JSON Pointer (RFC 6901) into the subject, or several of which one must hold. `keys` names members of the
    object at `at`, compared by their words (`outputPath` is `output_path`); the value tests then look at those members.
    Value tests: `present` (there, and neither null nor empty), `equals`, `in`, `matches` (RE2, the whole text),
    `words` (a text, or one text of a list, that holds one of these words), `verbs` (one whose first word it is),
    `phrases` (a text that holds one of these phrases), `unseen` (a text of which `matches` sees the beginning only).
    Several tests in one condition must all hold. A token `*` of a pointer stands for every member.
    """

    all: "tuple[Condition, ...]" = ()
    any: "tuple[Condition, ...]" = ()
    not_: "Condition | None" = None
    tool: str | None = None
    server: str | None = None
    at: str | tuple[str, ...] | None = None
    keys: tuple[str, ...] = ()
    present: bool | None = None
    equals: Any = msgspec.UNSET
    in_: tuple[Any, ...] = ()
    matches: str | None = None
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    unseen: bool | None = None


class RuleTest(_Strict, frozen=True):
    """An example inside a pack: a subject (or a bare name, text or value) and whether the rule speaks about it."""

    speaks: bool
    name: str | None = None
    description: str | None = None
    value: str | None = None
    key: str | None = None
    facts: dict[str, Any] = {}
    arguments: Any = msgspec.UNSET
    result: Any = msgspec.UNSET


class _Rule(_Strict, frozen=True, kw_only=True):
    """What every rule has. `references` name where a reader can look up what `because` says."""

    id: str
    because: str
    tests: tuple[RuleTest, ...]
    references: tuple[str, ...] = ()


Role = Literal[
    "write",
    "verb_or_noun",
    "noun_or_verb",
    "read",
    "read_sure",
    "read_plain",
    "read_noun",
    "read_plural",
    "read_opening",
    "read_answer",
    "lead_in",
    "joiner",
    "filler",
    "negation",
    "advice",
    "write_phrase",
    "harmless_phrase",
    "result_phrase",
    "result_opening",
    "names_result",
]


class WordRule(_Rule, frozen=True, kw_only=True):
    """A list of words with one role in a name, a description or both (see words.py for what each role means)."""

    role: Role
    words: tuple[str, ...]
    where: Literal["names", "descriptions", "both"] = "both"
    effect: EffectName | None = None
    result: ResultName | None = None
    scope: ScopeName | None = None
    proof: bool = False


class ToolRule(_Rule, frozen=True, kw_only=True):
    """A condition over a tool, its arguments or its result, and what it says when it holds.

    `source` is the kind of evidence. `proof` marks a veto that an argument proof may answer (free text that a parser
    then proves read-only), `any_text` one that holds whatever the text says: it raises the class, and shows no effect.
    `refines` names the rules that stay silent where this one speaks: the only way to lower.
    """

    source: Literal["declaration", "pack", "schema", "arguments", "result", "name", "description"]
    when: Condition
    says: str
    effect: EffectName | None = None
    result: ResultName | None = None
    scope: ScopeName | None = None
    refines: tuple[str, ...] = ()
    proof: bool = False
    any_text: bool = False


class ShapeRule(_Rule, frozen=True, kw_only=True):
    """A shape of opaque values (`pattern`, RE2 syntax, matched against the whole value), or keys that hold them.

    `kind` null says that such values are *not* opaque (a media type, a region, an encoding). `only_under` limits the
    shape to values under an id-like key, or to the others.
    """

    kind: str | None = None
    pattern: str | None = None
    keys: tuple[str, ...] = ()
    last_words: tuple[str, ...] = ()
    only_under: Literal["any", "id_key", "other_key"] = "any"


class Pack(_Strict, frozen=True, kw_only=True):
    """One file of rules. Exactly one of `words`, `tools`, `shapes` is filled in the shipped packs; all may be."""

    schema: Literal["forensics/rules/v1"]
    pack: str
    about: str
    words: tuple[WordRule, ...] = ()
    tools: tuple[ToolRule, ...] = ()
    shapes: tuple[ShapeRule, ...] = ()


class TrustFile(_Strict, frozen=True):
    """A trust entry as a policy file spells it."""

    server: str | None = None
    version: str | None = None
    tools_digest: str | None = None
    pack: str | None = None
    expires: datetime.date | None = None


class ToolFile(_Strict, frozen=True):
    """A tool entry as a policy file spells it."""

    tool: str
    because: str
    by: str
    server: str | None = None
    arguments: dict[str, Any] = {}
    effect: EffectName | None = None
    result: ResultName | None = None
    scope: ScopeName | None = None
    expires: datetime.date | None = None


class PolicyFile(_Strict, frozen=True):
    """A policy file. `extends` is `strict`, `inject` or a path relative to the file; without it, `strict`."""

    schema: Literal["forensics/policy/v1"]
    name: str
    extends: str | None = None
    about: str | None = None
    trust: tuple[TrustFile, ...] = ()
    tools: tuple[ToolFile, ...] = ()
    execute: tuple[str, ...] = ()


def rule_pack_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a rule pack."""
    return msgspec.json.schema(Pack)


def policy_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a policy file."""
    return msgspec.json.schema(PolicyFile)


Document = TypeVar("Document", bound=msgspec.Struct)


def convert(
    document: StrictYaml, kind: type[Document], name: str, more: Sequence[tuple[Position, str]] = ()
) -> Document:
    """The typed form of a loaded file, in which nothing `more` is wrong. Raises RuleError naming every fault as
    `name:line:col: text`.
    """
    try:
        found = msgspec.convert(document.value, kind)
    except msgspec.ValidationError as error:
        faults = [*_schema_faults(document, kind)] or [_only_fault(document, str(error))]
    else:
        if not more:
            return found
        faults = []
    placed = sorted({*faults, *more})
    raise rule_error([f"{name}:{line}:{column}: {text}" for (line, column), text in placed])


def _schema_faults(document: StrictYaml, kind: type[Document]) -> Iterator[tuple[tuple[int, int], str]]:
    from jsonschema import Draft202012Validator, FormatChecker

    validator = Draft202012Validator(msgspec.json.schema(kind), format_checker=FormatChecker())
    for error in validator.iter_errors(document.value):
        cause = _deepest(error)
        path = tuple(cause.absolute_path)
        yield document.position(_offender(path, cause)), f"{_pointer(path)}: {cause.message}"


def _deepest(error: "ValidationError") -> "ValidationError":
    """Of an `anyOf` failure, the branch that got furthest: the one that the author meant."""
    while error.context:
        error = max(error.context, key=lambda inner: (len(inner.absolute_path), inner.validator != "type"))
    return error


def _offender(path: Path, error: "ValidationError") -> Path:
    """The unknown key itself rather than the object that holds it."""
    if error.validator != "additionalProperties" or not isinstance(error.schema, dict):
        return path
    known = error.schema.get("properties", {})
    unknown = [key for key in error.instance if key not in known] if isinstance(error.instance, dict) else []
    return (*path, unknown[0]) if unknown else path


def _pointer(path: Path) -> str:
    return "".join(f"/{part}" for part in path) or "/"


_STEP = late(r"\.([^.\[\]`]+)|\[(\d+)\]")


def _only_fault(document: StrictYaml, message: str) -> tuple[tuple[int, int], str]:
    """The position of msgspec's own message, for what JSON Schema does not check."""
    text, _, where = message.partition(" - at `$")
    path: Path = tuple(int(index) if index else key for key, index in _STEP.findall(where))
    return document.position(path), f"{_pointer(path)}: {text}"
