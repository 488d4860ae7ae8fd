"""Does one command with these words only read, by its own rule in `rules/proofs/shell.yaml`?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from forensics.proofs.shell_words import is_file
from forensics.proofs.tables import Command, shell_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.proofs.shell_words import Word


_NUMBER = re.compile(r"-\d+[ckMG]?")


def only_reads(words: Sequence[Word], *, inside: bool) -> str | None:
    """The name of a command that only reads, or None. `inside` says that it stands in a subshell."""
    first, *arguments = words
    folder, slash, name = first.text.rpartition("/")
    rule = _rules().get(name)
    if rule is None or first.unsure or (slash and folder not in shell_tables().folders):
        return None
    if (rule.only_by_path and not slash) or (rule.only_in_subshell and not inside):
        return None
    if not all(is_file(argument.text) for argument in arguments):
        return None
    return name if rule.any_option or _allowed(rule, arguments) else None


@lru_cache(maxsize=1)
def _rules() -> dict[str, Command]:
    return {name: command for command in shell_tables().commands for name in command.names}


def _allowed(rule: Command, arguments: Sequence[Word]) -> bool:
    """Whether every option is on the list, and the operands are few and of the right form."""
    if any(one.unsure and _may_be_more(rule, one) for one in arguments):
        return False
    options: set[str] = set()
    todo = [one.text for one in arguments]
    operands: list[str] = []
    while todo:
        text = todo.pop(0)
        if text == "--":
            operands += todo
            break
        if not _is_option(rule, text):
            operands.append(text)
            continue
        taken = None if operands and rule.counts_operands else _option(rule, text, options)
        if taken is None or taken > len(todo):
            return False
        del todo[:taken]
    return (not rule.needs or not rule.needs.isdisjoint(options)) and _operands_fit(rule, operands)


def _is_option(rule: Command, text: str) -> bool:
    """A lone dash is standard input, `-20` a number of lines or of days, `-maxdepth` a word of the program's own."""
    return text.startswith("-") and text != "-" and text not in rule.words and not _NUMBER.fullmatch(text)


def _may_be_more(rule: Command, word: Word) -> bool:
    """What the shell makes of a word may begin with a dash, or be several operands where their number counts."""
    return not word.text or word.text.startswith("-") or rule.counts_operands


def _option(rule: Command, text: str, options: set[str]) -> int | None:
    """How many arguments an option takes with it (0 or 1), or None for one that is not on the list."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        options.add(name)
        if name in rule.values:
            return 0 if equals else 1
        return 0 if name in (rule.flags or ()) and not equals else None
    return _letters(rule, text, options)


def _letters(rule: Command, text: str, options: set[str]) -> int | None:
    """Short options in one argument: `-rn`, `-k2`."""
    for place, letter in enumerate(text[1:], 2):
        name = f"-{letter}"
        options.add(name)
        if name in rule.values:
            return 0 if place < len(text) else 1
        if name not in (rule.flags or ()):
            return None
    return 0


def _operands_fit(rule: Command, operands: Sequence[str]) -> bool:
    if rule.operands is not None and len(operands) > rule.operands:
        return False
    if rule.first is not None and not (operands and re.fullmatch(rule.first, operands[0])):
        return False
    return rule.each is None or all(re.fullmatch(rule.each, operand) for operand in operands)
