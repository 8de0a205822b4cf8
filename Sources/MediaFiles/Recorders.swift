import Foundation
public import Koine

/// A file that comes to be. Failures are kept and told on closing.
final class PartFile: @unchecked Sendable {  // `handle` is touched by its recorder, one call at a time
  private let place: FilePlace
  private var handle: UnsafeMutablePointer<FILE>?
  private(set) var problem: RecordingError?

  init(_ path: String) throws(RecordingError) {
    place = FilePlace(path)
    try RecordingError.check(path)
    handle = fopen(place.part, "wb")
    guard handle != nil else { throw place.error() }
  }

  deinit {
    guard let handle else { return }
    fclose(handle)
    place.abandon()
  }

  func write(_ bytes: UnsafeRawBufferPointer) {
    guard let handle, problem == nil, !bytes.isEmpty else { return }
    if fwrite(bytes.baseAddress, 1, bytes.count, handle) != bytes.count { problem = place.error() }
  }

  /// At the beginning, which is possible on a full disk, too.
  func rewrite(_ bytes: [UInt8]) {
    guard let handle else { return }
    fflush(handle)
    if pwrite(fileno(handle), bytes, bytes.count, 0) != bytes.count, errno != ESPIPE, problem == nil {
      problem = place.error()
    }
  }

  func close() throws(RecordingError) {
    guard let handle else { return }
    self.handle = nil
    if fclose(handle) != 0, problem == nil { problem = place.error() }
    problem = place.end(problem, isPlayable: true)
    if let problem { throw problem }
  }
}

/// Where a file comes to be. Until it is whole it is called `.part`. What breaks keeps that name where it can be played, which
/// is told, and else is gone; so is what nobody closes.
struct FilePlace {
  let path: String
  var part: String { path + ".part" }

  init(_ path: String) { self.path = path }

  /// What the system says.
  func error() -> RecordingError { RecordingError(path: path, reason: String(cString: strerror(errno))) }

  /// Of what has broken, whatever becomes of it.
  func told(_ problem: RecordingError, isPlayable: Bool) -> RecordingError {
    isPlayable
      ? RecordingError(path: path, reason: "\(problem.reason); what was written until then is '\(part)'") : problem
  }

  /// - Returns: nil where it is whole and has its name.
  func end(_ problem: RecordingError?, isPlayable: Bool) -> RecordingError? {
    guard let problem = problem ?? (rename(part, path) == 0 ? nil : error()) else { return nil }
    if !isPlayable { unlink(part) }
    return told(problem, isPlayable: isPlayable)
  }

  func abandon() { unlink(part) }
}

/// Why a recording could not be written.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  public let path: String
  public let reason: String
  public var description: String { "cannot write '\(path)': \(reason)" }

  /// Makes room for what is to be written, and finds out beforehand what would be noticed only at the end.
  static func check(_ path: String) throws(RecordingError) {
    try? FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
      throw RecordingError(path: path, reason: "there is a folder of that name")
    }
  }
}

/// Writes the sound it is given as 16-bit WAV at 48 kHz. Until it is whole it has the ending `.part`, and if
/// it fails it keeps it.
///
/// The file is written on a thread of its own; blocks that come faster than the disk takes them are left out.
public final class WAVRecorder: AudioSink, Sendable {
  private final class Writer: @unchecked Sendable {  // touched on the recorder's queue only
    private var file: PartFile?
    private var samples = 0
    private var channels = 1

    init(_ file: PartFile) { self.file = file }

    func write(_ block: AudioBlock) {
      guard let file else { return }
      channels = block.channels
      samples += block.samples.count
      block.samples.withUnsafeBytes { file.write($0) }  // little-endian, as the machine
    }

    func close() -> Result<Void, RecordingError> {
      guard let file else { return .success(()) }
      self.file = nil
      file.rewrite(WAVRecorder.header(samples: samples, channels: channels))
      return Result { () throws(RecordingError) in try file.close() }
    }

    func abandon() { file = nil }
  }

  /// More than a minute.
  private static let capacity = 8 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let writer: Writer

  public init(_ path: String) throws(RecordingError) {
    let file = try PartFile(path)
    [UInt8](repeating: 0, count: 44).withUnsafeBytes { file.write($0) }
    writer = Writer(file)
  }

  deinit { queue.forget { writer.abandon() } }

  /// How many blocks were left out because the disk was too slow.
  public var dropped: Int { queue.dropped }

  public func play(_ block: AudioBlock) { queue.add(block.samples.count * 2) { [writer] in writer.write(block) } }

  public func close() throws(RecordingError) { try queue.finish { writer.close() }.get() }

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
///
/// The file is written on a thread of its own; pictures that come faster than the disk takes them are left out.
public final class Y4MRecorder: VideoSink, Sendable {
  private final class Writer: @unchecked Sendable {  // touched on the recorder's queue only
    private var file: PartFile?
    private var width = 0
    private var height = 0
    private let framesPerSecond: Int
    private let pool = FramePool(limit: 2)

    init(_ file: PartFile, framesPerSecond: Int) { (self.file, self.framesPerSecond) = (file, framesPerSecond) }

    func write(_ frame: VideoFrame) {
      guard let file else { return }
      if width == 0 {
        (width, height) = (frame.width, frame.height)
        file.write("YUV4MPEG2 W\(frame.width) H\(frame.height) F\(framesPerSecond):1 Ip A1:1 C420jpeg\n")
      }
      let fitting =
        frame.width == width && frame.height == height ? frame : frame.scaled(to: width, height, pool: pool)
      file.write("FRAME\n")
      fitting.i420().withUnsafeBytes { file.write($0) }
    }

    func close() -> Result<Void, RecordingError> {
      guard let file else { return .success(()) }
      self.file = nil
      return Result { () throws(RecordingError) in try file.close() }
    }

    func abandon() { file = nil }
  }

  /// A second and a half of 1920×1080 at 30 a second.
  private static let capacity = 128 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let writer: Writer

  public init(_ path: String, framesPerSecond: Int = 30) throws(RecordingError) {
    writer = Writer(try PartFile(path), framesPerSecond: framesPerSecond)
  }

  deinit { queue.forget { writer.abandon() } }

  /// How many pictures were left out because the disk was too slow.
  public var dropped: Int { queue.dropped }

  public func render(_ frame: VideoFrame) {
    queue.add(frame.width * frame.height * 3 / 2) { [writer] in writer.write(frame) }
  }

  public func close() throws(RecordingError) { try queue.finish { writer.close() }.get() }
}

extension PartFile {
  fileprivate func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }
}
