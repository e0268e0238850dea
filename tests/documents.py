"""Makes a Markdown document prove itself: all it shows is run or checked, in order, in the current folder.

    cd "$(mktemp -d)" && python PATH/tests/documents.py PATH/README.md

Ends with 0 when all of it is true, otherwise with 1 and the first line that is not. CONTRIBUTING.md tells how
a document is written; LANGUAGES, at the end, is all there is.
"""

import ast
import asyncio
import doctest
import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
COMMAND_SECONDS_MAX = 60
STOP_SECONDS_MAX = 15

PROSE = "running text"
AFTER_DOLLAR = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
BARE = re.compile(r"^(?!#)((?:.*\\\n)*.+)\n()", re.MULTILINE)


class Untrue(Exception):
    """Something in the document does not hold."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


@dataclass(frozen=True)
class Block:
    """A fenced block or a line of prose: where its text begins, its language, the file to save it as."""

    line: int
    language: str
    title: str | None
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a console block: its line, the exit code announced, the output shown ("" when none is)."""

    line: int
    text: str
    exit_code: int = 0
    output: str = ""


def blocks(markdown: str) -> Iterator[Block]:
    """The whole document in order; raises Untrue for a fence that is never closed."""
    lines = enumerate(markdown.splitlines(), 1)
    for number, line in lines:
        opening = re.fullmatch(r"( *)(`{3,}|~{3,})([^`]*)", line)
        if not opening:
            yield Block(number, PROSE, None, line)
            continue
        indent, fence, info = opening.groups()
        text = ""
        for _, inner in lines:
            if re.fullmatch(rf" *{fence}{fence[0]}* *", inner):
                break
            text += inner.removeprefix(indent) + "\n"
        else:
            raise Untrue(number, "this block is never closed")
        yield fenced(number + 1, info, text)


def fenced(line: int, info: str, text: str) -> Block:
    language, *options = shlex.split(info) or [""]
    title = None
    for option in options:
        name, _, title = option.partition("=")
        if name != "title" or not re.fullmatch(r"\w[\w.-]*", title):
            raise Untrue(
                line, f'{option!r}: after the language only title="FILE" is known, FILE without a folder'
            )
    return Block(line, language, title, text)


def commands(block: Block) -> Iterator[Command]:
    """Each command with the output shown below it. Where a bash block has no "$ ", all of it is commands."""
    bare = block.language == "bash" and not AFTER_DOLLAR.search(block.text)
    found = list((BARE if bare else AFTER_DOLLAR).finditer(block.text))
    if not found or (found[0].start() > 0 and not bare):
        raise Untrue(block.line, 'this block must begin with a command, after "$ "')
    for match in found:
        text, output = match.groups()
        code = re.search(r"# exit (\d+)$", text)
        line = block.line + block.text.count("\n", 0, match.start())
        yield Command(line, text, int(code[1]) if code else 0, output)


