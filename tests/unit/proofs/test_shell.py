"""Is a shell text proven exactly where every command of it is known to read?"""

from __future__ import annotations

import pytest

from forensics.proofs import prove

READS = [
    "ls",
    "ls -la --color=never src",
    "/bin/ls -l",
    "cat README.md",
    "cat 'a file' \"another file\" plain",
    "cat < notes.txt",
    "head -n 20 a.log",
    "head -20 a.log | tail -5",
    "tail -n 100 app.log | grep -i error | wc -l",
    "grep -rn --include='*.py' 'def main' src",
    "grep -E '^(a|b)$' f || echo none",
    "grep 'rm -rf /' notes.txt",
    "find . -name '*.py' -type f -maxdepth 3",
    "find src \\( -name '*.c' -o -name '*.h' \\) -mtime -7 -print0",
    "find . -size +10k -newer a.txt | head",
    "sed -n 1,5p a.py",
    "sed -n '10,20p;40p' a.py",
    "sort -rn -k 2,2 -t : f | uniq -c",
    "sort -u a b",
    "wc -l *.py",
    "stat a && du -sh . && df -h",
    "ps aux | grep python",
    "diff -u a b",
    'echo "$HOME is home"; pwd',
    "cut -d, -f2 data.csv | sort | uniq -c | sort -rn | head",
    "(cd src && ls)",
    "! grep -q x f",
    "test -f a && echo yes || echo no",
    "ls /tmp 2>/dev/null",
    "ls missing 2>&1 | cat",
    "ls >/dev/null 2>&1",
    "date -u +%Y-%m-%d",
    "command -v python3",
    "/usr/bin/rg -n --hidden pattern src",
    "uname -a; whoami; id",
    "cat a.txt\nls\n",
    "file --brief a.bin",
    "base64 -d a.txt",
    "sha256sum dist/x | cut -c1-8",
    "env",
]

TRAPS = [
    "rm a",
    "ls > listing.txt",
    "ls >> listing.txt",
    "ls >| listing.txt",
    "ls &> out",
    "ls 2> errors",
    "ls >& out",
    "cat a | tee b",
    "cat <<EOF\n$(rm a)\nEOF",
    "cat <<< x",
    "cat <(rm a)",
    "echo $(rm a)",
    "echo `rm a`",
    'echo "a $(rm b) c"',
    'echo "`rm b`"',
    "echo ${x:=1}",
    "echo ${x@P}",
    "echo $((x = 1))",
    "echo {a,b}",
    "ls &",
    "ls & rm a",
    "PATH=/tmp ls",
    "LD_PRELOAD=/tmp/x.so cat a",
    "x=rm; $x a",
    "$x a",
    '"$x" a',
    "r''m a",
    "\\rm a",
    "./ls",
    "/opt/x/ls",
    "../bin/cat a",
    "bin/cat a",
    "eval ls",
    "exec ls",
    "source a",
    ". a",
    "sh -c ls",
    "bash -lc 'ls'",
    "xargs cat",
    "find . -name x | xargs rm",
    "python -c 'print(1)'",
    "git status",
    "git log --oneline",
    "awk '{print}' a",
    "sed -i s/a/b/ f",
    "sed -n '1p;w out' f",
    "sed -n 1e f",
    "sed 's/a/b/' f",
    "sed -ni 1p f",
    "find . -delete",
    "find . -exec cat {} \\;",
    "find . -execdir cat {} +",
    "find . -ok rm {} \\;",
    "find . -fprint out",
    "find . -fprintf out %p",
    "find . -fls out",
    "find $where -name x",
    "find * -name x",
    "sort -o a a",
    "sort -no a a",
    "sort --output=a a",
    "sort --outp=a a",
    "sort --compress-program=sh a",
    "sort -T /x a",
    "sort *",
    "sort $files",
    "uniq a b",
    "uniq a*",
    "uniq a -c",
    "date -s tomorrow",
    "date 01010101",
    "hostname other",
    "env rm a",
    "env A=1 ls",
    "command rm a",
    "command rm -v a",
    "cd src",
    "cd src && ls",
    "cd src; (ls)",
    "test -v 'a[$(rm b)]'",
    "[[ -v a ]]",
    "[ -f a ]",
    "printf -v x y",
    "if ls; then rm a; fi",
    "for f in a b; do cat $f; done",
    "while ls; do ls; done",
    "{ ls; }",
    "f() { rm a; }; f",
    "ls() { rm a; }",
    "alias ls=rm",
    "cat < /dev/tcp/a.example/80",
    "cat /dev/tcp/a.example/80",
    "cat //dev/../dev/sda",
    "rg pattern",
    "/usr/bin/rg --pre=sh pattern",
    "/usr/bin/rg -z pattern",
    "/opt/x/rg pattern",
    "ls # a comment",
    "# only a comment",
    "ls !rm",
    "ls\rrm a",
    "ls\u00a0a",
    "ls\x00rm",
    "ls |",
    "ls && ",
    "( ls",
    "'ls",
    "time ls",
    "sudo ls",
    "nohup ls",
    "timeout 5 ls",
    "less a",
    "man ls",
    "curl http://a.example",
    "tar tf a.tar",
    "df --sync",
    "file -C -m a",
    "diff -l a b",
    "coproc ls",
    "select x in a; do ls; done",
    "",
    "   ",
]


@pytest.mark.parametrize("text", READS)
def test_reads_are_proven(text: str) -> None:
    proof = prove("shell", text)
    assert proof is not None
    assert proof.parser == "tree-sitter-bash"


@pytest.mark.parametrize("text", TRAPS)
def test_traps_are_not(text: str) -> None:
    assert prove("shell", text) is None


@pytest.mark.parametrize("text", READS)
@pytest.mark.parametrize("operator", ["; ", " && ", " || ", " | ", "\n"])
def test_one_command_that_writes_spoils_all(text: str, operator: str) -> None:
    assert prove("shell", f"{text.rstrip()}{operator}rm a") is None
    assert prove("shell", f"rm a{operator}{text}") is None


@pytest.mark.parametrize("text", READS)
def test_quoted_it_is_only_a_word(text: str) -> None:
    quoted = text.replace("'", "")
    assert prove("shell", f"echo '{quoted}; rm a > b'") is not None


@pytest.mark.parametrize("dialect", ["powershell", "cmd", "fish", "python"])
def test_another_shell_is_not_parsed(dialect: str) -> None:
    assert prove("shell", "ls", dialect) is None


def test_a_proof_says_what_was_shown() -> None:
    proof = prove("shell", "cat a | grep b | cat", "bash")
    assert proof is not None
    assert proof.reads == "3 commands (cat, grep)"
