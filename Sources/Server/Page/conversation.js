// What the page and the server say to each other, over connections that come and go, so that all of it is heard once and
// in order (Docs/protocol.md, “When a connection breaks”); which chat messages may have been lost with a server; and which servers
// are tried in turn (“More than one server”).

const UNCOUNTED = new Set(["heard", "ping", "pong", "bye", "resumeConversation", "resumed", "refused"]);
const TELL_EVERY = 16;

export class Conversation {
  #key = null;
  #graceSeconds = 0;
  /** What we said and the server is not known to have heard; the first of it has number #forgotten + 1. */
  #kept = [];
  #forgotten = 0;
  #heard = 0;
  #told = 0;

  get key() { return this.#key; }
  get isResumable() { return this.#key !== null; }
  get graceSeconds() { return this.#graceSeconds; }
  get resumption() { return { type: "resumeConversation", key: this.#key, heard: this.#told = this.#heard }; }

  /** Keeps what is being said. */
  say(message) { if (!UNCOUNTED.has(message.type)) this.#kept.push(message); }

  /** @returns what the server is to be told now of what we heard, or null. */
  hear(message) {
    if (!UNCOUNTED.has(message.type)) this.#heard++;
    if (message.type === "heard") this.#forget(message.heard);
    const isFirst = message.type === "resumable";
    if (isFirst) [this.#key, this.#graceSeconds] = [message.key, message.graceSeconds];
    if (!isFirst && this.#heard - this.#told < TELL_EVERY) return null;
    this.#told = this.#heard;
    return { type: "heard", heard: this.#heard };
  }

  /** @returns what the server has not heard, in order. */
  resumed(heard) {
    this.#forget(heard);
    return this.#kept;
  }

  #forget(heard) {
    const count = Math.min(Math.max(heard - this.#forgotten, 0), this.#kept.length);
    this.#kept.splice(0, count);
    this.#forgotten += count;
  }
}

/** A server that goes down had this long to pass on what it had acknowledged, and the ledger's copy had this long to follow. */
const PASSED_ON = 10_000;
const REMEMBERED = 8_192;

export class DataMemory {
  /** id → { message, acknowledged: when, or null; order and former: the last receipt's, and that of the server before }, the oldest first. */
  #sent = new Map();
  #heard = new Set();

  /** @param from us. */
  say(message, from) {
    this.#sent.set(message.id, { message, acknowledged: null, order: null, former: null });
    this.hear({ from, id: message.id });
  }

  /**
   * A message that the room stores later (`unavailable`) waits for another receipt. One that another server has found in the ledger, by
   * its order, is not younger than its first receipt.
   */
  acknowledge({ id, order, failure }) {
    const now = performance.now();
    const entry = this.#sent.get(id);
    if (entry && failure) { if (failure.code !== "unavailable") this.#sent.delete(id); }
    else if (entry && entry.acknowledged === null) {
      entry.order = order ?? null;
      const isFound = entry.former !== null && entry.former.order === order;
      entry.acknowledged = isFound ? entry.former.acknowledged : now;
    }
    if (this.#sent.size > REMEMBERED) this.#sent.delete(this.#sent.keys().next().value);
    for (const [old, { acknowledged }] of this.#sent) {
      if (acknowledged === null || now - acknowledged < PASSED_ON) break;
      this.#sent.delete(old);
    }
  }

  /**
   * What a room may not have, or may have forgotten, in order. It waits for a receipt again.
   * @param left when the server that had us was lost: what it had acknowledged within `PASSED_ON` before is said again.
   * @param continues whether the room is restored from the ledger: only then do its orders prove anything.
   */
  unheard(isRoomNew, left, continues) {
    for (const [id, entry] of this.#sent) {
      const { acknowledged, order } = entry;
      if (acknowledged !== null && (!isRoomNew || left - acknowledged >= PASSED_ON)) this.#sent.delete(id);
      if (acknowledged !== null && order !== null) entry.former = { order, acknowledged };
      if (!continues) entry.former = null;
      entry.acknowledged = null;
    }
    return [...this.#sent.values()].map(({ message }) => message);
  }

  /** @returns whether it is heard for the first time. */
  hear({ from, id }) {
    const name = `${from}\n${id}`;
    if (this.#heard.has(name)) return false;
    this.#heard.add(name);
    if (this.#heard.size > REMEMBERED) this.#heard.delete(this.#heard.values().next().value);
    return true;
  }
}

/** Redirects in a row that are followed, and those of them without a pause: servers that point at each other make no spin. */
const REDIRECTS = 8;
const PROMPT_REDIRECTS = 3;
/** A redirect after a stay of this length is not one in a row. */
const STEADY_STAY = 5_000;
const PLACES = 16;

/**
 * The addresses of servers that are tried in turn. A round tries each once: after a break the room's home first, after silence the
 * silent one last, after a redirect its places first.
 */
export class Places {
  #configured;
  #named = [];
  #round;
  #targets = [];
  #home = null;
  #suspect = null;
  /** Whether this round has reached a server. */
  #hasReached = false;
  #redirects = 0;
  #admitted = null;
  current;

  constructor(own) {
    this.#configured = [own];
    this.#round = [];
    this.current = own;
  }

  get #known() { return this.#named.length > 0 ? this.#named : this.#configured; }

  #begin(first, last) {
    const rest = this.#known.filter((place) => !first.includes(place));
    const isLast = (place) => last.includes(place);
    this.#hasReached = false;
    this.#round = [...first, ...rest.filter((place) => !isLast(place)), ...rest.filter(isLast)];
  }

  /**
   * Takes the next place.
   * @returns whether it follows at once: the next one of a round of several, and not the first of a new round.
   */
  next() {
    const isPrompt = this.#round.length > 0 && this.#known.length > 1;
    if (this.#round.length === 0) {
      if (!this.#hasReached) this.#suspect = null;  // more likely, our own network is down: the home may still wait for us
      this.#begin([], [this.#suspect]);
    }
    this.current = this.#round.shift();
    return isPrompt;
  }

  /** Whether this round has places that have not been tried. */
  get hasNext() { return this.#round.length > 0; }

  get isAlone() { return this.#known.length === 1; }

  endRound() { this.#round = []; }

  opened() {
    this.#hasReached = true;
    if (this.#suspect === this.current) this.#suspect = null;
  }

  /** The server has accepted our join, or has us wait in the lobby. It has named places, or none. */
  admitted(places = []) {
    this.#admitted = performance.now();
    this.#targets = [];
    this.#suspect = null;
    const named = this.#usable(places);
    if (named.length > 0) [this.#named, this.#home] = [named, named[0]];
  }

  /** The connection is gone, or none could be made. */
  lost({ isSilent = false, wasOpen = true } = {}) {
    if (this.#admitted === null) {
      if (!wasOpen && this.current === this.#home) this.#suspect = this.#home;
      return;
    }
    this.#endStay();
    const known = this.#known;
    const serving = known.includes(this.current) ? this.current : known[0];
    if (isSilent && this.#home) this.#suspect = serving;
    this.#begin([], isSilent ? [serving] : []);
  }

  #endStay() {
    if (this.#admitted !== null && performance.now() - this.#admitted >= STEADY_STAY) this.#redirects = 0;
    this.#admitted = null;
  }

  /**
   * The server sends us elsewhere.
   * @returns the pause before the next place in milliseconds, or null after too many redirects in a row: the round goes on without it.
   */
  redirect(places = []) {
    const isStay = this.#admitted !== null;
    this.#endStay();
    this.#redirects++;
    const former = this.current;
    if (this.#redirects > REDIRECTS) {
      this.#targets = [];
      if (isStay || !this.hasNext) this.#begin([], [former, this.#suspect]);
      return null;
    }
    this.#targets = this.#usable(places);
    if (this.#targets.length > 0) {
      const others = this.#known.filter((place) => !this.#targets.includes(place));
      this.#named = [...this.#targets, ...others].slice(0, PLACES);
      this.#home = this.#targets[0];
    }
    this.#begin(this.#targets, [former, this.#suspect]);
    const late = this.#redirects - PROMPT_REDIRECTS;
    return late > 0 ? 250 * 2 ** Math.min(late, 4) * (0.5 + Math.random() / 2) : 0;
  }

  /** A page that came over TLS stays with it; a browser would refuse other addresses. */
  #usable(places) {
    return places.filter((place) => place.startsWith("wss://") || !this.#configured[0].startsWith("wss://"));
  }

  get isRedirected() { return this.#targets.includes(this.current); }
  /** The home, if we suspect that it is down and come to another server. */
  get unreachable() { return this.#suspect && this.#suspect !== this.current ? this.#suspect : undefined; }
}
