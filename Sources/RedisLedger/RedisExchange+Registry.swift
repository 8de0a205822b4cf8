import KoineBase
import KoineLedger

extension RedisExchange {
  /// - Parameter notices: the channel that hears of changes.
  static func registry(_ request: RegistryRequest, notices: String) -> Command? {
    let pageSize = "\(RegistryRequest.pageSize)"
    switch request {
    case .get(let key): return script(.getValue, [key])
    case .put(let put):
      let rest = [
        put.version.map { "\($0)" } ?? "", put.expiry.map { "\($0)" } ?? "", put.isWatched ? "1" : "0", notices,
      ]
      return .script(.putValue, [bytes(put.key), put.value] + rest.map(bytes))
    case .delete(let key, let version, let isWatched):
      return script(.deleteValue, [key, "\(version)", isWatched ? "1" : "0", notices])
    case .list(let prefix, let after, let limit):
      var start = bytes("[" + prefix)
      // Compared as Redis compares members: by their bytes.
      if let after, !after.utf8.lexicographicallyPrecedes(prefix.utf8) { start = bytes("(" + after) }
      return .script(.listValues, [start, end(of: prefix), bytes("\(limit)"), bytes(pageSize)])
    case .count(let prefix, let limit):
      return .script(.countValues, [bytes("[" + prefix), end(of: prefix), bytes("\(limit)")])
    case .changes(let after):
      return script(.changedValues, ["\(after)", "\(RegistryRequest.changesPage)", pageSize])
    case .removeExpired:
      return script(
        .removeExpired, ["\(RegistryRequest.removalsPage)", "\(RegistryRequest.memory.inWholeMilliseconds)", notices])
    }
  }

  /// Behind all keys with the prefix.
  private static func end(of prefix: String) -> [UInt8] { bytes("(" + prefix) + [0xFF] }

  static func registry(_ word: String, _ values: [RedisReply]) throws(Unreadable) -> RegistryAnswer {
    switch word {
    case "value": return .value(try items(values[...]).first)
    case "written": return .written(try order(values.first))
    case "unchanged": return .unchanged
    case "conflict": return .conflict
    case "values", "changes":
      guard let isLast = values.first?.number else { throw Unreadable() }
      let items = try items(values.dropFirst())
      return word == "values" ? .page(items, isLast: isLast == 1) : .changes(items, isLast: isLast == 1)
    case "count", "removed":
      guard let number = values.first?.number, let count = Int(exactly: number) else { throw Unreadable() }
      return word == "count" ? .count(count) : .removed(count)
    default: throw Unreadable()
    }
  }

  private static func items(_ values: ArraySlice<RedisReply>) throws(Unreadable) -> [RegistryItem] {
    var rest = values
    var items: [RegistryItem] = []
    while let key = rest.popFirst() {
      guard let key = key.text, let version = rest.popFirst() else { throw Unreadable() }
      switch rest.popFirst() {
      case .bytes(let value)?: items.append(RegistryItem(key, value, version: try order(version)))
      case .null?: items.append(RegistryItem(key, nil, version: try order(version)))
      default: throw Unreadable()
      }
    }
    return items
  }
}
