// The payloads of messages are values of the room's model.
@_exported public import RoomModel
