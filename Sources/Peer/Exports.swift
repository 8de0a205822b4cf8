// What the description of a peer and the parameters of its streams consist of, and where a loop is bound.
@_exported public import RoomModel
@_exported public import struct KoineBase.SocketAddress
@_exported public import struct KoineBase.TransportAddress
