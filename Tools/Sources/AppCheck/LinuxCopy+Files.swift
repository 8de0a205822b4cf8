import Foundation

extension LinuxCopy {
  /// What keeps the copy from being written.
  public struct Failure: Error, Hashable, CustomStringConvertible {
    public let description: String
  }

  /// In the output folder: the names of all files of the copy, so that a later copy removes what the app no longer has.
  private static let listName = ".koine-linux"

  /// Writes the changed sources and the app's other files, such as an `Info.plist`, into a folder, and links the unchanged sources.
  ///
  /// A file with the same content is not written, so that a build does not compile it again.
  /// - Parameters:
  ///   - folder: the app's folder, as it was given for the sources.
  ///   - output: a folder that does not exist, is empty, or has an earlier copy.
  public func write(from folder: String, to output: String) throws(Failure) {
    do { try writeFiles(from: folder, to: output) } catch let failure as Failure { throw failure } catch {
      throw Failure(description: "cannot write to '\(output)': \(error.localizedDescription)")
    }
  }

  private enum Content {
    case text(String)
    case linked(String)
    case copied(String)
  }

  private func writeFiles(from folder: String, to output: String) throws {
    let manager = FileManager.default
    let (inner, outer) = (URL(fileURLWithPath: output).path, URL(fileURLWithPath: folder).path)
    if inner.hasPrefix(outer + "/"), !inner.dropFirst(outer.count).contains("/.") {
      throw Failure(description: "'\(output)' is one of the app's own folders; name another, or a hidden one")
    }
    let list = output + "/" + Self.listName
    let previous = manager.contents(atPath: list).map { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
    if previous == nil, let there = try? manager.contentsOfDirectory(atPath: output), !there.isEmpty {
      throw Failure(description: "'\(output)' has files that are not of a copy; name another folder")
    }
    let contents = contents(of: folder)
    let names = contents.keys.sorted()
    // The list first: after a broken run, the next one knows what is of the copy.
    try manager.createDirectory(atPath: output, withIntermediateDirectories: true)
    let all = Set(names).union((previous ?? []).map(String.init))
    try Data(all.sorted().joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: list))
    for name in all.subtracting(names) { try? manager.removeItem(atPath: output + "/" + name) }
    for (name, content) in contents { try Self.write(content, to: output + "/" + name) }
    try Data(names.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: list))
  }

  private func contents(of folder: String) -> [String: Content] {
    var contents: [String: Content] = [:]
    for file in files {
      let name = Self.relative(file.path, to: folder)
      if file.isChanged {
        // Another name than the app's file has: the compiler warns where two files of one name give the same `#fileID`.
        contents[(name as NSString).deletingPathExtension + ".linux.swift"] = .text(file.text)
      } else {
        contents[name] = .linked(file.path)
      }
    }
    for name in Self.otherFiles(in: folder) { contents[name] = .copied(folder + "/" + name) }
    return contents
  }

  private static func write(_ content: Content, to path: String) throws {
    let manager = FileManager.default
    let parent = (path as NSString).deletingLastPathComponent
    let link = try? manager.destinationOfSymbolicLink(atPath: path)
    switch content {
    case .text(let text):
      guard link != nil || manager.contents(atPath: path) != Data(text.utf8) else { return }
      try manager.createDirectory(atPath: parent, withIntermediateDirectories: true)
      try? manager.removeItem(atPath: path)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    case .linked(let source):
      let destination = relativePath(of: source, from: parent)
      guard link != destination else { return }
      try manager.createDirectory(atPath: parent, withIntermediateDirectories: true)
      try? manager.removeItem(atPath: path)
      try manager.createSymbolicLink(atPath: path, withDestinationPath: destination)
    case .copied(let source):
      guard link != nil || !manager.contentsEqual(atPath: source, andPath: path) else { return }
      try manager.createDirectory(atPath: parent, withIntermediateDirectories: true)
      try? manager.removeItem(atPath: path)
      try manager.copyItem(atPath: source, toPath: path)
    }
  }

  /// `../../TeaTime/Call.swift`: a link that still holds when both folders move together.
  private static func relativePath(of path: String, from folder: String) -> String {
    let to = URL(fileURLWithPath: path).standardizedFileURL.pathComponents
    let from = URL(fileURLWithPath: folder).standardizedFileURL.pathComponents
    let common = zip(to, from).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: from.count - common) + to[common...]).joined(separator: "/")
  }

  private static func relative(_ path: String, to folder: String) -> String {
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : (path as NSString).lastPathComponent
  }

  /// Files that are not Swift sources, but for those that only Apple's tools read.
  private static func otherFiles(in folder: String) -> [String] {
    let root = URL(fileURLWithPath: folder)
    guard
      let found = FileManager.default.enumerator(
        at: root, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles])
    else { return [] }
    var names: [String] = []
    for case let url as URL in found {
      if appleOnly.contains(url.pathExtension) {
        found.skipDescendants()
      } else if url.pathExtension != "swift",
        (try? url.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
      {
        names.append(relative(url.path, to: root.path))
      }
    }
    return names.sorted()
  }

  private static let appleOnly: Set<String> = [
    "storyboard", "xib", "xcassets", "xcodeproj", "xcworkspace", "xcdatamodeld", "entitlements", "metal", "framework",
    "xcframework", "pbxproj", "modulemap", "h", "m", "mm",
  ]
}
