"""VideoSDK's REST API by requests and PyJWT, as the vendor's server examples use it, with sample apps of the listener style in the room."""

import base64
import json
import pathlib
import secrets
import subprocess
import time
import urllib.parse

import jwt
import requests

from context import expect, expect_equal, until

# How soon an app gets the callback for what its back end has done, in seconds.
PROMPT = 1


def token(context, secret=None, key=0, algorithm="HS256", **claims):
    """A token of one of the server's API keys. A claim that is None is left out."""
    known = context.credentials["videosdk"][key]
    now = int(time.time())
    members = {"apikey": known["apiKey"], "permissions": ["allow_join", "allow_mod"], "version": 2, "iat": now, "exp": now + 600, **claims}
    return jwt.encode(
        {name: value for name, value in members.items() if value is not None}, secret or known["secret"], algorithm=algorithm)


def enter(context, name, room, seconds=60, participant=None, **claims):
    participant = participant or name
    path = context.out / f"{name}.token"
    path.write_text(token(context, participantId=participant, **claims))
    return context.app(
        "koine-event-listener", "--token-file", path, "--room", room, "--participant", participant, "--name", participant, "--seconds",
        str(seconds), "--trace", name=name)


def prepare(folder, credentials):
    """Gives the server a second API key and a folder for recordings. Returns the server's options."""
    known = json.loads(credentials.read_text())
    known["videosdk"].append({"apiKey": "second-key", "secret": secrets.token_hex(32)})
    credentials.write_text(json.dumps(known))
    return ["--recordings", folder / "recordings"]


class BackEnd:
    """Calls the API in the name of one API key."""

    def __init__(self, context, key=0):
        self.context, self.key = context, key

    def __call__(self, method, path, status=200, body=None, authorization=None, **options):
        if authorization is None:
            authorization = token(self.context, key=self.key)
        answer = requests.request(
            method, self.context.endpoint + path, json=body, timeout=10, headers={"Authorization": authorization}, **options)
        expect_equal(answer.status_code, status, f"{method} {path}: {answer.text}")
        if status >= 400:
            expect(isinstance(answer.json()["error"], str) and answer.json()["error"], f"{method} {path}: no error text")
        return answer.json()


def check(context):
    call = BackEnd(context)
    room, apps = rooms(context, call)
    session = sessions(context, call, room)
    recordings(context, call, room, apps)
    removal_and_end(context, call, room, session, apps)
    automatic(context, call)
    deactivation(context, call, room)
    two_keys(context)
    errors(call)
    refusals(context, call)


def rooms(context, call):
    context.step("rooms: create, list, get, validate")
    webhook = {"endPoint": "https://back-end.example/events", "events": ["session-*"]}
    made = call("POST", "/v2/rooms", body={"customRoomId": "standup", "webhook": webhook, "geoFence": "eu001"})
    room = made["roomId"]
    expect_equal(call("POST", "/v2/rooms", data={"customRoomId": "standup"})["roomId"], room, "the room of a form")
    other = call("POST", "/v2/rooms")["roomId"]
    expect_equal([each["roomId"] for each in call("GET", "/v2/rooms?page=1&perPage=5")["data"]], [other, room], "the rooms")
    got = call("GET", f"/v2/rooms/{room}")
    expect_equal((got["customRoomId"], got["webhook"], got["geoFence"]), ("standup", webhook, "eu001"), "what the room keeps")
    expect_equal(call("GET", "/v2/rooms/validate/standup")["roomId"], room, "the room of a custom id")
    call("GET", "/v2/rooms/validate/none", status=400)
    expect_equal(requests.get(made["links"]["get_room"], headers={"Authorization": token(context)}, timeout=10).status_code, 200, "the link")

    context.step("tokens that the back end signs admit apps, by both names of the room")
    apps = {"ana": enter(context, "ana", room, roomId=room), "ben": enter(context, "ben", "standup", roomId="standup")}
    until("both are in the room", lambda: context.rooms.people(room) == ["ana", "ben"])
    stranger = enter(context, "eve", room, seconds=10, secret="x" * 64)
    expect(stranger.wait(20) not in (None, 0), "a token with a wrong secret admits")
    return room, apps


