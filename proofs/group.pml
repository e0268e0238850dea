/* A plan with a group, forward and back, with undos that fail:

       first, then side by side { left }, { middle } and { right, then rest }, then last

   Every decision of the core is one write (core/lanes.py), so it is atomic here; calls are under way for as
   long as they like. The task may turn at any moment; a call may be refused (REFUSALS times), may end in
   doubt, to be undone as if it had happened (LOSSES), or in a doubt that only a person can settle, as may an
   undo (STICKS); a person then says what is true, or has the undo tried again (ACTS). What is under way when
   the task turns, or is to park, goes on, and its report counts.

   Must hold: nothing is undone that was not called or was refused, nor before all that stands after it in the
   plan is through, nor while a forward call is open; no forward call is claimed after the turn, no call at
   all once the task is to park; COMPLETED: all is in effect; COMPENSATED: nothing is; FAILED: nothing is
   under way, and the record admits what may be in effect; and the task comes to one of these. */

/* The guards */
#ifndef REVERSE                 /* undo in the reverse of the plan's structure: lanes._backward */
#define REVERSE 1
#endif
#ifndef OPEN_CALLS_FIRST        /* no undo while a forward call is open: lanes._backward */
#define OPEN_CALLS_FIRST 1
#endif
#ifndef TURN_HOLDS              /* no forward claim after the turn: reports.claimed, lanes.give_up */
#define TURN_HOLDS 1
#endif
#ifndef PARK_STARTS_NOTHING     /* no call is claimed once the task is to park: lanes.may_start */
#define PARK_STARTS_NOTHING 1
#endif
#ifndef PARK_WAITS              /* it parks once nothing is under way: lanes._park */
#define PARK_WAITS 1
#endif
#ifndef STUCK_PARKS             /* an undo that cannot be finished is none: remedy._undo_remedy */
#define STUCK_PARKS 1
#endif
#ifndef ONLY_CALLED             /* what was never called, or refused, is not undone: lanes._unwind */
#define ONLY_CALLED 1
#endif
#ifndef FEARED_TOO              /* what may have happened is undone like what did: lanes._unwind */
#define FEARED_TOO 1
#endif

/* To be refuted: that branches are undone one after the other. */
#ifndef ALONE
#define ALONE 0
#endif

/* The bounds */
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef STICKS
#define STICKS 1
#endif
#ifndef ACTS
#define ACTS 1
#endif

#define STEPS  6
#define FIRST  0
#define LEFT   1
#define MIDDLE 2
#define RIGHT  3
#define REST   4
#define LAST   5
#define bit(step) (1 << (step))

mtype = { RUNNING, COMPENSATING, COMPLETED, COMPENSATED, FAILED };
mtype = { IDLE, CALLED, DONE, REFUSED, UNKNOWN, DOUBT, UNDO_CALLED, UNDONE, UNDO_STUCK };

/* The record: the task, and a phase for each step */
mtype state = RUNNING;
mtype phase[STEPS] = IDLE;
bool back;

/* The services: what is in effect, and what was ever called, a bit for each step */
byte effects, called, refusals, losses, sticks, acts;

#define IN(step, a)            (phase[step] == a)
#define TO_BE_UNDONE(step)     (IN(step, DONE) || (FEARED_TOO && IN(step, UNKNOWN)) || \
                                (!ONLY_CALLED && (IN(step, IDLE) || IN(step, REFUSED))))
#define OPEN(step)             (IN(step, CALLED) || IN(step, UNDO_CALLED))
#define ASKS_A_PERSON(step)    (IN(step, DOUBT) || IN(step, UNDO_STUCK))
#define UNFINISHED(step)       (OPEN(step) || ASKS_A_PERSON(step) || TO_BE_UNDONE(step))
#define GROUP(what)            (what(LEFT) || what(MIDDLE) || what(RIGHT) || what(REST))
#define ANY(what)              (what(FIRST) || GROUP(what) || what(LAST))
#define FORWARD_OPEN(step)     IN(step, CALLED)
#define BLOCKED                ANY(ASKS_A_PERSON)

/* The plan: what must be done before a step is called, and what stands after it */
#define READY(step)            (step == FIRST || \
                                ((step == LEFT || step == MIDDLE || step == RIGHT) && IN(FIRST, DONE)) || \
                                (step == REST && IN(RIGHT, DONE)) || \
                                (step == LAST && IN(LEFT, DONE) && IN(MIDDLE, DONE) && IN(REST, DONE)))
#define AFTER_THROUGH(step)    ((step == LAST || !UNFINISHED(LAST)) && \
                                (step != RIGHT || !UNFINISHED(REST)) && \
                                (step != FIRST || !GROUP(UNFINISHED)))
