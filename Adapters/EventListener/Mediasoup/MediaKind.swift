/// What a stream carries.
public enum MediaKind: String, Sendable, Hashable { case audio, video }
