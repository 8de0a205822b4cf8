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

  /// Reads `count` bytes at `offset` and after each `stride` from there, until the file ends.
  /// - Returns: how often.
  func read(_ count: Int, from offset: Int, every stride: Int, use: ([UInt8]) -> Void) -> Int {
    guard let handle else { return 0 }
    fflush(handle)
    let source = open(place.part, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { return 0 }
    defer { Foundation.close(source) }
    var bytes = [UInt8](repeating: 0, count: count)
    var times = 0
    while pread(source, &bytes, count, off_t(offset + times * stride)) == count {
      use(bytes)
      times += 1
    }
    return times
  }

  /// A file of its own that may take this one's place; nil where none can be made.
  func replacement() -> PartFile? { try? PartFile(replacing: self) }

  /// - Parameter isComplete: whether all that belongs into the new file was written to it.
  /// - Returns: whether `new` has this file's place; this one is closed then. Otherwise the new one is gone.
  func replace(by new: PartFile, isComplete: Bool) -> Bool {
    guard let handle, let other = new.handle else { return false }
    let isWritten = fflush(other) == 0 && isComplete && new.problem == nil && problem == nil
    guard isWritten, rename(place.part + Self.second, place.part) == 0 else {
      fclose(other)
      new.handle = nil
      unlink(place.part + Self.second)
      return false
    }
    fclose(handle)
    self.handle = nil
    return true
  }

  private static let second = "2"

  private init(replacing old: PartFile) throws(RecordingError) {
    place = old.place
    handle = fopen(place.part + Self.second, "wb")
    guard handle != nil else { throw place.error() }
  }

  func close() throws(RecordingError) {
    guard let handle else { return }
    self.handle = nil
    if fclose(handle) != 0, problem == nil { problem = place.error() }
    problem = place.finish(problem, isPlayable: true)
    if let problem { throw problem }
  }
}

/// The time axis that files of one sender share, so that they are in step and as long as the call. Any thread may call it.
public final class RecordingTimeline: Sendable {
  /// The time at which the files begin.
  let start: Tick
  private let now: @Sendable () -> Tick
  private let end = Lock<Tick?>(nil)

  /// Creates a timeline.
  /// - Parameters:
  ///   - start: the time at which the files begin.
  ///   - scheduler: the clock of the world that is recorded.
  public init(start: Tick, scheduler: Scheduler) {
    self.start = start
    now = { scheduler.now }
  }

  /// The sender has left: the files end here, unless it comes back.
  public func stop() { end.withLock { $0 = $0 ?? now() } }
  /// The sender is back: the files go on until `stop` or their end.
  public func resume() { end.withLock { $0 = nil } }

  /// The length of the files so far.
  var elapsed: Duration { max(.zero, (end.withLock { $0 } ?? now()) - start) }

  /// When media were captured, since the beginning. A sender's clock, which the network tells of, cannot lie in the future.
  func position(of captured: Tick) -> Duration { max(.zero, min(captured, now()) - start) }
}

/// The location of a file that is being written. Until the file is complete its name ends in `.part`. A broken recording keeps that
/// name if it can be played, and the error names the file. Otherwise it is deleted, and so is a recording that is not closed.
struct FilePlace {
  let path: String
  var part: String { path + ".part" }

  init(_ path: String) { self.path = path }

  /// What the system says.
  func error() -> RecordingError { RecordingError(path: path, reason: String(cString: strerror(errno))) }

  /// The error of a broken recording. If the written part can be played, the error also names its file.
  func told(_ problem: RecordingError, isPlayable: Bool) -> RecordingError {
    isPlayable
      ? RecordingError(path: path, reason: "\(problem.reason); the part written until then is '\(part)'") : problem
  }

  /// - Returns: nil where it is whole and has its name.
  func finish(_ problem: RecordingError?, isPlayable: Bool) -> RecordingError? {
    guard let problem = problem ?? (rename(part, path) == 0 ? nil : error()) else { return nil }
    if !isPlayable { unlink(part) }
    return told(problem, isPlayable: isPlayable)
  }

  func abandon() { unlink(part) }
}

