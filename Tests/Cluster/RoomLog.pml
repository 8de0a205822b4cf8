/* How a cluster of nodes keeps a room's messages in a ledger (Redis): a model for Spin. `Scripts/check-model` runs it.

   A room's home gives each message a number (its order), delivers it at once, and appends it to the room's log in the ledger.
   The sender's receipt goes out when the ledger has confirmed the entry. Homes crash, or lose their lease and do not notice;
   connections to the ledger break with requests and answers in flight; the ledger fails over to a copy without its newest
   changes. What must hold:

   A. A message with a receipt is in the log whenever a home serves, all have joined it and nothing is in flight.
   B. No message is stored twice.
   C. No participant receives two messages under one number, and the numbers of live messages rise.

   Rules that the model settles. Each has a switch that takes it out, and Spin then finds a violation of A, B or C:

   NO_FENCE       RECORD compares the term as a whole (a nonce). Nodes never order terms: a term that differs from one's own is
                  a reason to ask the ledger, which alone decides.
   NO_PREVIOUS    RECORD names the order that precedes its entry. Is the log's last order lower, the answer is BEHIND with that
                  last order, and the home sends all entries above it again. Without this rule RECORD would take every order up
                  to the last one for stored, and a request lost with a connection, or a suffix lost by a failover, would leave a
                  hole for ever. For the same reason a home asks by an empty RECORD after each new connection.
   NO_CLOCK       PLACE begins a term's numbers at the ledger's clock (microseconds), which runs faster than any home uses
                  numbers. A gap after the last stored number is not enough: two homes of which the first stored nothing would
                  begin at the same number.
   NO_REOPENING   A participant that joins says which number it saw last. A home that has not come so far was forgotten by a
                  failover and came back by it: it opens the room again, under a new term and with new numbers.
   LATE_READ      A new home reads the log up to the number that PLACE has answered, not further.
   NO_DUPLICATES  A new home knows the ids of the messages in the log.
   EARLY_TRIM     An entry leaves the log only when its sender repeats it no longer (10 s after its receipt). */

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LEASES
#define LEASES 1
#endif
#ifndef BREAKS
#define BREAKS 1
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef TRIMS
#define TRIMS 1
#endif
#ifndef OPENINGS
#define OPENINGS 3  /* how often a node takes the room */
#endif

#define NODES 2
#define PEOPLE 2
#define MESSAGES 3          /* number m is sent by participant m % PEOPLE */
#define SENDER(m) ((m) % PEOPLE)
#define NONE 255
/* Where the numbers of a new term begin. `nonces` counts terms and is never set back: the clock. */
#ifdef NO_CLOCK
#define BEGINNING (last + MESSAGES)
#else
#define BEGINNING (nonces * (MESSAGES + 1))
#endif
/* Arrays of two dimensions. */
#define IN(node, m) ((node) * MESSAGES + (m))

mtype = { closed, opening, serving };

/* The ledger. Each script is one atomic step. */
byte home = NONE, term, last, nonces;
byte logged[MESSAGES];       /* the order of a message in the log; 0: not there */
bool isTrimmed[MESSAGES];
bool isLiving[NODES];        /* the leases */
/* The copy. */
byte copyHome = NONE, copyTerm, copyLast;
byte copyLogged[MESSAGES];

/* The nodes. */
mtype state[NODES] = closed;
byte held[NODES];            /* the term */
byte base[NODES];            /* the last order in the log when the room was opened here */
byte top[NODES];             /* the highest number used */
byte confirmed[NODES];       /* the ledger has confirmed all entries up to here */
byte sent[NODES];            /* entries up to here are on the present connection */
bool isChecked[NODES];       /* the ledger has answered on the present connection */
byte order[6];               /* IN(node, m): the number of a message in the node's history; 0: not there */
/* Requests: the term, the order before the entry, the entry's order (0: an empty RECORD), the message. */
chan wire[NODES] = [2] of { byte, byte, byte, byte };
chan late[NODES] = [2] of { byte, byte, byte, byte };  /* of broken connections: will be processed, or are lost */

/* The participants. */
byte at[PEOPLE] = NONE;
byte joined[PEOPLE];         /* the term of the home that it has joined */
byte seen[PEOPLE];           /* the highest number of a message */
byte received[6];            /* participant * MESSAGES + m: the number under which it received a message */
bool hasSent[MESSAGES], hasReceipt[MESSAGES], hasForgotten[MESSAGES];

byte openings, crashes, leases, breaks, failovers, trims;