def sessions(context, call, room):
    context.step("sessions: list, get, participants, active participants; a participant that comes twice")
    session = until("a session", lambda: call("GET", f"/v2/sessions/?roomId={room}")["data"])[0]
    expect_equal((session["status"], session["end"], session["customRoomId"]), ("ongoing", None, "standup"), "the session")
    first = enter(context, "cal", room, seconds=2)
    expect_equal(first.wait(30), 0, "the exit code of Cal's app")
    second = enter(context, "cal-again", room, seconds=2, participant="cal")
    expect_equal(second.wait(30), 0, "the exit code of Cal's second app")

    def stays():
        people = call("GET", f"/v2/sessions/{session['id']}")["participants"]
        return [(each["participantId"], [stay["end"] is not None for stay in each["timelog"]]) for each in people]

    until("all stays are known", lambda: sorted(stays()) == [("ana", [False]), ("ben", [False]), ("cal", [True, True])])
    expect_equal(stays()[-1][0], "cal", "the participant that came last")
    page = call("GET", f"/v2/sessions/{session['id']}/participants?perPage=2&page=2")
    expect_equal(page["pageInfo"], {"currentPage": 2, "perPage": 2, "lastPage": 2, "total": 3}, "the page")
    log = page["data"][0]["participants"][0]["timelog"]
    expect(log[0]["start"] < log[0]["end"] <= log[1]["start"] < log[1]["end"], f"the times {log}")
    active = call("GET", f"/v2/sessions/{session['id']}/participants/active")["data"][0]["participants"]
    expect_equal(sorted(each["participantId"] for each in active), context.rooms.people(room), "the active participants")
    return session["id"]


def probe(path):
    """What ffprobe says of a file, after the whole file has been decoded."""
    answer = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-show_entries",
         "format=format_name,duration,size:stream=codec_type,codec_name,width,height,nb_read_frames", "-of", "json", path],
        capture_output=True, text=True)
    expect(answer.returncode == 0 and not answer.stderr, f"ffprobe: {answer.stderr}")
    found = json.loads(answer.stdout)
    return found["format"], {stream["codec_type"]: stream for stream in found["streams"]}


def path_of(recording):
    return pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(recording["file"]["fileUrl"]).path))


def recordings(context, call, room, apps):
    context.step("recordings: start, list, stop; the file of the list is a recording of the room")
    call("POST", "/v2/recordings/end", status=400, body={"roomId": room})
    config = {"layout": {"type": "GRID", "priority": "SPEAKER", "gridSize": 4}, "theme": "DARK", "mode": "video-and-audio", "quality": "low",
              "orientation": "landscape"}
    started = call("POST", "/v2/recordings/start", body={"roomId": "standup", "config": config})
    expect_equal(started, "Recording started successfully", "the answer to start")
    listed = until("the recorder has begun", lambda: call("GET", f"/v2/recordings?roomId={room}")["data"])
    expect_equal((listed[0]["status"], "file" in listed[0]), ("recording-started", False), "the recording that is made")
    call("POST", "/v2/recordings/start", status=400, body={"roomId": room})
    for name in ("ana", "ben"):
        until(f"{name}'s app learns it", lambda: apps[name].says("onRecordingStateChanged(state: RECORDING_STARTED)"), 5)
    time.sleep(3)  # of the room's time are recorded
    stopped = call("POST", "/v2/recordings/end", body={"roomId": room})
    expect_equal(stopped, "Recording stopped successfully", "the answer to end")
    done = until("the file is complete", lambda: [
        each for each in call("GET", f"/v2/recordings?roomId={room}")["data"] if each["status"] == "recording-stopped"])
    for name in ("ana", "ben"):
        until(f"{name}'s app learns it", lambda: apps[name].says("onRecordingStateChanged(state: RECORDING_STOPPED)"), 5)
    expect_equal(len(done), 1, "the recordings")
    file, path = done[0]["file"], path_of(done[0])
    expect_equal(path.parent, context.credentials_file.parent / "recordings", "the file's folder")
    form, streams = probe(path)
    expect_equal(int(form["size"]), file["size"], "the file's size")
    expect_equal(set(streams), {"video", "audio"}, "the file's streams")
    size = (int(streams["video"]["width"]), int(streams["video"]["height"]))
    expect_equal(size, (640, 360), "the video's size")
    expect_equal((file["meta"]["resolution"], file["meta"]["format"]), ({"w": 640, "h": 360}, "webm"), "the list's words on the file")
    length = float(form["duration"])
    expect(length >= 2.5 and abs(length - file["meta"]["duration"]) < 1.5, f"{length} s, listed as {file['meta']['duration']} s")
    expect(int(streams["video"]["nb_read_frames"]) > 30, f"{streams['video']['nb_read_frames']} frames")
    print(f"    {path.name}: {length:.1f} s, {size[0]}x{size[1]}, {streams['video']['nb_read_frames']} frames, {form['size']} bytes", flush=True)
    expect_equal(call("GET", f"/v2/recordings/{done[0]['id']}")["file"], file, "the recording by its id")


