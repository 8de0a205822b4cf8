"""VideoSDK's REST API by requests and PyJWT, as the vendor's server examples use it, with sample apps of the listener style in the room."""

import time

import jwt
import requests

from context import expect, expect_equal, until


def token(context, secret=None, **claims):
    key = context.credentials["videosdk"][0]
    now = int(time.time())
    members = {"apikey": key["apiKey"], "permissions": ["allow_join", "allow_mod"], "version": 2, "iat": now, "exp": now + 600}
    return jwt.encode({**members, **claims}, secret or key["secret"], algorithm="HS256")


def enter(context, name, room, seconds=60, **claims):
    path = context.out / f"{name}.token"
    path.write_text(token(context, participantId=name, **claims))
    return context.app(
        "koine-event-listener", "--token-file", path, "--room", room, "--participant", name, "--name", name, "--seconds", str(seconds), "--trace",
        name=name)


def check(context):
    def call(method, path, status=200, body=None, authorization=None, **options):
        answer = requests.request(
            method, context.endpoint + path, json=body, timeout=10,
            headers={"Authorization": authorization or token(context)}, **options)
        expect_equal(answer.status_code, status, f"{method} {path}: {answer.text}")
        return answer.json()

    context.step("rooms: create, list, get, validate")
    made = call("POST", "/v2/rooms", body={"customRoomId": "standup"})
    room = made["roomId"]
    expect_equal(call("POST", "/v2/rooms", data={"customRoomId": "standup"})["roomId"], room, "the room of a form")
    other = call("POST", "/v2/rooms")["roomId"]
    expect_equal([each["roomId"] for each in call("GET", "/v2/rooms?page=1&perPage=5")["data"]], [other, room], "the rooms")
    expect_equal(call("GET", f"/v2/rooms/{room}")["customRoomId"], "standup", "the custom id")
    expect_equal(call("GET", "/v2/rooms/validate/standup")["roomId"], room, "the room of a custom id")
    expect("error" in call("GET", "/v2/rooms/validate/none", status=400), "no error text")
    expect_equal(requests.get(made["links"]["get_room"], headers={"Authorization": token(context)}, timeout=10).status_code, 200, "the link")

    context.step("tokens that the back end signs admit apps, by both names of the room")
    apps = {"ana": enter(context, "ana", room, roomId=room), "ben": enter(context, "ben", "standup")}
    until("both are in the room", lambda: context.rooms.people(room) == ["ana", "ben"])
    stranger = enter(context, "eve", room, seconds=10, secret="x" * 64)
    expect(stranger.wait(20) not in (None, 0), "a token with a wrong secret admits")

    context.step("sessions: list, get, participants, active participants")
    session = until("a session", lambda: call("GET", f"/v2/sessions/?roomId={room}")["data"])[0]
    expect_equal(session["status"], "ongoing", "the status")
    got = call("GET", f"/v2/sessions/{session['id']}")
    expect_equal(sorted(each["participantId"] for each in got["participants"]), ["ana", "ben"], "the participants")
    people = call("GET", f"/v2/sessions/{session['id']}/participants")["data"][0]["participants"]
    expect_equal(len(people), 2, "the participants by their own path")

    context.step("recordings are refused without a folder; list")
    expect("error" in call("POST", "/v2/recordings/start", status=400, body={"roomId": room}), "no error text")
    expect("error" in call("POST", "/v2/recordings/end", status=400, body={"roomId": room}), "no error text")
    expect_equal(call("GET", f"/v2/recordings?roomId={room}")["data"], [], "the recordings")

    context.step("remove a participant, end the session")
    call("POST", "/v2/sessions/participants/remove", body={"participantId": "ben", "roomId": room})
    expect(apps["ben"].wait(4) is not None, "Ben's app does not end within 4 s")
    until("only Ana is there", lambda: [
        each["participantId"] for each in
        call("GET", f"/v2/sessions/{session['id']}/participants/active")["data"][0]["participants"]] == ["ana"])
    call("POST", "/v2/sessions/participants/remove", status=404, body={"participantId": "ben", "roomId": room})
    expect_equal(call("POST", "/v2/sessions/end", body={"roomId": "standup"})["status"], "ended", "the session")
    expect(apps["ana"].wait(4) is not None, "Ana's app does not end within 4 s")
    until("the session has ended", lambda: call("GET", f"/v2/sessions/{session['id']}")["end"])
    call("POST", "/v2/sessions/end", status=404, body={"roomId": room})

    context.step("a deactivated room admits nobody")
    expect(call("POST", "/v2/rooms/deactivate", body={"roomId": room})["disabled"], "the room is not disabled")
    late = enter(context, "ana-late", room, seconds=10)
    expect(late.wait(20) not in (None, 0), "a deactivated room admits")

    context.step("authentication, pages of other sites, the first version")
    call("GET", "/v2/rooms", status=401, authorization="nonsense")
    call("GET", "/v2/rooms", status=401, authorization=token(context, secret="x" * 64))
    call("GET", "/v2/rooms", status=401, authorization=token(context, exp=int(time.time()) - 10))
    call("GET", "/v2/rooms", authorization="Bearer " + token(context, roles=["crawler"]))
    expect_equal(requests.get(context.endpoint + "/v2/rooms", timeout=10).status_code, 401, "without a token")
    preflight = requests.options(
        context.endpoint + "/v2/rooms", timeout=10,
        headers={"Origin": "https://app.example", "Access-Control-Request-Method": "POST"})
    expect_equal(preflight.headers.get("Access-Control-Allow-Origin"), "*", "the answer to a page")
    expect(call("POST", "/api/meetings")["meetingId"], "no meetingId")
