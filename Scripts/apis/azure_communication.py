"""Azure Communication Services, Identity and Rooms, by the vendor's Python SDKs: all operations, with sample apps of the call style."""

import asyncio
import logging
import os
from datetime import datetime, timedelta, timezone

from azure.communication.identity import CommunicationIdentityClient, CommunicationTokenScope, CommunicationUserIdentifier
from azure.communication.identity.aio import CommunicationIdentityClient as AsyncIdentityClient
from azure.communication.rooms import ParticipantRole, RoomParticipant, RoomsClient
from azure.communication.rooms.aio import RoomsClient as AsyncRoomsClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ResourceNotFoundError
from azure.core.rest import HttpRequest

from context import expect, expect_equal, expect_error, expect_left, expect_not_admitted, expect_refused, until

# The SDK warns of a time that it makes itself, at each creation of a room.
logging.getLogger("azure").setLevel(logging.ERROR)

VOIP = [CommunicationTokenScope.VOIP]


def enter(context, token, name, *options, seconds=60):
    path = context.out / f"{name}.token"
    path.write_text(token)
    return context.app(
        "koine-call-agent", "--token-file", path, "--seconds", str(seconds), "--trace", *options, name=name)


def check(context):
    resource = context.credentials["azure"][0]
    key = AzureKeyCredential(resource["accessKeys"][0])
    identity = CommunicationIdentityClient(context.endpoint, key)
    rooms = RoomsClient(context.endpoint, key)

    context.step("create_user, create_user_and_token, get_token")
    user, token = identity.create_user_and_token(VOIP, token_expires_in=timedelta(minutes=60))
    ana = user.properties["id"]
    expect(ana.startswith(f"8:acs:{resource['resource']}_"), f"the id is {ana}")
    lone = identity.create_user()
    second = CommunicationIdentityClient(context.endpoint, AzureKeyCredential(resource["accessKeys"][1]))
    ben_token = second.get_token(lone, VOIP)
    ben = lone.properties["id"]
    cal_user, cal_token = identity.create_user_and_token(VOIP)
    cal = cal_user.properties["id"]

    context.step("the tokens admit apps to a group call")
    group = "29228d3e-040e-4656-a70e-890ab4e173e5"
    apps = {"ana": enter(context, token.token, "ana", "--group", group),
            "ben": enter(context, ben_token.token, "ben", "--group", group)}

    def group_room():
        listed = (context.rooms.ask("list") or {}).get("rooms") or []
        return listed[0]["name"] if listed else None

    room = until("a room", group_room)
    until("both are in the call", lambda: context.rooms.people(room) == sorted([ana, ben]))
    for app in apps.values():
        app.end()

    context.step("revoke_tokens, delete_user")
    identity.revoke_tokens(user)
    late = enter(context, token.token, "ana-revoked", "--group", group, seconds=10)
    expect_not_admitted(late, "the user's tokens have been revoked", "a revoked token")
    new_token = identity.get_token(user, VOIP)
    expect(new_token.token != token.token, "the same token after a revocation")
    gone, gone_token = identity.create_user_and_token(VOIP)
    identity.delete_user(gone)
    late = enter(context, gone_token.token, "gone", "--group", group, seconds=10)
    expect_not_admitted(late, "no call agent: ", "a token of a deleted user")
    expect_error(ResourceNotFoundError, identity.get_token, gone, VOIP, status=404)

    context.step("create_room, get_room, list_participants")
    start = datetime.now(timezone.utc)
    made = rooms.create_room(
        valid_from=start, valid_until=start + timedelta(days=2),
        participants=[RoomParticipant(communication_identifier=user, role=ParticipantRole.PRESENTER),
                      RoomParticipant(communication_identifier=lone, role=ParticipantRole.CONSUMER)])
    expect_equal(rooms.get_room(made.id).id, made.id, "get_room")
    listed = {each.communication_identifier.raw_id: each.role for each in rooms.list_participants(made.id)}
    expect_equal(listed, {ana: ParticipantRole.PRESENTER, ben: ParticipantRole.CONSUMER}, "the participants")

    context.step("roles decide what apps publish; strangers are refused")
    apps = {"ana": enter(context, new_token.token, "ana-room", "--room", made.id),
            "ben": enter(context, ben_token.token, "ben-room", "--room", made.id)}
    until("both are in the room", lambda: context.rooms.people(made.id) == sorted([ana, ben]))
    until("the presenter publishes", lambda: context.rooms.member(made.id, ana)["tracks"])
    expect_equal(context.rooms.member(made.id, ben)["tracks"], [], "the tracks of a consumer")
    expect("moderate" in context.rooms.member(made.id, ana)["permissions"], "the presenter may not moderate")
    stranger = enter(context, cal_token.token, "cal-stranger", "--room", made.id, seconds=10)
    expect_not_admitted(stranger, "the call ended with code 403, ", "a stranger's token")

    context.step("add_or_update_participants acts at once; remove_participants removes")
    rooms.add_or_update_participants(
        room_id=made.id, participants=[RoomParticipant(communication_identifier=lone, role=ParticipantRole.ATTENDEE)])
    until("the attendee may speak", lambda: "microphone" in context.rooms.member(made.id, ben)["permissions"])
    expect("screen" not in context.rooms.member(made.id, ben)["permissions"], "an attendee may share its screen")
    until("Ben's app reports its new role", lambda: apps["ben"].says("didChangeRole attendee"), 1)
    until("Ana's app reports Ben's new role", lambda: apps["ana"].says("didChangeRole of Guest attendee"), 1)
    rooms.add_or_update_participants(
        room_id=made.id, participants=[RoomParticipant(communication_identifier=lone, role=ParticipantRole.COLLABORATOR)])
    until("the collaborator may share", lambda: "screen" in context.rooms.member(made.id, ben)["permissions"])
    expect("moderate" not in context.rooms.member(made.id, ben)["permissions"], "a collaborator may moderate")
    rooms.add_or_update_participants(
        room_id=made.id, participants=[RoomParticipant(communication_identifier=cal_user, role=ParticipantRole.ATTENDEE)])
    apps["cal"] = enter(context, cal_token.token, "cal-room", "--room", made.id)
    until("the invited user is in the room", lambda: cal in context.rooms.people(made.id))
    rooms.remove_participants(room_id=made.id, participants=[lone])
    expect_left(apps["ben"], "callEndReason 0, subcode 5000", 0, "Ben")
    expect(apps["ben"].says("didChangeState disconnected"), "Ben's call is not disconnected")
    late = enter(context, ben_token.token, "ben-again", "--room", made.id, seconds=10)
    expect_not_admitted(late, "the call ended with code 403, ", "a removed participant's token")

    context.step("update_room, list_rooms, delete_room")
    updated = rooms.update_room(room_id=made.id, valid_from=start, valid_until=start + timedelta(days=3))
    expect_equal(str(updated.valid_until)[:10], str((start + timedelta(days=3)).date()), "the new end")
    other = rooms.create_room()
    expect_equal([each.id for each in rooms.list_rooms()], [other.id, made.id], "the rooms, newest first")
    rooms.delete_room(made.id)
    for name in ["ana", "cal"]:
        expect_left(apps[name], "callEndReason 0, subcode 0", 0, name)
    expect_equal(context.rooms.ask("show", made.id), None, "the room that has been deleted")
    rooms.delete_room(made.id)
    expect_error(ResourceNotFoundError, rooms.get_room, made.id, status=404)
    late = enter(context, new_token.token, "ana-late", "--room", made.id, seconds=10)
    expect_not_admitted(late, "the call ended with code 404, ", "a token of a deleted room")

    context.step("lists by pages")
    many = [rooms.create_room().id for _ in range(100)]
    expect_equal([each.id for each in rooms.list_rooms()], many[::-1] + [other.id], "101 rooms, newest first")
    for each in many:
        rooms.delete_room(each)
    guests = sorted(f"8:acs:{resource['resource']}_00000000-0000-4000-8000-{number:012d}" for number in range(250))
    rooms.add_or_update_participants(
        room_id=other.id,
        participants=[RoomParticipant(communication_identifier=CommunicationUserIdentifier(each)) for each in guests])
    listed = [each.communication_identifier.raw_id for each in rooms.list_participants(other.id)]
    expect_equal(listed, guests, "250 participants")

    context.step("a token between two revocations within a second")
    busy = identity.create_user()
    identity.revoke_tokens(busy)
    between = identity.get_token(busy, VOIP)
    identity.revoke_tokens(busy)
    late = enter(context, between.token, "busy-revoked", "--group", group, seconds=10)
    expect_not_admitted(late, "the user's tokens have been revoked", "the token between two revocations")

    context.step("errors are the SDK's typed exceptions")
    wrong = CommunicationIdentityClient(context.endpoint, AzureKeyCredential("d3Jvbmcga2V5IG9mIHRoZSByZXNvdXJjZQ=="))
    expect_error(ClientAuthenticationError, wrong.create_user, status=401)
    expect_error(HttpResponseError, identity.create_user_and_token, VOIP, token_expires_in=timedelta(minutes=59), status=400)
    error = expect_error(HttpResponseError, identity.get_token, user, [], status=400)
    expect("Scopes" in str(error), f"the message is not shown: {error}")
    expect_error(HttpResponseError, identity.create_user_and_token, VOIP, token_expires_in=timedelta(hours=25), status=400)
    expect_error(HttpResponseError, identity.get_token, user, ["teleport"], code="ValidationError", status=400)
    expect_error(ResourceNotFoundError, identity.revoke_tokens, gone, status=404)
    expect_error(ResourceNotFoundError, identity.get_token, CommunicationUserIdentifier("8:acs:nobody"), VOIP, status=404)
    wrong_rooms = RoomsClient(context.endpoint, AzureKeyCredential("d3Jvbmcga2V5IG9mIHRoZSByZXNvdXJjZQ=="))
    expect_error(ClientAuthenticationError, wrong_rooms.get_room, other.id, code="Denied", status=401)
    expect_error(HttpResponseError, rooms.get_room, "99", code="BadRequest", status=400)
    none = "99454291444134085"
    for call in [rooms.get_room, rooms.update_room]:
        expect_error(ResourceNotFoundError, call, room_id=none, code="NotFound", status=404)
    nobody = [RoomParticipant(communication_identifier=CommunicationUserIdentifier("8:acs:nobody"))]
    for call in [rooms.add_or_update_participants, rooms.remove_participants]:
        expect_error(ResourceNotFoundError, call, room_id=none, participants=[RoomParticipant(communication_identifier=lone)], code="NotFound", status=404)
        expect_error(HttpResponseError, call, room_id=other.id, participants=nobody, code="BadRequest", status=400)
    expect_error(ResourceNotFoundError, lambda: list(rooms.list_participants(none)), code="NotFound", status=404)
    expect_error(HttpResponseError, rooms.create_room, participants=nobody, code="BadRequest", status=400)
    expect_error(HttpResponseError, rooms.create_room, valid_until=start - timedelta(days=1), code="BadRequest", status=400)
    expect_error(
        HttpResponseError, rooms.update_room, room_id=other.id, valid_from=start, valid_until=start + timedelta(days=181),
        code="BadRequest", status=400)
    expect_error(HttpResponseError, identity.get_token_for_teams_user, "token", "client", "user", code="NotSupported", status=400)

    context.step("operations that are not served are refused by name")

    def send(row):
        method, path = row["request"].split(" ", 1)
        return rooms._rooms_service_client._client.send_request(HttpRequest(
            method, f"{context.endpoint}{path.replace('{id}', 'x')}?api-version=2026-03-12")).raise_for_status() or True

    expect(expect_refused(context, "azure-communication", send) >= 13, "fewer operations than the table has")

    context.step("the asynchronous clients over plain HTTP")
    rooms.delete_room(other.id)
    kept = rooms.create_room()
    asyncio.run(asynchronous(
        AsyncIdentityClient(context.endpoint, key), AsyncRoomsClient(context.endpoint, key), kept.id))

    context.step("connection strings over TLS, and the asynchronous clients")
    encrypted(context, resource)


