/* A task is submitted twice under one id, cancelled by two people, and completes, all at once.

   Each fact goes through a desk (desk.py): read the head, decide by the core, write on the condition that
   nobody was faster, and tell the poster. The answer to a write may get lost (LOSSES times), whether it was
   applied or not; a process may die at any moment (DEATHS times), and its poster then hears nothing. The
   store keeps what it has committed (restored.pml takes that away).

   Must hold: one task an id; what a poster was told is true: "yes" exactly if its own write stands in the
   history, for ever; of cancel and complete exactly one wins, and the loser learns of the other; who was told
   nothing happened zero or one times. */

/* The guards */
#ifndef UNIQUE                  /* one task an id: store/sqlite.py */
#define UNIQUE 1
#endif
#ifndef CONDITIONAL             /* a write names the version it was decided on: store/protocol.py */
#define CONDITIONAL 1
#endif
#ifndef TELLS_AFTER             /* the poster is told after the commit: desk.py */
#define TELLS_AFTER 1
#endif
#ifndef READS_AGAIN             /* after a lost answer the history tells what became of it: commit.py */
#define READS_AGAIN 1
#endif
#ifndef LOST_MEANS
#define LOST_MEANS 0            /* without it, a lost answer is taken for: 0 not written, 1 written */
#endif
#ifndef BY_ROW                  /* by the row of that version, the head may be another's by now: the same */
#define BY_ROW 1
#endif
#ifndef SETTLES                 /* a lost write is in or out for good once the store answers again: the store */
#define SETTLES 1
#endif
#ifndef DECIDES_AGAIN           /* a stale decision is made again from a fresh head: desk.py */
#define DECIDES_AGAIN 1
#endif

/* The bounds */
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef CANCELS
#define CANCELS 2
#endif

#define COMPLETION 2                                    /* facts: two submissions, one completion, cancels */
#define FACTS      (3 + CANCELS)
#define NOBODY     255
#define VERSIONS   8

mtype = { SUBMIT, CANCEL, COMPLETE };                   /* facts */
mtype = { NO_TASK, RUNNING, COMPENSATING, COMPLETED };  /* states of the task */
mtype = { NOTHING, YES, NO };                           /* what a poster was told */
mtype = { WRITTEN, STALE, LOST };                       /* what the store answers */

/* The store. A fact's number serves as its write id. */
mtype state = NO_TASK;
byte tasks, version;
byte row[VERSIONS] = NOBODY;

/* What was told, and what the history holds */
mtype told[FACTS] = NOTHING;
byte stands[FACTS];
byte losses, deaths;

inline decide(fact, seen, next) {
  if
  :: fact == SUBMIT && seen == NO_TASK -> next = RUNNING
  :: fact == CANCEL && seen == RUNNING -> next = COMPENSATING
  :: fact == COMPLETE && seen == RUNNING -> next = COMPLETED
  :: else -> next = NO_TASK                             /* old news, or refused: nothing to write */
  fi
}

inline apply(me, base, next) {
  if :: base == 0 -> tasks++ :: else fi;
  if :: version == base -> version++; row[version] = me :: else -> row[base + 1] = me fi;
  state = next;
  stands[me]++
}

inline write(me, base, next, answer) {
  if
  :: version == base || (base == 0 && !UNIQUE) || (base > 0 && !CONDITIONAL) ->
     if
     :: apply(me, base, next); answer = WRITTEN
     :: losses < LOSSES -> losses++; apply(me, base, next); answer = LOST
     :: losses < LOSSES -> losses++; answer = LOST
     :: losses < LOSSES && !SETTLES -> losses++; answer = LOST; run Late(me, base, next)
     fi
  :: else -> answer = STALE
  fi
}

proctype Late(byte me, base, next) {
  atomic { if :: version == base -> apply(me, base, next) :: else fi }
}

inline read_again(me, base, answer) {
  if
  :: READS_AGAIN && BY_ROW -> answer = (row[base + 1] == me -> WRITTEN : STALE)
  :: READS_AGAIN && !BY_ROW -> answer = (row[version] == me -> WRITTEN : STALE)
  :: else -> answer = (LOST_MEANS -> WRITTEN : STALE)
  fi
}

/* The poster hears what became of its fact, or its process dies before it does. */
inline tell(me, news) {
  if
  :: told[me] = news
  :: deaths < DEATHS -> deaths++
  fi
}

proctype Fact(mtype fact; byte me) {
  mtype seen, next, answer;
  byte base;
end:
  fact == SUBMIT || state != NO_TASK;                   /* who cancels knows the id, who reports ran the task */
again:
  atomic {
    seen = state; base = version; answer = LOST; decide(fact, seen, next);
    if
    :: next == NO_TASK -> tell(me, NO); goto over
    :: next != NO_TASK && !TELLS_AFTER -> tell(me, YES)
    :: else
    fi
  }
  if
  :: atomic { deaths < DEATHS -> deaths++ } -> goto over
  :: atomic { write(me, base, next, answer); if :: answer == LOST -> goto lost :: else fi }
  fi;
answered:
  atomic {
    if
    :: answer == WRITTEN -> tell(me, YES)
    :: answer == STALE && DECIDES_AGAIN -> goto again
    :: answer == STALE && !DECIDES_AGAIN -> tell(me, NO)
    fi;
    goto over
  }
lost:
  atomic { read_again(me, base, answer); goto answered }
over:
  atomic { seen = 0; next = 0; answer = 0; base = 0 }
}

init {
  byte each;
  atomic {
    run Fact(SUBMIT, 0); run Fact(SUBMIT, 1); run Fact(COMPLETE, COMPLETION);
    for (each : COMPLETION + 1 .. FACTS - 1) { run Fact(CANCEL, each) }
  }
}

active proctype Settled() {
  byte each, cancels;
  timeout;                                              /* nothing can move any more */
  atomic {
    assert(tasks <= 1);
    for (each : 0 .. FACTS - 1) {
      assert(stands[each] <= 1);
      assert(told[each] != YES || stands[each] == 1);
      assert(told[each] != NO || stands[each] == 0);
      assert(told[each] == NOTHING || tasks == 1);
      assert(told[each] != NO || state != RUNNING || each < COMPLETION);
      if :: each > COMPLETION -> cancels = cancels + stands[each] :: else fi
    }
    assert(cancels + stands[COMPLETION] <= 1);          /* exactly one of cancel and complete wins ... */
    assert(stands[COMPLETION] == 0 || state == COMPLETED);
    assert(cancels == 0 || state == COMPENSATING)       /* ... and stays */
  }
}
