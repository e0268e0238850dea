"""Rehearsing a user's plan: every failure and crash at every call, in virtual time.

`cases` says what is tried, `stage` and `fakes` how services really are, `trial` plays one run, `judging` says
which promises it broke, `telling` how that came about; `report` gathers it all. `own` says which runs of a
user's own functions end it all: they went `outside`, or there are `mistakes` in them. `performance` is a run
that a test directs, `person` whoever acts in it.
"""
