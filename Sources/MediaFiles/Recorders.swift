import Foundation
public import Koine

/// A file that is written under another name until it is whole. Failures are kept and told on closing.
final class PartFile: @unchecked Sendable {  // `handle` is touched by its recorder, one call at a time
  private let path: String
  private var handle: UnsafeMutablePointer<FILE>?
  private(set) var problem: RecordingError?

  init(_ path: String) throws(RecordingError) {
    self.path = path
    try? FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    handle = fopen(path + ".part", "wb")
    guard handle != nil else { throw RecordingError(path: path, reason: String(cString: strerror(errno))) }
  }

  /// A recording that nobody closed is none.
  deinit {
    guard let handle else { return }
    fclose(handle)
    unlink(path + ".part")
  }

  func write(_ bytes: UnsafeRawBufferPointer) {
    guard let handle, problem == nil, !bytes.isEmpty else { return }
    if fwrite(bytes.baseAddress, 1, bytes.count, handle) != bytes.count {
      problem = RecordingError(path: path, reason: String(cString: strerror(errno)))
    }
  }

  func rewrite(_ bytes: [UInt8]) {
    guard let handle else { return }
    fseek(handle, 0, SEEK_SET)
    bytes.withUnsafeBytes { write($0) }
  }

  func close() throws(RecordingError) {
    guard let handle else { return }
    self.handle = nil
    let closed = fclose(handle)
    if problem == nil, closed != 0 || rename(path + ".part", path) != 0 {
      problem = RecordingError(path: path, reason: String(cString: strerror(errno)))
    }
    if let problem {
      unlink(path + ".part")
      throw problem
    }
  }
}

/// Why a recording could not be written.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  public let path: String
  public let reason: String
  public var description: String { "cannot write '\(path)': \(reason)" }
}

/// Writes the sound it is given as 16-bit WAV at 48 kHz. Nothing is left of a recording that fails.
public final class WAVRecorder: AudioSink, Sendable {
  private struct State {
    var file: PartFile
    var samples = 0
    var channels = 1
    var isOpen = true
  }
  private let state: Lock<State>

  public init(_ path: String) throws(RecordingError) {
    let file = try PartFile(path)
    state = Lock(State(file: file))
    file.rewrite([UInt8](repeating: 0, count: 44))
  }

  public func play(_ block: AudioBlock) {
    state.withLock { state in
      guard state.isOpen else { return }
      state.channels = block.channels
      state.samples += block.samples.count
      block.samples.withUnsafeBytes { state.file.write($0) }  // little-endian, as the machine
    }
  }

  public func close() throws(RecordingError) {
    try state.withLock { state throws(RecordingError) in
      guard state.isOpen else { return }
      state.isOpen = false
      state.file.rewrite(Self.header(samples: state.samples, channels: state.channels))
      try state.file.close()
    }
  }

  private static func header(samples: Int, channels: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    func text(_ word: String) { bytes += Array(word.utf8) }
    func number(_ value: Int, _ size: Int) {
      for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
    text("RIFF")
    number(36 + samples * 2, 4)
    text("WAVEfmt ")
    number(16, 4)
    number(1, 2)
    number(channels, 2)
    number(48_000, 4)
    number(48_000 * 2 * channels, 4)
    number(2 * channels, 2)
    number(16, 2)
    text("data")
    number(samples * 2, 4)
    return bytes
  }
}

/// Writes the pictures it is given as YUV4MPEG2, each once, in order; later sizes are scaled to the first.
public final class Y4MRecorder: VideoSink, Sendable {
  private struct State {
    var file: PartFile
    var width = 0
    var height = 0
    var isOpen = true
  }
  private let state: Lock<State>
  private let framesPerSecond: Int
  private let pool = FramePool(limit: 2)

  public init(_ path: String, framesPerSecond: Int = 30) throws(RecordingError) {
    self.framesPerSecond = framesPerSecond
    state = Lock(State(file: try PartFile(path)))
  }

  public func render(_ frame: VideoFrame) {
    state.withLock { state in
      guard state.isOpen else { return }
      if state.width == 0 {
        (state.width, state.height) = (frame.width, frame.height)
        state.file.write("YUV4MPEG2 W\(frame.width) H\(frame.height) F\(framesPerSecond):1 Ip A1:1 C420jpeg\n")
      }
      let fitting =
        frame.width == state.width && frame.height == state.height
        ? frame : frame.scaled(to: state.width, state.height, pool: pool)
      state.file.write("FRAME\n")
      fitting.i420().withUnsafeBytes { state.file.write($0) }
    }
  }

  public func close() throws(RecordingError) {
    try state.withLock { state throws(RecordingError) in
      guard state.isOpen else { return }
      state.isOpen = false
      try state.file.close()
    }
  }
}

extension PartFile {
  fileprivate func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }
}