/* All that may change is at rest: what A is asserted of. */
#define HAS_JOINED(h, p) (at[p] == h && joined[p] == term)
#define IS_KNOWN(h, m) (!hasSent[m] || hasForgotten[m] || order[IN(h, m)] != 0)
#define AT_REST(h) (home == h && state[h] == serving && held[h] == term && isChecked[h] \
  && empty(wire[0]) && empty(wire[1]) && empty(late[0]) && empty(late[1]) \
  && HAS_JOINED(h, 0) && HAS_JOINED(h, 1) && IS_KNOWN(h, 0) && IS_KNOWN(h, 1) && IS_KNOWN(h, 2) \
  && IS_CONFIRMED(h, 0) && IS_CONFIRMED(h, 1) && IS_CONFIRMED(h, 2))
#define IS_CONFIRMED(h, m) (order[IN(h, m)] <= confirmed[h])
#define IS_SAFE(m) (!hasReceipt[m] || logged[m] != 0 || isTrimmed[m])

inline deliver(p, m, number, isLive) {
  if
  :: received[p * MESSAGES + m] != 0  /* a repetition is dropped, by sender and id */
  :: else ->
    assert(received[p * MESSAGES] != number && received[p * MESSAGES + 1] != number && received[p * MESSAGES + 2] != number);
    assert(!isLive || number > seen[p]);
    received[p * MESSAGES + m] = number;
    if :: number > seen[p] -> seen[p] = number :: else fi
  fi
}

/* Node n accepts message m of a participant that has joined it: it delivers at once and keeps it until it is recorded. */
inline accept(n, m) {
  top[n]++;
  assert(top[n] < 100);
  order[IN(n, m)] = top[n];
  if :: at[0] == n && joined[0] == held[n] -> deliver(0, m, top[n], true) :: else fi;
  if :: at[1] == n && joined[1] == held[n] -> deliver(1, m, top[n], true) :: else fi
}
#define CAN_ACCEPT(n, m) (state[n] == serving && at[SENDER(m)] == n && joined[SENDER(m)] == held[n] && hasSent[m] \
  && !hasForgotten[m] && order[IN(n, m)] == 0)

inline leaveRoom(n) {
  d_step {
    state[n] = closed; held[n] = 0; base[n] = 0; top[n] = 0; confirmed[n] = 0; sent[n] = 0; isChecked[n] = false;
    order[IN(n, 0)] = 0; order[IN(n, 1)] = 0; order[IN(n, 2)] = 0
  }
}

inline breakConnection(n) {
  do
  :: len(wire[n]) > 0 ->
    wire[n] ? t, before, o, m;
    if
    :: len(late[n]) < 2 -> late[n] ! t, before, o, m
    :: true  /* lost */
    fi
  :: else -> break
  od;
  sent[n] = confirmed[n]; isChecked[n] = false;
  t = 0; before = 0; o = 0; m = 0
}

/* The script RECORD. `isPresent`: the node waits for the answer; it may be lost with the connection. */
inline record(n, isPresent) {
  if
#ifndef NO_FENCE
  :: t != term ->
    if :: isPresent && state[n] == serving && held[n] == t -> leaveRoom(n) :: else fi
#define FENCE (t == term)
#else
#define FENCE true
#endif
#ifndef NO_PREVIOUS
  :: FENCE && last < before ->
    if
    :: isPresent && state[n] == serving && held[n] == t -> sent[n] = last; confirmed[n] = last; isChecked[n] = false
    :: else
    fi
#define PREVIOUS (last >= before)
#else
#define PREVIOUS true
#endif
  :: FENCE && PREVIOUS ->
    if
    :: o > last -> assert(logged[m] == 0 && !isTrimmed[m]); logged[m] = o; last = o
    :: else
    fi;
    if
    :: isPresent && state[n] == serving && held[n] == t ->
      if
      :: true ->
        isChecked[n] = true;
        if
        :: o > confirmed[n] ->
          confirmed[n] = o;
          if
          :: at[SENDER(m)] == n && joined[SENDER(m)] == held[n] ->
            assert(logged[m] != 0);
            hasReceipt[m] = true
          :: else
          fi
        :: else
        fi
      :: breaks < BREAKS -> breaks++; breakConnection(n)
      fi
    :: else
    fi
  fi
}

#define WAITS(n, m) (order[IN(n, m)] > sent[n] && order[IN(n, m)] > base[n])
/* Message m is the next one above `sent`. */
#define IS_NEXT(n, m, x, y) (WAITS(n, m) && (!WAITS(n, x) || order[IN(n, x)] > order[IN(n, m)]) \
  && (!WAITS(n, y) || order[IN(n, y)] > order[IN(n, m)]))
