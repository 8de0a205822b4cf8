// What the page and the server say to each other, over connections that come and go, so that all of it is heard once and
// in order (Docs/protocol.md, “When a connection breaks”); and which chat messages may have been lost with a server.

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

/** A server that goes down had this long to pass on what it had acknowledged. */
const PASSED_ON = 10_000;
const REMEMBERED = 8_192;

export class DataMemory {
  /** id → { message, acknowledged: when, or null }, the oldest first. */
  #sent = new Map();
  #heard = new Set();

  /** @param from us. */
  say(message, from) {
    this.#sent.set(message.id, { message, acknowledged: null });
    this.hear({ from, id: message.id });
  }

  acknowledge({ id, failure }) {
    const now = performance.now();
    const entry = this.#sent.get(id);
    if (entry && failure) this.#sent.delete(id);
    else if (entry) entry.acknowledged = now;
    for (const [old, { acknowledged }] of this.#sent) {
      if (acknowledged === null || now - acknowledged < PASSED_ON) break;
      this.#sent.delete(old);
    }
  }

  /** What a room may not have, or may have forgotten, in order. */
  unheard(isRoomNew) {
    for (const [id, entry] of this.#sent) {
      if (entry.acknowledged !== null && !isRoomNew) this.#sent.delete(id);
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
