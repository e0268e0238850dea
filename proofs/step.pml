/* One step of a task, its calls, and a service behind a network that delays, reorders and loses.

   A call in doubt is treated by the service's class (core/doubt.py, core/remedy.py): KEYED calls are repeated
   at once under the same key; where the undo leaves no TOMBSTONE it first waits until no call can land any
   more; an unkeyed service with a PROBE is asked after that wait; one with neither is left to a person. The
   lease of any call may end at any moment (EARLY times while the call lives, always once it is lost); the
   task may turn at any moment, also when the step is done; requests and answers get lost (FAULTS times); the
   service may say no (REFUSALS times); a process may freeze between its last check and its send (FREEZES
   times): the bound on a call's life, by which a wait-out ends, does not hold for such a call.

   Must hold: never a second effect; never stranded; DONE: it is there; UNDONE and ABSENT: it is not there; a
   person is asked only where the service offers neither keys nor a probe. */

/* The service's class as declared, and as it is */
#ifndef KEYED
#define KEYED 1
#endif
#ifndef TOMBSTONE
#define TOMBSTONE 0
#endif
#ifndef PROBE
#define PROBE 0
#endif
#ifndef HONOURS_KEYS
#define HONOURS_KEYS KEYED
#endif
#ifndef LEAVES_TOMBSTONES
#define LEAVES_TOMBSTONES TOMBSTONE
#endif

/* The guards */
#ifndef FENCE                   /* a report counts only with the record's attempt and lane: core/reports.py */
#define FENCE 1
#endif
#ifndef KEY_STAYS               /* a retry keeps the key of its round: core/remedy.py, core/keys.py */
#define KEY_STAYS 1
#endif
#ifndef WAITS_OUT               /* a wait-out ends when no call can land: doubt.py, supervisor/witness.py */
#define WAITS_OUT 1
#endif
#ifndef DOUBT_STAYS             /* refused after an unknown outcome is still unknown: core/reports.py */
#define DOUBT_STAYS 1
#endif
#ifndef EVIDENCE                /* what a late report proves to be there is undone: core/reports.py */
#define EVIDENCE 1
#endif
#ifndef NEW_ROUND               /* and under a new key, as the old one is only answered again: core/draft.py */
#define NEW_ROUND 1
#endif

/* The bounds */
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef EARLY
#define EARLY 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef FREEZES
#define FREEZES 0
#endif

#define DO   0                                                                   /* kinds of call */
#define UNDO 1
#define ASK  2
mtype = { OK, REFUSED, THERE, NOT_THERE };                                       /* answers */
mtype = { PLANNED, CALLED, WAIT_OUT, PROBE_PLANNED, PROBE_CALLED, DONE, ABSENT,  /* phases */
          UNDO_PLANNED, UNDO_CALLED, UNDO_WAIT_OUT, CHECK_PLANNED, CHECK_CALLED, UNDONE, PARKED };

/* The record */
mtype phase = PLANNED;
bool back, doubt, blind, surfaced, silent;  /* blind: undone without knowing that it was done */
byte attempt, retries, round, undo_round;

/* The service, and what is under way to it */
byte effects, done_keys, undone_keys, tombstones;
byte landing[3];                            /* calls of a kind whose life is not over: they may land */
byte early, faults, refusals, freezes;

#define bit(n)       (1 << (n))
#define FORWARD_OPEN (phase == PLANNED || phase == CALLED || phase == WAIT_OUT || \
                      phase == PROBE_PLANNED || phase == PROBE_CALLED)
#define HEARS_DO     (phase == PLANNED || phase == CALLED || phase == WAIT_OUT || phase == PROBE_PLANNED)
#define HEARS_UNDO   (phase == UNDO_PLANNED || phase == UNDO_CALLED || phase == UNDO_WAIT_OUT)
#define AT_REST      (phase == PARKED || (back -> phase == UNDONE || phase == ABSENT : phase == DONE))

/* --- the core: lanes, doubt, remedy */

inline plan_undo(fearing) { phase = UNDO_PLANNED; blind = fearing; surfaced = false }