#define BEFORE_THROUGH(step)   ((step == FIRST || !UNFINISHED(FIRST)) && \
                                (step != REST || !UNFINISHED(RIGHT)) && \
                                (step != LAST || !GROUP(UNFINISHED)))

/* --- the core: lanes */

inline advance() {
  if
  :: state != RUNNING && state != COMPENSATING
  :: (state == RUNNING || state == COMPENSATING) && BLOCKED ->
     if :: !PARK_WAITS || !ANY(OPEN) -> state = FAILED :: else fi
  :: !BLOCKED && state == RUNNING && IN(LAST, DONE) -> state = COMPLETED
  :: !BLOCKED && state == COMPENSATING && !ANY(UNFINISHED) -> state = COMPENSATED
  :: else
  fi
}

inline turn() {
  back = true;
  if :: state == RUNNING -> state = COMPENSATING :: else fi
}

#define MAY_START     (!PARK_STARTS_NOTHING || !BLOCKED)
#define MAY_DO(me)    (IN(me, IDLE) && READY(me) && MAY_START && \
                       (state == RUNNING || (state == COMPENSATING && !TURN_HOLDS)))
#define MAY_UNDO(me)  (TO_BE_UNDONE(me) && MAY_START && state == COMPENSATING && \
                       (!OPEN_CALLS_FIRST || !ANY(FORWARD_OPEN)) && \
                       (REVERSE -> AFTER_THROUGH(me) : BEFORE_THROUGH(me)))

/* --- one step: its call, and the call that undoes it */

inline claim_do(me) {
  assert(!back && !BLOCKED);
  phase[me] = CALLED; called = called | bit(me)
}

inline claim_undo(me) {
  assert((called & bit(me)) && !IN(me, REFUSED));
  assert(AFTER_THROUGH(me) && !ANY(FORWARD_OPEN) && !BLOCKED);
  assert(!ALONE || !ANY(OPEN));
  phase[me] = UNDO_CALLED
}

inline in_doubt(me) {
  if
  :: losses < LOSSES -> losses++; phase[me] = UNKNOWN; turn()
  :: sticks < STICKS -> sticks++; phase[me] = DOUBT
  fi
}

proctype Step(byte me) {
end: do
  :: atomic { MAY_DO(me) -> claim_do(me) };
     if
     :: effects = effects | bit(me);
        if
        :: atomic { phase[me] = DONE; advance() }
        :: atomic { in_doubt(me); advance() }
        fi
     :: atomic { in_doubt(me); advance() }
     :: atomic { refusals < REFUSALS -> refusals++; phase[me] = REFUSED; turn(); advance() }
     fi
  :: atomic { MAY_UNDO(me) -> claim_undo(me) };
     if
     :: effects = effects & ~bit(me);
        atomic { phase[me] = UNDONE; advance() }
     :: atomic { sticks < STICKS -> sticks++;
          phase[me] = (STUCK_PARKS -> UNDO_STUCK : UNDONE);
          advance() }
     fi
  od
}

active proctype Turn() {                /* a cancel or a deadline, at any moment, or never */
  if
  :: atomic { state == RUNNING -> turn(); advance() }
  :: skip
  fi
}

inline settle(step) {                   /* a person found out what is true, or has the undo tried again */
  if
  :: IN(step, DOUBT) && (effects & bit(step)) -> phase[step] = DONE
  :: IN(step, DOUBT) && !(effects & bit(step)) -> phase[step] = REFUSED; back = true
  :: IN(step, UNDO_STUCK) -> phase[step] = DONE
  :: else
  fi
}

active proctype Person() {
end: do
  :: atomic { state == FAILED && acts < ACTS -> acts++;
       settle(FIRST); settle(LEFT); settle(MIDDLE); settle(RIGHT); settle(REST); settle(LAST);
       state = (back -> COMPENSATING : RUNNING);
       advance() }
  od
}

active proctype Parked() {
end: atomic { state == FAILED && ANY(OPEN) -> assert(false) }
}

init {
  atomic {
    run Step(FIRST); run Step(LEFT); run Step(MIDDLE); run Step(RIGHT); run Step(REST); run Step(LAST)
  }
}

#define HIDDEN(step)  ((effects & bit(step)) && !IN(step, DONE) && !IN(step, UNKNOWN) && !ASKS_A_PERSON(step))

active proctype Settled() {
  timeout;                              /* nothing can move any more */
  assert(state == COMPLETED || state == COMPENSATED || state == FAILED);
  assert(state != COMPLETED || effects == bit(STEPS) - 1);
  assert(state != COMPENSATED || effects == 0);
  assert(state != FAILED || (BLOCKED && !ANY(HIDDEN)))
}
