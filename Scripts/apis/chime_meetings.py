"""Amazon Chime SDK Meetings by boto3: all core operations, with a sample app of the meeting style in the meeting."""

import json

import boto3
from botocore.exceptions import ClientError

from context import Failed, expect, expect_equal, expect_error, until

HUNG_UP, CALL_ENDED, REJECTED = "audioServerHungup", "audioCallEnded", "audioAuthenticationRejected"


def client(context, service="chime-sdk-meetings"):
    key = context.credentials["aws"][0]
    return boto3.client(
        service, endpoint_url=context.endpoint, region_name="us-east-1", aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"])


def join_info(context, meeting, attendee, name):
    """The answers of both calls as a back end hands them to its app."""
    path = context.out / f"{name}.json"
    path.write_text(json.dumps({"JoinInfo": {"Meeting": {"Meeting": meeting}, "Attendee": {"Attendee": attendee}}}))
    return path


def enter(context, meeting, attendee, name, seconds=60):
    return context.app(
        "koine-meeting-session", "--meeting", join_info(context, meeting, attendee, name), "--seconds", str(seconds), "--trace",
        name=name)


def check(context):
    chime = client(context)
    context.step("CreateMeeting, GetMeeting")
    meeting = chime.create_meeting(ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup")["Meeting"]
    room = meeting["MeetingId"]
    again = chime.create_meeting(ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup")["Meeting"]
    expect_equal(again["MeetingId"], room, "the meeting of a repeated request token")
    expect_equal(chime.get_meeting(MeetingId=room)["Meeting"], meeting, "GetMeeting")
    expect(all(meeting["MediaPlacement"].get(name) for name in [
        "AudioHostUrl", "AudioFallbackUrl", "SignalingUrl", "TurnControlUrl", "ScreenDataUrl", "ScreenViewingUrl",
        "ScreenSharingUrl", "EventIngestionUrl"]), "a media address is missing")

    context.step("CreateAttendee, GetAttendee, ListAttendees")
    ana = chime.create_attendee(MeetingId=room, ExternalUserId="ana#Ana")["Attendee"]
    ben = chime.create_attendee(MeetingId=room, ExternalUserId="ben#Ben")["Attendee"]
    expect_equal(chime.get_attendee(MeetingId=room, AttendeeId=ana["AttendeeId"])["Attendee"], ana, "GetAttendee")
    page = chime.list_attendees(MeetingId=room, MaxResults=1)
    expect_equal([each["ExternalUserId"] for each in page["Attendees"]], ["ana#Ana"], "the first page")
    page = chime.list_attendees(MeetingId=room, MaxResults=1, NextToken=page["NextToken"])
    expect_equal([each["ExternalUserId"] for each in page["Attendees"]], ["ben#Ben"], "the second page")
    expect("NextToken" not in page, "a page after the last one")

    context.step("the answers admit two apps, which see each other")
    apps = {"ana": enter(context, meeting, ana, "ana"), "ben": enter(context, meeting, ben, "ben")}
    everyone = sorted([ana["AttendeeId"], ben["AttendeeId"]])
    until("both are in the room", lambda: context.rooms.people(room) == everyone)

    context.step("BatchCreateAttendee")
    batch = chime.batch_create_attendee(
        MeetingId=room, Attendees=[{"ExternalUserId": "cal#Cal"}, {"ExternalUserId": "aws:cal"}])
    expect_equal([each["ExternalUserId"] for each in batch["Attendees"]], ["cal#Cal"], "the attendees of the batch")
    expect_equal([each["ErrorCode"] for each in batch["Errors"]], ["BadRequest"], "the faults of the batch")

    context.step("UpdateAttendeeCapabilities acts on an attendee in the meeting")
    changed = chime.update_attendee_capabilities(
        MeetingId=room, AttendeeId=ben["AttendeeId"], Capabilities={"Audio": "Receive", "Video": "Receive", "Content": "None"})
    expect_equal(changed["Attendee"]["Capabilities"]["Audio"], "Receive", "the new capability")

    def ben_publishes(kind):
        member = context.rooms.member(room, ben["AttendeeId"])
        return member is not None and any(track["kind"] == kind for track in member["tracks"])

    until("Ben's microphone is withdrawn", lambda: not ben_publishes("microphone"))
    expect("microphone" not in context.rooms.member(room, ben["AttendeeId"])["permissions"], "Ben may still speak")

    context.step("DeleteAttendee removes the attendee and refuses its token")
    chime.delete_attendee(MeetingId=room, AttendeeId=ben["AttendeeId"])
    until("Ben's app hears that it was hung up", lambda: apps["ben"].says(HUNG_UP), 4)
    expect(apps["ben"].wait(4) is not None, "Ben's app does not end")
    expect_equal(context.rooms.people(room), [ana["AttendeeId"]], "the people in the room")
    expect_error(chime.exceptions.NotFoundException, chime.get_attendee, MeetingId=room, AttendeeId=ben["AttendeeId"], status=404)
    expect_error(chime.exceptions.NotFoundException, chime.delete_attendee, MeetingId=room, AttendeeId=ben["AttendeeId"])
    late = enter(context, meeting, ben, "ben-again", seconds=10)
    expect(late.wait(20) not in (None, 0), "an app with a deleted attendee's token does not exit with an error")
    expect(late.says(REJECTED), f"no {REJECTED}")

    context.step("DeleteMeeting ends the meeting for everyone")
    chime.delete_meeting(MeetingId=room)
    until("Ana's app hears that it was hung up", lambda: apps["ana"].says(HUNG_UP), 4)
    expect_error(chime.exceptions.NotFoundException, chime.get_meeting, MeetingId=room, code="NotFoundException", status=404)
    late = enter(context, meeting, ana, "ana-again", seconds=10)
    expect(late.wait(20) not in (None, 0), "an app of an ended meeting does not exit with an error")
    expect(late.says(CALL_ENDED), f"no {CALL_ENDED}")

    context.step("CreateMeetingWithAttendees")
    made = chime.create_meeting_with_attendees(
        ClientRequestToken="standup", MediaRegion="eu-central-1", ExternalMeetingId="standup",
        Attendees=[{"ExternalUserId": "ana#Ana"}, {"ExternalUserId": "ben#Ben"}])
    expect(made["Meeting"]["MeetingId"] != room, "a request token gives a meeting that has ended")
    expect_equal(len(made["Attendees"]), 2, "the attendees")

    context.step("errors are the SDK's typed exceptions")
    known = made["Meeting"]["MeetingId"]
    missing = "11111111-1111-4111-8111-111111111111"
    errors = chime.exceptions
    expect_error(errors.NotFoundException, chime.create_attendee, MeetingId=missing, ExternalUserId="ana")
    expect_error(errors.NotFoundException, chime.delete_meeting, MeetingId=missing, status=404)
    expect_error(errors.NotFoundException, chime.get_attendee, MeetingId=known, AttendeeId=missing)
    expect_error(errors.BadRequestException, chime.create_attendee, MeetingId=known, ExternalUserId="aws:x", status=400)
    expect_error(
        errors.BadRequestException, chime.create_meeting, ClientRequestToken="r2", MediaRegion="mars-1", ExternalMeetingId="xx")
    expect_error(
        errors.BadRequestException, chime.update_attendee_capabilities, MeetingId=known,
        AttendeeId=made["Attendees"][0]["AttendeeId"],
        Capabilities={"Audio": "Send", "Video": "None", "Content": "SendReceive"})
    small = chime.create_meeting(
        ClientRequestToken="small", MediaRegion="eu-central-1", ExternalMeetingId="small",
        MeetingFeatures={"Attendee": {"MaxCount": 1}})["Meeting"]["MeetingId"]
    chime.create_attendee(MeetingId=small, ExternalUserId="ana")
    expect_error(errors.LimitExceededException, chime.create_attendee, MeetingId=small, ExternalUserId="ben", status=400)
    stranger = boto3.client(
        "chime-sdk-meetings", endpoint_url=context.endpoint, region_name="us-east-1", aws_access_key_id="AKIASTRANGER",
        aws_secret_access_key="secret")
    expect_error(ClientError, stranger.get_meeting, MeetingId=known, code="UnrecognizedClientException", status=403)

    context.step("tags")
    arn = made["Meeting"]["MeetingArn"]
    chime.tag_resource(ResourceARN=arn, Tags=[{"Key": "team", "Value": "tea"}, {"Key": "b", "Value": ""}])
    chime.untag_resource(ResourceARN=arn, TagKeys=["b", "unknown"])
    expect_equal(chime.list_tags_for_resource(ResourceARN=arn)["Tags"], [{"Key": "team", "Value": "tea"}], "the tags")
    expect_error(errors.ResourceNotFoundException, chime.list_tags_for_resource, ResourceARN=arn.replace(known, missing))
