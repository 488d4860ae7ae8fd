"""Which secrets are planted, and where? 25 kinds of values and 40 places for each, drawn from a seed.

Every value is made here, by chance, in the published shape of its service; none was ever valid.
"""

from __future__ import annotations

import base64
import json
import random
import string
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Planted(NamedTuple):
    """A secret value, and the text that carries it where its shape alone does not tell."""

    kind: str
    value: str
    text: str


class Draw:
    """Chance, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same test every time

    def letters(self, count: int, alphabet: str = LETTERS) -> str:
        """So many letters, a digit among them."""
        return self._random.choice("0123456789") + "".join(self._random.choices(alphabet, k=count - 1))


def _bare(prefix: str, count: int, alphabet: str = LETTERS) -> Callable[[Draw], tuple[str, str]]:
    def make(draw: Draw) -> tuple[str, str]:
        value = prefix + draw.letters(count, alphabet)
        return value, value

    return make


def _carried(template: str, count: int) -> Callable[[Draw], tuple[str, str]]:
    def make(draw: Draw) -> tuple[str, str]:
        value = draw.letters(count)
        return value, template.format(value)

    return make


def _jwt(draw: Draw) -> tuple[str, str]:
    part = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
    claims = base64.urlsafe_b64encode(json.dumps({"sub": draw.letters(8)}).encode()).decode().rstrip("=")
    value = f"{part}.{claims}.{draw.letters(43)}"
    return value, value


def _basic(draw: Draw) -> tuple[str, str]:
    value = base64.b64encode(f"svc:{draw.letters(12)}".encode()).decode()
    return value, f"Authorization: Basic {value}"


def _private_key(draw: Draw) -> tuple[str, str]:
    value = f"-----BEGIN EC PRIVATE KEY-----\n{draw.letters(64)}\n{draw.letters(40)}\n-----END EC PRIVATE KEY-----"
    return value, value


KINDS: dict[str, Callable[[Draw], tuple[str, str]]] = {
    "private-key": _private_key,
    "url-password": _carried("postgres://svc:{}@db.internal:5432/prod", 14),
    "aws-access-key": _bare("AKIA", 16, string.ascii_uppercase),
    "github-token": _bare("ghp_", 36),
    "github-fine-token": _bare("github_pat_", 59),
    "gitlab-token": _bare("glpat-", 20),
    "slack-token": _bare("xoxb-", 40),
    "slack-webhook": lambda draw: (
        (url := f"https://hooks.slack.com/services/T0AB1CD2E/B0FG3HI4J/{draw.letters(24)}"),
        url,
    ),
    "anthropic-key": _bare("sk-ant-api03-", 80),
    "openai-key": _bare("sk-proj-", 48),
    "google-api-key": _bare("AIza", 35),
    "google-oauth": _bare("ya29.", 60),
    "stripe-key": _bare("sk_live_", 24),
    "jwt": _jwt,
    "npm-token": _bare("npm_", 36),
    "sendgrid-key": lambda draw: ((key := f"SG.{draw.letters(22)}.{draw.letters(43)}"), key),
    "huggingface-token": _bare("hf_", 34),
    "databricks-token": _bare("dapi", 32, HEX),
    "groq-key": _bare("gsk_", 52),
    "telegram-token": lambda draw: ((key := f"{draw.letters(10, string.digits)}:AA{draw.letters(33)}"), key),
    "azure-key": _carried("AccountName=a;AccountKey={};EndpointSuffix=x", 44),
    "bearer-token": _carried("Authorization: Bearer {}", 30),
    "basic-auth": _basic,
    "password": _carried('password="{}"', 12),
    "api-key": _carried("X-Api-Key: {}", 24),
}


def planted(seed: int) -> list[Planted]:
    """One value of every kind."""
    draw = Draw(seed)
    return [Planted(kind, *make(draw)) for kind, make in KINDS.items()]


# places --------------------------------------------------------------------------------------------------------------

Place = "Callable[[str], dict[str, Any]]"


def _run(
    user: Any = "go", arguments: Any = None, result: Any = "ok", answer: Any = "done", **more: Any
) -> dict[str, Any]:
    call = {
        "id": "call_7Hq2",
        "type": "function",
        "function": {"name": "fetch", "arguments": json.dumps(arguments or {})},
    }
    messages = [
        {"role": "user", "content": user},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_7Hq2", "content": result},
        {"role": "assistant", "content": answer},
    ]
    return {"trace_id": "3f2c9d4e-8b1a-4c6d-9e0f-1a2b3c4d5e6f", "messages": messages, **more}


def _deep(value: Any, levels: int) -> Any:
    for level in range(levels):
        value = {"inner": value} if level % 2 else [value]
    return value


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "user text": lambda t: _run(user=f"use this: {t} please"),
    "user text alone": lambda t: _run(user=t),
    "answer": lambda t: _run(answer=f"I used {t}."),
    "argument": lambda t: _run(arguments={"note": t}),
    "argument in a list": lambda t: _run(arguments={"notes": ["a", t, "b"]}),
    "argument, deep": lambda t: _run(arguments={"x": _deep(t, 20)}),
    "argument that is JSON": lambda t: _run(arguments={"body": json.dumps({"note": t})}),
    "JSON in JSON in an argument": lambda t: _run(arguments={"body": json.dumps({"b": json.dumps({"note": t})})}),
    "key of an argument": lambda t: _run(arguments={f"about {t} here": 1}),
    "result": lambda t: _run(result=f"found {t} in it"),
    "result that is JSON": lambda t: _run(result=json.dumps({"found": [t]})),
    "result that is indented JSON": lambda t: _run(result=json.dumps({"found": {"here": t}}, indent=2)),
    "result of many lines": lambda t: _run(result="first\nsecond\n" + t + "\nlast\n"),
    "result with CRLF": lambda t: _run(result="first\r\n" + t + "\r\nlast"),
    "parts of a message": lambda t: _run(user=[{"type": "text", "text": f"see {t}"}]),
    "metadata that no step shows": lambda t: _run(metadata={"note": t}),
    "settings of a retry": lambda t: _run(metadata={"previous": [json.dumps({"settings": {"note": t}})]}),
    "list of headers": lambda t: _run(metadata={"headers": [["X-Note", t]]}),
    "named value": lambda t: _run(metadata={"attributes": [{"key": "note", "value": {"stringValue": t}}]}),
    "base64": lambda t: _run(arguments={"blob": _b64(f"a text with {t} in it")}),
    "base64 of JSON": lambda t: _run(arguments={"blob": _b64(json.dumps({"some": "thing", "note": t}))}),
    "base64 in a text": lambda t: _run(result="data:text/plain;base64," + _b64(f"header line\n{t}\n")),
    "base64 for URLs": lambda t: _run(user="x=" + base64.urlsafe_b64encode(f"a text with {t}?".encode()).decode()),
    "base64 in JSON in base64": lambda t: _run(result=_b64(json.dumps({"inner text": _b64(f"a text: {t} ...")}))),
    "query of a URL": lambda t: _run(arguments={"url": "https://h.example/cb?note=" + quote(t, safe="")}),
    "shell command": lambda t: _run(arguments={"command": f"echo '{t}' | tee /tmp/x"}),
    "source code": lambda t: _run(result=f"def main():\n    # {t}\n    return 1\n"),
    "YAML": lambda t: _run(result=f"config:\n  note: '{t}'\n"),
    "environment file": lambda t: _run(result=f"A=1\nNOTE={t}\nB=2\n"),
    "XML": lambda t: _run(result=f"<note><a>{t}</a></note>"),
    "CSV": lambda t: _run(result=f"id,note\n1,{t}\n2,none\n"),
    "Markdown": lambda t: _run(answer=f"Here:\n\n```\n{t}\n```\n"),
    "log line": lambda t: _run(result=f"2026-11-13T10:00:00Z WARN [worker-3] retry with {t} failed"),
    "traceback": lambda t: _run(result=f'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: {t}\n'),
    "beside other scripts": lambda t: _run(user=f"ключ \u200b {t} 鍵 🔑"),
    "between escape sequences": lambda t: _run(result=f"\x1b[31m {t} \x1b[0m"),
    "behind a long text": lambda t: _run(result="word " * 20_000 + t + " word" * 100),
    "in a large document": lambda t: _run(extra=[{"n": n, "note": "x" * 400} for n in range(300)] + [{"note": t}]),
    "twice": lambda t: _run(user=t, result=t),
    "in parentheses": lambda t: _run(answer=f"the value ({t}) works"),
}
