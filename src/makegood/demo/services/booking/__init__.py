"""What the three booking services share: a ledger, the rules of a house, faults on command, HTTP.

    server.py   HTTP on 127.0.0.1, the control addresses, the command line
    faults.py   which call is hit by which fault, and what the client sees of it
    office.py   the rules: keys, tombstones, sold out, cancelling, looking up
    ledger.py   the SQLite file, with the schema in words
    call.py     a call as it came, an answer as it goes

Only the standard library is needed, and nothing here knows who calls: these are somebody else's services.
"""

from .faults import Fault
from .office import Service
from .server import run

__all__ = ["Fault", "Service", "run"]
