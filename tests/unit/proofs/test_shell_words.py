"""What does one word of a shell command say, and where does the text not show it? Found by mutation testing."""

from __future__ import annotations

import pytest
import tree_sitter_bash
from tree_sitter import Language, Parser

from forensics.proofs.shell_words import Word, word

PARSER = Parser(Language(tree_sitter_bash.language()))


def read(text: str) -> Word | None:
    """The word behind the name of a command."""
    (command,) = PARSER.parse(f"ls {text}".encode()).root_node.children
    return word(command.children[1])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a.txt", "a.txt"),
        ("12", "12"),
        ("'-o'", "-o"),
        ('"-o"', "-o"),
        ('"-"o', "-o"),
        ('"a\\"b"', 'a"b'),
        ('"a\\\\b"', "a\\b"),
        ("a\\ b", "a b"),
        ("!", "!"),
    ],
)
def test_a_word_that_the_text_shows(text: str, says: str) -> None:
    assert read(text) == Word(says, unsure=False)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("$HOME", ""),
        ("$home_2", ""),
        ("$_x", ""),
        ('"$X"', ""),
        ('"-o$X"', "-o"),
        ('"a$X-o"', "a"),
        ("src/*.py", "src/"),
        # what follows is not the word, however sure it is
        ('$X"-o"', ""),
        ("$X-o", ""),
        ('*"-o"', ""),
        ("a*'b'c", "a"),
        ("'a'$X'b'", "a"),
    ],
)
def test_a_word_of_which_the_shell_makes_something_else(text: str, before: str) -> None:
    assert read(text) == Word(before, unsure=True)


@pytest.mark.parametrize("text", ["$?", "$@", "$1", "$#", '"$@"', "a$1", '$"a"', "$'a'", "{a,b}", '"!a"', "${X}"])
def test_a_word_of_which_nothing_is_known(text: str) -> None:
    assert read(text) is None
