"""Programs that both type checkers must refuse, at the marked lines and nowhere else."""

from dataclasses import dataclass

from makegood.authoring import Agent, PlanDefinition, build, parallel, plan, step
from makegood.core.document import Retry


@dataclass
class Trip:
    who: str


@dataclass
class Flight:
    confirmation: str
    seats: list[int]


agent = Agent("agent")
Agent("agent", timeout="10")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: a timeout is seconds or a timedelta
Agent("agent", retries=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: an agent has no such setting
Agent("agent", Retry())  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue]  # E: settings are given by name


def cancel(flight: Flight | None) -> None: ...


@agent.action(undo=cancel)
async def reserve(trip: Trip, seats: int = 1) -> Flight:
    return Flight(trip.who, [seats])


@agent.action(undo=cancel)
def reserve_sync(trip: Trip, *, seats: int) -> Flight:
    return Flight(trip.who, [seats])


@agent.action()  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]  # E: exactly one of undo, reads, pivot
def nothing_declared() -> None: ...


@agent.action(undo=None, reads=True)  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]  # E: exactly one of undo, reads, pivot
def two_declared() -> None: ...


@agent.action(reads=False)  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]  # E: reads is declared, or left out
def not_reads() -> None: ...


@agent.action(undo="cancel")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]  # E: an undo is a function
def undo_by_name() -> None: ...


@agent.action(undo=None, color="red")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]  # E: an action has no such option
def unknown_option() -> None: ...


@agent.action(undo=None, probe=5)  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]  # E: a probe is a function
def number_probe() -> None: ...


@agent.action  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]  # E: the declaration is missing
def bare() -> None: ...


@plan
def book(trip: Trip) -> str:
    step(reserve)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]  # E: an argument is missing
    step(reserve, 17)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: an argument of another type
    step(reserve, trip, seats="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: the same, by name
    step(reserve, trip, seat=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # E: no such parameter
    step(reserve, trip, 2, 3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]  # E: too many arguments
    step(reserve_sync, trip)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]  # E: an argument is missing
    step(reserve_sync, trip, 2)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]  # E: the parameter is given by name only
    step(trip)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: no action at all
    step.options(name=5)(reserve, trip)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: a name is a string
    step.options(tries=5)(reserve, trip)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: a step has no such option
    step.options(name="x")(reserve)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]  # E: an argument is missing
    flight = step(reserve, trip)
    step(reserve, flight)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: a result of another type
    step(reserve, trip, flight.confirmation)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: a part of another type
    step(reserve, trip, flight.seat)  # type: ignore[attr-defined, call-overload]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]  # E: no such part
    step(reserve, build(Trip, whom="x"))  # type: ignore[call-arg, call-overload]  # pyright: ignore[reportCallIssue]  # E: a model has no such field
    step(reserve, build(Trip, who=flight.seats))  # type: ignore[arg-type, call-overload]  # pyright: ignore[reportArgumentType]  # E: a field of another type
    step(reserve, trip, build(Trip, who="x"))  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]  # E: a model of another type
    with parallel:  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]  # E: parallel is called
        step(reserve, trip)
    return flight.seats  # type: ignore[return-value]  # pyright: ignore[reportReturnType]  # E: the output is of another type


@plan  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]  # E: a plan takes one input or none
def two_inputs(one: int, other: int) -> None: ...


@plan("name")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]  # E: a plan's name is given by name
def named() -> None: ...


@plan(title="name")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]  # E: a plan has no such option
def titled() -> None: ...


book(Trip("ann"))  # type: ignore[operator]  # pyright: ignore[reportCallIssue]  # E: a plan is submitted, not called
wrong_input: PlanDefinition[Flight, str] = book  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # E: the input is a Trip
wrong_output: PlanDefinition[Trip, Flight] = book  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # E: the output is a str
