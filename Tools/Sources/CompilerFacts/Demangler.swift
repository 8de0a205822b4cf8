import CIndexStore

/// The toolchain's libswiftDemangle.
struct Demangler: Sendable {
  private let function: koine_demangle

  /// - Throws: `FactsFailure` if the toolchain has no such library.
  init(_ toolchain: Toolchain) throws(FactsFailure) {
    let path = toolchain.library("libswiftDemangle.so")
    guard let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), let function = koine_demangle_load(handle) else {
      throw FactsFailure("\(path) cannot be loaded: \(dlerror().map { String(cString: $0) } ?? "unknown error")")
    }
    self.function = function
  }

  /// The readable form of a mangled name or type; the name itself if it is neither.
  func readable(_ mangled: String) -> String {
    var size = 256
    while true {
      var buffer = [CChar](repeating: 0, count: size)
      let length = function(mangled, &buffer, size)
      guard length > 0 else { return mangled }
      if length < size { return String(decoding: buffer.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) }
      size = length + 1
    }
  }
}