def encrypted(context, resource):
    """A server with a certificate authority of its own, which the SDK trusts as its users would have it trusted."""
    from served import Server

    folder = context.out / "ca"
    server = Server(
        context.programs, context.out / "azure-tls.log", "--open", "--api-credentials", context.credentials_file,
        "--local-ca", folder)
    try:
        os.environ["REQUESTS_CA_BUNDLE"] = str(folder / "ca.pem")
        text = f"endpoint=https://localhost:{server.port}/;accesskey={resource['accessKeys'][0]}"
        user, token = CommunicationIdentityClient.from_connection_string(text).create_user_and_token(VOIP)
        rooms = RoomsClient.from_connection_string(text)
        made = rooms.create_room(participants=[RoomParticipant(communication_identifier=user)])
        expect_equal([each.communication_identifier.raw_id for each in rooms.list_participants(made.id)],
                     [user.properties["id"]], "the participants over TLS")
        # aiohttp reads SSL_CERT_FILE when it is imported, so a running program names the file.
        authority = str(folder / "ca.pem")
        asyncio.run(asynchronous(
            AsyncIdentityClient.from_connection_string(text, connection_verify=authority),
            AsyncRoomsClient.from_connection_string(text, connection_verify=authority), made.id))
    finally:
        del os.environ["REQUESTS_CA_BUNDLE"]
        server.stop()


async def asynchronous(identity, rooms, room):
    """All operations. `room` is the only room before."""
    async with identity:
        user, token = await identity.create_user_and_token(VOIP)
        await identity.get_token(user, VOIP)
        await identity.revoke_tokens(user)
        await identity.delete_user(user)
    async with rooms:
        made = await rooms.create_room()
        await rooms.add_or_update_participants(room_id=made.id, participants=[RoomParticipant(communication_identifier=user)])
        listed = [each async for each in rooms.list_participants(made.id)]
        expect_equal(len(listed), 1, "the participants by the asynchronous client")
        await rooms.remove_participants(room_id=made.id, participants=[user])
        await rooms.update_room(room_id=made.id, pstn_dial_out_enabled=True)
        expect((await rooms.get_room(made.id)).pstn_dial_out_enabled, "the room by the asynchronous client")
        found = [each.id async for each in rooms.list_rooms()]
        expect_equal(found, [made.id, room], "the rooms by the asynchronous client")
        await rooms.delete_room(made.id)
