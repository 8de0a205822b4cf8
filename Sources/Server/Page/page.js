// The page: a lobby, then the call. Everything it shows is read from the room.

import { Room } from "./room.js";
import { RowsWish, rowsShown } from "./sizes.js";

const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const linkToken = takeToken();
let room = null;

/** A token stands in the fragment, because that is not sent to servers. Neither the address bar nor the history keeps it. */
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

/** For a reload, the tab keeps the token that let it into a room. A link alone stores nothing: it may come from anybody. */
const tokenKey = (room) => `koine.token ${room}`;
function tokenFor(room) { return linkToken ?? sessionStorage.getItem(tokenKey(room)) ?? undefined; }
function keepToken({ room, token }) { if (token) sessionStorage.setItem(tokenKey(room), token); }

/** Text of a stranger within a line of ours: its direction stays its own (FSI and PDI of Unicode). */
function isolated(text) { return `\u2068${text}\u2069`; }

function nameElement(name) { return Object.assign(document.createElement("bdi"), { textContent: name }); }

// Lobby

$("room").value = query.get("room") ?? "";
$("name").value = query.get("name") ?? localStorage.getItem("koine.name") ?? "";
for (const id of ["with-microphone", "with-camera"]) {
  const wish = query.get(id.slice("with-".length));
  if (wish) $(id).checked = wish !== "off";
}
(query.get("room") ? $("name") : $("room")).focus();

$("enter").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("refusal").textContent = "";
  const tracks = await openDevices($("with-microphone").checked, $("with-camera").checked);
  localStorage.setItem("koine.name", $("name").value);
  const room = $("room").value;
  enter(new Room({ room, name: $("name").value, token: tokenFor(room) }), tracks);
});

async function openDevices(microphone, camera) {
  const tracks = { microphone: null, camera: null };
  const open = async (kind, constraints) => {
    try {
      const stream = await navigator.mediaDevices.getUserMedia(constraints);
      tracks[kind] = stream.getTracks()[0];
    } catch (error) {
      trouble(`no ${kind}: ${error.message}`);
    }
  };
  if (microphone) await open("microphone", { audio: true });
  if (camera) await open("camera", { video: CAMERA });
  return tracks;
}

// `?rows=180` for machines that cannot encode more.
const ROWS = Math.min(Math.max(Number(query.get("rows")) || 720, 90), 1_080);
const CAMERA = { width: { ideal: ROWS * 16 / 9 }, height: { ideal: ROWS }, frameRate: { ideal: 30 } };

function enter(entered, tracks) {
  room = window.koine = entered;
  const link = new URL(location.href);
  link.search = new URLSearchParams({ room: room.room });
  history.replaceState(null, "", link);
  room.addEventListener("joined", () => { keepToken(room); show(true); trouble(""); ask(); draw(); });
  room.addEventListener("connected", () => trouble(""));
  room.addEventListener("reconnecting", () => trouble("Reconnecting…"));
  room.addEventListener("waiting", () => { $("refusal").textContent = "Waiting until somebody lets you in…"; });
  room.addEventListener("guests", ask);
  room.addEventListener("trouble", ({ detail }) => trouble(detail.message));
  room.addEventListener("ended", ({ detail }) => {
    show(false);
    $("refusal").textContent = ENDINGS.get(detail.reason) ?? detail.failure?.message ?? `Ended: ${detail.reason}`;
    $("name").focus();
  });
  room.addEventListener("answered", prefer);
  room.addEventListener("own", draw);
  room.addEventListener("roster", draw);
  room.addEventListener("speakers", ({ detail }) => level(detail));
  room.addEventListener("said", ({ detail }) => say(detail.name, detail.text));
  room.join(tracks);
}

const ENDINGS = new Map(Object.entries({
  left: "", closed: "The room was closed.", removed: "You were removed from the room.",
  duplicate: "You have joined from somewhere else.",
}));

function show(isCall) {
  $("lobby").hidden = isCall;
  $("call").hidden = !isCall;
  if (isCall) {
    $("title").textContent = room.room;
    document.title = `${isolated(room.room)} – Koine`;
    $("mute").focus();
  } else {
    document.title = "Koine";
    $("tiles").replaceChildren();
    $("messages").replaceChildren();
  }
}

