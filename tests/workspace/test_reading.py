"""Which commands only read. What the reader calls reading is run over a folder, and nothing may be written there."""

from __future__ import annotations

import random
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from treadle._workspace.backends import Place, SandboxMachine, can_isolate
from treadle._workspace.overlay import Overlay
from treadle._workspace.reading import allowed_by, only_reads

READS = """ls -la
cat a.txt b/c.txt
git status --short
git log --oneline -5 | head -3
git diff HEAD~1 -- src
grep -rn "def main" src | wc -l
find . -name '*.py' -type f
ls src/*.py 2>/dev/null && echo found
head -20 README.md; tail -5 README.md
rg -n "x" src 2>&1 | sort | uniq -c
ls # look
git branch -a
git show HEAD:a.py
diff a.txt b.txt || true
stat -c %s a.txt
pwd""".splitlines()

ACTS = r"""rm a.txt
ls > out.txt
echo hi > out.txt /dev/null
echo hi >/dev/null > out.txt
echo x >| out.txt
ls >& out.txt
ls &> out.txt
cat <(rm a.txt)
cat $(touch x)
cat `touch x`
echo $X
echo "$X"
echo ${X:=1}
X=1 ls
ls & rm a
ls &
find . -delete
find . -name x -exec rm {} +
find . -fprint out
find . -ok rm {} ;
sort -o a.txt a.txt
sort -uo a.txt a.txt
sort --outp=a.txt a.txt
sort --output a.txt b
sort --compress-program=./evil a
uniq a.txt out.txt
tee out.txt
sed -i s/a/b/ a.txt
sed -n 'w out' a.txt
awk '{print > "x"}' a
date -s 2020-01-01
date --se=2020-01-01
git commit -m x
git checkout .
git -c core.pager=evil status
git diff --output=x
git diff --outp=x
git diff --ext-diff
git log --output x
git grep -O x
git grep --open-files-in-pager x
git branch new
git branch -D main
git branch --set-upstream-to=a/b
git tag v1
git remote add x y
git stash
git push
git config core.fsmonitor evil
git --exec-path=. status
git ls-remote --upload-pack=evil .
rg --pre ./evil x
rg -z x
tail -f a.txt
file -C -m x
/bin/ls
./ls
env ls
xargs rm
python -c 1
bash -c ls
sh x.sh
eval ls
source x
. x
exec ls
ls() { rm x; }; ls
function ls { rm x; }
if ls; then cat x; fi
for f in a; do cat $f; done
while true; do ls; done
(ls)
{ ls; }
! ls
time ls
coproc ls
[[ -f x ]]
((x=1))
let x=1
export A=1
alias ls=rm
cd x
cat <<E
cat <<< x
echo 'unfinished
echo "a\
b"
ls \
rm x
ls "$(rm x)"
ls $'a\nb'
sort *
l"s" x
'ls' x
\ls
ls -l{a,$(rm x)}
ls ~root
echo a!b
pip install x
curl http://example.org
npm test
make
cat a > /dev/null2
cat a > /dev/../tmp/x
ls 2>&x
ls 3>x
ls <>x
truncate -s0 a
cp a b
tree -o out
jq -f evil.jq a""".splitlines()


@pytest.mark.parametrize("which", ["reads", "acts"])
def test_commands_are_known_for_what_they_do(which: str):
    pytest.importorskip("tree_sitter_bash")
    wrong = [line for line in (READS if which == "reads" else ACTS) if only_reads(line) != (which == "reads")]
    assert wrong == []
    joined = [f"{READS[0]} && {line}" for line in ACTS if not line.startswith("rm x")]
    assert [line for line in joined if only_reads(line)] == []


def test_rules_allow_programs_by_their_words():
    pytest.importorskip("tree_sitter_bash")
    rules = "git status|pytest *|npm run test:*|make check"
    fits = ["pytest", "pytest -q tests/x.py", "npm run test:unit", "make check", "git status && pytest -x | tail -3"]
    no = ["pytest; rm a", "pytest > out", "pytest $(rm a)", "make", "make check all", "npm run build", "X=1 pytest",
          "npm run test:a b", "pytest & rm a", "python -m pytest", "pytest\nrm a", "./pytest"]  # fmt: skip
    assert [line for line in fits if not allowed_by(rules, line)] == []
    assert [line for line in no if allowed_by(rules, line)] == []
    assert not allowed_by("", "pytest")
    assert not allowed_by("|", "pytest")


needs_isolation = pytest.mark.skipif(not can_isolate(), reason="bubblewrap cannot be used here")
PIECES = [
    *"><|&;\n '\"\\$`(){}*~!#=-[]?^\t\r\0\x1bé",
    ">>", "&&", "$(touch x)", "`touch x`", "-o", "-i", "--output=x", "-exec",
    "-delete", "x", "touch x", "rm a.txt", "tee x", "2>&1", ">x", "A=1", "--", "/dev/null", ">(touch x)", "<(touch x)",
    "<<<x", "&>x",
]  # fmt: skip


def _mutated(line: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(line))
        match chance.randint(0, 3):
            case 0:
                line = line[:at] + chance.choice(PIECES) + line[at:]
            case 1:
                line = line[:at] + line[at + chance.randint(1, 4) :]
            case 2:
                line = f"{line} {chance.choice(PIECES)} {chance.choice(PIECES)}"
            case _:
                other = chance.choice(READS + ACTS)
                line = line[:at] + other[chance.randint(0, len(other)) :]
    return line


def _fuzz(folder: Path, seed: int, wanted: int) -> None:
    """Run mutated commands that are judged reading over a repository, in a sandbox: its upper layer stays empty."""
    chance = random.Random(seed)
    lines: list[str] = []
    while len(lines) < wanted:
        line = _mutated(chance.choice(READS + ACTS), chance)
        if only_reads(line) and line not in READS and "\0" not in line:
            lines.append(line)
    (source := folder / "project").mkdir()
    for name in ("a.txt", "b.txt", "README.md", "a.py"):
        (source / name).write_text("a\nb\n")
    git = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first && echo c >> a.txt"
    subprocess.run(git, shell=True, cwd=source, check=True)
    layers = Overlay(source, folder / "layers")
    machine = SandboxMachine(Place(source, folder, f"fuzz{seed}"), layers, network=False)

    def written(commands: Sequence[str]) -> list[str]:
        script = "".join(f"timeout 5 bash --noprofile --norc -c {shlex.quote(one)} </dev/null\n" for one in commands)
        line = machine.command(["bash", "-c", script], env={"GIT_OPTIONAL_LOCKS": "0", "HOME": str(source)})
        subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600, check=False)
        return [str(path.relative_to(layers.upper)) for path in sorted(layers.upper.rglob("*"))]

    try:
        assert written(lines) == []
        assert written([*lines[:3], "touch x", "chmod 600 a.py"]) == ["a.py", "x"], "what acts is seen there"
    finally:
        layers.close()


@needs_isolation
def test_mutated_commands_that_seem_to_read_change_nothing(tmp_path: Path):
    pytest.importorskip("tree_sitter_bash")
    _fuzz(tmp_path, 46, 60)


@needs_isolation
@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_many_mutated_commands_that_seem_to_read_change_nothing(tmp_path: Path, seed: int):
    pytest.importorskip("tree_sitter_bash")
    _fuzz(tmp_path, seed, 500)
