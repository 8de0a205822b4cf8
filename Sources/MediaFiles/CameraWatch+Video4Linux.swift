import CKoineVideo4Linux

extension CameraWatch {
  /// The name of the camera at a path; nil: none is there, or it may not be opened.
  static func describe(_ path: String) -> String? {
    var name = [CChar](repeating: 0, count: 64)
    guard koine_v4l2_describe(path, &name, name.count) != 0 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
