import Dispatch
import Glibc
import KoineJSONCodec
import KoineMedia

/// A registry in a file, to which every change is appended and which is written to the disk before the change is answered.
///
/// A line is one change, as JSON. A last line without an end, of a process that was killed, does not count. The file is written anew
/// when most of its lines are out of date. Changes that come at the same time share one write to the disk.
///
/// If the file cannot be written, every change fails and nothing changes in memory, until a write succeeds again.
package final class FileRegistry: RegistryStore {
  private struct Line: Codable {
    /// The key.
    var k: String
    /// The value as text; nil: deleted.
    var v: String?
    /// The version.
    var n: UInt64
    /// The expiry in milliseconds since 1970.
    var e: Int64?
  }

  private struct Stored {
    var value: [UInt8]
    var version: RegistryVersion
    var expiry: APITime?
  }

  private struct State {
    var values: [String: Stored] = [:]
    var keys = SortedKeys()
    var observers = RegistryObservers()
    var waiting: [Waiting] = []
    var isWriting = false
  }

  /// A change on its way to the file.
  private struct Waiting {
    var key: String
    /// nil: deletion.
    var value: [UInt8]?
    var version: RegistryVersion?
    var expiry: APITime?
    var done: CheckedContinuation<Result<RegistryVersion, RegistryError>, Never>
  }

  private let path: String
  private let clock: @Sendable () -> APITime
  private let state = Lock(State())
  /// The file and its counters: used on this queue only.
  private let queue = DispatchQueue(label: "koine.registry")
  private let file: Lock<RegistryFile>

  /// Opens the file, or makes it, and reads it.
  /// - Throws: `RegistryFileError` if it cannot be read or made, or is no registry.
  package init(path: String, clock: @escaping @Sendable () -> APITime) throws(RegistryFileError) {
    (self.path, self.clock) = (path, clock)
    let opened = try RegistryFile(path: path)
    var values: [String: Stored] = [:]
    var highest: UInt64 = 0
    try opened.read { text, number throws(RegistryFileError) in
      guard let line = try? JSONCodec.decode(Line.self, from: text, limits: .init(depth: 4, size: 4 << 20)) else {
        throw RegistryFileError("'\(path)' is not a registry: line \(number) cannot be read")
      }
      highest = max(highest, line.n)
      values[line.k] = line.v.map {
        Stored(
          value: Array($0.utf8), version: RegistryVersion(number: line.n),
          expiry: line.e.map { APITime(milliseconds: $0) })
      }
    }
    opened.version = highest
    file = Lock(opened)
    state.withLock { state in
      state.values = values
      for key in values.keys.sorted() { state.keys.insert(key) }
    }
  }

  package func get(_ key: String) async throws(RegistryError) -> RegistryEntry? {
    let now = clock()
    return state.withLock { state in
      guard let stored = state.values[key], stored.expiry.map({ $0 > now }) ?? true else { return nil }
      return RegistryEntry(key: key, value: stored.value, version: stored.version)
    }
  }

  package func list(prefix: String, after key: String?, limit: Int) async throws(RegistryError) -> [RegistryEntry] {
    let now = clock()
    return state.withLock { state in
      state.keys.keys(prefix: prefix, after: key, limit: limit) { key in
        state.values[key].map { $0.expiry.map { $0 > now } ?? true } ?? false
      }
      .compactMap { key in
        state.values[key].map { RegistryEntry(key: key, value: $0.value, version: $0.version) }
      }
    }
  }

  @discardableResult
  package func put(
    _ key: String, _ value: [UInt8], ifVersion version: RegistryVersion?, expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion {
    try await change(key, value, version, expiry)
  }

  package func delete(_ key: String, ifVersion version: RegistryVersion) async throws(RegistryError) {
    guard try await get(key) != nil else { return }
    _ = try await change(key, nil, version, nil)
  }

  package func count(prefix: String, limit: Int) async throws(RegistryError) -> Int {
    state.withLock { $0.keys.count(prefix: prefix, limit: limit) }
  }

  package func observe(_ prefixes: [String], _ observer: @escaping @Sendable (RegistryChange) -> Void) {
    state.withLock { $0.observers.add(prefixes, observer) }
  }

  /// In memory; the file loses them when it is written anew.
  package func removeExpired() {
    let now = clock()
    queue.async { [self] in dropExpired(at: now) }
  }

  /// On the queue.
  private func dropExpired(at now: APITime) {
    let (expired, observers) = state.withLock { state in
      let expired = state.values.filter { $0.value.expiry.map { $0 <= now } ?? false }
      for key in expired.keys {
        state.values[key] = nil
        state.keys.remove(key)
      }
      return (expired, state.observers)
    }
    for (key, stored) in expired {
      let change = RegistryChange(key: key, value: nil, version: RegistryVersion(number: stored.version.number + 1))
      for observer in observers.of(key) { observer(change) }
    }
  }

  private func change(
    _ key: String, _ value: [UInt8]?, _ version: RegistryVersion?, _ expiry: APITime?
  ) async throws(RegistryError) -> RegistryVersion {
    let result = await withCheckedContinuation { done in
      let mustStart = state.withLock { state in
        state.waiting.append(Waiting(key: key, value: value, version: version, expiry: expiry, done: done))
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if mustStart { queue.async { self.writeAll() } }
    }
    return try result.get()
  }

  // MARK: Writing, on the queue

  private func writeAll() {
    while true {
      let batch = state.withLock { state in
        defer { state.waiting = [] }
        if state.waiting.isEmpty { state.isWriting = false }
        return state.waiting
      }
      guard !batch.isEmpty else { return }
      write(batch)
    }
  }

  private func write(_ batch: [Waiting]) {
    let now = clock()
    file.withLock { file in
      var lines: [UInt8] = []
      var accepted: [(change: Waiting, version: RegistryVersion)] = []
      var answers: [(Waiting, Result<RegistryVersion, RegistryError>)] = []
      // What the batch has changed so far; the inner nil stands for a deleted key.
      var versions: [String: RegistryVersion?] = [:]
      let firstVersion = file.version
      for change in batch {
        let current: RegistryVersion? =
          versions[change.key]
          ?? state.withLock { state in
            state.values[change.key].flatMap { $0.expiry.map { $0 > now } ?? true ? $0.version : nil }
          }
        guard current == change.version else {
          answers.append((change, .failure(.conflict)))
          continue
        }
        file.version += 1
        let version = RegistryVersion(number: file.version)
        let line = Line(
          k: change.key, v: change.value.map { String(decoding: $0, as: UTF8.self) }, n: version.number,
          e: change.expiry?.milliseconds)
        guard let text = try? JSONCodec.encode(line, limits: .init(size: 4 << 20)) else {
          answers.append((change, .failure(.unavailable("the value cannot be written as JSON"))))
          continue
        }
        lines += text
        lines.append(UInt8(ascii: "\n"))
        versions[change.key] = change.value == nil ? .some(nil) : version
        accepted.append((change, version))
      }
      do throws(RegistryFileError) {
        try file.append(lines, count: accepted.count)
        apply(accepted)
        answers += accepted.map { ($0.change, .success($0.version)) }
      } catch {
        file.version = firstVersion
        answers += accepted.map { ($0.change, .failure(.unavailable(error.description))) }
      }
      for (change, answer) in answers { change.done.resume(returning: answer) }
      compactIfUseful(file, at: now)
    }
  }

  private func apply(_ changes: [(change: Waiting, version: RegistryVersion)]) {
    let observers = state.withLock { state in
      for (change, version) in changes {
        if let value = change.value {
          state.values[change.key] = Stored(value: value, version: version, expiry: change.expiry)
          state.keys.insert(change.key)
        } else {
          state.values[change.key] = nil
          state.keys.remove(change.key)
        }
      }
      return state.observers
    }
    for (change, version) in changes {
      let report = RegistryChange(key: change.key, value: change.value, version: version)
      for observer in observers.of(change.key) { observer(report) }
    }
  }

  /// Lines in a file below which it is never written anew.
  private static let smallFile = 10_000

  private func compactIfUseful(_ file: RegistryFile, at now: APITime) {
    let live = state.withLock { $0.values.count }
    guard file.lines > Self.smallFile, file.lines > 2 * live else { return }
    compact(file, at: now)
  }

  private func compact(_ file: RegistryFile, at now: APITime) {
    dropExpired(at: now)
    let values = state.withLock { $0.values }
    var lines: [UInt8] = []
    for (key, stored) in values.sorted(by: { $0.value.version < $1.value.version }) {
      let line = Line(
        k: key, v: String(decoding: stored.value, as: UTF8.self), n: stored.version.number,
        e: stored.expiry?.milliseconds)
      guard let text = try? JSONCodec.encode(line, limits: .init(size: 4 << 20)) else { return }
      lines += text
      lines.append(UInt8(ascii: "\n"))
    }
    // If that fails, the file stays as it is: it is only longer than it has to be.
    try? file.replace(with: lines, count: values.count)
  }

  /// Closes the file, after the changes that are on their way. Later changes fail.
  package func close() async {
    await withCheckedContinuation { done in
      queue.async {
        self.file.withLock { $0.close() }
        done.resume()
      }
    }
  }

  /// Writes the file anew without what is out of date.
  package func compact() async {
    await withCheckedContinuation { done in
      queue.async {
        self.file.withLock { self.compact($0, at: self.clock()) }
        done.resume()
      }
    }
  }
}

/// Why a registry's file cannot be used.
package struct RegistryFileError: Error, Hashable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}

/// The open file of a registry. Locked against other processes.
private final class RegistryFile {
  private let path: String
  private var descriptor: Int32
  /// Bytes of whole lines.
  private var length: off_t = 0
  private(set) var lines = 0
  var version: UInt64 = 0

  init(path: String) throws(RegistryFileError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw RegistryFileError("cannot open '\(path)': \(Self.reason)") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw RegistryFileError("'\(path)' is no file")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw RegistryFileError("'\(path)' is in use by another process")
    }
  }

  deinit { close() }

  func close() {
    guard descriptor >= 0 else { return }
    // A child process of another thread may have the descriptor until it runs its program: closing alone would not release the lock.
    flock(descriptor, LOCK_UN)
    Glibc.close(descriptor)
    descriptor = -1
  }

  private static var reason: String { String(cString: strerror(errno)) }

  /// Calls `body` with each whole line and its number, and cuts off what follows the last one.
  func read(_ body: ([UInt8], Int) throws(RegistryFileError) -> Void) throws(RegistryFileError) {
    var rest: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw RegistryFileError("cannot read '\(path)': \(Self.reason)") }
      guard count > 0 else { break }
      var start = 0
      for index in 0..<count where buffer[index] == UInt8(ascii: "\n") {
        rest += buffer[start..<index]
        lines += 1
        try body(rest, lines)
        length += off_t(rest.count + 1)
        rest = []
        start = index + 1
      }
      rest += buffer[start..<count]
    }
    guard ftruncate(descriptor, length) == 0, lseek(descriptor, length, SEEK_SET) == length else {
      throw RegistryFileError("cannot write '\(path)': \(Self.reason)")
    }
  }

  /// Appends lines and waits until they are on the disk. After a failure the file is as before.
  func append(_ bytes: [UInt8], count: Int) throws(RegistryFileError) {
    guard !bytes.isEmpty else { return }
    guard Self.write(bytes, to: descriptor), fdatasync(descriptor) == 0 else {
      let reason = Self.reason
      _ = ftruncate(descriptor, length)
      _ = lseek(descriptor, length, SEEK_SET)
      throw RegistryFileError("cannot write '\(path)': \(reason)")
    }
    length += off_t(bytes.count)
    lines += count
  }

  /// Writes a new file beside the old one and puts it in its place.
  func replace(with bytes: [UInt8], count: Int) throws(RegistryFileError) {
    let other = path + ".new"
    let new = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard new >= 0 else { throw RegistryFileError("cannot make '\(other)': \(Self.reason)") }
    guard flock(new, LOCK_EX | LOCK_NB) == 0, Self.write(bytes, to: new), fsync(new) == 0, rename(other, path) == 0
    else {
      let reason = Self.reason
      Glibc.close(new)
      unlink(other)
      throw RegistryFileError("cannot write '\(other)': \(reason)")
    }
    Glibc.close(descriptor)
    (descriptor, length, lines) = (new, off_t(bytes.count), count)
    let folder = open(Self.folder(of: path), O_RDONLY | O_CLOEXEC)
    if folder >= 0 {
      fsync(folder)
      Glibc.close(folder)
    }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }
}
