// The values that peers and signalling share.
@_exported public import RoomModel
