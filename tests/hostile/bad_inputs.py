"""Bad inputs of the command line: one line each, with the exit code, the error, and what it must say.

Of the words the first name the thing, the next the reason, the last the way out (where a person has one: a
mistake in their own file is mended where its line is).
"""

from typing import NamedTuple

import click

from makegood.errors import (
    ActRefused,
    MakegoodError,
    PayloadError,
    PlanError,
    SchemaMismatch,
    StoreUnavailable,
    SubmissionConflict,
    UnknownTask,
)

MALFORMED, COULD_NOT = 2, 1
Usage = click.UsageError


class Bad(NamedTuple):
    """A command that must be refused."""

    command: list[str]
    code: int
    error: type[Exception]
    words: tuple[str, ...]
    stdin: bytes = b""


def _app(command: str, *words: str) -> Bad:
    return Bad(command.split(), MALFORMED, PlanError, words)


def _document(name: str, *words: str) -> Bad:
    return Bad(["check", f"{name}.json", "app.py"], MALFORMED, PlanError, (f"error: {name}.json: ", *words))


def _input(given: str, *words: str, stdin: bytes = b"") -> Bad:
    return Bad(["submit", "app.py:book_trip", "--", given], MALFORMED, PayloadError, words, stdin)


def _usage(command: str, *words: str) -> Bad:
    return Bad(command.split(), MALFORMED, Usage, (*words, " --help`"))


def _option(option: str, error: type[Exception], *words: str) -> Bad:
    command = ["submit", "app.py:book_trip", '{"who":"ann"}', *option.split(" ")]
    return Bad(command, MALFORMED, error, words)


def _could_not(command: str, error: type[Exception], *words: str) -> Bad:
    return Bad(command.split(), COULD_NOT, error, words)


def _no_store(url: str, *words: str) -> Bad:
    return Bad(["list", "--store", url], MALFORMED, Usage, (*words, " --help`"))


def _store(url: str, error: type[Exception], *words: str, command: str = "list") -> Bad:
    return Bad([*command.split(), "--store", url], COULD_NOT, error, words)


