// The page's Room against servers of a cluster, in virtual time: WebSockets, peer connections, timers and the clock are replaced before
// room.js is loaded. `run()` returns one line for each scenario that fails. For Scripts/check-page.

let now = 0;
let number = 0;
const timers = new Map();
const schedule = (work, time = 0, every = null) => {
  timers.set(++number, { work, at: now + time, every });
  return number;
};
globalThis.setTimeout = (work, time) => schedule(work, time);
globalThis.setInterval = (work, time) => schedule(work, time, time);
globalThis.clearTimeout = globalThis.clearInterval = (id) => timers.delete(id);
performance.now = () => now;

/** Lets promises run. Messages of a channel come without the pause of nested timers. */
const channel = new MessageChannel();
const turn = () => new Promise((done) => {
  channel.port1.onmessage = done;
  channel.port2.postMessage(null);
});
const settle = async () => { for (let count = 0; count < 10; count++) await turn(); };

/** Lets time pass, one timer after the other. */
async function pass(time) {
  const end = now + time;
  await settle();
  for (;;) {
    const [id, next] = [...timers].filter(([, { at }]) => at <= end).sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0] ?? [];
    if (!next) break;
    now = Math.max(now, next.at);
    if (next.every === null) timers.delete(id); else next.at = now + next.every;
    next.work();
    await settle();
  }
  now = end;
}

