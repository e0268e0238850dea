"""Three booking services, each a program of its own: `python flight.py --ledger flight.db`, and so on."""