inline undo_again() {
  phase = UNDO_PLANNED; blind = false; surfaced = false;
  if :: NEW_ROUND -> undo_round++ :: else fi
}

inline done() { phase = DONE; if :: back -> plan_undo(false) :: else fi }

inline absent() { phase = ABSENT; back = true }      /* it failed for good: the task turns */

inline to_be_retried() {
  if
  :: KEYED -> phase = PLANNED; if :: KEY_STAYS :: else -> round++ fi
  :: !KEYED && PROBE -> phase = WAIT_OUT
  :: else -> phase = PARKED
  fi
}

inline to_be_undone() {
  back = true;
  if
  :: KEYED && TOMBSTONE -> plan_undo(true)
  :: !(KEYED && TOMBSTONE) && (KEYED || PROBE) -> phase = WAIT_OUT
  :: else -> phase = PARKED
  fi
}

inline in_doubt() {
  doubt = true;
  if
  :: !back && retries < RETRIES -> retries++; to_be_retried()
  :: else -> to_be_undone()
  fi
}

inline undo_in_doubt() {
  if
  :: KEYED -> phase = UNDO_PLANNED
  :: !KEYED && PROBE -> phase = UNDO_WAIT_OUT
  :: else -> phase = PARKED
  fi
}

/* --- what is reported */

inline do_reported(answer) {
  if
  :: answer == OK -> done()
  :: answer == REFUSED && phase == CALLED ->
     if :: doubt && DOUBT_STAYS -> to_be_undone() :: else -> absent() fi
  :: else                                             /* held lost before: the doubt stays */
  fi
}

inline undo_reported() {
  if
  :: surfaced && !PROBE -> undo_again()
  :: !(surfaced && !PROBE) && blind && PROBE && !TOMBSTONE -> phase = CHECK_PLANNED
  :: else -> phase = UNDONE
  fi
}

inline probed(answer) {
  if
  :: phase == PROBE_CALLED && answer == THERE -> done()
  :: phase == PROBE_CALLED && answer == NOT_THERE && surfaced -> phase = PROBE_PLANNED
  :: phase == PROBE_CALLED && answer == NOT_THERE && !surfaced ->
     doubt = false;
     if :: back -> absent() :: else -> phase = PLANNED; round++ fi
  :: phase == CHECK_CALLED && answer == THERE -> undo_again()
  :: phase == CHECK_CALLED && answer == NOT_THERE -> phase = UNDONE
  fi
}

#define PROVES_LIVE(kind, answer) (EVIDENCE && kind == DO && answer == OK)
#define IN_UNDO_LANE (HEARS_UNDO || phase == CHECK_PLANNED || phase == CHECK_CALLED)

inline evidence(kind, answer) {
  if
  :: PROVES_LIVE(kind, answer) && FORWARD_OPEN ->
     doubt = true; surfaced = true;
     if :: phase == PLANNED && !KEYED -> to_be_retried() :: else fi
  :: PROVES_LIVE(kind, answer) && phase == ABSENT -> done()
  :: PROVES_LIVE(kind, answer) && phase == UNDONE && blind && !TOMBSTONE ->
     if :: PROBE -> phase = CHECK_PLANNED; blind = false :: else -> undo_again() fi
  :: PROVES_LIVE(kind, answer) && IN_UNDO_LANE && blind && !TOMBSTONE -> surfaced = true
  :: else
  fi
}

inline report(kind, n, answer) {
  if
  :: kind == DO && n == attempt && HEARS_DO -> do_reported(answer)
  :: kind == UNDO && n == attempt && HEARS_UNDO -> undo_reported()
  :: kind == ASK && n == attempt && (phase == PROBE_CALLED || phase == CHECK_CALLED) -> probed(answer)
  :: !FENCE && kind != ASK && n != attempt && answer == OK && HEARS_DO -> done()
  :: !FENCE && kind != ASK && n != attempt && answer == OK && HEARS_UNDO -> undo_reported()
  :: else -> evidence(kind, answer)
  fi
}

/* --- the service */

