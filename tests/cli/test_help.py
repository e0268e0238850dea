"""What commands say of themselves, and how a shell completes them."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from makegood.cli.examples import EXAMPLES
from makegood.cli.main import makegood
from tests.cli.terminal import APP, COMMAND, Shell

NAMES = sorted(makegood.commands)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shutil.copy(APP, tmp_path / "app.py")
    return Shell(tmp_path)


def examples_of(name: str) -> list[str]:
    return [line.strip() for line in EXAMPLES[name].splitlines() if line.strip()]


def test_every_command_has_examples() -> None:
    assert sorted(EXAMPLES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_examples_stand_in_the_help_as_they_are(name: str, shell: Shell) -> None:
    with click.Context(makegood, info_name="makegood", terminal_width=40) as root:
        command = makegood.commands[name]
        told = command.get_help(click.Context(command, root, info_name=name)).splitlines()
    below = told[told.index("  Examples:") + 1 :]
    assert below == [f"    {line}" for line in examples_of(name)]
    assert max(map(len, below)) <= 80


@pytest.mark.parametrize("line", [line for name in NAMES for line in examples_of(name)])
def test_examples_are_command_lines(line: str) -> None:
    words = shlex.split(line, comments=True)
    ends = [n for n, word in enumerate(words) if word in (">", ">>", "<")]
    program, name, *arguments = words[: ends[0] if ends else None]
    assert program == "makegood"
    with makegood.make_context("makegood", []) as root:
        makegood.commands[name].make_context(name, arguments, parent=root)


# --- completion


def completed(shell: Shell, line: str) -> list[str]:
    """What bash offers at the end of a line, with our script loaded."""
    command = shell.folder / "bin" / "makegood"
    if not command.exists():
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
        command.chmod(0o755)
    words = line.split(" ")
    script = f"""
        eval "$(makegood completion bash)"
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        _makegood_completion makegood
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=shell.folder,
        env=shell.environment(PATH=f"{command.parent}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_options_and_ids(shell: Shell) -> None:
    for name in ("trip-1", "trip-2", "other"):
        shell.ok("submit", "app.py:book_trip", '{"who": "ann"}', "--id", name)
    assert completed(shell, "makegood wh") == ["why"]
    assert completed(shell, "makegood list --st") == ["--state", "--store"]
    assert completed(shell, "makegood why tr") == ["trip-2", "trip-1"]
    assert completed(shell, "makegood --store sqlite:///none.db why tr") == []
    assert not (shell.folder / "none.db").exists()


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(kind: str, shell: Shell) -> None:
    script = shell.ok("completion", kind)
    assert f"_MAKEGOOD_COMPLETE={kind}_complete" in script


def test_a_shell_that_is_not_known_is_refused(shell: Shell) -> None:
    said = shell.run("completion", "tcsh")
    assert said.code == 2
    assert shell.run("completion").err.startswith("error: Missing argument 'SHELL'. Choose from: bash,")
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in said.err
