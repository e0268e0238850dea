"""Keys: one names one intended effect; the form its service wants never makes two of them one."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from makegood.core.document import KeyForm
from makegood.core.events import Answer, Reply, RetryAsked
from makegood.core.keys import derive_key
from makegood.core.record import Kind
from makegood.testing.shorthand import KEYED, PROBED, series, step
from tests.core.scripts import Bench

PLAIN = KeyForm()
TASK_IDS = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
STEPS = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_]{0,59}\Z").filter(lambda name: name != "undo")
EFFECTS = st.tuples(TASK_IDS, STEPS, st.sampled_from((Kind.DO, Kind.UNDO)), st.integers(1, 99))
FORMS = st.builds(
    KeyForm,
    prefix=st.sampled_from(("", "x-", "shop-eu-")),
    max_length=st.integers(24, 255),
    uuid=st.booleans(),
)


def test_keys_read_as_documented() -> None:
    assert derive_key("trip-9f3a", "reserve_flight", Kind.DO, 1, PLAIN) == "trip-9f3a-reserve_flight"
    assert derive_key("trip-9f3a", "reserve_flight", Kind.UNDO, 1, PLAIN) == "trip-9f3a-reserve_flight-undo"
    assert derive_key("trip-9f3a", "reserve_flight", Kind.UNDO, 2, PLAIN) == "trip-9f3a-reserve_flight-undo~2"
    assert derive_key("t", "a", Kind.DO, 1, KeyForm(prefix="shop-")) == "shop-t-a"


@given(st.sets(EFFECTS, min_size=2, max_size=6), FORMS)
def test_two_effects_never_share_a_key(effects: set[tuple[str, str, Kind, int]], form: KeyForm) -> None:
    keys = {derive_key(*effect, form) for effect in effects}
    assert len(keys) == len(effects)


@given(EFFECTS, FORMS)
def test_a_key_fits_its_service_and_is_the_same_every_time(
    effect: tuple[str, str, Kind, int], form: KeyForm
) -> None:
    key = derive_key(*effect, form)
    assert key == derive_key(*effect, form)
    assert len(key) <= (36 if form.uuid else form.max_length)
    assert form.uuid or key.startswith(form.prefix)


def test_a_prefix_that_leaves_no_room_makes_no_two_keys_one() -> None:
    """As a plan may have that was declared before that was refused."""
    forms = [KeyForm(prefix="a-shop-with-a-long-name-", max_length=length) for length in (16, 25, 30)]
    for form in forms:
        keys = {derive_key(f"t{n}", "a", Kind.DO, 1, form) for n in range(1_000)}
        assert len(keys) == 1_000
        assert max(map(len, keys)) <= form.max_length


def test_names_that_look_alike_stay_apart() -> None:
    names = ("a", "a-b", "a_b", "b", "a.b", "a-undo")
    steps = ("a", "b", "a_b", "b_undo", "a1")
    effects = list(product(names, steps, (Kind.DO, Kind.UNDO), (1, 2)))
    assert len({derive_key(*effect, PLAIN) for effect in effects}) == len(effects)


def test_retries_keep_the_key_and_only_a_certain_end_begins_a_new_round() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    keys = [offer.key for offer in bench.offers()] + [bench.opened("a").key]
    bench.report("a", Reply.TRANSIENT)
    bench.look()
    bench.call("a")
    keys.append(bench.opened("a").key)
    bench.report("a", Reply.UNKNOWN)
    bench.look()
    bench.tell(RetryAsked(-1, "ann"))
    bench.call("a")
    assert {*keys, bench.opened("a").key} - {""} == {"t-a"}
    bench = Bench(step("a", PROBED)).ends("a", Reply.UNKNOWN).wait_out().probed("a", Answer.ABSENT)
    assert bench.call("a").opened("a").key == "t-a~2"


def test_a_key_is_recorded_with_the_first_offer_of_its_round_and_never_again() -> None:
    bench = Bench(series(step("a", KEYED), step("b", KEYED)))
    seen = []
    for reply in (Reply.TRANSIENT, Reply.UNKNOWN, Reply.DONE):
        before = bench.head.attempt
        bench.call("a")
        seen += [offer.key for offer in bench.offers()]
        assert bench.head.attempt == before + 1
        bench.report("a", reply)
        bench.look()
    assert bench.head.rounds == {}
