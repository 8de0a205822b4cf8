"""The keys of the server change while tokens live: what a back end has made stays valid as long as the file has the key it follows from,
also over a restart.
"""

import json
import signal
import subprocess
import time

from botocore.exceptions import ClientError

import chime_meetings
import ivs_realtime
from context import expect, expect_error, until


def change_keys(context, *options):
    subprocess.run([context.programs / "koine", "token", "keys", context.keys, *options], check=True, stdout=subprocess.DEVNULL)
    log = context.server.log.name
    before = open(log, encoding="utf-8").read().count("are read again")
    context.server.process.send_signal(signal.SIGHUP)
    until("the server has read its keys", lambda: open(log, encoding="utf-8").read().count("are read again") > before)


def check(context):
    chime, ivs = chime_meetings.client(context), ivs_realtime.client(context)
    meeting = chime.create_meeting(ClientRequestToken="keys", MediaRegion="eu-central-1", ExternalMeetingId="keys")["Meeting"]
    room = meeting["MeetingId"]

    def tokens(user):
        return (
            chime.create_attendee(MeetingId=room, ExternalUserId=f"{user}#{user}")["Attendee"],
            ivs.create_stage(participantTokenConfigurations=[{"userId": user}])["participantTokens"][0]["token"])

    def enters(user, made, seconds=2):
        return [
            chime_meetings.enter(context, meeting, made[0], f"keys-{user}-{time.monotonic_ns()}", seconds).wait(seconds + 20),
            ivs_realtime.enter(context, made[1], f"keys-stage-{user}-{time.monotonic_ns()}", seconds).wait(seconds + 20)]

    context.step("tokens of the first key admit")
    old_key = json.loads(context.keys.read_text())["keys"][0]["kid"]
    old = tokens("old")
    expect(enters("old", old) == [0, 0], "the apps do not enter")

    context.step("a new key is put first: tokens of both admit, GetAttendee makes a valid one")
    change_keys(context)
    new = tokens("new")
    expect(enters("old", old) == [0, 0] and enters("new", new) == [0, 0], "the apps do not enter")
    again = chime.get_attendee(MeetingId=room, AttendeeId=old[0]["AttendeeId"])["Attendee"]
    expect(again["JoinToken"] != old[0]["JoinToken"], "the token is not of the new key")

    context.step("the old key is dropped: its tokens are refused, those of the new key admit")
    change_keys(context, "--drop", old_key)
    expect(all(code not in (0, None) for code in enters("old", old)), "tokens of a key that has been dropped admit")
    expect(enters("new", new) == [0, 0] and enters("again", (again, new[1])) == [0, 0], "the apps do not enter")

    context.step("a restart without a registry: tokens of the meeting's key admit, and the meeting is not known")
    context.server.stop()
    context.server.start()
    expect(enters("new", new)[0] == 0, "a token of the file's key does not admit after a restart")
    expect_error(ClientError, chime.get_meeting, MeetingId=room, code="NotFoundException")
