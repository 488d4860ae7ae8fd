"""Which texts are credentials, personal data, or something that acts? Reads rules/secrets and rules/content."""

# Annotations are no text here: msgspec would compile each one when the first file is read, at every start.
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import load_strict, rule_error

Kind = TypeVar("Kind")
Group = Literal["credential", "personal", "texts"]
Check = Literal["given", "varied", "digits", "name_and_password", "address", "card", "iban", "phone"]
SHAPES = ("secrets/credentials.yaml", "secrets/personal.yaml", "content/texts.yaml")
NAMES = "secrets/names.yaml"
LETTERS = "content/lookalikes.yaml"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what a file may hold: unknown keys are faults."""


class TextTest(_Strict, frozen=True):
    """One trial of a rule: the value that it finds first in that text, or null for nothing."""

    text: str
    finds: str | None


class ContentRule(_Strict, frozen=True):
    """One shape. `trigger` is looked for in the bytes of the evidence, whatever escapes stand around it (if it begins
    with a word boundary: only where a word begins, behind an escape too); `pattern` in the decoded text, and its first
    group is the value; `check` names what the value must pass beside it; texts in `unless_after` say that it is none
    where they stand right before.
    """

    id: str
    kind: str
    because: str
    references: tuple[str, ...]
    trigger: str
    pattern: str
    tests: tuple[TextTest, ...]
    check: Check | None = None
    unless_after: tuple[str, ...] = ()


class ContentRules(_Strict, frozen=True):
    """One file of shapes."""

    schema: Literal["forensics/content-rules/v1"]
    group: Group
    about: str
    rules: tuple[ContentRule, ...]


class NameTest(_Strict, frozen=True):
    """One trial of the names: whether that value under that key is a credential."""

    key: str
    value: str
    finds: bool


class SecretNames(_Strict, frozen=True):
    """Names of fields, each as its words: of `certain` every value counts that is no placeholder, of `likely` one that
    looks random; `endings` may follow a name, and a name that ends as one of `never` is none.
    """

    schema: Literal["forensics/secret-names/v1"]
    because: str
    references: tuple[str, ...]
    certain: frozenset[str]
    likely: frozenset[str]
    endings: frozenset[str]
    never: frozenset[str]
    placeholders: frozenset[str]
    tests: tuple[NameTest, ...]


class Lookalikes(_Strict, frozen=True):
    """Letters by the Latin letter that they look like."""

    schema: Literal["forensics/lookalikes/v1"]
    because: str
    references: tuple[str, ...]
    letters: dict[str, str]


@lru_cache(maxsize=1)
def lookalike_letters() -> dict[int, str]:
    """The Latin letter by the code point that looks like it. Raises RuleError."""
    return {ord(letter): latin for letter, latin in _read(LETTERS, Lookalikes).letters.items()}


@lru_cache(maxsize=1)
def content_rules() -> tuple[ContentRules, ...]:
    """The shapes, file by file. Raises RuleError."""
    return tuple(_read(name, ContentRules) for name in SHAPES)


@lru_cache(maxsize=1)
def secret_names() -> SecretNames:
    """The names of fields. Raises RuleError."""
    return _read(NAMES, SecretNames)


def _read(name: str, kind: type[Kind]) -> Kind:
    where: Any = shipped_folder()
    for part in name.split("/"):
        where = where / part
    try:
        return msgspec.convert(load_strict(where.read_bytes(), f"rules/{name}").value, kind)
    except msgspec.ValidationError as error:
        raise rule_error([f"rules/{name}:1:1: {error}"]) from None
