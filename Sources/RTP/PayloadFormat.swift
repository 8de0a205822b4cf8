package import KoineBase

/// One codec's RTP payload format: everything that depends on the codec outside of encoders and decoders. One file per
/// codec conforms to it, and the switches below are the only place that lists those files.
protocol PayloadFormat {
  /// The payload types that are fixed between Koine's own programs. Browsers choose theirs.
  static var payloadType: UInt8 { get }
  static var rtxPayloadType: UInt8 { get }
  /// The parameters that an answer announces in `a=fmtp`; nil where there are none.
  static var announcedParameters: String? { get }
  /// Whether the decoder takes a stream with these parameters of `a=fmtp`. Names are in lower case.
  static func accepts(_ parameters: [String: String]) -> Bool
}

extension PayloadFormat {
  static var announcedParameters: String? { nil }
  static func accepts(_ parameters: [String: String]) -> Bool { true }
}

/// The payload format of a video codec. Its payloads begin with a descriptor.
protocol VideoPayloadFormat: PayloadFormat {
  /// Whether browsers send several sizes as spatial layers of one stream (SVC) rather than as simulcast. The router forwards
  /// such a stream as a whole, so that other codecs are preferred where a browser offers them.
  static var hasSpatialLayersInBrowsers: Bool { get }
  /// The longest descriptor that `writeDescriptor` writes, in bytes.
  static var longestDescriptor: Int { get }

  /// - Returns: nil where the bytes are no descriptor with at least one byte of the codec's behind it.
  static func parse(_ payload: UnsafeRawBufferPointer) -> VideoPacketInfo?
  /// Replaces the numbers in a payload's descriptor, in place. The descriptor keeps its length: numbers that it does not hold
  /// are not added.
  static func rewrite(_ payload: UnsafeMutableRawBufferPointer, _ numbers: FrameNumbers)
  /// Writes the descriptor of one packet of a frame.
  static func writeDescriptor(of frame: OutgoingFrame, isFirst: Bool, isLast: Bool, to writer: inout ByteWriter)

  /// The bytes that `appendLayerIndex` adds at most.
  static var longestLayerIndex: Int { get }
  /// Completes a frame of several spatial layers for the decoder.
  /// - Parameter sizes: the bytes of each layer's frame, which `frame` holds one behind the other.
  static func appendLayerIndex(to frame: Bytes, sizes: [Int])
}

extension VideoPayloadFormat {
  static var hasSpatialLayersInBrowsers: Bool { false }
  static var longestLayerIndex: Int { 0 }
  static func appendLayerIndex(to frame: Bytes, sizes: [Int]) {}
}

// MARK: Once per stream: one switch

extension Codec {
  private var format: any PayloadFormat.Type {
    switch self {
    case .opus: OpusPayloadFormat.self
    case .vp8: VP8PayloadFormat.self
    case .vp9: VP9PayloadFormat.self
    }
  }

  private var videoFormat: (any VideoPayloadFormat.Type)? { format as? any VideoPayloadFormat.Type }

  /// - Parameters:
  ///   - sdpName: of an `a=rtpmap`, in lower case.
  ///   - rate: of the same line, in Hz.
  package init?(sdpName: String, rate: String) {
    guard
      let codec = Codec.allCases.first(where: { $0.rawValue.lowercased() == sdpName && String($0.clockRate) == rate })
    else { return nil }
    self = codec
  }

  /// The value of `a=rtpmap` behind the payload type, as in `opus/48000/2`.
  package var rtpmap: String { "\(rawValue)/\(clockRate)" + (channels.map { "/\($0)" } ?? "") }
  /// The value of `a=fmtp` behind the payload type, as an answer announces it; nil where there is none.
  package var announcedParameters: String? { format.announcedParameters }
  /// Whether the decoder takes a stream with these parameters of `a=fmtp`. Names are in lower case.
  package func accepts(_ parameters: [String: String]) -> Bool { format.accepts(parameters) }
  /// The payload type that is fixed between Koine's own programs. Browsers choose theirs.
  package var payloadType: UInt8 { format.payloadType }
  /// The fixed payload type of retransmissions (RFC 4588).
  package var rtxPayloadType: UInt8 { format.rtxPayloadType }
  /// Whether browsers send several sizes as spatial layers of one stream rather than as simulcast.
  package var hasSpatialLayersInBrowsers: Bool { videoFormat?.hasSpatialLayersInBrowsers ?? false }
  /// The longest payload descriptor that `writeDescriptor` writes, in bytes; 0 for audio.
  package var longestDescriptor: Int { videoFormat?.longestDescriptor ?? 0 }
}

// MARK: Once per packet and per frame: switches into static functions

extension Codec {
  /// Reads a packet's payload descriptor and its frame's first bytes.
  /// - Returns: nil for audio, and where the payload is malformed or empty.
  package func videoPacketInfo(of payload: UnsafeRawBufferPointer) -> VideoPacketInfo? {
    switch self {
    case .opus: nil
    case .vp8: VP8PayloadFormat.parse(payload)
    case .vp9: VP9PayloadFormat.parse(payload)
    }
  }

  /// How many frames of 20 ms an audio packet stands for; 1 for a packet that does not say so, and for video.
  package func framesOf20ms(in payload: UnsafeRawBufferPointer) -> Int {
    switch self {
    case .opus: OpusPayloadFormat.framesOf20ms(in: payload)
    case .vp8, .vp9: 1
    }
  }

  /// Replaces the numbers in a video payload's descriptor, in place. Numbers that the descriptor does not hold are not added.
  package func rewrite(_ payload: UnsafeMutableRawBufferPointer, _ numbers: FrameNumbers) {
    switch self {
    case .opus: break
    case .vp8: VP8PayloadFormat.rewrite(payload, numbers)
    case .vp9: VP9PayloadFormat.rewrite(payload, numbers)
    }
  }

  /// Writes the payload descriptor of one packet of a frame; nothing for audio.
  package func writeDescriptor(
    of frame: OutgoingFrame, isFirst: Bool, isLast: Bool, to writer: inout ByteWriter
  ) {
    switch self {
    case .opus: break
    case .vp8: VP8PayloadFormat.writeDescriptor(of: frame, isFirst: isFirst, isLast: isLast, to: &writer)
    case .vp9: VP9PayloadFormat.writeDescriptor(of: frame, isFirst: isFirst, isLast: isLast, to: &writer)
    }
  }

  /// The bytes that `appendLayerIndex` adds at most.
  package var longestLayerIndex: Int {
    switch self {
    case .opus: 0
    case .vp8: VP8PayloadFormat.longestLayerIndex
    case .vp9: VP9PayloadFormat.longestLayerIndex
    }
  }

  /// Completes a frame of several spatial layers for the decoder, where the codec asks for it.
  /// - Parameter sizes: the bytes of each layer's frame, which `frame` holds one behind the other.
  package func appendLayerIndex(to frame: Bytes, sizes: [Int]) {
    switch self {
    case .opus: break
    case .vp8: VP8PayloadFormat.appendLayerIndex(to: frame, sizes: sizes)
    case .vp9: VP9PayloadFormat.appendLayerIndex(to: frame, sizes: sizes)
    }
  }
}