class FakePeer extends EventTarget {
  connectionState = "new";
  localDescription = { sdp: "v=0" };
  #transceivers = [];
  addTransceiver(track, { direction }) {
    const kind = track.kind ?? track;
    const sender = { replaceTrack: async () => {}, getParameters: () => ({}), setParameters: async () => {} };
    const one = { mid: String(this.#transceivers.length), direction, sender, receiver: { track: { kind } }, stop() {} };
    this.#transceivers.push(one);
    return one;
  }
  getTransceivers() { return this.#transceivers; }
  async setLocalDescription() {}
  async setRemoteDescription() {}
  close() { this.connectionState = "closed"; }
}
globalThis.RTCPeerConnection = FakePeer;

/** What servers do: address of the browser's WebSocket → "refuses", "hangs", or a function of a message that returns answers. */
let servers = {};
let attempts = [];
let sockets = [];
class FakeSocket {
  static OPEN = 1;
  readyState = 0;
  received = [];
  constructor(url) {
    this.url = url;
    attempts.push({ url, at: now });
    sockets.push(this);
    const server = servers[url];
    if (server === "hangs") return;
    setTimeout(() => {
      if (this.readyState === 3) return;
      if (server === undefined || server === "refuses") return this.drop();
      this.readyState = 1;
      this.onopen?.();
    }, 1);
  }
  send(text) {
    const message = JSON.parse(text);
    this.received.push(message);
    for (const answer of servers[this.url](message) ?? []) setTimeout(() => this.say(answer), 1);
  }
  say(message) { if (this.readyState === 1) this.onmessage?.({ data: JSON.stringify(message) }); }
  /** The connection is gone. */
  drop() {
    this.readyState = 3;
    this.onclose?.();
  }
  close() { this.readyState = 3; }
}
globalThis.WebSocket = FakeSocket;

/** The servers; the page comes from the first. */
const N = (number) => `ws://${number === 1 ? location.host : `n${number}:8080`}`;
const B = (number) => `${N(number)}/browser`;
const PLACES = [N(1), N(2), N(3)];

const joined = (epoch, more = {}) => ({
  type: "joined", version: 1, local: { id: "ana", name: "Ana", tracks: [] }, participants: [], history: [], epoch, ...more,
});
/** A server that admits everybody: `epoch` of its room, and more of `joined`. */
const admits = (epoch, more = {}) => (message) => ({
  join: [{ type: "resumable", key: `key of ${epoch}`, graceSeconds: 30 }, joined(epoch, { places: PLACES, ...more })],
  resumeConversation: [{ type: "refused", failure: { code: "unknownConversation", message: "" } }],
  ping: [{ type: "pong", number: message.number }],
}[message.type] ?? []);
/** A server at which everybody waits to be admitted. */
const keepsWaiting = (epoch) => (message) => message.type !== "join" ? admits(epoch)(message) : [
  { type: "resumable", key: `key of ${epoch}`, graceSeconds: 30 },
  { type: "nodes", places: PLACES, pingSeconds: 2, silenceSeconds: 6 },
  { type: "waiting" },
];
const redirects = (...places) => (message) => ({
  join: [{ type: "refused", failure: { code: "moved", message: "elsewhere" }, places }],
  resumeConversation: [{ type: "refused", failure: { code: "unknownConversation", message: "" } }],
}[message.type] ?? []);

const last = () => sockets[sockets.length - 1];
const at = (url) => sockets.filter((socket) => socket.url === url).flatMap(({ received }) => received);
const joins = (url) => at(url).filter(({ type }) => type === "join");
const texts = (url) => at(url).filter(({ type }) => type === "data").map(({ payload }) => atob(payload));
const data = (id, order, text = id) => ({ type: "data", from: "ben", topic: "chat", id, order, payload: btoa(text) });

let failures = [];
function expect(name, got, wanted) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) failures.push(`${name}: ${a} instead of ${b}`);
}

/** A person in the room at n1, from which the page comes. */
async function enter(Room, more = {}, first = admits("e1", more)) {
  [servers, attempts, sockets] = [{ [B(1)]: first, [B(2)]: admits("e2"), [B(3)]: admits("e3") }, [], []];
  timers.clear();
  const room = new Room({ room: "tea", name: "Ana" });
  const events = [];
  for (const type of ["joined", "reconnecting", "ended"]) room.addEventListener(type, ({ detail }) => events.push(detail?.reason ?? type));
  room.addEventListener("said", ({ detail }) => events.push(`said ${detail.text}`));
  room.join({});
  await pass(100);
  return { room, events, forget() { attempts = []; events.length = 0; } };
}
const urls = () => attempts.map(({ url }) => url);

const scenarios = {
  async plannedMoveIsNotShown(Room, name) {
    const { events, forget } = await enter(Room);
    forget();
    last().say(data("a", 41));
    last().say({ type: "moved", places: [N(2)] });
    await pass(5_000);
    expect(name, urls(), [B(2)]);
    expect(name, events, ["said a", "joined"]);
    const [join] = joins(B(2));
    expect(name, [join.isMoved, join.seen, join.returningTo, join.resumptionKey, join.unreachable], [true, 41, "e1", "key of e1", undefined]);
    expect(name, at(B(2))[0].type, "join");
  },
  async slowMoveIsShownAfterTwoSeconds(Room, name) {
    const { room, events, forget } = await enter(Room);
    room.say("one");
    last().say({ type: "dataReceipt", id: at(B(1)).find(({ type }) => type === "data").id, order: 8 });
    await pass(6_000);
    servers[B(2)] = "hangs";
    forget();
    last().say({ type: "moved", places: [N(2)] });
    await pass(1_990);
    expect(name, events, []);
    await pass(20);
    expect(name, events, ["reconnecting"]);
    await pass(5_000);
    expect(name, urls(), [B(2), B(3)]);
    expect(name, events, ["reconnecting", "reconnecting", "joined"]);
    expect(name, joins(B(3)).map(({ unreachable }) => unreachable), [N(2)]);
    expect(name, texts(B(3)), ["one"]);  // its receipt came 6 s before the move, which took 5 s
  },
  async brokenConnectionTriesAllPlacesWithoutPause(Room, name) {
    const { forget } = await enter(Room);
    for (const number of [1, 2, 3]) servers[B(number)] = "refuses";
    forget();
    last().drop();
    await pass(300);
    expect(name, urls(), [B(1), B(2), B(3)]);
    await pass(600);
    expect(name, urls().slice(3), [B(1), B(2), B(3)]);
  },
  async refusedHomeIsReported(Room, name) {
    const { forget } = await enter(Room);
    servers[B(1)] = "refuses";
    forget();
    last().drop();
    await pass(200);
    expect(name, urls(), [B(1), B(2), B(2)]);
    expect(name, joins(B(2)).map(({ unreachable, isMoved }) => [unreachable, isMoved]), [[N(1), undefined]]);
  },
  async silentServerIsTriedLast(Room, name) {
    const { events, forget } = await enter(Room, { pingSeconds: 2, silenceSeconds: 6 });
    await pass(20_000);
    expect(name, events, ["joined"]);
    servers[B(1)] = () => [];
    forget();
    await pass(10_000);
    expect(name, urls()[0], B(2));
    expect(name, joins(B(2)).map(({ unreachable }) => unreachable), [N(1)]);
    expect(name, events, ["reconnecting", "joined"]);
  },
  async guestThatWaitsGoesToAnotherServerWhenItsOwnIsGone(Room, name) {
    for (const [trouble, first] of [["refuses", B(1)], ["hangs", B(2)]]) {
      const { events, forget } = await enter(Room, {}, keepsWaiting("e1"));
      await pass(20_000);
      expect(name, events, []);
      forget();
      servers[B(1)] = trouble === "hangs" ? () => [] : trouble;
      if (trouble === "refuses") last().drop();
      await pass(12_000);
      expect(name, urls()[0], first);
      expect(name, joins(B(2)).length, 1);
      expect(name, events.at(-1), "joined");
    }
  },
  async firstJoinIsRedirected(Room, name) {
    const { room, events } = await enter(Room);
    room.leave();
    servers[B(1)] = redirects(N(2));
    [attempts, sockets] = [[], []];
    const again = new Room({ room: "tea", name: "Ana" });
    again.join({});
    await pass(100);
    expect(name, urls(), [B(1), B(2)]);
    expect(name, joins(B(2)).map(({ isMoved }) => isMoved), [true]);
    expect(name, events, ["joined"]);
  },
  async firstJoinGoesOnToTheNextServerIfTheLedgerIsAway(Room, name) {
    const { room } = await enter(Room);
    room.leave();
    await pass(2_000);
    servers[B(1)] = redirects(N(2), N(3));
    servers[B(2)] = (message) =>
      message.type === "join" ? [{ type: "refused", failure: { code: "unavailable", message: "not known" } }] : [];
    attempts = [];
    const again = new Room({ room: "tea", name: "Ana" });
    const events = [];
    for (const type of ["joined", "reconnecting", "ended"]) again.addEventListener(type, () => events.push(type));
    again.join({});
    await pass(200);
    expect(name, urls(), [B(1), B(2), B(3)]);
    expect(name, events, ["joined"]);
    again.leave();
    await pass(2_000);
    for (const number of [1, 3]) servers[B(number)] = servers[B(2)];
    [attempts, events.length] = [[], 0];
    const alone = new Room({ room: "tea", name: "Ana" });
    alone.addEventListener("ended", ({ detail }) => events.push(detail.reason));
    alone.join({});
    await pass(60_000);
    expect(name, urls(), [B(1)]);
    expect(name, events, ["refused"]);
  },
  async serversThatPointAtEachOtherMakeNoSpin(Room, name) {
    const { events, forget } = await enter(Room);
    servers[B(1)] = redirects(N(2));
    servers[B(2)] = redirects(N(1));
    servers[B(3)] = redirects(N(1));
    forget();
    last().say({ type: "moved", places: [N(2)] });
    await pass(60_000);
    if (attempts.length < 9 || attempts.length > 60) failures.push(`${name}: ${attempts.length} attempts`);
    if (!events.includes("reconnecting")) failures.push(`${name}: not shown`);
  },
  async firstJoinEndsAfterEightRedirects(Room, name) {
    const { room } = await enter(Room);
    room.leave();
    await pass(2_000);
    servers[B(1)] = redirects(N(2));
    servers[B(2)] = redirects(N(1));
    attempts = [];
    const again = new Room({ room: "tea", name: "Ana" });
    const reasons = [];
    again.addEventListener("ended", ({ detail }) => reasons.push(detail.reason));
    again.join({});
    await pass(100);
    expect(name, attempts.length, 4);
    await pass(60_000);
    expect(name, attempts.length, 9);
    expect(name, reasons, ["refused"]);
  },
  async restoredRoomSendsOnlyWhatIsNew(Room, name) {
    for (const continues of [true, false]) {
      const { events, forget } = await enter(Room);
      last().say(data("a", 7));
      forget();
      servers[B(2)] = admits("e2", { continues, history: [data("old", 5), data("a", 7), data("new", 90)] });
      last().say({ type: "moved", places: [N(2)] });
      await pass(200);
      expect(`${name} ${continues}`, events.filter((one) => one.startsWith("said")), continues ? ["said new"] : ["said old", "said new"]);
    }
  },
  async messagesOfTenSecondsAreSaidAgain(Room, name) {
    const { room, forget } = await enter(Room);
    room.say("early");
    room.say("deferred");
    const said = at(B(1)).filter(({ type }) => type === "data");
    last().say({ type: "dataReceipt", id: said[0].id, order: 50 });
    last().say({ type: "dataReceipt", id: said[1].id, order: 51, failure: { code: "unavailable", message: "" } });
    await pass(5_000);
    room.say("late");
    last().say({ type: "dataReceipt", id: at(B(1)).filter(({ type }) => type === "data")[2].id, order: 52 });
    await pass(6_000);
    for (const number of [1, 2, 3]) servers[B(number)] = "hangs";
    forget();
    last().drop();
    await pass(30_000);
    servers[B(1)] = "refuses";
    for (const number of [2, 3]) servers[B(number)] = admits("e4");
    await pass(20_000);
    expect(name, [...texts(B(2)), ...texts(B(3))], ["deferred", "late"]);
    const join = [...joins(B(2)), ...joins(B(3))][0];
    expect(name, join.seen, 52);
  },
  async lonelyServerIsTriedAsBefore(Room, name) {
    const { events, forget } = await enter(Room, { places: undefined });
    servers[B(1)] = "refuses";
    forget();
    last().drop();
    await pass(300);
    expect(name, urls(), []);
    await pass(400);
    expect(name, urls(), [B(1)]);
    servers[B(1)] = admits("e1");
    await pass(10_000);
    expect(name, new Set(urls()).size, 1);
    expect(name, events.at(-1), "joined");
    expect(name, "isMoved" in joins(B(1)).at(-1), false);
  },
};

export async function run(Room) {
  failures = [];
  for (const [name, scenario] of Object.entries(scenarios)) {
    try { await scenario(Room, name); } catch (error) { failures.push(`${name}: ${error.stack ?? error}`); }
  }
  return { count: Object.keys(scenarios).length, failures };
}