/// Why a recording could not be written.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Path of the file.
  public let path: String
  /// The reason, as text.
  public let reason: String
  public var description: String { "cannot write '\(path)': \(reason)" }

  /// Creates the folder of a new file. Throws if a folder has the file's name, an error that would otherwise be noticed only at the
  /// end.
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
/// With a timeline the file begins and ends with it: silence stands where no sound came for more than 200 ms, and sound that
/// is more than 200 ms ahead of its time is left out. Without one the blocks follow each other.
///
/// The file is written on a thread of its own; blocks that come faster than the disk takes them are left out.
public final class WAVRecorder: AudioSink, Sendable {
  private final class Writer: @unchecked Sendable {  // touched on the recorder's queue only
    private static let tolerance = 48 * 200
    private static let silence = [Int16](repeating: 0, count: 4_800)
    private var file: PartFile?
    private var samples = 0
    /// Of the first block, which decides for the file.
    private var first: Int?
    private var channels: Int { first ?? 1 }

    init(_ file: PartFile) { self.file = file }

    /// - Parameter position: when the block was captured, since the file's beginning; nil: after the one before it.
    func write(_ block: AudioBlock, at position: Duration?) {
      guard file != nil else { return }
      first = first ?? block.channels
      if let position {
        let missing = frames(in: position) - samples / channels
        if missing > Self.tolerance { writeSilence(missing) }
        if missing < -Self.tolerance { return }
      }
      write(block.with(channels: channels).samples[...])
    }

    private func frames(in duration: Duration) -> Int { Int(duration.nanoseconds * 48 / 1_000_000) }

    private func writeSilence(_ frames: Int) {
      var rest = frames * channels
      while rest > 0 {
        let count = min(rest, Self.silence.count)
        write(Self.silence[..<count])
        rest -= count
      }
    }

    private func write(_ values: ArraySlice<Int16>) {
      samples += values.count
      values.withUnsafeBytes { file?.write($0) }  // little-endian, as the machine
    }