/** Whoever waits at the door, for those who may decide. */
function ask() {
  $("guests").replaceChildren(...room.guests.map(({ id, name }) => {
    const line = document.createElement("li");
    const decision = (text, admitted) => {
      const choice = Object.assign(document.createElement("button"), { type: "button", textContent: text });
      choice.addEventListener("click", () => room.decide(id, admitted));
      return choice;
    };
    line.append(nameElement(name), " asks to come in", decision("Let in", true), decision("Turn away", false));
    return line;
  }));
}

function trouble(text) { $("trouble").textContent = text; }

// Tiles

const tiles = new Map();

/** No participant's id makes it the key of a tile of one's own. */
function tileKey(participant, kind) { return `${kind} of ${participant.id}`; }

function draw() {
  if (!room?.me || $("call").hidden) return;
  const wanted = [];
  const of = (owner, kind) => [...owner.tracks.values()].find((track) => track.kind === kind);
  wanted.push({
    key: "own camera", name: room.me.name, suffix: " (you)", owner: room.me.id, isMine: true, isCamera: true,
    video: room.ownTrack("camera"), isMuted: room.isMuted("microphone"), isBlank: room.isMuted("camera"),
  });
  if (room.ownTrack("screen")) {
    wanted.push({ key: "own screen", name: "Your screen", isMine: true, video: room.ownTrack("screen") });
  }
  for (const other of room.others) {
    const camera = of(other, "camera"), microphone = of(other, "microphone"), screen = of(other, "screen");
    wanted.push({
      key: tileKey(other, "camera"), name: other.name, owner: other.id, isCamera: true, isMuted: microphone?.muted ?? true,
      isBlank: !camera?.transceiver || camera.muted, isResting: camera?.isResting, video: camera?.transceiver?.receiver.track,
      audio: microphone?.transceiver?.receiver.track,
    });
    if (screen) {
      wanted.push({
        key: tileKey(other, "screen"), name: other.name, suffix: "’s screen", video: screen.transceiver?.receiver.track,
        isBlank: !screen.transceiver || screen.muted, isResting: screen.isResting,
        audio: of(other, "screenSound")?.transceiver?.receiver.track,
      });
    }
  }
  const keys = new Set(wanted.map(({ key }) => key));
  for (const [key, tile] of tiles) {
    if (keys.has(key) && tile.isConnected) continue;
    tile.remove();
    tiles.delete(key);
  }
  for (const wish of wanted) fill(tiles.get(wish.key) ?? place(wish.key), wish);
  $("tiles").style.setProperty("--columns", Math.ceil(Math.sqrt(wanted.length)));
  $("count").textContent = room.others.length === 0 ? "nobody else is here yet" : `${room.others.length + 1} people`;
  button("mute", room.isMuted("microphone") ? "Unmute" : "Mute", room.isMuted("microphone"));
  button("camera", room.isMuted("camera") ? "Camera on" : "Camera off", room.isMuted("camera"));
  button("share", room.ownTrack("screen") ? "Stop sharing" : "Share screen", Boolean(room.ownTrack("screen")));
}

// Video need be no larger than its tile.
const rowsWishes = new WeakMap();  // track → RowsWish; a track that is published anew is another one
function prefer() {
  if (!room?.me || $("call").hidden) return;
  const wishes = [];
  for (const other of room.others) {
    for (const track of other.tracks.values()) {
      const tile = tiles.get(tileKey(other, track.kind));
      if (!tile?.clientHeight || !track.isAnswered) continue;
      if (!rowsWishes.has(track)) rowsWishes.set(track, new RowsWish());
      const shown = rowsShown(tile, tile.querySelector("video"), devicePixelRatio);
      const rows = rowsWishes.get(track).follow(shown, performance.now());
      if (rows) wishes.push({ participant: other.id, track: track.id, rows });
    }
  }
  room.prefer(wishes);
}
setInterval(prefer, 1_000);

function button(id, text, isPressed) {
  $(id).firstChild.data = text + " ";
  $(id).setAttribute("aria-pressed", isPressed);
}

function place(key) {
  const tile = $("tile").content.firstElementChild.cloneNode(true);
  tile.querySelector("video").muted = true;  // its sound is the other element's
  tiles.set(key, tile);
  $("tiles").append(tile);
  return tile;
}

