"""What does a policy file say, as of a date? Reads, checks, extends and fixes a policy."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import Effect, Scope, Stability
from forensics.core.expected import expected
from forensics.core.meant import meant
from forensics.core.policy import BasePolicy, Policy, ToolEntry, TrustEntry
from forensics.rules.model import PolicyFile, ToolFile, TrustFile, convert
from forensics.rules.policy_faults import policy_faults
from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import StrictYaml, load_strict, rule_error

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable

    from forensics.rules.yaml_strict import Position

SHIPPED = tuple(base.value for base in BasePolicy)
MAX_CHAIN = 16
_A_POLICY = "`strict`, `inject`, or the path of a policy file: what a policy says stands in a file"


class PolicyText(msgspec.Struct, frozen=True):
    """One file of an `extends` chain as it stands: its name, its bytes, and which shipped policy it is (None: a file of
    a user). From a chain of them the policy is made where its files are not, too.
    """

    name: str
    data: bytes
    base: BasePolicy | None


class _Layer(msgspec.Struct, frozen=True):
    """One file of an `extends` chain, with its lines."""

    file: PolicyFile
    document: StrictYaml
    text: PolicyText

    @property
    def name(self) -> str:
        """What faults call it."""
        return self.text.name

    @property
    def base(self) -> BasePolicy | None:
        """Which shipped policy it is."""
        return self.text.base


def load_policy(source: str | Path | None, as_of: datetime.date) -> Policy:
    """The policy called `strict` (also for None), `inject`, or the one in a file. Entries that expired before `as_of`
    are left out and named in `Policy.expired`. Raises RuleError with every fault as `path:line:col: text`.
    """
    return _policy(_chain(source), as_of)


def policy_texts(source: str | Path | None) -> tuple[PolicyText, ...]:
    """The files that this policy consists of, itself first, a shipped one last. Raises RuleError like `load_policy`."""
    return tuple(layer.text for layer in _chain(source))


def policy_of(texts: Iterable[PolicyText], as_of: datetime.date) -> Policy:
    """The policy that consists of these files. Raises RuleError like `load_policy`."""
    return _policy([_layer(text) for text in texts], as_of)


def _policy(layers: list[_Layer], as_of: datetime.date) -> Policy:
    base = next((layer.base for layer in layers if layer.base is not None), BasePolicy.STRICT)
    trust = [entry for layer in layers for entry in layer.file.trust]
    tools = [(layer, index, entry) for layer in layers for index, entry in enumerate(layer.file.tools)]
    expired = [_trust_title(entry) for entry in trust if _is_over(entry.expires, as_of)]
    expired += [f"tool {entry.tool}" for _, _, entry in tools if _is_over(entry.expires, as_of)]
    dated = any(date is not None for date in [t.expires for t in trust] + [t.expires for _, _, t in tools])
    execute = tuple(dict.fromkeys(name for layer in layers for name in layer.file.execute))
    return Policy(
        name=layers[0].file.name,
        base=base,
        digest=_digest(base, layers),
        trust=tuple(_trust(t) for t in trust if not _is_over(t.expires, as_of)),
        tools=tuple(_tool(layer, i, t) for layer, i, t in tools if not _is_over(t.expires, as_of)),
        execute=execute,
        expired=tuple(expired),
        as_of=as_of if dated else None,
    )


def _is_over(expires: datetime.date | None, as_of: datetime.date) -> bool:
    return expires is not None and expires < as_of


def _chain(source: str | Path | None) -> list[_Layer]:
    expected(source, "a policy", str, Path, type(None), hint=_A_POLICY)
    layers: list[_Layer] = []
    visited: set[Path] = set()
    wanted: str | Path | None = "strict" if source is None else source
    folder = Path()
    at = f"neither a policy that is shipped ({', '.join(sorted(SHIPPED))}) nor a file"
    while wanted is not None:
        layer, folder, key = _read(wanted, folder, at)
        if key in visited:
            raise rule_error([f"{at}: extends runs in a circle"])
        visited.add(key)
        layers.append(layer)
        if len(layers) > MAX_CHAIN:
            raise rule_error([f"{at}: more than {MAX_CHAIN} policies extend one another"])
        wanted = layer.file.extends if layer.base is None else None
        if wanted is not None:
            line, column = layer.document.position(("extends",))
            at = f"{layer.name}:{line}:{column}"
    return layers


def _read(wanted: str | Path, folder: Path, at: str) -> tuple[_Layer, Path, Path]:
    if isinstance(wanted, str) and wanted in SHIPPED:
        name = f"rules/policies/{wanted}.yaml"
        data = (shipped_folder() / "policies" / f"{wanted}.yaml").read_bytes()
        return _layer(PolicyText(name, data, BasePolicy(wanted))), folder, Path(name)
    path = folder / wanted
    try:
        data = path.read_bytes()
    except OSError as error:
        raise rule_error([f"{at}: {wanted}: {error.strerror or 'not readable'}"]) from None
    return _layer(PolicyText(path.name, data, None), path.parent), path.parent, path.resolve()


def _layer(text: PolicyText, folder: Path | None = None) -> _Layer:
    """A file as it is read; of one that stands in a folder also what it extends must be there."""
    document = load_strict(text.data, text.name)
    faults = policy_faults(document) + ([] if folder is None else _without_base(document, folder))
    return _Layer(convert(document, PolicyFile, text.name, faults), document, text)


def _without_base(document: StrictYaml, folder: Path) -> list[tuple[Position, str]]:
    """That what a file extends is not there: a fault beside its others, so that its author sees all of them at once."""
    wanted = document.value.get("extends") if isinstance(document.value, dict) else None
    if not isinstance(wanted, str) or wanted in SHIPPED:
        return []
    try:
        (folder / wanted).stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not readable"
        near = meant(wanted, SHIPPED, listed=0)
        return [(document.position(("extends",)), f"{wanted}: {why}{f'; {near}' if near else ''}")]
    return []


def _trust_title(trust: TrustFile) -> str:
    return f"trust server {trust.server}" if trust.server is not None else f"trust pack {trust.pack}"


def _trust(entry: TrustFile) -> TrustEntry:
    return TrustEntry(entry.server, entry.version, entry.tools_digest, entry.pack, entry.expires)


def _tool(layer: _Layer, index: int, entry: ToolFile) -> ToolEntry:
    return ToolEntry(
        tool=entry.tool,
        because=entry.because,
        by=entry.by,
        server=entry.server,
        arguments=entry.arguments,
        effect=Effect[entry.effect.name] if entry.effect is not None else None,
        result=Stability[entry.result.name] if entry.result is not None else None,
        scope=Scope(entry.scope.value) if entry.scope is not None else None,
        expires=entry.expires,
        line=layer.document.position(("tools", index))[0],
        file=layer.name,
    )


def _digest(base: BasePolicy, layers: list[_Layer]) -> str:
    """Over the content, not the text: comments, key order and file names change nothing."""
    content = [msgspec.to_builtins(layer.file) for layer in layers]
    canonical = msgspec.json.encode({"base": base.value, "layers": content}, order="sorted")
    return "sha256:" + hashlib.sha256(canonical).hexdigest()