    func close(at end: Duration?) -> Result<Void, RecordingError> {
      guard let file else { return .success(()) }
      if let end { writeSilence(max(0, frames(in: end) - samples / channels)) }
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
  private let timeline: RecordingTimeline?

  /// Creates the file.
  /// - Throws: what the file system says of `path`.
  public init(_ path: String, timeline: RecordingTimeline? = nil) throws(RecordingError) {
    self.timeline = timeline
    let file = try PartFile(path)
    [UInt8](repeating: 0, count: 44).withUnsafeBytes { file.write($0) }
    writer = Writer(file)
  }

  deinit { queue.forget { writer.abandon() } }

  /// How many blocks were left out because the disk was too slow.
  public var dropped: Int { queue.dropped }

  public func play(_ block: AudioBlock) {
    let position = timeline?.position(of: block.captured)
    queue.add(block.samples.count * 2) { [writer] in writer.write(block, at: position) }
  }

  /// Finishes the file.
  /// - Throws: `RecordingError` if frames could not be written.
  public func close() throws(RecordingError) {
    let end = timeline?.elapsed
    try queue.finish { writer.close(at: end) }.get()
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

/// Writes the pictures it is given as YUV4MPEG2. All have the size of the largest: when a larger one comes, which happens in
/// the first seconds of a call, the file so far is scaled to it.
///
/// With a timeline the file begins and ends with it and has as many pictures a second as it says: each is repeated until
/// the next one comes, and the first one is preceded by black. Without one each picture is written once, in order.
///
/// The file is written on a thread of its own; pictures that come faster than the disk takes them are left out.
public final class Y4MRecorder: VideoSink, Sendable {
  private final class Writer: @unchecked Sendable {  // touched on the recorder's queue only
    private var file: PartFile?
    private var size = Size(width: 0, height: 0)
    private let framesPerSecond: Int
    private let pool = FramePool(limit: 2)
    private var written = 0
    /// The newest picture of a file with a timeline, which is written until the next one comes.
    private var current: VideoFrame?

    private struct Size: Equatable {
      var width, height: Int
      var area: Int { width * height }
    }

    init(_ path: String, framesPerSecond: Int) throws(RecordingError) {
      self.framesPerSecond = framesPerSecond
      file = try PartFile(path)
    }

    /// - Parameter position: when the picture was captured, since the file's beginning; nil: after the one before it.
    func write(_ frame: VideoFrame, at position: Duration?) {
      guard file != nil else { return }
      grow(to: Size(width: frame.width, height: frame.height))
      guard let position else { return put(frame) }
      fill(to: number(at: position))
      current = frame
    }

    private func number(at position: Duration) -> Int {
      Int((position.inSeconds * Double(framesPerSecond)).rounded())
    }

    private func fill(to number: Int) {
      guard written < number else { return }
      let frame = current ?? pool.makeBlack(width: size.width, height: size.height)
      current = fitting(frame)  // once for all repetitions
      while written < number { put(current ?? frame) }
    }

    private func fitting(_ frame: VideoFrame) -> VideoFrame {
      frame.width == size.width && frame.height == size.height
        ? frame : frame.scaled(to: size.width, size.height, pool: pool)
    }

    private func put(_ frame: VideoFrame) {
      file?.write("FRAME\n")
      fitting(frame).i420().withUnsafeBytes { file?.write($0) }
      written += 1
    }

    private func header(_ size: Size) -> String {
      "YUV4MPEG2 W\(size.width) H\(size.height) F\(framesPerSecond):1 Ip A1:1 C420jpeg\n"
    }

    /// Where the file cannot be written anew, it keeps its size.
    private func grow(to new: Size) {
      guard new.area > size.area else { return }
      let old = size
      size = new
      if written == 0 {
        file?.write(header(new))
      } else if !rescale(from: old) {
        size = old
      }
    }

    /// Writes the file anew in the present size. It is a raw file: its frames are where their number says.
    /// - Returns: false where that failed; the file is as before then.
    private func rescale(from old: Size) -> Bool {
      guard let small = file, let larger = small.replacement() else { return false }
      larger.write(header(size))
      let count = old.area + 2 * ((old.width + 1) / 2) * ((old.height + 1) / 2)
      let skipped = header(old).utf8.count
      let mark = "FRAME\n"
      let times = small.read(count, from: skipped + mark.utf8.count, every: count + mark.utf8.count) { bytes in
        larger.write(mark)
        let frame = pool.make(i420: bytes, width: old.width, height: old.height)
        fitting(frame).i420().withUnsafeBytes { larger.write($0) }
      }
      guard small.replace(by: larger, isComplete: times == written) else { return false }
      file = larger
      return true
    }

    func close(at end: Duration?) -> Result<Void, RecordingError> {
      guard let file else { return .success(()) }
      // At least once, however short the time since it came.
      if let end, current != nil { fill(to: max(number(at: end), written + 1)) }
      self.file = nil
      current = nil
      return Result { () throws(RecordingError) in try file.close() }
    }

    func abandon() { file = nil }
  }

  /// A second and a half of 1920×1080 at 30 a second.
  private static let capacity = 128 << 20
  private let queue = WritingQueue(capacity: capacity)
  private let writer: Writer
  private let timeline: RecordingTimeline?

  /// Creates the file.
  /// - Throws: what the file system says of `path`.
  public init(_ path: String, framesPerSecond: Int = 30, timeline: RecordingTimeline? = nil) throws(RecordingError) {
    writer = try Writer(path, framesPerSecond: framesPerSecond)
    self.timeline = timeline
  }

  deinit { queue.forget { writer.abandon() } }

  /// How many pictures were left out because the disk was too slow.
  public var dropped: Int { queue.dropped }

  public func render(_ frame: VideoFrame) {
    let position = timeline?.position(of: frame.captured)
    queue.add(frame.width * frame.height * 3 / 2) { [writer] in writer.write(frame, at: position) }
  }

  /// Finishes the file.
  /// - Throws: `RecordingError` if frames could not be written.
  public func close() throws(RecordingError) {
    let end = timeline?.elapsed
    try queue.finish { writer.close(at: end) }.get()
  }
}

extension FramePool {
  fileprivate func makeBlack(width: Int, height: Int) -> VideoFrame {
    make(width: width, height: height, captured: .zero) { planes in
      planes.y.update(repeating: 16, count: planes.lumaStride * planes.height)
      planes.u.update(repeating: 128, count: planes.chromaStride * planes.chromaHeight)
      planes.v.update(repeating: 128, count: planes.chromaStride * planes.chromaHeight)
    }
  }

  /// - Parameter bytes: the three planes without padding, as `VideoFrame.i420()` gives them.
  fileprivate func make(i420 bytes: [UInt8], width: Int, height: Int) -> VideoFrame {
    make(width: width, height: height, captured: .zero) { planes in
      bytes.withUnsafeBufferPointer { bytes in
        guard var source = bytes.baseAddress else { return }
        func copy(_ plane: UnsafeMutablePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) {
          for row in 0..<height {
            (plane + row * stride).update(from: source, count: width)
            source += width
          }
        }
        copy(planes.y, planes.lumaStride, width, height)
        copy(planes.u, planes.chromaStride, (width + 1) / 2, (height + 1) / 2)
        copy(planes.v, planes.chromaStride, (width + 1) / 2, (height + 1) / 2)
      }
    }
  }
}

extension PartFile {
  fileprivate func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }
}