def removal_and_end(context, call, room, session, apps):
    context.step("remove a participant, end the session: the apps' callbacks within a second")
    call("POST", "/v2/sessions/participants/remove", body={"participantId": "ben", "roomId": room})
    until("Ben's app is removed", lambda: apps["ben"].says("onMeetingLeft(reason: removePeerApi 1010)"), PROMPT)
    expect(apps["ben"].wait(4) is not None, "Ben's app does not end within 4 s")
    until("only Ana is there", lambda: [
        each["participantId"] for each in
        call("GET", f"/v2/sessions/{session}/participants/active")["data"][0]["participants"]] == ["ana"])
    expect_equal(context.rooms.people(room), ["ana"], "the participants in the room")
    call("POST", "/v2/sessions/participants/remove", status=404, body={"participantId": "ben", "roomId": room})
    again = enter(context, "ben-again", room, participant="ben")
    until("Ben is back", lambda: context.rooms.people(room) == ["ana", "ben"])
    expect_equal(call("POST", "/v2/sessions/end", body={"roomId": "standup"})["status"], "ended", "the session")
    for app in (apps["ana"], again):
        until("the meeting ends", lambda: app.says("onMeetingLeft(reason: meetingEndApi 1009)"), PROMPT)
        expect(app.wait(4) is not None, "an app does not end within 4 s")
    ended = until("the session has ended", lambda: [
        each for each in [call("GET", f"/v2/sessions/{session}")] if each["end"]])[0]
    expect(all(stay["end"] for each in ended["participants"] for stay in each["timelog"]), "a stay goes on")
    expect_equal(context.rooms.ask("show", room), None, "the room")
    call("POST", "/v2/sessions/end", status=404, body={"roomId": room})


def automatic(context, call):
    context.step("autoStartConfig records each session; a recording ends with its session; allowedParticipantIds")
    auto = call("POST", "/v2/rooms", body={
        "autoStartConfig": {"recording": {"config": {"quality": "low", "mode": "audio"}}}, "allowedParticipantIds": ["ana"]})["roomId"]
    stranger = enter(context, "ben-stranger", auto, seconds=10, participant="ben")
    expect(stranger.wait(20) not in (None, 0), "a participant that is not allowed enters")
    app = enter(context, "ana-auto", auto, participant="ana")
    until("the recorder has begun", lambda: call("GET", f"/v2/recordings?roomId={auto}")["data"])
    until("Ana's app learns it", lambda: app.says("onRecordingStateChanged(state: RECORDING_STARTED)"), 5)
    time.sleep(2)  # of the room's time are recorded
    call("POST", "/v2/sessions/end", body={"roomId": auto})
    done = until("the file is complete", lambda: [
        each for each in call("GET", f"/v2/recordings?roomId={auto}")["data"] if "file" in each])[0]
    form, streams = probe(path_of(done))
    expect_equal((set(streams), done["file"]["type"]), ({"audio"}, "audio"), "the streams of a recording of audio")
    expect(float(form["duration"]) > 1, f"{form['duration']} s")


def deactivation(context, call, room):
    context.step("a deactivated room puts everyone out and admits nobody")
    app = enter(context, "ana-there", room, participant="ana")
    until("Ana is in the room", lambda: context.rooms.people(room) == ["ana"])
    expect(call("POST", "/v2/rooms/deactivate", body={"roomId": room})["disabled"], "the room is not disabled")
    until("the meeting ends", lambda: app.says("onMeetingLeft(reason: meetingEndApi 1009)"), PROMPT)
    expect(call("GET", f"/v2/rooms/{room}")["disabled"], "the room is not disabled when it is read")
    late = enter(context, "ana-late", room, seconds=10, participant="ana")
    expect(late.wait(20) not in (None, 0), "a deactivated room admits")
    expect(late.says("onError(error: "), "the app's callback")


def two_keys(context):
    context.step("two API keys with one custom id have two rooms, and neither's tokens open the other's")
    own, others = BackEnd(context, 0), BackEnd(context, 1)
    rooms = [each("POST", "/v2/rooms", body={"customRoomId": "weekly"})["roomId"] for each in (own, others)]
    expect(rooms[0] != rooms[1], "one room for two keys")
    apps = [enter(context, f"weekly-{key}", "weekly", key=key) for key in (0, 1)]
    for key in (0, 1):
        until("each app is in its key's room", lambda: context.rooms.people(rooms[key]) == [f"weekly-{key}"])
    intruder = enter(context, "intruder", rooms[0], key=1, seconds=10)
    expect(intruder.wait(20) not in (None, 0), "another key's token opens the room")
    others("POST", "/v2/sessions/end", status=404, body={"roomId": rooms[0]})
    others("POST", "/v2/sessions/participants/remove", status=404, body={"roomId": rooms[0], "participantId": "weekly-0"})
    others("GET", f"/v2/rooms/{rooms[0]}", status=404)
    expect_equal([each["roomId"] for each in others("GET", "/v2/sessions")["data"]], [rooms[1]], "the other key's sessions")
    others("POST", "/v2/sessions/end", body={"roomId": "weekly"})
    until("the other key's app ends", lambda: apps[1].says("onMeetingLeft(reason: meetingEndApi 1009)"), PROMPT)
    expect_equal(context.rooms.people(rooms[0]), ["weekly-0"], "the room of the first key")

    context.step("a room that no back end has made belongs to the key that is in it")
    first = enter(context, "tea-0", "tea", key=0)
    until("the first key's app is in the room", lambda: context.rooms.people("tea") == ["tea-0"])
    refused = enter(context, "tea-1", "tea", key=1, seconds=10)
    expect(refused.wait(20) not in (None, 0), "another key's token enters")
    expect_equal(context.rooms.people("tea"), ["tea-0"], "the participants")
    expect_equal(own("GET", "/v2/sessions?roomId=tea")["data"][0]["participants"][0]["participantId"], "tea-0", "the session")
    own("POST", "/v2/sessions/end", body={"roomId": "tea"})
    until("the app ends", lambda: first.says("onMeetingLeft(reason: meetingEndApi 1009)"), PROMPT)
    own("POST", "/v2/sessions/end", body={"roomId": "weekly"})


