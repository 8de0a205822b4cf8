// A participant of a room: signalling over a WebSocket, media over one peer connection. The page draws; this does.
//
// The browser always offers and the server always answers, so offers never meet. Docs/protocol.md describes the messages.

import { Conversation, DataMemory, Places } from "./conversation.js";
import { Copies } from "./redundancy.js";
import { encodings } from "./sizes.js";

const VERSION = 1;
/** A camera has a new size once it has been seen twice, so long apart. */
const CAMERA_CHECK = 1_000;
/** How often the loss of the microphone's packets is looked at; the server reports it once a second. */
const LOSS_CHECK = 1_000;
/** A planned move to another server that takes less is not shown. */
const MOVE_LIMIT = 2_000;
/** Where there are several servers: how long one may take to connect, and then to let us in, before the next one is tried. */
const OPEN_LIMIT = 5_000;
const ENTRY_LIMIT = 15_000;

export class Room extends EventTarget {
  /** What we send: kind → { id, kind, transceiver, track, muted }; of a camera also `encodings`, as they were last made. */
  #own = new Map();
  /** Whom we know: id → { id, name, tracks: Map of id → { id, kind, muted, transceiver, isAnswered } }; no `transceiver` without media. */
  #others = new Map();
  /** Who waits to be let in: id → { name, number }. */
  #guests = new Map();
  #socket;
  #peer;
  #number = 0;
  #answered;
  #isDirty = false;
  #isOver = false;
  #attempts = 0;
  #requestedID;
  #epoch;
  #conversation;
  /** Of the conversation before this one: proves that we are who was in the room until now. */
  #formerKey;
  #memory = new DataMemory();
  /** Whether what we say is heard now; else it waits for the conversation to be taken up again. */
  #isHeard = false;
  /** Until when that may be, while the connection is broken. */
  #graceEnds = null;
  #cameraCheck;
  #lossCheck;
  /** Of the microphone's present place. */
  #copies;
  #places = new Places(ownPlace());
  /** Whether the server of the present connection has let us in. */
  #isAdmitted = false;
  /** When a server last had us; null while one has. */
  #left = null;
  #moveShown;
  #attemptEnd;
  /** The highest number in the room's order that we know, of messages and receipts, and of messages alone. */
  #seen = 0;
  #lastOrder = 0;
  /** Kept messages up to this number of a restored room are known. */
  #known = 0;
  /** Of a server that says how often it pings: { ping, silence }, in milliseconds. */
  #times = null;
  #watch;
  #lastHeard = 0;
  #pinged = null;
  me;

  constructor({ room, name, token }) {
    super();
    Object.assign(this, { room, name, token });
  }