inline land(kind, key, answer) {
  if
  :: kind == DO && (tombstones & bit(key)) -> answer = REFUSED
  :: kind == DO && !(tombstones & bit(key)) && HONOURS_KEYS && (done_keys & bit(key)) -> answer = OK
  :: kind == DO && !(tombstones & bit(key)) && !(HONOURS_KEYS && (done_keys & bit(key))) ->
     if
     :: effects++; done_keys = done_keys | bit(key); answer = OK
     :: refusals < REFUSALS -> refusals++; answer = REFUSED
     fi;
     assert(effects <= 1)                             /* never a second effect */
  :: kind == UNDO && HONOURS_KEYS && (undone_keys & bit(key)) -> answer = OK
  :: kind == UNDO && !(HONOURS_KEYS && (undone_keys & bit(key))) ->
     effects = 0; undone_keys = undone_keys | bit(key); answer = OK;
     if :: LEAVES_TOMBSTONES -> tombstones = tombstones | bit(round) :: else fi
  :: kind == ASK -> answer = (effects -> THERE : NOT_THERE)
  fi
}

inline fall_silent(n) { if :: n == attempt -> silent = true :: else fi }

/* --- one call: claimed before it is made, and under way until it has landed or is lost */

proctype Call(byte kind, n, key) {
  mtype answer;
  bool frozen;
  if
  :: atomic { kind != ASK && freezes < FREEZES -> freezes++; frozen = true; landing[kind]-- }
  :: atomic { faults < FAULTS -> faults++; landing[kind]--; fall_silent(n) } -> goto over
  :: skip
  fi;
  atomic {
    land(kind, key, answer);
    if :: frozen -> frozen = false :: else -> landing[kind]-- fi
  }
  if
  :: atomic { report(kind, n, answer); answer = 0 }
  :: atomic { faults < FAULTS -> faults++; fall_silent(n); answer = 0 }
  fi;
over: skip
}

inline claim(kind, called, key) {
  attempt++; silent = false; phase = called; landing[kind]++; run Call(kind, attempt, key)
}

active proctype Agents() {
end: do
  :: atomic { phase == PLANNED -> claim(DO, CALLED, round) }
  :: atomic { phase == PROBE_PLANNED -> claim(ASK, PROBE_CALLED, 0) }
  :: atomic { phase == UNDO_PLANNED -> claim(UNDO, UNDO_CALLED, undo_round) }
  :: atomic { phase == CHECK_PLANNED -> claim(ASK, CHECK_CALLED, 0) }
  od
}

inline lease_ends() { if :: silent -> skip :: !silent && early < EARLY -> early++ fi }

active proctype Supervisor() {
end: do
  :: atomic { phase == CALLED && (silent || early < EARLY) -> lease_ends(); in_doubt() }
  :: atomic { phase == UNDO_CALLED && (silent || early < EARLY) -> lease_ends(); undo_in_doubt() }
  :: atomic { phase == PROBE_CALLED && (silent || early < EARLY) -> lease_ends(); phase = PROBE_PLANNED }
  :: atomic { phase == CHECK_CALLED && (silent || early < EARLY) -> lease_ends(); phase = CHECK_PLANNED }
  :: atomic { phase == WAIT_OUT && (landing[DO] == 0 || !WAITS_OUT) ->
       if :: PROBE -> phase = PROBE_PLANNED :: else -> plan_undo(true) fi }
  :: atomic { phase == UNDO_WAIT_OUT && (landing[UNDO] == 0 || !WAITS_OUT) -> phase = CHECK_PLANNED }
  od
}

active proctype Turn() {         /* another step fails, or a person cancels: at any moment, or never */
  if
  :: atomic { !back ->
       back = true;
       if
       :: phase == PLANNED && doubt -> to_be_undone()
       :: phase == PLANNED && !doubt -> phase = ABSENT
       :: phase == DONE -> plan_undo(false)
       :: else                   /* an open call keeps its attempt, and its report counts */
       fi }
  :: skip
  fi
}

active proctype Settled() {
  timeout;                       /* nothing can move any more */
  assert(AT_REST);
  assert(phase != DONE || effects == 1);
  assert((phase != UNDONE && phase != ABSENT) || effects == 0);
  assert(phase != PARKED || (!KEYED && !PROBE && landing[DO] == 0))
}
