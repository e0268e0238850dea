"""`python -m makegood`, and the command `makegood`: the command line, to be interrupted at any moment."""

import sys
from importlib import import_module


def main() -> int:
    """Run one command; answers its exit code, 130 too where an interrupt comes before it is imported."""
    try:
        code: int = import_module("makegood.cli.main").main()
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
