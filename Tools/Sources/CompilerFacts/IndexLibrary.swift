import CIndexStore

/// The toolchain's libIndexStore, loaded once for each path and never unloaded.
final class IndexLibrary: Sendable {
  let functions: koine_index_library

  /// - Throws: `FactsFailure` if the toolchain has no such library, or the library lacks a function.
  init(_ toolchain: Toolchain) throws(FactsFailure) {
    let path = toolchain.library("libIndexStore.so")
    guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
      throw FactsFailure("\(path) cannot be loaded: \(dlerror().map { String(cString: $0) } ?? "unknown error")")
    }
    var functions = koine_index_library()
    if let missing = koine_index_library_load(handle, &functions) {
      throw FactsFailure("\(path) has no function \(String(cString: missing))")
    }
    self.functions = functions
  }

  /// Takes an error of the library over.
  func failure(_ error: UnsafeMutableRawPointer?, _ what: String) -> FactsFailure {
    guard let error else { return FactsFailure("\(what) cannot be read") }
    defer { functions.error_dispose(error) }
    let reason = functions.error_get_description(error).map { String(cString: $0) } ?? "unknown error"
    return FactsFailure("\(what) cannot be read: \(reason)")
  }
}

extension String {
  init(_ text: koine_index_string) {
    self = String(decoding: UnsafeRawBufferPointer(start: text.data, count: text.length), as: UTF8.self)
  }
}

/// Runs a function of the library that takes a C callback, with a Swift closure as the callback.
func visitAll(
  _ body: (UnsafeMutableRawPointer, @escaping koine_index_visit) -> Bool, _ visit: (UnsafeMutableRawPointer) -> Void
) {
  withoutActuallyEscaping(visit) { visit in
    var visit = visit
    withUnsafeMutablePointer(to: &visit) { context in
      _ = body(context) { context, found in
        guard let context, let found else { return true }
        context.assumingMemoryBound(to: ((UnsafeMutableRawPointer) -> Void).self).pointee(found)
        return true
      }
    }
  }
}
