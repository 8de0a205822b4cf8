// An app of the common layer imports `Koine` and has the clock, frames, and devices with it.
@_exported public import KoineAudioProcessing
@_exported public import KoineBase
@_exported public import KoineCodecs
@_exported public import KoineMediaEngine
@_exported public import KoineTransport
@_exported public import RoomModel
