/* The store fails over and has lost its last commits (LOST each time), or is restored from a backup.

   That breaks what everything else stands on: calls were made that no record knows of, and their reports meet
   a record that has never handed them out, or has handed out their numbers anew. Nothing in the engine can
   prevent it; what it can do is to find out. The comparison (`makegood audit`) lays the service's own list
   beside the record: what is there without a record is an orphan, what is on record and not there is a loss.
   The service is keyed and leaves tombstones; keys come from the task's id, so calls made again find what the
   lost ones did.

   Must hold: in the end record and service agree, or the comparison has listed where they do not; and a
   service that honours keys has never a second effect. What is lost for good is asked for with
   ACKNOWLEDGED=1, and refuted. */

/* The guards */
#ifndef COMPARES                /* record and service are compared after a restore: auditing/comparing.py */
#define COMPARES 1
#endif
#ifndef AT_REST_ONLY            /* what rests, once no lost call can land any more: the same, run again then */
#define AT_REST_ONLY 1
#endif
#ifndef BOTH_WAYS               /* what the record lacks, and what the service lacks: the same */
#define BOTH_WAYS 1
#endif

/* To be refuted after a loss: that what was acknowledged is still so */
#ifndef ACKNOWLEDGED
#define ACKNOWLEDGED 0
#endif

/* The service */
#ifndef HONOURS_KEYS
#define HONOURS_KEYS 1
#endif

/* The bounds */
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef LOST
#define LOST 1
#endif
#ifndef CANCELS
#define CANCELS 2
#endif
#ifndef EARLY
#define EARLY 0
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#define DO   0                  /* kinds of call */
#define UNDO 1
#define KEPT (LOST * FAILOVERS + 1)

mtype = { NO_TASK, PLANNED, CALLED, DONE, ABSENT, UNDO_CALLED, UNDONE };

/* The store: the record, and the versions before it that may come back, the newest first */
mtype phase = NO_TASK;
bool back;
byte attempt;
mtype phase_was[KEPT];
bool back_was[KEPT];
byte attempt_was[KEPT];
byte kept;

/* The service, and the calls that are under way */
byte effects;
bool done_before, tombstone;
byte alive[2], landing[2];     /* calls of a kind that have not ended; that may still land */

/* What was told and found, and what happened */
bool submitted, cancelled, orphan, loss;
byte failovers, compared, cancels, early, faults;
hidden byte each;

#define AGREE   (effects == (phase == DONE -> 1 : 0))
#define AT_REST (phase != PLANNED && phase != CALLED && phase != UNDO_CALLED && (phase != DONE || !back))

inline commit(next, turned, n) {
  for (each : 1 .. KEPT - 1) {
    phase_was[KEPT - each] = phase_was[KEPT - each - 1];
    back_was[KEPT - each] = back_was[KEPT - each - 1];
    attempt_was[KEPT - each] = attempt_was[KEPT - each - 1]
  }
  phase_was[0] = phase; back_was[0] = back; attempt_was[0] = attempt;
  if :: kept < KEPT -> kept++ :: else fi;
  phase = next; back = turned; attempt = n
}

inline lose_commit() {
  phase = phase_was[0]; back = back_was[0]; attempt = attempt_was[0];
  kept--;
  for (each : 0 .. KEPT - 2) {
    phase_was[each] = phase_was[each + 1]; back_was[each] = back_was[each + 1];
    attempt_was[each] = attempt_was[each + 1]
  }
  phase_was[KEPT - 1] = 0; back_was[KEPT - 1] = false; attempt_was[KEPT - 1] = 0
}

inline land(kind) {
  if
  :: kind == UNDO -> effects = 0; tombstone = true
  :: kind == DO && !tombstone && !(HONOURS_KEYS && done_before) -> effects++; done_before = true
  :: else
  fi;
  assert(!HONOURS_KEYS || effects <= 1)
}

inline report(kind, n) {
  if
  :: kind == DO && phase == CALLED && attempt == n && !back -> commit(DONE, false, n)
  :: kind == DO && phase == CALLED && attempt == n && back -> call(UNDO, UNDO_CALLED)
  :: kind == UNDO && phase == UNDO_CALLED && attempt == n -> commit(UNDONE, true, n)
  :: else
  fi
}

inline call(kind, called) {
  commit(called, (called == UNDO_CALLED || back), attempt + 1);
  alive[kind]++; landing[kind]++;
  run Call(kind, attempt)
}

proctype Call(byte kind, n) {
  if
  :: atomic { land(kind); landing[kind]-- }
  :: atomic { faults < FAULTS -> faults++; landing[kind]--; alive[kind]-- } -> goto over
  fi;
  if
  :: atomic { report(kind, n); alive[kind]-- }
  :: atomic { faults < FAULTS -> faults++; alive[kind]-- }
  fi;
over: skip
}

#define LEASE_ENDS(kind) (alive[kind] == 0 || early < EARLY)
inline lease_ends(kind) { if :: alive[kind] == 0 :: alive[kind] > 0 && early < EARLY -> early++ fi }

active proctype Engine() {
end: do
  :: atomic { phase == NO_TASK && !submitted -> submitted = true; commit(PLANNED, false, 0) }
  :: atomic { phase == PLANNED -> call(DO, CALLED) }
  :: atomic { phase == CALLED && LEASE_ENDS(DO) -> lease_ends(DO);
       if :: back -> call(UNDO, UNDO_CALLED) :: else -> call(DO, CALLED) fi }
  :: atomic { phase == UNDO_CALLED && LEASE_ENDS(UNDO) -> lease_ends(UNDO); call(UNDO, UNDO_CALLED) }
  od
}

active proctype Person() {      /* may cancel at any moment, and again if the task is not on its way back */
end: do
  :: atomic { phase != NO_TASK && !back && cancels < CANCELS -> cancels++; cancelled = true;
       if
       :: phase == PLANNED -> commit(ABSENT, true, attempt)
       :: phase == CALLED -> commit(CALLED, true, attempt)
       :: phase == DONE -> call(UNDO, UNDO_CALLED)
       fi }
  :: break
  od
}

active proctype Failover() {
  byte lost;
end: do
  :: atomic { failovers < FAILOVERS && kept > 0 -> failovers++; lose_commit(); lost = 1;
       do
       :: lost < LOST && kept > 0 -> lose_commit(); lost++
       :: break
       od;
       lost = 0 }
  :: break
  od
}

active proctype Comparison() {
end: do
  :: atomic { COMPARES && compared < failovers &&
              (!AT_REST_ONLY || (AT_REST && landing[DO] == 0 && landing[UNDO] == 0)) ->
       compared = failovers;
       orphan = orphan || effects > (phase == DONE -> 1 : 0);
       loss = loss || (BOTH_WAYS && effects == 0 && phase == DONE) }
  od
}

active proctype Settled() {
  timeout;                      /* nothing can move any more */
  assert(AT_REST);
  assert(AGREE || orphan || loss);
  assert(!ACKNOWLEDGED || !submitted || phase != NO_TASK);
  assert(!ACKNOWLEDGED || !cancelled || back)
}
