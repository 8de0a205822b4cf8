/// The first word of a refusal of Redis.
struct RedisCode: RawRepresentable, Hashable, Sendable {
  let rawValue: String

  init(rawValue: String) { self.rawValue = rawValue }

  /// - Parameter error: `CODE text`. A script's own errors have this form, too.
  init(of error: String) {
    if error.hasPrefix("ERR The user executing the script") {
      self = .noPermissionInScript
      return
    }
    let word = error.prefix { !$0.isWhitespace }
    rawValue = word.utf8.count <= 24 ? String(word) : "ERR"
  }

  static let noScript = RedisCode(rawValue: "NOSCRIPT")
  static let noPermission = RedisCode(rawValue: "NOPERM")
  static let noPermissionInScript = RedisCode(rawValue: "NOPERM in a script")
  static let noAuthentication = RedisCode(rawValue: "NOAUTH")

  /// Whether another server may be the right one now, or whether this one needs a new greeting: the connection is closed, and
  /// the address is resolved again.
  var endsConnection: Bool {
    switch rawValue {
    case "READONLY", "LOADING", "MASTERDOWN", "NOAUTH": true
    default: false
    }
  }

  /// For the log: what an operator does about it.
  var advice: String? {
    switch rawValue {
    case "OOM": "its memory is full: raise maxmemory, and keep maxmemory-policy noeviction"
    case "MISCONF": "it cannot write to its disk"
    case "READONLY": "it is a replica"
    case "LOADING": "it is reading its data from disk"
    case "MASTERDOWN": "it is a replica without a master"
    case "NOREPLICAS": "it has fewer replicas than min-replicas-to-write"
    case "NOPERM", "NOPERM in a script": "its ACL does not permit the command, the keys k:* or the channels k:*"
    case "WRONGPASS", "NOAUTH": "it refuses the credentials"
    case "CLUSTERDOWN", "MOVED", "CROSSSLOT": "it is a part of a Redis Cluster, which must have one shard that is up"
    case "BUSY", "UNKILLABLE": "a script of another program has been running for too long"
    default: nil
    }
  }
}
