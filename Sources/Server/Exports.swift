// A server's configuration names addresses.
@_exported public import struct KoineBase.SocketAddress
// A server's configuration names a service beside its router.
@_exported public import struct KoineSignaling.RoomService
