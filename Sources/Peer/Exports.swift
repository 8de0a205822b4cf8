// What the description of a peer and the parameters of its streams consist of, and where a loop is bound.
@_exported public import struct KoineBase.SocketAddress
@_exported public import struct KoineBase.TransportAddress
@_exported public import enum KoineBase.TransportProtocol
@_exported public import struct KoineTransport.Fingerprint
@_exported public import struct KoineTransport.ICECandidate
@_exported public import struct KoineTransport.ICECredentials
@_exported public import struct KoineTransport.PeerDescription
@_exported public import struct KoineTransport.StreamParameters
