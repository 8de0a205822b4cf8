import CKoineOpenSSL

/// A script that Redis executes as one atomic step. Redis knows it by its SHA-1, until it has restarted or flushed its scripts.
///
/// The rules by which the scripts keep a room's log are those of the model `Tests/Cluster/RoomLog.pml`. The keys:
///
/// | key | type | contents |
/// |---|---|---|
/// | `k:node:<node>` | string | the node's record; it expires with the lease |
/// | `k:nodes` | set | nodes that have registered; those without a key are dead |
/// | `k:room:<room>` | hash | `home`, `term`, `count` of terms, `last`: the last order of the log |
/// | `k:log:<room>` | stream | entries with the ids `<order>-0`: `t` (milliseconds of Redis' clock) and `d` |
/// | `k:value:<key>` | hash | a value of the registry: `v`, its version `n`, its expiry `x` (milliseconds), if it has one |
/// | `k:values`, `k:expiries` | sorted sets | keys of the registry in their order; those that expire, by time |
/// | `k:changes`, `k:deletions` | sorted sets | watched keys by the version of their newest change; those without a value, by time |
/// | `k:version` | string | the newest version of the registry |
/// | `k:jobs`, `k:jobs:due`, `k:jobs:owner` | hash, sorted set, hash | contents of jobs; when another node may take them; their nodes |
///
/// `last` is a field and not the stream's last id, because a term's numbers begin above the last entry, and because entries are
/// removed. Orders are below 2^53, so that a number of Lua holds them; `%.0f` writes all their digits.
package struct RedisScript: Hashable, Sendable {
  package let name: String
  package let source: String
  /// In hexadecimal digits.
  package let digest: String

  init(_ name: String, _ source: String) {
    (self.name, self.source, digest) = (name, source, Self.sha1(of: source))
  }

  /// The command with the script's digest, for a server that knows the script.
  func short(_ arguments: [[UInt8]]) -> RedisCommand { command("EVALSHA", digest, arguments) }
  /// The command with the whole script.
  func whole(_ arguments: [[UInt8]]) -> RedisCommand { command("EVAL", source, arguments) }

  private func command(_ name: String, _ script: String, _ arguments: [[UInt8]]) -> RedisCommand {
    RedisCommand([Array(name.utf8), Array(script.utf8), [UInt8(ascii: "0")]] + arguments)
  }

  static func sha1(of text: String) -> String {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 0
    guard EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha1(), nil) == 1 else { fatalError("no SHA-1") }
    return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  package static let all = [
    register, unregister, evict, nodes, place, handOver, append, read, close, rooms, find, addJob, takeJob, renewJob,
    finishJob, getValue, putValue, deleteValue, listValues, countValues, changedValues, removeExpired,
  ]

  // MARK: Nodes

  /// ARGV: node, its name with `#`, record, lease in ms.
  static let register = RedisScript(
    "register",
    """
    for _, other in ipairs(redis.call('SMEMBERS', 'k:nodes')) do
      if redis.call('EXISTS', 'k:node:'..other) == 0 then
        redis.call('SREM', 'k:nodes', other)
      elseif other ~= ARGV[1] and string.sub(other, 1, #ARGV[2]) == ARGV[2] then
        return {'taken', other}
      end
    end
    redis.call('SET', 'k:node:'..ARGV[1], ARGV[3], 'PX', ARGV[4])
    redis.call('SADD', 'k:nodes', ARGV[1])
    local time = redis.call('TIME')
    return {'registered', string.format('%.0f', time[1] * 1000000 + time[2])}
    """)

  /// ARGV: node.
  static let unregister = RedisScript(
    "unregister",
    """
    redis.call('DEL', 'k:node:'..ARGV[1])
    redis.call('SREM', 'k:nodes', ARGV[1])
    return {'done'}
    """)

  /// ARGV: node, ms of its lease from which on it is not suspicious.
  static let evict = RedisScript(
    "evict",
    """
    if redis.call('PTTL', 'k:node:'..ARGV[1]) >= tonumber(ARGV[2]) then return {'alive'} end
    redis.call('DEL', 'k:node:'..ARGV[1])
    redis.call('SREM', 'k:nodes', ARGV[1])
    return {'done'}
    """)

  static let nodes = RedisScript(
    "nodes",
    """
    local found = {'nodes'}
    for _, node in ipairs(redis.call('SMEMBERS', 'k:nodes')) do
      local record = redis.call('GET', 'k:node:'..node)
      if record then
        found[#found + 1] = record
        found[#found + 1] = redis.call('PTTL', 'k:node:'..node)
      end
    end
    return found
    """)

  // MARK: Rooms

  /// What several scripts begin with. A term is `count:nonce`.
  private static let common = """
    local room, log = 'k:room:'..ARGV[1], 'k:log:'..ARGV[1]
    local known = redis.call('HMGET', room, 'home', 'term', 'last')
    local home, term, last = known[1], known[2], tonumber(known[3] or '0')
    local function digits(number) return string.format('%.0f', number) end
    local function lives(node) return redis.call('EXISTS', 'k:node:'..node) == 1 end
    local function fenced() return home and term and {'fenced', home, term} or {'fenced'} end
    local function open(node, nonce, above, life)
      local time = redis.call('TIME')
      local clock = time[1] * 1000000 + time[2]
      above = math.min(above, clock + 3600000000)
      last = math.max(clock, last + 1, above + 1)
      home, term = node, redis.call('HINCRBY', room, 'count', 1)..':'..nonce
      redis.call('HSET', room, 'home', home, 'term', term, 'last', digits(last))
      for _, key in ipairs({room, log}) do
        if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
      end
      return {'placed', home, term, 1, digits(last)}
    end

    """

  /// ARGV: room, candidate, nonce, 1 if the candidate asks in order to open the room, highest number that the asking node knows,
  /// least life of the keys in ms. A highest number far above the clock comes from a participant that lies.
  static let place = RedisScript(
    "place",
    common + """
      if home and string.match(term, ':(.*)$') == ARGV[3] then return {'placed', home, term, 1, digits(last)} end
      if home and lives(home) and not (home == ARGV[2] and ARGV[4] == '1') then
        return {'placed', home, term, 0, digits(last)}
      end
      if not lives(ARGV[2]) then return {'gone'} end
      return open(ARGV[2], ARGV[3], tonumber(ARGV[5]), ARGV[6])
      """)

  /// ARGV: room, term, new home, nonce, life of the keys in ms.
  static let handOver = RedisScript(
    "handOver",
    common + """
      if term ~= ARGV[2] then return fenced() end
      if not lives(ARGV[3]) then return {'gone'} end
      return open(ARGV[3], ARGV[4], 0, ARGV[5])
      """)

  /// ARGV: room, term, order before the first entry, life of the keys in ms, number of entries, then the entries as pairs of order
  /// and content, then orders to be removed.
  ///
  /// An error of XADD may not leave an entry above `last`: the entry's repetition would fail for ever.
  static let append = RedisScript(
    "append",
    common + """
      if term ~= ARGV[2] then return fenced() end
      if last < tonumber(ARGV[3]) then return {'behind', digits(last)} end
      local count = tonumber(ARGV[5])
      if count == 0 then
        redis.call('PEXPIRE', room, ARGV[4])
        redis.call('PEXPIRE', log, ARGV[4])
      end
      local failure
      local first, isNew = last, redis.call('EXISTS', log) == 0
      local time = redis.call('TIME')
      local ms = digits(time[1] * 1000 + math.floor(time[2] / 1000))
      for i = 6, 4 + 2 * count, 2 do
        if tonumber(ARGV[i]) > last then
          local done = redis.pcall('XADD', log, ARGV[i]..'-0', 't', ms, 'd', ARGV[i + 1])
          if type(done) == 'table' and done.err then
            failure = done
            break
          end
          last = tonumber(ARGV[i])
        end
      end
      if last > first then
        redis.call('HSET', room, 'last', digits(last))
        if isNew then redis.call('PEXPIRE', log, redis.call('PTTL', room)) end
      end
      if failure then return failure end
      for i = 6 + 2 * count, #ARGV do redis.call('XDEL', log, ARGV[i]..'-0') end
      return {'appended'}
      """)

  /// ARGV: room, term, order after which and order up to which, entries and bytes of a page at most.
  static let read = RedisScript(
    "read",
    common + """
      if term ~= ARGV[2] then return fenced() end
      local page = {'page', 1}
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      local start, count, size = '('..ARGV[3]..'-0', 0, 0
      while true do
        local part = redis.call('XRANGE', log, start, ARGV[4]..'-0', 'COUNT', 32)
        for _, entry in ipairs(part) do
          local content = entry[2][4]
          if count > 0 and (count == tonumber(ARGV[5]) or size + #content > tonumber(ARGV[6])) then
            page[2] = 0
            return page
          end
          page[#page + 1] = string.match(entry[1], '^%d+')
          page[#page + 1] = math.max(0, now - tonumber(entry[2][2]))
          page[#page + 1] = content
          count, size = count + 1, size + #content
          start = '('..entry[1]
        end
        if #part < 32 then return page end
      end
      """)

  /// ARGV: room, term, ms for which the count of terms stays.
  static let close = RedisScript(
    "close",
    common + """
      if term ~= ARGV[2] then return fenced() end
      redis.call('DEL', log)
      redis.call('HDEL', room, 'home', 'term')
      redis.call('PEXPIRE', room, ARGV[3])
      return {'done'}
      """)

  /// ARGV: cursor.
  static let rooms = RedisScript(
    "rooms",
    """
    local scan = redis.call('SCAN', ARGV[1], 'MATCH', 'k:room:*', 'COUNT', 500)
    local found = {'rooms', scan[1]}
    for _, key in ipairs(scan[2]) do
      local place = redis.call('HMGET', key, 'home', 'term')
      if place[1] and place[2] then
        found[#found + 1] = string.sub(key, 8)
        found[#found + 1] = place[1]
        found[#found + 1] = place[2]
      end
    end
    return found
    """)

  /// ARGV: room.
  static let find = RedisScript(
    "find",
    """
    local place = redis.call('HMGET', 'k:room:'..ARGV[1], 'home', 'term')
    if not place[1] or not place[2] then return {'found'} end
    return {'found', place[1], place[2], redis.call('EXISTS', 'k:node:'..place[1])}
    """)

  // MARK: Jobs

  private static let jobs = """
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)

    """

  /// ARGV: content.
  static let addJob = RedisScript(
    "addJob",
    jobs + """
      local id = string.format('%.0f', redis.call('INCR', 'k:jobs:count'))
      redis.call('HSET', 'k:jobs', id, ARGV[1])
      redis.call('ZADD', 'k:jobs:due', now, id)
      return {'jobs', id, ARGV[1]}
      """)

  /// ARGV: node, patience in ms.
  static let takeJob = RedisScript(
    "takeJob",
    jobs + """
      local id = redis.call('ZRANGEBYSCORE', 'k:jobs:due', '-inf', now, 'LIMIT', 0, 1)[1]
      if not id then return {'jobs'} end
      redis.call('ZADD', 'k:jobs:due', now + tonumber(ARGV[2]), id)
      redis.call('HSET', 'k:jobs:owner', id, ARGV[1])
      return {'jobs', id, redis.call('HGET', 'k:jobs', id)}
      """)

  /// ARGV: node, patience in ms, id.
  static let renewJob = RedisScript(
    "renewJob",
    jobs + """
      if redis.call('HGET', 'k:jobs:owner', ARGV[3]) ~= ARGV[1] then return {'jobs'} end
      redis.call('ZADD', 'k:jobs:due', now + tonumber(ARGV[2]), ARGV[3])
      return {'jobs', ARGV[3], redis.call('HGET', 'k:jobs', ARGV[3])}
      """)

  /// ARGV: id.
  static let finishJob = RedisScript(
    "finishJob",
    """
    redis.call('HDEL', 'k:jobs', ARGV[1])
    redis.call('HDEL', 'k:jobs:owner', ARGV[1])
    redis.call('ZREM', 'k:jobs:due', ARGV[1])
    return {'done'}
    """)
}