#define MAX(x, y) ((x) > (y) -> (x) : (y))
#define UNDER(n, x, limit) (order[IN(n, x)] < (limit) -> order[IN(n, x)] : 0)
#define BEFORE(n, m, x, y) MAX(base[n], MAX(UNDER(n, x, order[IN(n, m)]), UNDER(n, y, order[IN(n, m)])))

inline send(n, m, x, y) {
  wire[n] ! held[n], BEFORE(n, m, x, y), order[IN(n, m)], m;
  sent[n] = order[IN(n, m)]
}

/* A receipt for a message that its sender repeats and the ledger has. */
#define CAN_REPEAT_RECEIPT(n, m) (state[n] == serving && at[SENDER(m)] == n && joined[SENDER(m)] == held[n] && hasSent[m] \
  && !hasReceipt[m] && order[IN(n, m)] != 0 && order[IN(n, m)] <= confirmed[n])

#ifdef LATE_READ
#define READ(n, m) logged[m]
#else
#define READ(n, m) (logged[m] <= base[n] -> logged[m] : 0)
#endif

active [NODES] proctype Node() {
  byte n = _pid, t, before, o, m;
  isLiving[n] = true;
  do
  /* PLACE */
  :: atomic { state[n] == closed && isLiving[n] && openings < OPENINGS &&
       (home == NONE || home == n || !isLiving[home % NODES]) ->
      openings++; nonces++; last = BEGINNING; term = nonces; home = n; held[n] = term; base[n] = last; state[n] = opening }
  /* The log is read after PLACE, so that no earlier term can append to it any more, and only up to the number that PLACE has
     answered, so that nothing of a later term is taken for its own. */
  :: d_step { state[n] == opening ->
#ifndef NO_DUPLICATES
      order[IN(n, 0)] = READ(n, 0); order[IN(n, 1)] = READ(n, 1); order[IN(n, 2)] = READ(n, 2);
#endif
      confirmed[n] = base[n]; sent[n] = base[n]; top[n] = base[n]; isChecked[n] = true; state[n] = serving }
  :: atomic { CAN_ACCEPT(n, 0) -> accept(n, 0) }
  :: atomic { CAN_ACCEPT(n, 1) -> accept(n, 1) }
  :: atomic { CAN_ACCEPT(n, 2) -> accept(n, 2) }
  :: CAN_REPEAT_RECEIPT(n, 0) -> hasReceipt[0] = true
  :: CAN_REPEAT_RECEIPT(n, 1) -> hasReceipt[1] = true
  :: CAN_REPEAT_RECEIPT(n, 2) -> hasReceipt[2] = true
  /* Requests to the ledger, in the order of their numbers. */
  :: atomic { state[n] == serving && nfull(wire[n]) && IS_NEXT(n, 0, 1, 2) -> send(n, 0, 1, 2) }
  :: atomic { state[n] == serving && nfull(wire[n]) && IS_NEXT(n, 1, 0, 2) -> send(n, 1, 0, 2) }
  :: atomic { state[n] == serving && nfull(wire[n]) && IS_NEXT(n, 2, 0, 1) -> send(n, 2, 0, 1) }
  :: atomic { state[n] == serving && !isChecked[n] && empty(wire[n]) -> wire[n] ! held[n], confirmed[n], 0, 0 }
  /* The ledger processes a request. */
  :: atomic { nempty(wire[n]) -> wire[n] ? t, before, o, m; record(n, true); t = 0; before = 0; o = 0; m = 0 }
  :: atomic { nempty(late[n]) -> late[n] ? t, before, o, m;
      if :: record(n, false) :: true fi;
      t = 0; before = 0; o = 0; m = 0 }
  :: atomic { breaks < BREAKS && nempty(wire[n]) -> breaks++; breakConnection(n) }
  /* A crash. What is on the wire may still arrive. The node starts again as another incarnation, or not. */
  :: atomic { crashes < CRASHES && state[n] != closed -> crashes++; breakConnection(n); leaveRoom(n);
      isLiving[n] = false;
      if :: isLiving[n] = true :: isLiving[1 - n] fi }
  /* The lease ends, and the node does not know it until a heartbeat is answered. */
  :: d_step { leases < LEASES && isLiving[n] && state[n] == serving && isLiving[1 - n] -> leases++; isLiving[n] = false }
  :: atomic { !isLiving[n] && state[n] == serving -> leaveRoom(n); isLiving[n] = true }
  od
}

#ifdef EARLY_TRIM
#define MAY_TRIM(m) hasReceipt[m]
#else
#define MAY_TRIM(m) hasForgotten[m]
#endif
/* The script TRIM of the home h: fenced; the last order stays. */
#define CAN_TRIM(h, m) (trims < TRIMS && state[h] == serving && held[h] == term && logged[m] != 0 \
  && order[IN(h, m)] == logged[m] && logged[m] <= confirmed[h] && MAY_TRIM(m))
