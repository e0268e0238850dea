/* Two engines, each with a scheduler, a supervisor and agents, each sure to be the only one, on one task.

   Every word of a room is a fact that is decided on the head read last and written on the condition that
   nobody was faster (desk.py). An offer is taken by any agent with a free slot; a claimed call is made after
   the commit, and only then; a supervisor may hold any call for lost, at any moment (LEASES times), and then
   repeats it or turns the task. A process may stand still between any two lines: whatever it comes back with
   is old. The service is keyed and leaves tombstones, so that nothing has to wait (step.pml has the other
   classes).

   Must hold: a call is on record before it is made, and one attempt makes one call; two owners never both
   settle the step; slots in use are the live calls, never more than there are, and all free in the end; the
   step ends as the service says. */

/* The guards */
#ifndef CONDITIONAL             /* a write names the version it was decided on: store/protocol.py */
#define CONDITIONAL 1
#endif
#ifndef FENCE                   /* a report counts only with the record's attempt: core/reports.reported */
#define FENCE 1
#endif
#ifndef UNCLAIMED               /* a claim is void unless the offer still stands: core/reports.claimed */
#define UNCLAIMED 1
#endif
#ifndef COMMITS_FIRST           /* a call is made after its claim is durable: desk.py */
#define COMMITS_FIRST 1
#endif
#ifndef RELEASES                /* an unwritten claim gives its slot back: desk.py */
#define RELEASES 1
#endif
#ifndef NUMBERS_GROW            /* attempt numbers never start again, not even for the undo: core/draft.py */
#define NUMBERS_GROW 1
#endif

/* The bounds */
#ifndef LEASES
#define LEASES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef ENGINES
#define ENGINES 2
#endif

mtype = { PLANNED, OFFERED, CALLED, DONE, UNDO_PLANNED, UNDO_OFFERED, UNDO_CALLED, UNDONE };
#define BACK(phase)    (phase == UNDO_PLANNED || phase == UNDO_OFFERED || \
                        phase == UNDO_CALLED || phase == UNDONE)
#define WAITS(phase)   (phase == PLANNED || phase == UNDO_PLANNED)
#define OFFERS(phase)  (phase == OFFERED || phase == UNDO_OFFERED)
#define IS_OUT(phase)  (phase == CALLED || phase == UNDO_CALLED)
#define ATTEMPTS       (LEASES + DEATHS + 4)
#define NOBODY         255

/* The record */
mtype record = PLANNED;
byte attempt;
byte unchanged;                         /* a bit for each process: the version is still the one it read */

/* The service */
bool effect, tombstone;

/* What happened, for the assertions */
byte owner[ATTEMPTS] = NOBODY;          /* who stands in the record for an attempt */
byte made[ATTEMPTS];                    /* calls made under it */
bool gone[ATTEMPTS];                    /* its agent died */
byte settled, undone, leases, deaths;
byte slots[ENGINES], live[ENGINES];

#define me_reading (1 << _pid)

inline read() { phase = record; number = attempt; unchanged = unchanged | me_reading }

inline write(next, n) {
  if
  :: (unchanged & me_reading) || !CONDITIONAL -> unchanged = 0; record = next; attempt = n; written = true
  :: else -> written = false
  fi
}

inline forget() { phase = 0; number = 0; offer = 0; written = false }

/* --- one call and its report, at the engine `me` */

inline make(undo, n) {
  assert(owner[n] == me);               /* on record before it is made */
  made[n]++;
  assert(made[n] == 1);                 /* one attempt, one call */
  if
  :: undo -> effect = false; tombstone = true
  :: !undo && !tombstone -> effect = true
  :: else
  fi
}

inline report(undo, n) {
  if
  :: IS_OUT(phase) && (number == n || !FENCE) ->
     write((BACK(phase) -> UNDONE : DONE), number);
     if :: written && BACK(phase) -> undone++ :: written && !BACK(phase) -> settled++ :: else fi
  :: else -> written = true             /* old news: filed as evidence */
  fi
}

proctype Call(byte me; bool undo; byte n) {
  mtype phase;
  byte number;
  bool written;
  if
  :: atomic { deaths < DEATHS -> deaths++; gone[n] = true; live[me]--; slots[me]-- } -> goto over
  :: atomic { make(undo, n); live[me]--; slots[me]-- }
  fi;
  do
  :: atomic { deaths < DEATHS -> deaths++; gone[n] = true } -> break
  :: atomic { read() };
     atomic { report(undo, n); if :: written -> break :: else fi }
  od;
over: atomic { phase = 0; number = 0; written = false }
}

/* --- the rooms of one engine */

inline take_off() {
  assert(slots[me] <= SLOTS);
  live[me]++;
  assert(live[me] <= slots[me]);
  run Call(me, BACK(phase), offer)
}

inline claim() {
  if
  :: UNCLAIMED && !(OFFERS(phase) && number == offer) -> written = false
  :: else ->
     write((BACK(phase) -> UNDO_CALLED : CALLED), number);
     if :: written -> owner[offer] = me :: else fi
  fi;
  if
  :: written && COMMITS_FIRST -> take_off()
  :: !written && COMMITS_FIRST && RELEASES -> slots[me]--
  :: else
  fi
}

active [ENGINES] proctype Engine() {
  byte me = _pid;
  mtype phase;
  byte number, offer;
  bool written;
end: do
  :: atomic { WAITS(record) -> read() };                                  /* the scheduler hands it out */
     atomic {
       if
       :: NUMBERS_GROW || phase != UNDO_PLANNED -> write((BACK(phase) -> UNDO_OFFERED : OFFERED), number + 1)
       :: else -> write(UNDO_OFFERED, 1)
       fi;
       forget()
     }
  :: atomic { OFFERS(record) && slots[me] < SLOTS -> slots[me]++; offer = attempt };    /* an agent takes it */
     atomic { read(); if :: COMMITS_FIRST :: else -> take_off() fi };
     atomic { claim(); forget() }
  :: atomic { IS_OUT(record) && (gone[attempt] || leases < LEASES) ->     /* the supervisor holds it for lost */
       if :: gone[attempt] :: else -> leases++ fi;
       read() };
     atomic {
       if
       :: BACK(phase) -> write(UNDO_PLANNED, number)
       :: !BACK(phase) -> write(PLANNED, number)
       :: !BACK(phase) -> write(UNDO_PLANNED, number)
       fi;
       forget()
     }
  od
}

active proctype Settled() {
  byte each;
  timeout;                              /* nothing can move any more */
  atomic {
    assert(record == DONE || record == UNDONE);
    assert(settled <= 1 && undone <= 1);
    assert(record != DONE || effect);
    assert(record != UNDONE || !effect);
    for (each : 0 .. ENGINES - 1) { assert(slots[each] == 0 && live[each] == 0) }
  }
}
