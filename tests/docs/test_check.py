"""docs/check.md tells of every line of the doctor."""

import ast
import re

from tools.site import ROOT

HEALTH = ROOT / "src" / "makegood" / "health"
LINES = {"ok", "warn", "broken", "tell"}
"""What makes a line of the doctor; its first argument is what the line is about."""


def test_every_line_of_the_doctor_is_in_the_table() -> None:
    calls = [
        call
        for path in HEALTH.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in LINES
    ]
    made = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    page = (ROOT / "docs" / "check.md").read_text("utf-8")
    table = page.partition("| line | looks at |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    assert made == {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
