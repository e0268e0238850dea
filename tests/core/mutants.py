"""One-line mutants of the core: each breaks a promise, and each is killed by the test it names."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """In a file of the core, `line` becomes `instead`; the test `killer` must then fail.

    A killer is module:name, then what the test is given.
    """

    name: str
    file: str
    line: str
    instead: str
    killer: str


DOUBT, LANES, EVIDENCE, ACTS = (f"test_{name}:test_" for name in ("doubt", "lanes", "evidence", "acts"))
CORRECTING, RESTORING = "test_correcting:test_", "test_restoring:test_"
KEYS, RETRY, DUE = (f"test_{name}:test_" for name in ("keys", "retry", "due"))

MUTANTS = (
    Mutant(
        "attempts are compared with >=",
        "reports.py",
        "opened.attempt != event.attempt or phase not in HEARS",
        "opened.attempt < event.attempt or phase not in HEARS",
        EVIDENCE + "an_older_attempt_that_reports_done_casts_doubt_on_the_one_that_runs",
    ),
    Mutant(
        "a claim is not fenced",
        "reports.py",
        "if offered not in OFFERED or draft.head.open[event.step].attempt != event.attempt:",
        "if offered not in OFFERED:",
        LANES + "an_offer_is_void_once_it_is_claimed_withdrawn_or_numbered_otherwise",
    ),
    Mutant(
        "attempt numbers restart with the undo",
        "draft.py",
        "self.head.attempt += 1",
        "self.head.attempt = opened.attempt + 1",
        "test_walks:test_walks:0",
    ),
    Mutant(
        "a new key for every attempt",
        "remedy.py",
        "if opened.news is News.ABSENT:",
        "if opened.news is not News.NONE:",
        KEYS + "retries_keep_the_key_and_only_a_certain_end_begins_a_new_round",
    ),
    Mutant(
        "the key lacks the task",
        "keys.py",
        "{form.prefix}{task_id}-{step}",
        "{form.prefix}{step}",
        KEYS + "keys_read_as_documented",
    ),
    Mutant(
        "an undo has the key of its do",
        "keys.py",
        'plain += "-undo"',
        'plain += ""',
        DOUBT + "a_keyed_undo_is_repeated_at_once_with_the_same_key",
    ),
    Mutant(
        "a key lasts for ever",
        "doubt.py",
        "return step.keyed_for is None or now < opened.key_until",
        "return True",
        DOUBT + "past_its_duration_a_step_is_unkeyed",
    ),
    Mutant(
        "a retry counts on a key that has died meanwhile",
        "reports.py",
        "if doubt.key_died(offered, draft.head.open[event.step], draft.now):",
        "if False:",
        DOUBT + "a_planned_retry_is_not_made_once_its_key_may_be_forgotten",
    ),
    Mutant(
        "the wait-out before an undo is skipped",
        "doubt.py",
        "or step.probe or step.undo is None:\n        return Course.WAIT_OUT",
        "or step.probe or step.undo is None:\n        return Course.UNDO_BLIND",
        "test_model:test_what_the_model_proves_of_a_class_the_core_keeps:keyed",
    ),
    Mutant(
        "a tombstone is counted on where none is left",
        "doubt.py",
        "if step.tombstone and keyed(step, opened, now):",
        "if keyed(step, opened, now):",
        "test_model:test_what_the_model_proves_of_a_class_the_core_keeps:keyed",
    ),
    Mutant(
        "a call lives for its timeout and not for what may settle later",
        "plan.py",
        "return self.timeout + self.settle",
        "return self.timeout",
        "test_model:test_what_the_model_proves_of_a_class_the_core_keeps:probed",
    ),
    Mutant(
        "a wait-out ends by a clock this process did not watch",
        "remedy.py",
        "and overdue and step in waited:",
        "and overdue:",
        DOUBT + "without_keys_a_probe_is_asked_once_no_call_can_land_any_more",
    ),
    Mutant(
        "an unknown call of an unkeyed service is repeated",
        "doubt.py",
        "    return Course.WAIT_OUT if step.probe else Course.PARK\n\n\ndef out_of_tries",
        "    return Course.WAIT_OUT if step.probe else Course.RETRY\n\n\ndef out_of_tries",
        "test_model:test_what_the_model_proves_of_a_class_the_core_keeps:neither",
    ),
    Mutant(
        "a later refusal makes an unknown call certain",
        "reports.py",
        "opened.doubt |= event.reply is Reply.UNKNOWN",
        "opened.doubt = event.reply is Reply.UNKNOWN",
        DOUBT + "once_unknown_a_refusal_or_a_transient_failure_does_not_make_it_certain",
    ),
    Mutant(
        "a call that did not read its key is taken for keyed",
        "reports.py",
        "    opened.unkeyed |= not event.key_read\n    opened.doubt",
        "    opened.doubt",
        DOUBT + "a_call_that_did_not_read_its_key_is_treated_as_unkeyed",
    ),
    Mutant(
        "what surfaced at the check is undone with the old key",
        "remedy.py",
        "        _retry_undo(draft, step, jitter)\n        draft.new_round(step, Kind.UNDO)",
        "        _retry_undo(draft, step, jitter)",
        DOUBT + "what_surfaced_at_the_check_is_undone_again_under_a_new_key",
    ),
    Mutant(
        "undo in forward order",
        "lanes.py",
        "_unwind, reversed)",
        "_unwind, iter)",
        LANES + "a_refused_step_turns_the_task_and_what_was_done_is_undone_in_reverse",
    ),
    Mutant(
        "undo only what is done and forget what is feared",
        "record.py",
        "IN_EFFECT: Final = frozenset((P.DONE, P.SPOILED, P.UNKNOWN))",
        "IN_EFFECT: Final = frozenset((P.DONE, P.SPOILED))",
        DOUBT + "a_tombstone_lets_it_be_undone_at_once",
    ),
    Mutant(
        "undo what was never called",
        "lanes.py",
        "        draft.move(step, Phase.IDLE)",
        "        draft.move(step, Phase.UNKNOWN)",
        LANES + "a_cancel_stops_what_is_planned_and_lets_what_runs_report",
    ),
    Mutant(
        "the first undo does not wait for forward calls",
        "lanes.py",
        "    if _forward_open(draft):",
        "    if False:",
        LANES + "the_first_undo_waits_for_every_forward_call",
    ),
    Mutant(
        "an offer outlives the turn",
        "lanes.py",
        "if draft.marks[step] in (Phase.PLANNED, Phase.OFFERED):\n            give_up",
        "if draft.marks[step] == Phase.PLANNED:\n            give_up",
        LANES + "a_stop_in_the_same_change_wins_over_a_claim",
    ),
    Mutant(
        "a cancel turns a task whose pivot may have happened",
        "lanes.py",
        "if pivot_in_doubt(draft):",
        "if False:",
        LANES + "a_cancel_is_pending_while_the_pivot_may_have_happened_and_void_if_it_has",
    ),
    Mutant(
        "past the pivot a failed step turns the task",
        "lanes.py",
        "    if draft.head.pivoted:\n        draft.head.reason = reason",
        "    if False:\n        draft.head.reason = reason",
        LANES + "from_its_pivot_on_a_task_only_goes_on",
    ),
    Mutant(
        "a task parks while a call may still land",
        "lanes.py",
        "return phase in FLYING or (phase in ASKS_A_PERSON and opened.due > 0)",
        "return phase in FLYING",
        DOUBT + "with_neither_it_parks_and_never_before_the_call_has_landed",
    ),
    Mutant(
        "a planned retry does not keep a task from parking",
        "lanes.py",
        "if waits is not None and opened.landing:",
        "if waits is not None and False:",
        LANES + "a_planned_retry_lands_before_the_task_parks",
    ),
    Mutant(
        "what was left in effect passes for compensated",
        "lanes.py",
        "if Phase.LEFT in draft.marks:",
        "if False:",
        ACTS + "going_on_without_a_step_keeps_it_listed_until_it_is_settled",
    ),
    Mutant(
        "a late report overwrites a completed task",
        "evidence.py",
        "    if draft.head.state is TaskState.COMPLETED:\n        return",
        "    if False:\n        return",
        EVIDENCE + "evidence_changes_no_completed_task",
    ),
    Mutant(
        "evidence against a compensated task is only filed",
        "evidence.py",
        "        if event.reply in (Reply.DONE, Reply.SPOILED):\n            _proves_live(draft, event)",
        "        if event.reply in (Reply.DONE, Reply.SPOILED):\n            pass",
        EVIDENCE + "compensated_is_left_again_on_evidence_of_a_live_effect",
    ),
    Mutant(
        "a call cut off late is only filed",
        "evidence.py",
        "        elif event.reply is Reply.UNKNOWN:",
        "        elif False:",
        EVIDENCE + "a_call_cut_off_late_has_its_service_asked_again_once_it_has_landed",
    ),
    Mutant(
        "a doubled report answers for the next round of an undo",
        "draft.py",
        "            opened.attempt = 0",
        "            pass",
        EVIDENCE + "a_doubled_report_of_an_undo_does_not_answer_for_the_next_round",
    ),
    Mutant(
        "a person is believed while the call may still land",
        "resolving.py",
        "    if flies or opened.late > draft.now:",
        "    if opened.late > draft.now:",
        ACTS + "absent_is_not_believed_while_the_call_may_be_on_its_way",
    ),
    Mutant(
        "a look that a late call overtook is the last",
        "settling.py",
        "    if opened.late > seen_at and look_again",
        "    if opened.late < 0 and look_again",
        EVIDENCE + "an_undo_that_a_late_call_may_have_overtaken_is_not_the_last_look",
    ),
    Mutant(
        "a probe asked before a late call landed is believed",
        "reports.py",
        "    elif late > _called_at(draft, event.step):",
        "    elif late < 0:",
        EVIDENCE + "a_probe_asked_before_a_late_call_can_have_landed_is_asked_again",
    ),
    Mutant(
        "a second call is made while the first may have been sent late",
        "evidence.py",
        "    if phase in FORWARD_OPEN or phase == Phase.DOUBT:",
        "    if phase == Phase.DOUBT:",
        EVIDENCE + "no_second_call_is_made_while_the_first_may_have_been_sent_late",
    ),
    Mutant(
        "a person is believed while a call cut off late may land",
        "resolving.py",
        "    if flies or opened.late > draft.now:",
        "    if flies:",
        EVIDENCE + "a_person_s_absent_waits_for_a_call_that_was_cut_off_late",
    ),
    Mutant(
        "a blind undo is ordered again though its key is forgotten",
        "acts.py",
        "        if doubt.key_died(Phase.UNDO_PLANNED, opened, draft.now) and not plan.probe:",
        "        if False:",
        ACTS + "a_blind_undo_is_not_repeated_once_the_key_it_finds_its_effect_by_is_forgotten",
    ),
    Mutant(
        "the next round of a blind undo outlives the key it finds its effect by",
        "draft.py",
        "        if opened.fate != Phase.UNKNOWN or self.step(step).probe:",
        "        if True:",
        ACTS + "the_key_that_a_repeated_blind_undo_finds_its_effect_by_can_be_forgotten_before_it_is_made",
    ),
    Mutant(
        "an undo that was sent and failed is a person's",
        "resolving.py",
        "not (opened.first_at or opened.landing or opened.doubt)",
        "not (opened.landing or opened.doubt)",
        CORRECTING + "an_undo_about_to_be_called_or_called_before_is_no_persons",
    ),
    Mutant(
        "a result is corrected though a call was made of it",
        "resolving.py",
        "    return phase in ABOUT_TO_DO and not opened.first_at",
        "    return phase in ABOUT_TO_DO",
        CORRECTING + "a_result_that_a_call_was_made_of_stays",
    ),
    Mutant(
        "what never began in a backup was never called",
        "restoring.py",
        "head.beyond = draft.now, head.beyond or draft.forward",
        "head.beyond = draft.now, False",
        RESTORING + "what_the_backup_does_not_know_is_undone_as_far_as_the_task_may_have_come",
    ),
    Mutant(
        "what may have been done since a backup is skipped",
        "acts.py",
        "if phase == Phase.IDLE and draft.head.beyond and not step.reads:",
        "if False:",
        RESTORING + "nobody_skips_what_may_have_been_done",
    ),
    Mutant(
        "a retry before the start starts one step of the task",
        "acts.py",
        "    if planned > draft.now:",
        "    if False:",
        ACTS + "a_retry_before_the_start_starts_all_of_the_task",
    ),
    Mutant(
        "what was left is undone out of its turn",
        "acts.py",
        "if phase == Phase.LEFT and not lanes.its_turn(draft, step):",
        "if False:",
        RESTORING + "what_was_left_is_not_undone_before_what_came_after_it",
    ),
    Mutant(
        "a call cut off late is only filed where it is the latest",
        "reports.py",
        "            evidence.filed(draft, event)  # held lost",
        "            draft.facts.append(EvidenceFiled(event.step, event.attempt))  # held lost",
        EVIDENCE + "the_latest_call_too_may_be_cut_off_later_than_it_was_waited_for",
    ),
    Mutant(
        "a blind undo that was handed back forgets the life of its key",
        "reports.py",
        "opened.key_until if blind else 0",
        "0",
        CORRECTING + "a_blind_undo_handed_back_keeps_the_key_of_what_it_undoes",
    ),
    Mutant(
        "backoff without a cap",
        "retry.py",
        "return limit if seconds * 1000 >= limit else millis(seconds)",
        "return millis(seconds)",
        RETRY + "delays_double_up_to_the_cap",
    ),
    Mutant(
        "jitter takes away",
        "retry.py",
        "min(max(jitter, 0), JITTER_MAX)",
        "min(jitter, JITTER_MAX)",
        RETRY + "jitter_only_adds_and_at_most_a_quarter",
    ),
    Mutant(
        "one more attempt than the policy says",
        "remedy.py",
        "opened.retries + 1 < draft.step(step).retry.attempts",
        "opened.retries < draft.step(step).retry.attempts",
        RETRY + "a_step_is_called_as_often_as_its_policy_says_with_the_gaps_it_says",
    ),
    Mutant(
        "a deadline heard in vain is heard for ever",
        "remedy.py",
        "if draft.head.pivoted or draft.head.pending:",
        "if draft.head.pivoted:",
        LANES + "a_step_deadline_that_cannot_turn_the_task_is_announced_once",
    ),
    Mutant(
        "a record waits for nobody and nobody says so",
        "machine.py",
        "    raise NothingDue(",
        "    return None\n    raise NothingDue(",
        DUE + "none_is_refused_where_nobody_would_come",
    ),
)