def errors(call):
    call.context.step("errors: status and body")
    cases = [
        ("POST", "/v2/rooms", 400, {"customRoomId": "x" * 129}), ("POST", "/v2/rooms", 400, {"autoCloseConfig": {"type": "never"}}),
        ("POST", "/v2/rooms", 400, {"webhook": {"endPoint": "nowhere", "events": ["*"]}}),
        ("GET", "/v2/rooms/none", 404, None), ("GET", "/v2/rooms/validate/none", 400, None), ("GET", "/v2/rooms?perPage=0", 400, None),
        ("POST", "/v2/rooms/deactivate", 402, {"roomId": "none"}), ("GET", "/v2/sessions/none", 404, None),
        ("POST", "/v2/sessions/end", 400, {}), ("POST", "/v2/sessions/participants/remove", 400, {"roomId": "none"}),
        ("POST", "/v2/recordings/start", 404, {"roomId": "none"}), ("POST", "/v2/recordings/start", 400, {"roomId": "x", "templateUrl": "y"}),
        ("POST", "/v2/hls/start", 400, {"roomId": "none"})]
    for method, path, status, body in cases:
        call(method, path, status=status, body=body)


def refusals(context, call):
    context.step("tokens that are wrong, missing, expired or altered; pages of other sites; the first version")
    good = token(context)
    head, claims, signature = good.split(".")

    def encode(members):
        return base64.urlsafe_b64encode(json.dumps(members).encode()).rstrip(b"=").decode()

    members = jwt.decode(good, options={"verify_signature": False})
    second = context.credentials["videosdk"][1]
    now = int(time.time())
    wrong = [
        "nonsense", "Bearer", "Basic " + base64.b64encode(b"a:b").decode(), "Token " + good, members["apikey"], head, f"{head}.{claims}",
        f"{head}.{claims}.", f".{claims}.{signature}", f"{head}..{signature}", good + "." + signature, good[:-4], good[1:],
        f"{head}.{encode({**members, 'exp': now + 99_999})}.{signature}", f"{head}.{encode({**members, 'apikey': second['apiKey']})}.{signature}",
        f"{encode({'alg': 'none', 'typ': 'JWT'})}.{claims}.", f"{encode({'alg': 'none', 'typ': 'JWT'})}.{claims}.{signature}",
        f"{encode({'alg': 'RS256', 'typ': 'JWT'})}.{claims}.{signature}", f"{head}.{claims}.{signature[::-1]}",
        f"{head}.{claims}.{'A' * len(signature)}", f"{head}.{claims[::-1]}.{signature}",
        token(context, secret="x" * 64), token(context, secret=second["secret"]), token(context, key=1, secret=context.credentials["videosdk"][0]["secret"]),
        token(context, algorithm="HS512"), token(context, exp=now - 10), token(context, exp=now - 100_000), token(context, nbf=now + 600),
        token(context, apikey=None), token(context, apikey="unknown"), token(context, apikey=""), token(context, roles=["rtc"]), token(context, roles=[])]
    for each in wrong:
        call("GET", "/v2/rooms", status=401, authorization=each)
    expect(len(wrong) >= 30, f"only {len(wrong)} cases")
    answer = requests.get(context.endpoint + "/v2/rooms", timeout=10)
    expect_equal((answer.status_code, answer.json()["error"]), (401, "Token is missing"), "without a token")
    call("GET", "/v2/rooms", authorization="Bearer " + token(context, roles=["crawler"]))
    preflight = requests.options(
        context.endpoint + "/v2/rooms", timeout=10,
        headers={"Origin": "https://app.example", "Access-Control-Request-Method": "POST"})
    expect_equal(preflight.headers.get("Access-Control-Allow-Origin"), "*", "the answer to a page")
    expect(call("POST", "/api/meetings")["meetingId"], "no meetingId")
