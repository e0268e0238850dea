"""What a command's help shows below its options: how people use it."""

import click

EXAMPLES: dict[str, str] = {
    "up": """
        makegood up trip.py
        makegood up trip.py shop.orders --store sqlite:////srv/makegood.db
        makegood up trip.py --audit-every 3600
        makegood up trip.py --alert-command 'mail -s parked ops'
        makegood up trip.py --alert-url https://pager.example.org/parked
        """,
    "submit": """
        makegood submit trip.py:book_trip '"Ada Lovelace"'
        makegood submit trip.py:book_trip @trip.json --id trip-9f3a --tag team=ops
        makegood submit trip.py:book_trip - --wait --timeout 60 --json < trip.json
        makegood submit trip.py:book_trip @trip.json --start-at 2h --deadline 600
        makegood submit trip.py:book_trip --many trips.jsonl --tag day=monday
        """,
    "migrate": """
        makegood migrate
        makegood migrate --store sqlite:////srv/makegood.db
        """,
    "demo": """
        makegood demo
        makegood demo --trips 100 --kills 10 --faults high
        makegood demo --no-keys  # the check at the end must find doubles
        """,
    "check": """
        makegood check trip.py
        makegood check trip.py --deadline 120
        makegood check agents.py book_trip.json --json
        """,
    "graph": """
        makegood graph trip.py:book_trip
        makegood graph trip.py:book_trip --output trip.svg
        makegood graph trip.py:book_trip --format mermaid
        makegood graph trip.py:book_trip --output trip.json
        """,
    "rehearse": """
        makegood rehearse trip.py:book_trip
        makegood rehearse trip.py:book_trip --input '"Ada Lovelace"' --pairs
        makegood rehearse trip.py:book_trip --stage in_truth.py --json
        """,
    "list": """
        makegood list --state Failed
        makegood list --plan book_trip --limit 1000
        makegood list --where tag.team=ops --where 'stuck>30m'
        makegood list --where 'error~timeout' --where 'age<2h'
        makegood list --json
        """,
    "show": """
        makegood show trip-9f3a
        makegood show trip-9f3a --json
        """,
    "history": """
        makegood history trip-9f3a
        makegood history trip-9f3a --limit 20
        makegood history trip-9f3a --json
        """,
    "why": """
        makegood why trip-9f3a
        makegood why trip-9f3a --json
        """,
    "audit": """
        makegood audit
        makegood audit trip-9f3a
        makegood audit --with trip.py
        makegood audit --seal monday.seal
        makegood audit --against monday.seal
        """,
    "watch": """
        makegood watch
        makegood watch --timeout 600 --json
        makegood watch trip-9f3a --timeout 60
        """,
    "cancel": """
        makegood cancel trip-9f3a
        makegood cancel trip-9f3a --by ada --why "changed plans"
        makegood cancel --where plan=book_trip --where 'age>3d' --dry-run
        """,
    "pause": """
        makegood pause trip-9f3a --why "the hotel is on the phone"
        """,
    "resume": """
        makegood resume trip-9f3a
        """,
    "retry": """
        makegood retry trip-9f3a
        makegood retry trip-9f3a reserve_hotel --why "their system is up again"
        makegood retry --where state=failed --where agent=hotel --count 12
        """,
    "skip": """
        makegood skip trip-9f3a reserve_car --result '"C-1"' --app app.py
        """,
    "resolve": """
        makegood resolve trip-9f3a reserve_car absent --why "asked them: no booking"
        makegood resolve trip-9f3a reserve_car done --result '"C-1"' --app app.py
        """,
    "agents": """
        makegood agents
        makegood agents --json
        """,
    "doctor": """
        makegood doctor
        makegood doctor --store sqlite:////srv/makegood.db --json
        makegood doctor --restored --by ada --why "the disk died on Monday"
        """,
    "completion": """
        makegood completion bash >> ~/.bashrc
        makegood completion zsh >> ~/.zshrc
        makegood completion fish > ~/.config/fish/completions/makegood.fish
        """,
}


def show_examples(command: click.Command) -> None:
    """Put a command's examples below its help, as they stand: a line is never folded."""
    lines = EXAMPLES.get(command.name or "", "").split("\n")
    told = "\n".join(f"  {line.strip()}" for line in lines if line.strip())
    command.epilog = f"\b\nExamples:\n{told}" if told else None
