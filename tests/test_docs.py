"""The documentation cannot fall behind: each document is run, from its first line to its last."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read(document: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Read the document in a folder of its own, beside which nothing is changed."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "documents.py"), str(document)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_that_a_document_shows_is_true(document: Path, tmp_path: Path) -> None:
    reading = read(document, tmp_path)
    assert reading.returncode == 0, reading.stderr


TRUE = {
    "python in one namespace": "```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n",
    "python that awaits": "```python\nimport asyncio\nawait asyncio.sleep(0)\n```\n",
    "a saved block": '```python title="trip.py"\nx = 1\n```\n```python\nfrom trip import x\nassert x\n```\n',
    "a saved plan": '```json title="p.json"\n{"a": 1}\n```\n```console\n$ cat p.json\n{"a": 1}\n```\n',
    "a command": "```console\n$ echo ok\n```\n",
    "an exit code": "```console\n$ sh -c 'exit 10'  # exit 10\n```\n",
    "output": "```console\n$ echo one; echo two; echo three\none\n...\nthree\n$ echo id 17\nid ...\n```\n",
    "what goes to stderr": "```console\n$ echo talk >&2\ntalk\n```\n",
    "a long command": "```console\n$ echo a \\\n  b\na b\n```\n",
    "a bash block without dollars": "```bash\n# first\nmake demo\n\nmake test  # then\n```\n",
    "commands in one folder": "```console\n$ echo hi > f\n```\n```console\n$ cat f\nhi\n```\n",
    "a command in the background": "```console\n$ sleep 100 &  # goes on\n$ echo ok\nok\n```\n",
    "setting up": "```bash\ngit clone https://a.net/makegood && cd makegood\npip install -e '.[cli]'\n```\n",
    "targets": "```bash\nmake test\n```\nor `make lint`",
    "text": "```text\n  a --> b\n```\n",
    "toml": '```toml\na = "b"\n```\n',
    "a block in a list": "- so:\n  ```python\n  if True:\n      pass\n  ```\n",
    "a block between tildes": "~~~python\nx = 1\n~~~\n",
    "a block in a longer fence": "````text\n```nonsense\n```\n````\n",
}

UNTRUE = {
    "python that raises": ("```python\nassert False\n```\n", "AssertionError"),
    "python that awaits and raises": (
        "```python\nimport asyncio\nawait asyncio.sleep(0)\n1/0\n```\n",
        "ZeroDivision",
    ),
    "a saved block that cannot be imported": ('```python title="trip.py"\nimport nowhere\n```\n', "nowhere"),
    "a saved block in a folder": ('```python title="../trip.py"\n```\n', "without a folder"),
    "an unknown option": ("```python norun\n```\n", "only title="),
    "an exit code": ("```console\n$ sh -c 'exit 3'\n```\n", "line 2: $ sh -c 'exit 3'\nended with 3, not 0"),
    "an exit code announced": ("```console\n$ true # exit 10\n```\n", "ended with 0, not 10"),
    "output": ("```console\n$ echo one\ntwo\n```\n", "said\none\nand not\ntwo"),
    "a second command": ("\n```console\n$ true\n$ false\n```\n", "line 4"),
    "a failure in the background": ("```console\n$ false &\n$ sleep 0.5\n```\n", "ended with 1"),
    "a console block without a command": ("```console\nmake demo\n```\n", "must begin with a command"),
    "json": ("```json\n{'a': 1}\n```\n", "this json cannot be read"),
    "toml": ("```toml\na = \n```\n", "this toml cannot be read"),
    "a language nobody runs": ("```ruby\n```\n", "language 'ruby'"),
    "a block without a language": ("```\nx\n```\n", "language ''"),
    "a block that never closes": ("```python\n", "never closed"),
    "a block between tildes": ("~~~python\nassert False\n~~~\n", "AssertionError"),
    "a block in a quotation": ("> ```python\n> x = 1\n> ```\n", "outside of quotations"),
    "a target that is not there": ("```console\n$ make money\n```\n", "no target 'money'"),
    "a target mentioned": ("then `make money`", "no target 'money'"),
    "a command mentioned": ("then `makegood rich TASK`", "makegood rich --help"),
    "an extra that is not there": (
        "```console\n$ pip install 'makegood[wings]'\n```\n",
        "makegood has the extras",
    ),
    "another project": ("```console\n$ pip install badgood\n```\n", "makegood has the extras"),
    "a shell that is gone": ("```console\n$ cd trips\n```\n", "a shell of its own"),
    "a mixture": ("```console\n$ make test && echo ok\n```\n", "make it two commands"),
    "a command in a picture": ("```text\nmakegood demo\n```\n", "put it in a console block"),
}


@pytest.mark.parametrize("markdown", TRUE.values(), ids=TRUE)
def test_a_true_document_passes(markdown: str, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(markdown)
    reading = read(document, tmp_path / "reading")
    assert (reading.returncode, reading.stderr) == (0, "")


@pytest.mark.parametrize(("markdown", "why"), UNTRUE.values(), ids=UNTRUE)
def test_an_untrue_document_fails(markdown: str, why: str, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(markdown)
    reading = read(document, tmp_path / "reading")
    assert reading.returncode == 1
    assert why in reading.stderr
