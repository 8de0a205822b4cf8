// An app imports `Koine` and has with it all that the public API of `Koine` mentions: frames, audio, sources and sinks, the clock,
// codecs and statistics, and the values of a room.
@_exported public import KoineMedia
@_exported public import RoomModel
