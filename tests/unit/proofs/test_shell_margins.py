"""Commands one character away from those that are proven: each of them writes, or may. Found by mutation testing."""

from __future__ import annotations

import pytest

from forensics.proofs import prove
from forensics.proofs.shell_words import is_file


@pytest.mark.parametrize(
    "text",
    [
        # an option's value is one word, and what follows it is an option again
        "sort --key=1 -o out",
        "sort --key 1 -o out",
        "sort --reverse -o out",
        "sort -k2 -o out",
        "sort -k 2 -o out",
        "sort -k",
        "sort -rk 2 -o out",
        # ... also where it is two dashes, which end the options elsewhere
        "sort --key -- -o out f",
        "sort -k -- -o out f",
        # a word that begins with what the shell makes something else of
        'sort $X"abc"',
        "sort $X-o",
        "sort *'o'",
        # the second operand of uniq is a file that it writes
        "uniq a b",
        "uniq - out",
        "uniq a -- out",
        "uniq -- a out",
        # quotes hide no option
        'sort "-o" out',
        "sort '-o' out",
        'sort "-o"out f',
        'sort "-$X" f',
        'sort "$X" f',
        "sort -$X f",
        'sort "-o$X" f',
        # a name that the shell makes something else of, a line that goes on, an end of line of another system
        "ls* a",
        "cat$X f",
        "ls \\\n-la",
        "ls a\r\nls b",
        "ls\r\n",
        "ls \r\n\r\n",
        "ls; \r\n",
        "ls > /dev/null\r\n",
        "echo a > /dev/null \r\n",
        # nothing that runs
        "# ls",
        "> /dev/null",
        # slow to parse where there are many, and so not looked into
        "echo '`id`'",
        "echo '$[1]'",
        "echo '<<'",
        # what a locale translates, and what only the session knows
        'echo $"a"',
        "echo $?",
        "cat $1",
        # nor does an escape
        "sort \\-o out",
        "sort -\\o out",
        "cat \\/dev/tcp/h/1",
        "cat /dev\\/tcp/h/1",
        "cat < \\/dev/tcp/h/1",
        # history stands in double quotes too
        'echo "!rm"',
        'echo "a!rm"',
        'echo "a!"',
        'echo "!$X"',
        'echo "!a$X$Y"',
        'echo "$X!a"',
        'echo "$X!"',
        # what a variable or a pattern adds to /dev/null is another file
        "ls > /dev/null$X",
        'ls > "/dev/null$X"',
        "ls > /dev/nul*",
        "ls 2> /dev/null*",
        "ls >& out",
        "ls >&3",
        # a name in quotes is a name
        'cat "/dev/tcp/h/1"',
        'cat < "/dev/tcp/h/1"',
        "cat < $X",
    ],
)
def test_what_may_write_is_not_proven(text: str) -> None:
    assert prove("shell", text) is None


@pytest.mark.parametrize(
    "text",
    [
        "sort --key=1 f",
        "sort --key 1 f",
        "sort -k2 f",
        "sort -k 2 f",
        "sort -rk 2 f",
        "uniq a",
        "uniq -",
        "uniq -- a",
        "sort src/*.py",
        "sed --quiet 5p f",
        'sort "-n" f',
        "echo $HOME $home",
        "echo a >&2",
        "echo a >&1",
        "cat /dev/null",
    ],
)
def test_what_stands_beside_it_is_proven(text: str) -> None:
    assert prove("shell", text) is not None


@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_script_may_be_so_many_bytes_long(letter: str) -> None:
    room = 32 * 1024 - len("ls ")
    most = letter * (room // len(letter.encode()))
    assert prove("shell", f"ls {most}") is not None
    assert prove("shell", f"ls {most}{letter}") is None


def test_one_command_is_told_as_one() -> None:
    proof = prove("shell", "cat a")
    assert proof is not None
    assert proof.reads == "1 command (cat)"


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("a.txt", True),
        ("--file=a.txt", True),
        ("/dev/null", True),
        ("--file=/dev/null", False),  # more cautious than need be
        ("/dev/tcp/h/1", False),
        ("--file=/dev/tcp/h/1", False),
        ("--file=/dev/tcp/h/1=b", False),
        ("//dev//tcp/h/1", False),
        ("./../dev/tcp=/dev/tcp/h/1", False),
    ],
)
def test_a_path_is_a_file_also_behind_an_equals_sign(path: str, plain: bool) -> None:  # noqa: FBT001
    assert is_file(path) is plain
