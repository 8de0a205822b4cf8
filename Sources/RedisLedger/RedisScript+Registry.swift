import KoineLedger

// The scripts of `RegistryRequest`.

extension RedisScript {
  /// Times are in milliseconds. A value that has expired counts as none. The notice is that of `RegistryNotice`.
  private static let registry = """
    local time = redis.call('TIME')
    local clock = time[1] * 1000000 + time[2]
    local now = math.floor(clock / 1000)
    local function digits(number) return string.format('%.0f', number) end
    local function living(key)
      local known = redis.call('HMGET', 'k:value:'..key, 'n', 'x', 'v')
      if known[1] and not (known[2] and tonumber(known[2]) <= now) then return known[1], known[3] end
    end
    local function makeVersion()
      local version = digits(math.max(clock, tonumber(redis.call('GET', 'k:version') or '0') + 1))
      redis.call('SET', 'k:version', version)
      return version
    end
    local function notify() redis.call('PUBLISH', ARGV[#ARGV], '{"registry":"changed"}') end
    local function remove(key, watched)
      redis.call('DEL', 'k:value:'..key)  -- first: a Redis without memory refuses scripts that begin with another write
      local version = makeVersion()
      redis.call('ZREM', 'k:values', key)
      redis.call('ZREM', 'k:expiries', key)
      if watched then
        redis.call('ZADD', 'k:changes', version, key)
        redis.call('ZADD', 'k:deletions', now, key)
      end
      return version
    end

    """

  /// ARGV: key.
  static let getValue = RedisScript(
    "getValue",
    registry + """
      local version, value = living(ARGV[1])
      return version and {'value', ARGV[1], version, value} or {'value'}
      """)

  /// ARGV: key, value, known version or nothing, expiry or nothing, 1 if the key is watched, channel of notices.
  static let putValue = RedisScript(
    "putValue",
    registry + """
      if (living(ARGV[1]) or '') ~= ARGV[3] then return {'conflict'} end
      local version, key = makeVersion(), 'k:value:'..ARGV[1]
      redis.call('HSET', key, 'v', ARGV[2], 'n', version)
      redis.call('ZADD', 'k:values', 0, ARGV[1])
      if ARGV[4] == '' then
        redis.call('HDEL', key, 'x')
        redis.call('ZREM', 'k:expiries', ARGV[1])
      else
        redis.call('HSET', key, 'x', ARGV[4])
        redis.call('ZADD', 'k:expiries', ARGV[4], ARGV[1])
      end
      if ARGV[5] == '1' then
        redis.call('ZADD', 'k:changes', version, ARGV[1])
        redis.call('ZREM', 'k:deletions', ARGV[1])
        notify()
      end
      return {'written', version}
      """)

  /// ARGV: key, known version, 1 if the key is watched, channel of notices.
  static let deleteValue = RedisScript(
    "deleteValue",
    registry + """
      local version = living(ARGV[1])
      if not version then return {'unchanged'} end
      if version ~= ARGV[2] then return {'conflict'} end
      local new = remove(ARGV[1], ARGV[3] == '1')
      if ARGV[3] == '1' then notify() end
      return {'written', new}
      """)

  /// ARGV: bounds of the keys as ZRANGEBYLEX has them, values and bytes of a page at most.
  static let listValues = RedisScript(
    "listValues",
    registry + """
      local page, start, count, size = {'values', 1}, ARGV[1], 0, 0
      while true do
        local keys = redis.call('ZRANGEBYLEX', 'k:values', start, ARGV[2], 'LIMIT', 0, 64)
        for _, key in ipairs(keys) do
          local version, value = living(key)
          if version then
            size = size + #value
            if count > 0 and (count >= tonumber(ARGV[3]) or size > tonumber(ARGV[4])) then
              page[2] = 0
              return page
            end
            page[#page + 1] = key
            page[#page + 1] = version
            page[#page + 1] = value
            count = count + 1
          end
          start = '('..key
        end
        if #keys < 64 then return page end
      end
      """)

  /// ARGV: bounds of the keys as ZRANGEBYLEX has them, limit.
  static let countValues = RedisScript(
    "countValues",
    """
    return {'count', math.min(redis.call('ZLEXCOUNT', 'k:values', ARGV[1], ARGV[2]), tonumber(ARGV[3]))}
    """)

  /// ARGV: version, changes and bytes of a page at most.
  static let changedValues = RedisScript(
    "changedValues",
    registry + """
      local page, size = {'changes', 1}, 0
      -- A ledger that has lost its newest changes gives no version again that a node knows.
      if tonumber(ARGV[1]) > tonumber(redis.call('GET', 'k:version') or '0') then redis.call('SET', 'k:version', ARGV[1]) end
      local limit = tonumber(ARGV[2])
      local keys = redis.call('ZRANGEBYSCORE', 'k:changes', '('..ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
      for i = 1, #keys, 2 do
        local version, value = living(keys[i])
        size = size + (value and #value or 0)
        if i > 1 and (i > 2 * limit or size > tonumber(ARGV[3])) then
          page[2] = 0
          return page
        end
        page[#page + 1] = keys[i]
        page[#page + 1] = digits(tonumber(keys[i + 1]))
        page[#page + 1] = value or false
      end
      return page
      """)

  /// ARGV: at most so many, ms for which it is known that a watched key was deleted, channel of notices.
  static let removeExpired = RedisScript(
    "removeExpired",
    registry + """
      local keys = redis.call('ZRANGEBYSCORE', 'k:expiries', '-inf', now, 'LIMIT', 0, ARGV[1])
      for _, key in ipairs(keys) do remove(key, redis.call('ZSCORE', 'k:changes', key)) end
      local old = redis.call('ZRANGEBYSCORE', 'k:deletions', '-inf', now - tonumber(ARGV[2]), 'LIMIT', 0, ARGV[1])
      for _, key in ipairs(old) do
        redis.call('ZREM', 'k:changes', key)
        redis.call('ZREM', 'k:deletions', key)
      end
      if #keys > 0 then notify() end
      return {'removed', #keys}
      """)
}