  get others() { return [...this.#others.values()]; }
  get guests() { return [...this.#guests].map(([id, { name }]) => ({ id, name })); }
  get peer() { return this.#peer; }
  ownTrack(kind) { return this.#own.get(kind)?.track ?? null; }
  isMuted(kind) { return this.#own.get(kind)?.muted ?? true; }

  #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  // Coming and going

  /** @param tracks kind → MediaStreamTrack or null; microphone and camera always have a place. */
  join(tracks) {
    for (const kind of ["microphone", "camera"]) {
      this.#own.set(kind, { id: kind, kind, track: tracks[kind] ?? null, muted: !tracks[kind] });
    }
    this.#connect();
    this.#cameraCheck = setInterval(() => this.#followCamera(), CAMERA_CHECK);
    this.#lossCheck = setInterval(() => this.#followLoss().catch((error) => console.warn(error)), LOSS_CHECK);
  }

  #connect() {
    this.#others.clear();
    this.#guests.clear();
    this.#isDirty = false;
    this.#peer?.close();
    const peer = this.#peer = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    peer.addEventListener("connectionstatechange", () => {
      if (peer !== this.#peer) return;
      if (peer.connectionState === "connected") { this.#attempts = 0; this.#tell("connected"); }
      if (peer.connectionState === "failed") this.#retry();
    });
    for (const own of this.#own.values()) this.#place(own);
    this.#formerKey = this.#conversation?.key ?? this.#formerKey;
    this.#conversation = new Conversation();
    this.#graceEnds = null;
    this.#open(() => {
      this.#isHeard = true;
      this.#exchange("join").catch((error) => this.#fail(error));
    });
  }

  #open(begin) {
    this.#isAdmitted = false;
    let wasOpen = false;
    let socket;
    try {
      socket = this.#socket = new WebSocket(browserURL(this.#places.current));
    } catch (error) {  // no address, or one that this page may not use
      console.debug(error);
      setTimeout(() => this.#lost({ wasOpen }));
      return;
    }
    this.#limitAttempt(OPEN_LIMIT);
    socket.onopen = () => {
      if (socket !== this.#socket) return;
      wasOpen = true;
      this.#places.opened();
      this.#limitAttempt(ENTRY_LIMIT);
      begin(socket);
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      this.#lastHeard = performance.now();
      this.#hear(JSON.parse(data));
    };
    socket.onclose = () => { if (socket === this.#socket && !this.#isOver) this.#lost({ wasOpen }); };
  }

  /** Tries the next server if this one takes longer. */
  #limitAttempt(time) {
    clearTimeout(this.#attemptEnd);
    if (!this.#places.isAlone) this.#attemptEnd = setTimeout(() => this.#giveUp({ wasOpen: false }), time);
  }

  #giveUp(how) {
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#lost(how);
  }

  /** Only a server that says how often it pings is watched; a browser does not show its pings, so we ask. */
  #keepWatch() {
    clearInterval(this.#watch);
    this.#pinged = null;
    if (!this.#times) return;
    this.#watch = setInterval(() => {
      if (!this.#isHeard) return;
      const now = performance.now();
      // A page in the background wakes up late: only an answer that it has waited for is missing.
      const isAnswered = this.#pinged === null || this.#lastHeard >= this.#pinged;
      if (!isAnswered && now - this.#pinged >= this.#times.silence - this.#times.ping) {
        return this.#giveUp({ isSilent: true });
      }
      if (isAnswered) {
        this.#pinged = now;
        this.#send({ type: "ping", number: 1 });
      }
    }, this.#times.ping);
  }

  /** The connection broke. Media go on: while the room waits for us, the conversation is taken up where it was. */
  #lost(how) {
    if (this.#isOver) return;
    this.#isHeard = false;
    this.#leave(how?.isSilent ? this.#lastHeard : performance.now());
    this.#places.lost(how);
    this.#graceEnds ??= performance.now() + this.#conversation.graceSeconds * 1_000;
    if (!this.#conversation.isResumable || performance.now() > this.#graceEnds) return this.#retry(true);
    this.#showReconnecting();
    this.#later(() => this.#open((socket) => socket.send(JSON.stringify(this.#conversation.resumption))));
  }

  /** Joins anew. */
  #retry(isCounted = false) {
    if (this.#isOver) return;
    if (!isCounted) {
      this.#leave();
      this.#places.lost();
    }
    this.#drop();
    this.#showReconnecting();
    this.#later(() => this.#connect());
  }

  /** Joins anew at the server that does not know us: it may have the room by now. */
  #rejoin() {
    if (this.#places.isAlone) return this.#retry();
    this.#drop();
    this.#connect();
  }

  /** Joins at the next server: the first one's ledger is away. */
  #tryNext() {
    this.#drop();
    this.#later(() => this.#connect());
  }

  #leave(when = performance.now()) {
    if (this.#isAdmitted) this.#left ??= when;
    this.#isAdmitted = false;
  }

  /** Not while a move goes on that may be over in a moment. */
  #showReconnecting() { if (!this.#moveShown) this.#tell("reconnecting"); }

  /** The server sends us to another one. @param refusal its failure, if it does not let us in. */
  #move(places, refusal) {
    if (this.#isOver) return;
    this.#leave();
    const pause = this.#places.redirect(places);
    if (pause === null && !this.me) return this.#end("refused", refusal);
    if (this.me && !refusal && !this.#moveShown) {
      this.#moveShown = setTimeout(() => {
        this.#moveShown = null;
        if (!this.#isOver) this.#tell("reconnecting");
      }, MOVE_LIMIT);
    }
    this.#drop();
    if (pause === null) return this.#later(() => this.#connect(), 4_000);
    this.#later(() => this.#connect(), pause);
  }

  /** Goes on with the next place: at once within a round of several, otherwise after a pause. */
  #later(attempt, pause) {
    const peer = this.#peer;
    const isPrompt = this.#places.next();
    const wait = pause ?? (isPrompt ? 0 : Math.min(500 * 2 ** this.#attempts++, 10_000) * (0.75 + Math.random() / 2));
    setTimeout(() => { if (!this.#isOver && peer === this.#peer) attempt(); }, wait);
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#isHeard = false;
    clearTimeout(this.#attemptEnd);
    socket?.close();
    this.#peer?.close();
  }

  leave() {
    if (this.#isOver) return;
    if (!this.#isHeard) return this.#end("left");
    // The room answers before the media path closes: so the others hear of somebody who left, and not of one who was lost.
    this.#send({ type: "leave" });
    setTimeout(() => this.#end("left"), 1_000);
  }

  #end(reason, failure) {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#cameraCheck);
    clearInterval(this.#lossCheck);
    clearInterval(this.#watch);
    clearTimeout(this.#moveShown);
    this.#send({ type: "bye" });
    this.#drop();
    for (const own of this.#own.values()) own.track?.stop();
    this.#tell("ended", { reason, failure });
  }

  #fail(error) {
    console.error(error);
    this.#retry();
  }

  // What we send

  #place(own) {
    const isVideo = own.kind === "camera" || own.kind === "screen";
    const init = { direction: own.track ? "sendonly" : "inactive" };
    if (own.kind === "camera") {
      own.encodings = encodings(own.track?.getSettings());
      own.layers = null;  // all of them
      init.sendEncodings = own.encodings;
    }
    if (own.kind === "screen") init.sendEncodings = [{ maxBitrate: 2_500_000 }];
    own.transceiver = this.#peer.addTransceiver(own.track ?? (isVideo ? "video" : "audio"), init);
  }

  async #followLoss() {
    const transceiver = this.#own.get("microphone")?.transceiver;
    if (transceiver?.currentDirection !== "sendonly" || !this.me) return;
    if (this.#copies?.transceiver !== transceiver) this.#copies = new Copies(transceiver);
    const hasChanged = await this.#copies.check(performance.now());
    if (hasChanged && transceiver === this.#own.get("microphone")?.transceiver) this.#negotiate();
  }

  /** Mutes, or gives up the device; `track` brings it back. */
  async setTrack(kind, track) {
    const own = this.#own.get(kind);
    if (!own) return;
    const old = own.track;
    own.track = track;
    own.muted = !track;
    const isPlacedAnew = kind === "camera" && this.#sizeCamera(own);
    if (!isPlacedAnew) await own.transceiver.sender.replaceTrack(track);
    if (old && old !== track) old.stop();
    if (isPlacedAnew) return this.#tell("own");
    if (track && own.transceiver.direction !== "sendonly") {
      own.transceiver.direction = "sendonly";
      this.#negotiate();
    } else {
      this.#send({ type: "mute", track: own.id, muted: own.muted });
    }
    this.#tell("own");
  }

  setMuted(kind, muted) {
    const own = this.#own.get(kind);
    if (!own?.track) return;
    own.muted = muted;
    own.track.enabled = !muted;
    this.#send({ type: "mute", track: own.id, muted });
    this.#tell("own");
  }

  share(track) {
    const own = { id: "screen", kind: "screen", track, muted: false };
    track.addEventListener("ended", () => this.unshare());
    this.#own.set("screen", own);
    this.#place(own);
    this.#negotiate();
    this.#tell("own");
  }

  unshare() {
    const own = this.#own.get("screen");
    if (!own) return;
    this.#own.delete("screen");
    own.track.stop();
    own.transceiver.stop();
    this.#negotiate();
    this.#tell("own");
  }

  /** A camera may be turned, or be given other constraints; no event says so. */
  #followCamera() {
    const own = this.#own.get("camera");
    if (!own?.track || own.track.readyState === "ended" || !this.me) return;
    const seen = JSON.stringify(encodings(own.track.getSettings()));
    if (seen === own.seen) this.#sizeCamera(own);
    own.seen = seen;
  }

  /**
   * Makes the layers of a camera fit its size. How many there are is fixed with a sender: another number takes another one.
   * @returns whether that was so; it is published from there then.
   */
  #sizeCamera(own) {
    if (!own.track) return false;
    const fitting = encodings(own.track.getSettings());
    if (JSON.stringify(fitting) === JSON.stringify(own.encodings)) return false;
    if (fitting.length === own.encodings.length) {
      own.encodings = fitting;
      this.#applyEncodings(own);
      return false;
    }
    own.transceiver.stop();
    this.#place(own);
    this.#negotiate();
    return true;
  }

  #limit({ track, layers }) {
    const own = this.#ownByID(track);
    if (!own) return;
    own.layers = layers;
    this.#applyEncodings(own);
  }

  /** Encodes no layer that no receiver wants, and gives each the bit rate of its size. One change at a time. */
  #applyEncodings(own) {
    const { sender } = own.transceiver;
    own.applied = Promise.resolve(own.applied).then(async () => {
      const parameters = sender.getParameters();
      if (!parameters.encodings?.length) return;
      parameters.encodings.forEach((encoding, layer) => {
        if (own.layers) encoding.active = own.layers.includes(layer);
        if (own.encodings?.[layer]) encoding.maxBitrate = own.encodings[layer].maxBitrate;
      });
      await sender.setParameters(parameters);
    }).catch((error) => console.debug("encodings stay", error));
  }

  /** Asks for pictures no larger than they are shown: participant, track and rows of each. */
  prefer(wishes) {
    if (wishes.length === 0) return;
    const tracks = wishes.map(({ participant, track, rows }) => ({ reference: { participant, track }, maxHeight: rows }));
    this.#send({ type: "prefer", tracks });
  }

  /** Lets a guest in, or not. */
  decide(participant, admitted) {
    this.#send({ type: "answerKnock", participant, admitted, number: this.#guests.get(participant)?.number });
  }

  say(text) {
    const bytes = new TextEncoder().encode(text);
    const message = {
      type: "data", topic: "chat", payload: btoa(String.fromCharCode(...bytes)), id: randomID(), lifetimeSeconds: 3600,
    };
    this.#memory.say(message, this.me?.id);
    this.#send(message);
  }

  // Descriptions

  #negotiate() {
    if (this.#answered || !this.me) { this.#isDirty = true; return; }
    this.#exchange("offer").catch((error) => this.#fail(error));
  }

  async #exchange(type) {
    const peer = this.#peer;
    this.#isDirty = false;
    const number = ++this.#number;
    const answer = new Promise((resolve) => { this.#answered = { number, resolve }; });
    await peer.setLocalDescription();
    const offer = { number, sdp: peer.localDescription.sdp, send: [], receive: [] };
    let fresh = [];  // asked for here for the first time
    for (const own of this.#own.values()) {
      const { mid, direction } = own.transceiver;
      if (mid && direction === "sendonly") offer.send.push({ mid, id: own.id, kind: own.kind, muted: own.muted });
    }
    for (const other of this.#others.values()) {
      for (const track of other.tracks.values()) {
        const mid = track.transceiver?.mid;
        if (!mid) continue;
        // Packets that come before their source is known Firefox takes for another medium's, and for good: none until then.
        offer.receive.push({ mid, participant: other.id, track: track.id, paused: !track.isAnswered });
        if (!track.isAnswered) fresh.push({ other, track });
      }
    }
    const join = {
      version: VERSION, room: this.room, name: this.name, credential: this.token, participantID: this.#requestedID,
      returningTo: this.#epoch, resumptionKey: this.#formerKey, seen: this.#seen || undefined,
      isMoved: this.#places.isRedirected || undefined, unreachable: this.#places.unreachable,
    };
    this.#send(type === "join" ? { type, ...join, offer } : { type, offer });
    const sdp = await answer;
    if (peer !== this.#peer) return;
    await peer.setRemoteDescription({ type: "answer", sdp });
    fresh = fresh.filter(({ track }) => track.transceiver);  // the room may have refused some
    for (const { track } of fresh) track.isAnswered = true;
    if (fresh.length > 0) this.#tell("answered");  // before they are resumed: their first frames have the right size
    const tracks = fresh.map(({ other, track }) => ({ participant: other.id, track: track.id }));
    if (tracks.length > 0) this.#send({ type: "resume", tracks });
    this.#answered = null;
    if (this.#isDirty) this.#negotiate();
  }

  #send(message) {
    this.#conversation?.say(message);
    if (this.#isHeard && this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  // What the room says

  #hear(message) {
    const told = this.#conversation.hear(message);
    if (told) this.#send(told);
    switch (message.type) {
      case "joined": this.#enter(message); break;
      case "resumed":
        this.#isHeard = true;
        this.#admitted();
        this.#graceEnds = null;
        this.#attempts = 0;
        for (const unheard of this.#conversation.resumed(message.heard)) this.#socket.send(JSON.stringify(unheard));
        this.#tell("connected");
        break;
      case "answer":
        if (message.number === this.#answered?.number) this.#answered.resolve(message.sdp);
        break;
      case "moved": this.#move(message.places); break;
      case "refused":
        if (message.failure.code === "moved") this.#move(message.places, message.failure);
        else if (message.failure.code === "unavailable" && this.me) this.#retry();
        else if (message.failure.code === "unavailable" && this.#places.hasNext) this.#tryNext();
        else if (message.failure.code === "unknownConversation") this.#rejoin();
        else if (message.failure.code === "tooMany" && this.me) { this.#places.endRound(); this.#retry(); }
        else this.#end("refused", message.failure);
        break;
      case "ended": message.reason === "dropped" ? this.#retry() : this.#end(message.reason); break;
      case "participantJoined": this.#add(message.participant); break;
      case "participantLeft": this.#remove(message.participant); break;
      case "published": for (const track of message.tracks) this.#addTrack(message.participant, track); break;
      case "withdrawn": for (const id of message.tracks) this.#removeTrack(message.participant, id); break;
      case "unsubscribed": for (const track of message.tracks) this.#unsubscribed(track); break;
      case "permissions": this.#permissionsChanged(message.permissions); break;
      case "muted": {
        if (message.participant === this.me?.id) { this.#ownTrackMuted(message); break; }
        const track = this.#others.get(message.participant)?.tracks.get(message.track);
        if (track) track.muted = message.muted;
        this.#tell("roster");
        break;
      }
      case "starved": {
        const track = this.#others.get(message.participant)?.tracks.get(message.track);
        if (track) track.isResting = message.paused;
        this.#tell("roster");
        break;
      }
      case "wanted": this.#limit(message); break;
      case "speakers": this.#tell("speakers", message); break;
      case "data": this.#receive(message); break;
      case "history": this.#receiveKept(message.messages); break;
      case "dataReceipt":
        this.#seen = Math.max(this.#seen, message.order ?? 0);
        this.#memory.acknowledge(message);
        break;
      case "failed": this.me ? this.#tell("trouble", message.failure) : this.#end("refused", message.failure); break;
      case "nodes":
        this.#times = pingTimes(message.pingSeconds, message.silenceSeconds);
        this.#places.admitted(message.places);
        break;
      case "waiting":
        clearTimeout(this.#attemptEnd);
        this.#keepWatch();
        this.#tell("waiting");
        break;
      case "knock": {
        const { participant: { id, name }, number } = message;
        this.#guests.set(id, { name, number });
        this.#tell("guests");
        break;
      }
      case "knockEnded": this.#guests.delete(message.participant); this.#tell("guests"); break;
    }
  }

  #admitted(places) {
    clearTimeout(this.#attemptEnd);
    this.#isAdmitted = true;
    this.#left = null;
    this.#places.admitted(places);
    clearTimeout(this.#moveShown);
    this.#moveShown = null;
    this.#keepWatch();
  }

  #enter({ local, participants, history, epoch, continues, places, pingSeconds, silenceSeconds }) {
    const isRoomNew = this.#epoch !== epoch;
    const unheard = this.me ? this.#memory.unheard(isRoomNew, this.#left ?? performance.now(), continues) : [];
    // A restored room counts on: we have all of it up to the last message that we know.
    this.#known = this.me && isRoomNew && continues ? this.#lastOrder : 0;
    if (this.me && isRoomNew && !continues) this.#seen = this.#lastOrder = 0;
    this.#times = silenceSeconds ? pingTimes(pingSeconds, silenceSeconds) : null;
    this.#admitted(places);
    this.me = local;
    this.#requestedID = local.id;
    this.#epoch = epoch;
    for (const participant of participants) this.#add(participant);
    this.#receiveKept(history);
    for (const message of unheard) this.#send(message);
    this.#tell("joined");
  }

  #receiveKept(messages) {
    for (const data of messages) if (this.#known === 0 || data.order > this.#known) this.#receive(data);
  }

  #receive({ from, topic, payload, id, order }) {
    this.#lastOrder = Math.max(this.#lastOrder, order ?? 0);
    this.#seen = Math.max(this.#seen, this.#lastOrder);
    if (topic !== "chat" || !this.#memory.hear({ from, id })) return;
    const text = new TextDecoder().decode(Uint8Array.from(atob(payload), (character) => character.charCodeAt(0)));
    this.#tell("said", { from, name: this.#others.get(from)?.name ?? from, text });
  }

  #add({ id, name, tracks }) {
    this.#others.set(id, { id, name, tracks: new Map() });
    for (const track of tracks) this.#addTrack(id, track);
    this.#tell("roster");
  }

  #remove(id) {
    for (const track of [...(this.#others.get(id)?.tracks.keys() ?? [])]) this.#removeTrack(id, track);
    this.#others.delete(id);
    this.#tell("roster");
  }

  #addTrack(id, { id: trackID, kind, muted }) {
    const other = this.#others.get(id);
    if (!other) return;
    other.tracks.set(trackID, { id: trackID, kind, muted, transceiver: this.#seat(kind) });
    this.#negotiate();
    this.#tell("roster");
  }

  #removeTrack(id, trackID) {
    if (id === this.me?.id) return this.#ownTrackWithdrawn(trackID);
    const tracks = this.#others.get(id)?.tracks;
    const transceiver = tracks?.get(trackID)?.transceiver;
    tracks?.delete(trackID);
    if (transceiver) transceiver.direction = "inactive";
    this.#negotiate();
    this.#tell("roster");
  }

  /** The room does not permit a local track any more. */
  #ownTrackWithdrawn(id) {
    const own = this.#ownByID(id);
    if (!own) return;
    if (own.kind === "screen") return this.unshare();
    own.track?.stop();
    own.track = null;
    own.muted = true;
    own.transceiver.sender.replaceTrack(null).catch((error) => console.debug("the sender has stopped", error));
    own.transceiver.direction = "inactive";
    this.#negotiate();
    this.#tell("own");
  }

  /** A moderator or the server has muted a local track. */
  #ownTrackMuted({ track: id, muted }) {
    const own = this.#ownByID(id);
    if (!own?.track) return;
    own.muted = muted;
    own.track.enabled = !muted;
    this.#tell("own");
  }

  #ownByID(id) { return [...this.#own.values()].find((own) => own.id === id); }

  /** The room has ended a subscription, or has refused it. The track stays in the list, without media. */
  #unsubscribed({ participant, track: id }) {
    const track = this.#others.get(participant)?.tracks.get(id);
    if (!track?.transceiver) return;
    track.transceiver.direction = "inactive";
    track.transceiver = null;
    track.isAnswered = false;
    this.#negotiate();
    this.#tell("roster");
  }

  /** Subscribes again to the tracks without media, if the room permits it now. */
  #permissionsChanged(permissions) {
    if (!permissions.includes("subscribe")) return;
    for (const other of this.#others.values()) {
      for (const track of other.tracks.values()) track.transceiver ??= this.#seat(track.kind);
    }
    this.#negotiate();
    this.#tell("roster");
  }

  /** A place for another's track: one that is free again, or a new one. */
  #seat(kind) {
    const media = kind === "microphone" || kind === "screenSound" ? "audio" : "video";
    const taken = new Set(this.others.flatMap(({ tracks }) => [...tracks.values()].map(({ transceiver }) => transceiver)));
    for (const own of this.#own.values()) taken.add(own.transceiver);
    const free = this.#peer.getTransceivers().find((one) =>
      one.receiver.track.kind === media && one.direction === "inactive" && !one.stopped
      && one.currentDirection !== "stopped" && one.mid && !taken.has(one));
    if (!free) return this.#peer.addTransceiver(media, { direction: "recvonly" });
    free.direction = "recvonly";
    return free;
  }

  // Figures

  /** Of each of the others: pictures decoded and sound received so far. */
  async figures() {
    const report = await this.#peer.getStats();
    const byMid = new Map();
    const sent = { frames: 0, packets: 0 };
    for (const entry of report.values()) {
      if (entry.type === "inbound-rtp") byMid.set(entry.mid, entry);
      if (entry.type === "outbound-rtp") {
        sent.frames += entry.framesEncoded ?? 0;
        sent.packets += entry.packetsSent ?? 0;
      }
    }
    const received = new Map();
    for (const other of this.others) {
      const figures = { frames: 0, packets: 0, energy: 0 };
      received.set(other.name, figures);
      for (const { transceiver } of other.tracks.values()) {
        const entry = byMid.get(transceiver?.mid);
        figures.frames += entry?.framesDecoded ?? 0;
        figures.packets += entry?.packetsReceived ?? 0;
        figures.energy += entry?.totalAudioEnergy ?? 0;
      }
    }
    return { sent, received: Object.fromEntries(received) };
  }
}

/** The server that the page comes from, as servers name each other. */
function ownPlace() { return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`; }

/** Where a browser reaches the server whose signalling is at `place`. */
function browserURL(place) {
  const url = new URL(place);
  url.pathname = url.pathname.replace(/\/(signaling)?$/, "/browser");
  return url.href;
}

/** In milliseconds; as native clients bound them. */
function pingTimes(pingSeconds, silenceSeconds) {
  const ping = Math.min(Math.max(pingSeconds ?? 5, 1), 30);
  return { ping: ping * 1_000, silence: Math.max(Math.min(Math.max(silenceSeconds, 2), 120), 2 * ping) * 1_000 };
}

/** `crypto.randomUUID` is there on https and localhost only. */
function randomID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