@dataclass
class Reader:
    """Does what a careful reader of the document would do; all its Python blocks make one program."""

    document: Path
    program: types.ModuleType = field(default_factory=lambda: types.ModuleType("__main__"))
    started: list[tuple[Command, subprocess.Popen[bytes], IO[bytes]]] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Raise Untrue, or whatever the Python blocks raise, at the first thing that does not hold."""
        sys.modules["__main__"] = self.program
        try:
            for block in blocks(self.document.read_text("utf-8")):
                if block.language == PROSE:
                    self.prose(block)
                elif block.language in LANGUAGES:
                    self.save(block)
                    LANGUAGES[block.language](self, block)
                else:
                    raise Untrue(block.line, f"language {block.language!r}: known are {', '.join(LANGUAGES)}")
        finally:
            self.stop()

    def save(self, block: Block) -> None:
        if block.title:
            Path(block.title).write_text(block.text, "utf-8")

    def python(self, block: Block) -> None:
        """Run it (it may await), or see that it can be imported if it is a file of its own."""
        if block.title:
            self.run(Command(block.line, f'python -c "import {Path(block.title).stem}"'))
            return
        padded = "\n" * (block.line - 1) + block.text  # so that a traceback shows the document's lines
        code = compile(padded, self.document, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        unfinished = eval(code, vars(self.program))
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(unfinished)

    def console(self, block: Block) -> None:
        for command in commands(block):
            if not set_up(command):
                self.run(command)

    def prose(self, block: Block) -> None:
        """A command mentioned in passing must be there: a target of the Makefile, a command of makegood."""
        if "```" in block.text:
            raise Untrue(block.line, "a block begins on a line of its own, outside of quotations")
        for program, word in re.findall(r"`(make|makegood) ([a-z][\w-]*)[^`]*`", block.text):
            if program == "make":
                makefile_has(block.line, word)
            elif word not in self.mentioned:
                self.mentioned.add(word)
                self.run(Command(block.line, f"makegood {word} --help"))

    def run(self, command: Command) -> None:
        """Run it in a shell of its own; with a closing "&" it runs until the document has been read."""
        if re.search(r"&\s*(#.*)?$", command.text):
            output = tempfile.TemporaryFile()  # noqa: SIM115 - stop() closes it
            self.started.append((command, shell(re.sub(r"&\s*(#.*)?$", "", command.text), output), output))
            return
        process = shell(command.text, subprocess.PIPE)
        try:
            said = process.communicate(timeout=COMMAND_SECONDS_MAX)[0].decode()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise Untrue(
                command.line, f"$ {command.text}\nhas not ended; to let it run on, close with &"
            ) from None
        compare(command, process.returncode, said)

    def stop(self) -> None:
        """End what runs in the background; it must not have failed by itself."""
        for command, process, output in self.started:
            failed = process.poll()
            if failed is None:
                terminate(process)
            output.seek(0)
            said = output.read().decode()
            output.close()
            if failed:
                compare(command, failed, said)


def data(parser: Callable[[str], object]) -> Callable[[Reader, Block], None]:
    def parsed(_: Reader, block: Block) -> None:
        try:
            parser(block.text)
        except ValueError as reason:
            raise Untrue(block.line, f"this {block.language} cannot be read: {reason}") from None

    return parsed


def picture(_: Reader, block: Block) -> None:
    """Trees and drawings prove nothing and may stand as text; commands may not hide there."""
    for number, line in enumerate(block.text.splitlines(), block.line):
        if re.match(r"\s*(\$|makegood|make|pip|python) ", line):
            raise Untrue(number, "a command in a text block is never run; put it in a console block")


def shell(text: str, output: int | IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        text,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def terminate(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def compare(command: Command, exit_code: int, said: str) -> None:
    """Raise Untrue unless it ended as announced and said what is shown, "..." standing for anything."""
    if exit_code != command.exit_code:
        raise Untrue(
            command.line, f"$ {command.text}\nended with {exit_code}, not {command.exit_code}:\n{said}"
        )
    how = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if command.output.strip() and not doctest.OutputChecker().check_output(command.output, said, how):
        raise Untrue(command.line, f"$ {command.text}\nsaid\n{said}and not\n{command.output}")


def set_up(command: Command) -> bool:
    """True if the command installs or makes makegood: it was found to be right, and is not run here."""
    words = " ".join(shlex.split(command.text, comments=True))
    parts = [right(command.line, part.split()) for part in words.split("&&")]
    if any(parts) and not all(parts):
        raise Untrue(
            command.line, f"$ {command.text}\nmixes what is run here with what is not; make it two commands"
        )
    return all(parts)


def right(line: int, words: list[str]) -> bool:
    match words:
        case ["make", *targets]:
            for target in targets:
                makefile_has(line, target)
        case ["pip", "install", *packages]:
            for package in packages:
                installable(line, package)
        case ["git", "clone", url] if re.search(r"\bmakegood(\.git)?$", url):
            pass
        case ["cd", "makegood"]:
            pass
        case ["cd" | "export", *_]:
            raise Untrue(line, f"{words[0]} does nothing here: each command has a shell of its own")
        case _:
            return False
    return True


def makefile_has(line: int, target: str) -> None:
    if not re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE):
        raise Untrue(line, f"the Makefile has no target {target!r}")


def installable(line: int, package: str) -> None:
    """Raise Untrue unless `pip install package` means this project, with extras that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {"", *project["optional-dependencies"]}
    asked = re.fullmatch(r"-e|(?:\.|makegood)(?:\[([\w,]+)\])?", package)
    if not asked or not extras.issuperset((asked[1] or "").split(",")):
        raise Untrue(line, f"pip install {package}: makegood has the extras {', '.join(sorted(extras))}")


LANGUAGES: dict[str, Callable[[Reader, Block], None]] = {
    "python": Reader.python,
    "console": Reader.console,
    "bash": Reader.console,
    "json": data(json.loads),
    "toml": data(tomllib.loads),
    "text": picture,
}


def main() -> None:
    document = Path(sys.argv[1])
    sys.path[0] = os.getcwd()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ.update(NO_COLOR="1", COLUMNS="110")
    os.environ.pop("MAKEGOOD_STORE", None)
    try:
        Reader(document).read()
    except Untrue as untrue:
        sys.exit(f"{document.name}, {untrue}")


if __name__ == "__main__":
    main()