function fill(tile, { name, suffix = "", owner, isMine, isCamera, isMuted, isBlank, isResting, video, audio }) {
  tile.dataset.owner = owner ?? "";
  tile.classList.toggle("mine", Boolean(isMine));
  tile.classList.toggle("camera", Boolean(isCamera));
  tile.classList.toggle("blank", Boolean(isBlank || !video));
  tile.querySelector(".name").replaceChildren(nameElement(name), suffix);
  tile.querySelector(".initial").textContent = [...name][0] ?? "";
  tile.querySelector(".mark").hidden = !isMuted;
  tile.querySelector(".resting").hidden = !isResting;
  tile.querySelector("meter").hidden = !isCamera;
  tile.querySelector("video").setAttribute("aria-label", isolated(name) + suffix);
  // An element plays nothing before the first picture has come: whose picture is off or rests must be heard all the same.
  play(tile.querySelector("video"), video);
  play(tile.querySelector("audio"), audio);
}

function play(element, track) {
  if (element.srcObject?.getTracks()[0] === track) return;
  element.srcObject = track ? new MediaStream([track]) : null;
}

// Browsers let pages that nobody has touched make no sound, unless they may use the microphone.
for (const touch of ["pointerdown", "keydown"]) {
  document.addEventListener(touch, () => {
    for (const element of document.querySelectorAll("#tiles audio")) {
      if (element.srcObject && element.paused) element.play().catch((error) => console.debug("still silent", error));
    }
  });
}

function level({ levels, dominant }) {
  for (const tile of tiles.values()) {
    // A participant may be called “constructor”, which every object has.
    if (Object.hasOwn(levels, tile.dataset.owner)) tile.querySelector("meter").value = levels[tile.dataset.owner];
    tile.classList.toggle("speaking", Boolean(dominant) && tile.dataset.owner === dominant && tile.classList.contains("camera"));
  }
}

// Chat

function say(name, text) {
  const item = document.createElement("li");
  const sender = document.createElement("b");
  sender.append(nameElement(name));
  item.append(sender, nameElement(text));
  $("messages").append(item);
  $("messages").scrollTop = $("messages").scrollHeight;
  if ($("chat").hidden) $("talk").firstChild.data = "Chat • ";
}

$("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (!text) return;
  room.say(text);
  say(room.me.name, text);
  $("text").value = "";
});

// Buttons and keys

const actions = {
  mute: async () => {
    if (room.ownTrack("microphone")) return room.setMuted("microphone", !room.isMuted("microphone"));
    const { microphone } = await openDevices(true, false);
    if (microphone) room.setTrack("microphone", microphone);
  },
  camera: async () => {
    if (room.ownTrack("camera")) return room.setTrack("camera", null);
    const { camera } = await openDevices(false, true);
    if (camera) room.setTrack("camera", camera);
  },
  share: async () => {
    if (room.ownTrack("screen")) return room.unshare();
    try {
      const stream = await navigator.mediaDevices.getDisplayMedia({ video: true });
      room.share(stream.getVideoTracks()[0]);
    } catch (error) {
      trouble(`not shared: ${error.message}`);
    }
  },
  talk: () => {
    $("chat").hidden = !$("chat").hidden;
    $("talk").setAttribute("aria-expanded", !$("chat").hidden);
    $("talk").firstChild.data = "Chat ";
    if (!$("chat").hidden) $("text").focus();
  },
  leave: () => room.leave(),
};
const keys = new Map(Object.entries({ m: "mute", v: "camera", s: "share", c: "talk", q: "leave" }));
for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("chat").hidden) { actions.talk(); $("talk").focus(); return; }
  const isTyping = event.target.matches("input, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.repeat || $("call").hidden) return;
  const action = actions[keys.get(event.key.toLowerCase())];
  if (action) { event.preventDefault(); action(); }
});

$("copy").addEventListener("click", async () => {
  const link = new URL(location.href);
  link.hash = "";
  try {
    await navigator.clipboard.writeText(link);
    $("copy").firstChild.data = "Copied";
  } catch {
    prompt("The link to this room:", link);
  }
  setTimeout(() => { $("copy").firstChild.data = "Copy link"; }, 2_000);
});

// A link of another site would show a visitor, in a room of its choice, whose browser remembers that this page may use the
// camera: the server says whether this page was opened by the visitor or by itself.
if (query.has("join") && $("room").value && $("name").value) {
  if (document.documentElement.dataset.opened === "here") $("enter").requestSubmit();
  else $("join").focus();
}
