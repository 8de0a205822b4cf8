import Glibc

/// A directory that no other server changes as long as this value exists (`flock`), and its files, which are replaced as a whole.
final class LockedDirectory {
  /// Absolute.
  let path: String
  private let descriptor: Int32

  private static let fileLimit = 256 << 10

  /// - Parameter path: the directory is made (mode 0700) if its parent exists.
  /// - Throws: if it cannot be opened, or another server holds it for more than two seconds.
  init(_ path: String) throws(TLSError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw Self.error("cannot make the directory", path) }
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.error("cannot open the directory", path) }
    guard let absolute = realpath(path, nil) else {
      close(descriptor)
      throw Self.error("cannot open the directory", path)
    }
    self.path = String(cString: absolute)
    self.descriptor = descriptor
    free(absolute)
    var attempts = 200
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      attempts -= 1
      guard attempts > 0, errno == EWOULDBLOCK || errno == EINTR else {
        throw Self.error("cannot lock the directory", path)
      }
      usleep(10_000)
    }
  }

  deinit { close(descriptor) }

  private static func error(_ what: String, _ path: String) -> TLSError {
    TLSError(description: "\(what) '\(path)': \(String(cString: strerror(errno)))")
  }

  /// - Returns: nil if there is no such file.
  func read(_ name: String) throws(TLSError) -> [UInt8]? {
    // A pipe would wait for its writer.
    let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw Self.error("cannot read", "\(path)/\(name)")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.fileLimit else {
      throw TLSError(description: "cannot read '\(path)/\(name)': it is not a file with a certificate or key")
    }
    var (bytes, part) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
    while true {
      let count = Glibc.read(file, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.error("cannot read", "\(path)/\(name)") }
      guard count > 0, bytes.count <= Self.fileLimit else { return bytes }
      bytes += part.prefix(count)
    }
  }

  /// Replaces a file. After a crash, the file is the former or the new one as a whole.
  func write(_ bytes: [UInt8], to name: String, mode: mode_t) throws(TLSError) {
    let part = ".\(name).part"
    unlinkat(descriptor, part, 0)
    let file = openat(descriptor, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard file >= 0 else { throw Self.error("cannot write", "\(path)/\(name)") }
    let isWritten = fchmod(file, mode) == 0 && Self.write(bytes, to: file) && fsync(file) == 0
    let problem = errno
    close(file)
    errno = problem
    guard isWritten, renameat(descriptor, part, descriptor, name) == 0 else {
      let error = Self.error("cannot write", "\(path)/\(name)")
      unlinkat(descriptor, part, 0)
      throw error
    }
    fsync(descriptor)
  }

  private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return !bytes.isEmpty
    }
  }
}
