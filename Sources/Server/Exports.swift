// A server's configuration names addresses and services of rooms.
@_exported public import struct KoineBase.SocketAddress
@_exported public import struct KoineSignaling.RoomService
