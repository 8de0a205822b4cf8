// A server's configuration names addresses.
@_exported public import struct KoineBase.SocketAddress