BAD: dict[str, Bad] = {
    # --- an APP that cannot be used: the reason, and lines of the user's own files
    "syntax error": _app(
        "check syntax.py", "syntax.py cannot be", "SyntaxError: invalid syntax", "syntax.py:2"
    ),
    "indentation": _app("up indent.py", "indent.py cannot be imported", "IndentationError", "indent.py:2"),
    "missing library": _app("up dependency.py", "No module named 'absent_library'", "dependency.py:1 in"),
    "broken library": _app("up uses_library.py", "needs libfoo", "uses_library.py:1 in", "library.py:1 in"),
    "exception at import": _app(
        "up fails.py", "ZeroDivisionError", "fails.py:4 in <module>", "fails.py:2 in f"
    ),
    "variable not set": _app("up wants_token.py", "KeyError: 'TOKEN_OF_THE_SHOP'", "wants_token.py:2 in"),
    "error of many lines": _app("up wordy.py", "ValueError: one two Traceback", "wordy.py:1 in <module>"),
    "recursion at import": _app("up endless.py", "RecursionError", "endless.py:2 in f, ", " times"),
    "exit at import": _app(
        "up leaves.py", "leaves.py ends", "(set a token first)", 'below `if __name__ == "__main'
    ),
    "exit in silence": _app("up leaves_early.py", "ends the program when imported;", "leaves_early.py:1 in"),
    "circular import": _app(
        "up circle.py", "cannot import name 'x'", "move what both need into a third", "too.py:1"
    ),
    "name not there": _app(
        "up misses_a_name.py", "cannot import name 'nothing_there' from 'app'", "name.py:1 in"
    ),
    "prints, no such plan": _app(
        "submit prints.py:nope {}", "prints.py has no plan 'nope'; its plans: book_trip"
    ),
    "nothing in it": _app("up empty.py", "empty.py: no agent and no plan", "define them at the top level"),
    "no agent": _app("up plans_only.py", "plans_only.py: no Agent is found there", "name an app with one"),
    "no plan": _app("check agents_only.py", "agents_only.py: no plan is found", "name an app with one"),
    "no plan to submit": _app(
        "submit agents_only.py:book 5", "agents_only.py has no plan 'book'", "its plans: none"
    ),
    "no plan named": _app(
        "submit app.py {}", "app.py: which plan?", "Write APP:PLAN", "its plans: book_trip, rent_car"
    ),
    "two of a name": _app(
        "up two_of_a_name.py", "two different agents are called 'one'", "give one another name"
    ),
    "no such attribute": _app("up app.py:nope", "app.py has no 'nope'", "in it: flights, cars, book_trip"),
    "wrong attribute": _app(
        "up five.py:five", "five.py:five: 5 is no agent", "agents and plans in it: flights"
    ),
    "wrong thing in a list": _app("up five.py:fives", "five.py:fives: 5 is no agent", "plans in it: flights"),
    "a folder": _app("up folder.py", "folder.py: this is a folder", "name a file in it"),
    "the folder itself": _app("up .", "'.' is neither a module's name", "nor a path that ends in .py"),
    "no such file": _app("up none.py", "none.py: there is no such file", "run this where it lies"),
    "no such module": _app(
        "up none.at.all", "there is no module 'none'", "run this where it lies, or install it"
    ),
    "not Python": _app("up notes.txt", "notes.txt: ", "the name of a Python file ends in .py"),
    "inside a package": _app("up pkg/inner.py", "attempted relative import", "as a module: package.module"),
    "rehearse: no such stage": _app(
        "rehearse app.py:rent_car --stage none.py", "none.py: there is no such file"
    ),
    "audit: nothing listed": _app(
        "audit --with app.py", "app.py: no action", "lists=...", "leave out --with"
    ),
    # --- agents and plans in it that could not keep the promises
    "negative timeout": _app("up negative.py", "negative.py:2: agent one: timeout", "must be above 0"),
    "timeout of the wrong type": _app("up timeout.py", "agent one: timeout= takes", "as in timeout=30"),
    "retry of the wrong type": _app("up retry.py", "retry.py:2: agent one", "as in retry=Retry(attempts=3)"),
    "unknown setting": _app("up unknown_setting.py", "agent one has no setting 'retries'", "it has timeout,"),
    "no way back": _app(
        "up no_way_back.py", "no_way_back.py:2", "could strand a half-state", "exactly one of"
    ),
    "type without JSON": _app("up hint.py", "parameter 'x' of f: type complex", "use a dataclass"),
    "undo is text": _app("up undo_is_text.py", "undo of f: 'cancel' is no plain function", "write a def"),
    "plan that branches": _app("check plan_branches.py", "plan_branches.py:4", "known only when a task runs"),
    "plan with a typo": _app(
        "check plan_mistypes.py", "which has no field 'nope'", "its fields: who, car, undo"
    ),
    "async plan": _app("check plan_async.py", "plan p is async", "write def"),
    "plan without steps": _app("check plan_empty.py", "plan p records no step", "write step(action, ...)"),
    "plan that fails": _app(
        "check plan_fails.py", "plan_fails.py cannot be imported: KeyError: 'rate'", "in p"
    ),
    "step outside": _app("check outside.py", "outside.py:2: step() stands outside", "decorated with @plan"),
    # --- plan documents
    "cycle": _document(
        "cycle", "step 'a' refers to the result of 'b'", "use the input and steps that stand before"
    ),
    "forward reference": _document("forward", "step 'a' refers to", "which has not ended before it"),
    "reference to itself": _document("itself", "step 'a' refers to the result of 'a'", "stand before it"),
    "reference to a sibling": _document("sibling", "step 'b' refers to", "not a sibling branch"),
    "unknown action": _document("unknown-action", "car-agent has no action 'fly'", "it has reserve_car"),
    "unknown agent": _document(
        "unknown-agent", "no agent 'moon-agent' is given", "given: flight-agent, car-agent"
    ),
    "unknown undo": _document("unknown-undo", "the undo 'cancel_moon' is unknown", "is 'cancel_car'"),
    "unknown argument": _document("unknown-argument", "takes no 'seat'", "it takes trip"),
    "missing argument": _document("missing-argument", "argument 'trip'", "is missing; add it to args"),
    "unknown key": _document("unknown-key", "body.series[0]", "unknown field `retries`"),
    "unknown key at the top": _document(
        "unknown-key-at-the-top", "unknown key 'steps'", "known here: body, format"
    ),
    "unknown kind": _document(
        "unknown-kind", "body: it has 'loop', and none of 'step'", "'series', 'parallel'"
    ),
    "wrong type in a step": _document(
        "wrong-type", "body.series[0]", "Expected `float`, got `str`", "timeout"
    ),
    "format to come": _document(
        "format-to-come", "format 2 is not known here", "this version reads format 1"
    ),
    "two pivots": _document("two-pivots", "step 'b' is a second pivot", "at most one"),
    "no way back, written": _document(
        "no-way-back", "step 'a' could strand a half-state", "exactly one of undo"
    ),
    "a name twice": _document("name-twice", "step 'a' is used twice", "name one of them"),
    "a reserved name": _document("reserved-name", "step 'undo': the name is reserved", "choose another"),
    "no steps": _document("no-steps", "body.series", "a list with at least one part"),
    "no body": _document("no-body", "'body' is missing", 'give it {"series": [...]}'),
    "no object": _document("no-object", "expected an object with 'plan' and 'body'"),
    "a key twice": _document("doubled-key", "the key 'plan' stands twice", "keep one of them"),
    "too deep": _document("too-deep", "nested more than 64 deep", "make it flatter"),
    "too large": _document("too-large", "it may have 1,048,576", "give large values in the task's input"),
    "no JSON": _document("no-json", "not JSON", "object keys must be strings"),
    "binary": _document("binary", "not JSON", "invalid character"),
    "document not there": _document("nowhere", "No such file", "name a file with a plan document in it"),
    # --- inputs and results
    "malformed": _input("{who: ann}", "INPUT: JSON is malformed", "in a shell, put it in single quotes"),
    "a word": _input("Ada Lovelace", "INPUT: JSON is malformed", "a text is written '\"Ada Lovelace\"'"),
    "half of it": _input('{"who":', "INPUT: JSON is malformed: it ends in the middle", "single quotes"),
    "nothing": _input("", "INPUT: it is empty", "give JSON"),
    "wrong type": _input('{"who":7}', "input.who: ", "Expected `str`, got `int`"),
    "null": _input('{"who":null}', "input.who: ", "Expected `str`, got `null`"),
    "a list": _input("[]", "input: ", "Expected `object`, got `array`"),
    "missing field": _input("{}", "input: ", "missing required field `who`"),
    "unknown field": _input(
        '{"who":"a","hwo":"b"}', "input.hwo: ", "takes no such field", "correct its name"
    ),
    "a field twice": _input('{"who":"a","who":"b"}', "INPUT: ", "the key 'who' stands twice", "keep one"),
    "too large a number": _input('{"who":1e400}', "INPUT: a number in it is too large", "4,300 digits"),
    "not a number": _input('{"who":NaN}', "INPUT: JSON is malformed", "NaN and infinity have no JSON"),
    "nan alone": _input("NaN", "NaN and infinity have no JSON", "give null, or leave it out"),
    "nan in a text": _input(
        "my nan says", "INPUT: JSON is malformed: invalid character", "a text is written"
    ),
    "deep": _input("-", "INPUT: it is nested too deeply", "make it flatter", stdin=b"[" * 100_000),
    "not UTF-8": _input('{"who":"\udcff"}', "INPUT: ", "it is not valid UTF-8; save it as that"),
    "half a surrogate pair": _input('{"who":"\\ud800"}', "INPUT: ", "surrogate"),
    "file not there": _input("@none.json", "'none.json': No such file", "@ stands before the name of a file"),
    "file is a folder": _input("@pkg", "'pkg': Is a directory", "@ stands before the name of a file"),
    "file is binary": _input("@binary.json", "INPUT: JSON is malformed", "invalid character"),
    "input too large": _input(
        "@too-large-an-input", "input takes 2,0", "a payload may take", "pass its address"
    ),
    "file too large": _input(
        "@far-too-large", "INPUT has more than", "a payload may take", "pass its address"
    ),
    "stdin empty": _input("-", "INPUT: it is empty", "give JSON"),
    "stdin malformed": _input("-", "INPUT: ", "it ends in the middle", stdin=b'{"who":"a'),
    "rehearse: input": Bad(
        ["rehearse", "app.py:book_trip", "--input", '{"who":7}'],
        MALFORMED,
        PayloadError,
        ("input.who: ", "Expected `str`"),
    ),
    "result malformed": Bad(
        ["skip", "waiting", "reserve_car", "--result", "{"],
        MALFORMED,
        PayloadError,
        ("--result: ", "it ends in the middle", "single quotes"),
    ),
    "result not there": Bad(
        ["resolve", "parked", "reserve_car", "done", "--result", "@none"],
        MALFORMED,
        PayloadError,
        ("--result: 'none': No such file", "@ stands before"),
    ),
    "result too large": Bad(
        ["resolve", "parked", "reserve_car", "done", "--result", "@too-large-an-input"],
        MALFORMED,
        PayloadError,
        ("result takes 2,0", "a payload may take", "pass its address"),
    ),
    "demo: malformed trips": Bad(
        ["demo", "--trips-file", "bad-trips"],
        MALFORMED,
        PayloadError,
        ("trips file bad-trips, line 1: ", "truncated"),
    ),
    "no seal": Bad(
        ["audit", "--against", "bad-trips"],
        MALFORMED,
        PayloadError,
        ("bad-trips, line 1: ", "name a file that `makegood audit --seal` made"),
    ),
    # --- the terms of a submission, options, and the command itself
    "bad id": _option("--id a/b", PlanError, "task id 'a/b'", "an id has 1 to 100 letters"),
    "empty id": _option("--id ", PlanError, "task id ''", "an id has 1 to 100 letters"),
    "negative deadline": _option("--deadline -1", Usage, "'--deadline'", "-1.0 is not in the range", "x>0"),
    "endless deadline": _option("--deadline inf", PlanError, "a deadline", "below 1e9", "not inf"),
    "deadline in words": _option(
        "--deadline soon", Usage, "'--deadline'", "'soon' is no length of time", "write 90s"
    ),
    "tag without value": _option("--tag colour", Usage, "--tag 'colour' is not K=V"),
    "tag twice": _option("--tag a=1 --tag a=2", Usage, "--tag a stands twice", "keep one"),
    "tag that is no text": _option("--tag a=\udcff", Usage, "'--tag'", "is not valid UTF-8", "give text"),
    "start in words": _option("--start-at noon", Usage, "'noon' is no moment", "write 2027-01-31T08:00:00Z"),
    "start without a zone": _option("--start-at 2030-01-01T00:00", Usage, "has no time zone", "add Z or"),
    "filter by nothing": _usage("list --where colour=red", "'colour=red' is nothing to choose tasks by"),
    "filter that is no text": _usage("list --where plan=\udcff", "is not text", "in Unicode"),
    "timeout alone": _option("--timeout 1", Usage, "--timeout is for --wait"),
    "no input": _usage("submit app.py:book_trip", "plan book_trip takes an input", "INPUT is missing"),
    "one too many": _usage("show a b", "unexpected extra argument", "(b)"),
    "no id": _usage("show", "Missing argument 'ID'"),
    "unknown command": _usage("frob", "No such command 'frob'"),
    "unknown option": _usage("list --frob", "No such option '--frob'"),
    "unknown state": _usage("list --state odd", "'--state'", "'odd' is no state of a task"),
    "no limit": _usage("list --limit 0", "'--limit'", "0 is not in the range"),
    "plan that is no text": _usage("list --plan \udcff", "'--plan'", "is not valid UTF-8"),
    "unknown format": _usage(
        "graph app.py:book_trip --format png", "'--format'", "'png' is not one of 'text'"
    ),
    "output of no format": _usage(
        "graph app.py:book_trip --output p.png", "p.png: .png says no format", "end it in .svg, .mmd,"
    ),
    "no page": _usage("list --after xyz", "--after: 'xyz' is no page's `next`", "leave it out"),
    "output is a folder": _usage("graph app.py:book_trip --output pkg", "'--output'", "'pkg' is a directory"),
    "unknown verdict": _usage("resolve parked reserve_car maybe", "'maybe' is not one of 'done', 'absent'"),
    "unknown shell": _usage("completion csh", "'csh' is not one of 'bash'"),
    "nobody's act": Bad(
        ["cancel", "waiting", "--by", " "], 2, Usage, ("recorded with who ordered it", "give a name")
    ),
    "an act's name is no text": _usage("cancel waiting --by \udcff", "'--by'", "is not valid UTF-8"),
    "an act's reason is no text": _usage("cancel waiting --why \udcff", "'--why'", "is not valid UTF-8"),
    # --- what is well formed and could not be done
    **{
        f"unknown task: {command}": _could_not(
            f"{command} nope{more}", UnknownTask, "no task 'nope'", "in this store", "`makegood list` shows"
        )
        for command, more in [
            *(
                (each, "")
                for each in ("show", "history", "why", "watch", "audit", "cancel", "pause", "resume")
            ),
            *(("retry", " reserve_car"), ("skip", " reserve_car"), ("resolve", " reserve_car done")),
        ]
    },
    "unknown step": _could_not(
        "retry waiting nope", ActRefused, "has no step 'nope'", "it has reserve_flight,"
    ),
    "cancel what is done": _could_not("cancel completed", ActRefused, "task completed: it is Completed"),
    "pause what is done": _could_not("pause completed", ActRefused, "task completed: it has ended"),
    "retry what is undone": _could_not("retry undone", ActRefused, "task undone: it has ended"),
    "retry what is not due": _could_not(
        "retry parked", ActRefused, "no step of it waits", "`makegood why` says"
    ),
    "skip without result": _could_not(
        "skip waiting reserve_flight",
        ActRefused,
        "step reserve_flight",
        "a later step, or the plan's output, uses its result",
        "give it (CLI",
    ),
    "skip what is in doubt": _could_not(
        "skip parked reserve_car", ActRefused, "step reserve_car", "only what certainly had no effect"
    ),
    "resolve what is not in doubt": _could_not(
        "resolve waiting reserve_car done", ActRefused, "has not begun", "does not wait for a person's word"
    ),
    "resolve as what it is not": _could_not(
        "resolve parked reserve_car undone",
        ActRefused,
        "reserve_car is in doubt",
        "resolve it as done or absent",
    ),
    "id taken: input": Bad(
        ["submit", "app.py:book_trip", '{"who":"bob"}', "--id", "waiting"],
        COULD_NOT,
        SubmissionConflict,
        ("task 'waiting' is there already", "differs at input.who", "choose another id"),
    ),
    "id taken: plan": Bad(
        ["submit", "app.py:rent_car", '{"who":"ann"}', "--id", "waiting"],
        COULD_NOT,
        SubmissionConflict,
        ("task 'waiting' is there already", "with plan 'book_trip'", "choose another id"),
    ),
    "picture in no folder": _could_not(
        "graph app.py:book_trip --output none/p.svg",
        MakegoodError,
        "none/p.svg: No such file",
        "that can be written",
    ),
    "seal there already": _could_not(
        "audit --seal notes.txt", MakegoodError, "notes.txt is there", "name a new file"
    ),
    "seal in no folder": _could_not(
        "audit --seal none/s", MakegoodError, "none/s: No such file", "can be written"
    ),
    "seal not there": _could_not(
        "audit --against none", MakegoodError, "none: No such file", "name a file that"
    ),
    # --- stores
    "no store there": _store(
        "sqlite:///none.db", StoreUnavailable, "no store none.db", "name another", "make it"
    ),
    "in no folder": _store(
        "sqlite:///none/x.db",
        StoreUnavailable,
        "x.db: there is no folder",
        "create it first",
        command="up app.py",
    ),
    "a folder as a store": _store(
        "sqlite:///pkg", StoreUnavailable, "pkg: this is a folder", "name a file in it"
    ),
    "below a file": _store(
        "sqlite:///app.py/x.db",
        StoreUnavailable,
        "app.py is a file, not a folder",
        "name another",
        command="migrate",
    ),
    "not writable": _store(
        "sqlite:////proc/x.db",
        StoreUnavailable,
        "/proc/x.db: ",
        "let this user write the file",
        command="up app.py",
    ),
    "not a database": _store(
        "sqlite:///text.db", SchemaMismatch, "text.db is not a SQLite file", "name another one"
    ),
    "not makegood's": _store(
        "sqlite:///foreign.db", SchemaMismatch, "but not makegood's", "name another one"
    ),
    "cut off": _store("sqlite:///cut.db", SchemaMismatch, "cut.db", "name another one"),
    "newer schema": _store(
        "sqlite:///newer.db", SchemaMismatch, "a newer makegood", "0099_later", "upgrade makegood"
    ),
    "another build's": _store(
        "sqlite:///altered.db", SchemaMismatch, "made by another build", "start on a new store"
    ),
    "unknown scheme": _no_store("redis://x", "redis: names no store", "makegood knows sqlite:///"),
    "no driver": _no_store("postgresql://ann:s3same@h/d", "not in this version", "it knows sqlite:///"),
    "a path only": _no_store("makegood.db", "makegood.db names no store", "makegood knows sqlite:///"),
    "no file named": _no_store("sqlite:///", "'sqlite:///' names no file", "write sqlite:///relative.db"),
    "in memory": _no_store("memory:", "(memory:) ends with the command", "name a file, as in sqlite:///"),
    "in memory, as a file": _no_store("sqlite:///:memory:", "ends with the command", "name a file"),
    "newer schema: submit": Bad(
        ["submit", "app.py:book_trip", '{"who":"ann"}', "--store", "sqlite:///newer.db"],
        COULD_NOT,
        SchemaMismatch,
        ("a newer makegood", "upgrade makegood"),
    ),
    "newer schema: up": _store(
        "sqlite:///newer.db", SchemaMismatch, "a newer makegood", "upgrade makegood", command="up app.py"
    ),
    "newer schema: migrate": _store(
        "sqlite:///newer.db", SchemaMismatch, "a newer makegood", "upgrade makegood", command="migrate"
    ),
}

ENTERED = ["submit", "app.py:book_trip"]
NEW_STORE = [name for name, bad in BAD.items() if bad.command[:2] == ENTERED and bad.code == MALFORMED]
"""What is refused although there is no store yet, which then must not be made."""