inline trim(h, m) { trims++; logged[m] = 0; isTrimmed[m] = true; order[IN(h, m)] = 0 }

active proctype Trimming() {
  do
  :: atomic { CAN_TRIM(0, 0) -> trim(0, 0) }
  :: atomic { CAN_TRIM(0, 1) -> trim(0, 1) }
  :: atomic { CAN_TRIM(0, 2) -> trim(0, 2) }
  :: atomic { CAN_TRIM(1, 0) -> trim(1, 0) }
  :: atomic { CAN_TRIM(1, 1) -> trim(1, 1) }
  :: atomic { CAN_TRIM(1, 2) -> trim(1, 2) }
  od
}

#define IS_ALONE(p) (at[p] == NONE || state[at[p] % NODES] != serving || joined[p] != held[at[p] % NODES])

/* A participant joins, or joins again after its home is gone: it receives the history, without what it has. */
inline join(p, n) {
  if
#ifndef NO_REOPENING
  :: top[n] < seen[p] -> leaveRoom(n)
  :: top[n] >= seen[p] ->
#else
  :: true ->
#endif
    at[p] = n; joined[p] = held[n];
    if :: order[IN(n, 0)] != 0 -> deliver(p, 0, order[IN(n, 0)], false) :: else fi;
    if :: order[IN(n, 1)] != 0 -> deliver(p, 1, order[IN(n, 1)], false) :: else fi;
    if :: order[IN(n, 2)] != 0 -> deliver(p, 2, order[IN(n, 2)], false) :: else fi
  fi
}

/* After 10 s a sender no longer repeats a message that has a receipt. A living home has asked the ledger by then, and the
   copy is not as far behind. */
#define MAY_FORGET(m) (hasReceipt[m] && !hasForgotten[m] && at[SENDER(m)] != NONE \
  && state[at[SENDER(m)] % NODES] == serving && held[at[SENDER(m)] % NODES] == term && joined[SENDER(m)] == term \
  && isChecked[at[SENDER(m)] % NODES] && order[IN(at[SENDER(m)] % NODES, m)] <= confirmed[at[SENDER(m)] % NODES] \
  && order[IN(at[SENDER(m)] % NODES, m)] != 0 \
  && (failovers == FAILOVERS || copyLogged[m] != 0))

active proctype Participants() {
  do
  :: atomic { IS_ALONE(0) && state[0] == serving -> join(0, 0) }
  :: atomic { IS_ALONE(0) && state[1] == serving -> join(0, 1) }
  :: atomic { IS_ALONE(1) && state[0] == serving -> join(1, 0) }
  :: atomic { IS_ALONE(1) && state[1] == serving -> join(1, 1) }
  :: !hasSent[0] -> hasSent[0] = true
  :: !hasSent[1] -> hasSent[1] = true
  :: hasSent[0] && !hasSent[2] -> hasSent[2] = true
  :: d_step { MAY_FORGET(0) -> hasForgotten[0] = true }
  :: d_step { MAY_FORGET(1) -> hasForgotten[1] = true }
  :: d_step { MAY_FORGET(2) -> hasForgotten[2] = true }
  od
}

inline loseRequests(n) {
  do :: len(wire[n]) > 0 -> wire[n] ? t, before, o, m :: else -> break od;
  do :: len(late[n]) > 0 -> late[n] ? t, before, o, m :: else -> break od;
  sent[n] = confirmed[n]; isChecked[n] = false
}

/* The copy follows at some distance. A failover makes it the ledger; all connections break. */
active proctype Copy() {
  byte t, before, o, m;
  do
  :: d_step { failovers < FAILOVERS && (copyTerm != term || copyLast != last) ->
      copyHome = home; copyTerm = term; copyLast = last;
      copyLogged[0] = logged[0]; copyLogged[1] = logged[1]; copyLogged[2] = logged[2] }
  :: atomic { failovers < FAILOVERS && (copyTerm != term || copyLast != last) ->
      failovers++;
      home = copyHome; term = copyTerm; last = copyLast;
      logged[0] = (isTrimmed[0] -> 0 : copyLogged[0]);
      logged[1] = (isTrimmed[1] -> 0 : copyLogged[1]);
      logged[2] = (isTrimmed[2] -> 0 : copyLogged[2]);
      loseRequests(0); loseRequests(1);
      t = 0; before = 0; o = 0; m = 0 }
  od
}

active proctype Check() {
  do
  :: atomic { (AT_REST(0) || AT_REST(1)) && !(IS_SAFE(0) && IS_SAFE(1) && IS_SAFE(2)) -> assert(false) }
  od
}
