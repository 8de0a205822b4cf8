"""Events to back ends: EventBridge's form for Amazon Chime and Amazon IVS, webhooks for VideoSDK, with a receiver of this check's own and
sample apps that join and leave.
"""

import base64
import http.server
import json
import re
import subprocess
import threading

import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

import chime_meetings
import ivs_realtime
import videosdk_rest
from context import expect, expect_equal, until


class Receiver(http.server.ThreadingHTTPServer):
    """A back end that keeps what it gets."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests = []
        # Paths of which the next requests get this status.
        self.failures = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self, path, status=200):
        """JSON that came to a path and got this status, in its order."""
        with self.lock:
            return [json.loads(body) for to, _, body, got in self.requests if to == path and got == status]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver = self.server
        with receiver.lock:
            statuses = receiver.failures.get(self.path, [])
            status = statuses.pop(0) if statuses else 200
            receiver.requests.append((self.path, dict(self.headers), body, status))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


RECEIVER = Receiver()
SERVE_OPTIONS = ["--webhook-hosts", "127.0.0.1", "--events", f"aws={RECEIVER.url}/bus?token=hidden"]
BUS = "/bus?token=hidden"


def check(context):
    def metric(name):
        page = requests.get(context.home + "/metrics", timeout=10).text
        found = re.search(rf"^{re.escape(name)} (\d+)$", page, re.MULTILINE)
        return int(found.group(1)) if found else None

    def make_room(**webhook):
        answer = requests.post(
            context.endpoint + "/v2/rooms", json={"webhook": webhook}, timeout=10,
            headers={"Authorization": videosdk_rest.token(context)})
        expect_equal(answer.status_code, 200, answer.text)
        return answer.json()["roomId"]

    def visit(name, room):
        """An app that joins and leaves."""
        app = videosdk_rest.enter(context, name, room, seconds=3, roomId=room)
        expect_equal(app.wait(40), 0, f"the exit code of {name}'s app")

    context.step("Chime: a meeting's events in EventBridge's form")
    chime = chime_meetings.client(context)
    meeting = chime.create_meeting(ClientRequestToken="events", MediaRegion="eu-central-1", ExternalMeetingId="events")["Meeting"]
    ana = chime.create_attendee(MeetingId=meeting["MeetingId"], ExternalUserId="ana#Ana")["Attendee"]
    app = chime_meetings.enter(context, meeting, ana, "events-ana", seconds=6)
    expect_equal(app.wait(40), 0, "the exit code of Ana's app")
    chime.delete_meeting(MeetingId=meeting["MeetingId"])

    def meeting_events():
        return [each for each in RECEIVER.bodies(BUS) if each["source"] == "aws.chime"]

    until("the meeting's end arrives", lambda: meeting_events() and meeting_events()[-1]["detail"]["eventType"] == "chime:MeetingEnded")
    events = meeting_events()
    types = [each["detail"]["eventType"].removeprefix("chime:") for each in events]
    expect_equal(types[:3], ["AttendeeAdded", "MeetingStarted", "AttendeeJoined"], f"the first events of {types}")
    expect_equal(types[-2:], ["AttendeeLeft", "MeetingEnded"], f"the last events of {types}")
    joined = events[2]
    expect_equal(joined["detail-type"], "Chime Meeting State Change", "the type")
    expect_equal(joined["account"], context.credentials["aws"][0]["account"], "the account")
    expect_equal(
        {name: joined["detail"][name] for name in ["attendeeId", "externalUserId", "externalMeetingId", "mediaRegion", "networkType"]},
        {"attendeeId": ana["AttendeeId"], "externalUserId": "ana#Ana", "externalMeetingId": "events", "mediaRegion": "eu-central-1",
         "networkType": "Voip"}, "the detail")

    context.step("IVS: publishing on a stage in EventBridge's form")
    ivs = ivs_realtime.client(context)
    made = ivs.create_stage(participantTokenConfigurations=[{"userId": "ivo"}])
    token = made["participantTokens"][0]
    app = ivs_realtime.enter(context, token["token"], "events-ivo", seconds=6)

    def updates():
        return [each for each in RECEIVER.bodies(BUS) if each["detail-type"] == "IVS Stage Update"]

    until("publishing arrives", lambda: len(updates()) == 1)
    session = ivs.get_stage(arn=made["stage"]["arn"])["stage"]["activeSessionId"]
    expect_equal(app.wait(40), 0, "the exit code of Ivo's app")
    until("the end of publishing arrives", lambda: len(updates()) == 2)
    expect_equal([each["detail"]["event_name"] for each in updates()], ["Participant Published", "Participant Unpublished"], "the updates")
    for update in updates():
        expect_equal(update["resources"], [made["stage"]["arn"]], "the resources")
        expect_equal(update["detail"]["session_id"], session, "the session")
        expect_equal(update["detail"]["user_id"], "ivo", "the user")
        expect_equal(update["detail"]["participant_id"], token["participantId"], "the participant")

    context.step("VideoSDK: signed webhooks of a room, in their order, although the receiver fails at first")
    RECEIVER.failures["/hook"] = [503, 500]
    room = make_room(endPoint=RECEIVER.url + "/hook", events=["session*", "participant-joined", "participant-left"])
    visit("vic", room)
    until("the session's end arrives", lambda: len(RECEIVER.bodies("/hook")) == 4)
    hooks = RECEIVER.bodies("/hook")
    expect_equal(
        [each["webhookType"] for each in hooks], ["session-started", "participant-joined", "participant-left", "session-ended"], "the webhooks")
    expect_equal({each["data"]["meetingId"] for each in hooks}, {room}, "the room")
    expect_equal({each["data"]["sessionId"] for each in hooks}, {hooks[0]["data"]["sessionId"]}, "the session")
    expect_equal((hooks[1]["data"]["participantId"], hooks[1]["data"]["participantName"]), ("vic", "vic"), "the participant")
    expect_equal([each["webhookType"] for status in (503, 500) for each in RECEIVER.bodies("/hook", status)], ["session-started"] * 2, "the failed attempts")
    key = serialization.load_pem_public_key(
        requests.get(context.endpoint + "/v2/public/rsa-public-key", timeout=10).json()["publicKey"].encode())
    with RECEIVER.lock:
        signed = [(headers, body) for path, headers, body, _ in RECEIVER.requests if path == "/hook"]
    for headers, body in signed:
        signature = base64.b64decode(headers["videosdk-signature"], validate=True)
        # As the body is, and as the vendor's sample code for Node.js writes it again.
        for text in [body, json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode()]:
            key.verify(signature, text, padding.PKCS1v15(), hashes.SHA256())

    context.step("a redirection is not followed, and other hosts get nothing")
    before = metric('koine_events_dropped_total{reason="rejected"}')
    RECEIVER.failures["/moved"] = [302] * 4
    visit("mia", make_room(endPoint=RECEIVER.url + "/moved"))
    until("the events are dropped", lambda: metric('koine_events_dropped_total{reason="rejected"}') == before + 4)
    expect_equal(RECEIVER.bodies("/elsewhere"), [], "the requests after a redirection")
    visit("nik", make_room(endPoint="http://localhost:9/private?token=hidden"))
    until("the events are refused", lambda: metric('koine_events_dropped_total{reason="refused"}') == 4)
    until("nothing waits", lambda: metric("koine_events_waiting") == 0)
    expect_equal(metric("koine_events_failed_attempts_total"), 2, "the failed attempts")
    log = context.home_log.read_text()
    expect("for http://localhost:9 is dropped: the receiver is not in --webhook-hosts" in log, "no line of the refused event in the log")
    expect("hidden" not in log and "private" not in log, "the log has the path of an address")

    context.step("koine events prints what it receives")
    printing = subprocess.Popen(
        [context.programs / "koine", "events", "--listen", "127.0.0.1:0", "--count", "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    try:
        url = printing.stderr.readline().split()[-1]
        visit("pia", make_room(endPoint=url))
        lines = printing.communicate(timeout=30)[0].splitlines()
    finally:
        if printing.poll() is None:
            printing.kill()
    expect_equal(
        [json.loads(line)["webhookType"] for line in lines], ["session-started", "participant-joined", "participant-left", "session-ended"],
        "the lines")
    expect_equal(printing.returncode, 0, "the exit code of koine events")
