import CKoinePulse
import Koine

/// Where a PulseAudio device is: `[NAME][@SERVER]`. Without a name the server's own choice, without a server the one of
/// `PULSE_SERVER` or of the user's session.
struct PulsePlace: Sendable {
  let name: String?
  let server: String?

  init(_ argument: String?) {
    let text = argument ?? ""
    // PulseAudio's own words, as @DEFAULT_SINK@, end in the same sign.
    guard let at = text.lastIndex(of: "@"), text.index(after: at) < text.endIndex else {
      (name, server) = (text.isEmpty ? nil : text, nil)
      return
    }
    name = at == text.startIndex ? nil : String(text[..<at])
    server = String(text[text.index(after: at)...])
  }

  init(name: String, server: String?) { (self.name, self.server) = (name, server) }

  var argument: String { (name ?? "") + (server.map { "@" + $0 } ?? "") }
}

/// A connection to PulseAudio that records one channel or plays two, at 48 kHz. One owner at a time; reading and writing block.
final class PulseStream {
  enum Direction { case record, play }

  private let raw: OpaquePointer

  init(_ place: PulsePlace, _ direction: Direction) throws(DeviceError) {
    let channels: UInt8 = direction == .record ? 1 : 2
    var format = pa_sample_spec(format: PA_SAMPLE_S16LE, rate: UInt32(AudioBlock.sampleRate), channels: channels)
    let block = UInt32(AudioBlock.length * 2 * Int(channels))
    var buffers = pa_buffer_attr(
      maxlength: koine_pulse_default(), tlength: 4 * block, prebuf: 2 * block, minreq: koine_pulse_default(),
      fragsize: block)
    var problem: Int32 = 0
    let made = pa_simple_new(
      place.server, "Koine", direction == .record ? PA_STREAM_RECORD : PA_STREAM_PLAYBACK, place.name, "call", &format,
      nil, &buffers, &problem)
    guard let made else { throw .unreadable("pulse:\(place.argument)", reason: String(cString: pa_strerror(problem))) }
    raw = made
  }

  deinit { pa_simple_free(raw) }

  /// - Returns: false when the connection is lost.
  func read(into samples: inout [Int16]) -> Bool {
    samples.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { pa_simple_read(raw, $0, bytes.count, nil) >= 0 } ?? false
    }
  }

  func write(_ samples: [Int16]) -> Bool {
    samples.withUnsafeBytes { bytes in
      bytes.baseAddress.map { pa_simple_write(raw, $0, bytes.count, nil) >= 0 } ?? false
    }
  }

  /// Recording: how old the next sample is. Playing: from writing a sample until it is heard.
  var latency: Duration? {
    var problem: Int32 = 0
    let time = pa_simple_get_latency(raw, &problem)
    return problem == 0 ? .microseconds(Int64(min(time, 10_000_000))) : nil
  }
}
