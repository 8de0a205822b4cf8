import KoineJSONCodec

/// The registry's entities as typed values over a store.
///
/// Each operation of an API writes each entity at most once, with a condition. No operation needs two entities to change together:
/// what depends on another entity is written after it, and an interrupted operation is completed by its repetition.
struct Registry: Sendable {
  let store: any RegistryStore

  struct Versioned<Value> {
    var value: Value
    var version: RegistryVersion
  }

  func read<Value: Decodable>(_ type: Value.Type, _ key: String) async throws(RegistryError) -> Versioned<Value>? {
    guard let entry = try await store.get(key) else { return nil }
    return Versioned(value: try Self.decode(type, entry), version: entry.version)
  }

  /// Writes a new entity.
  /// - Returns: the entity that is there already; nil if the new one was written.
  func create<Value: Codable>(
    _ key: String, _ value: Value, expiry: APITime? = nil
  ) async throws(RegistryError) -> Value? {
    for _ in 0..<Self.attempts {
      do throws(RegistryError) {
        try await store.put(key, Self.encode(value), ifVersion: nil, expiry: expiry)
        return nil
      } catch .conflict {
        if let other = try await read(Value.self, key) { return other.value }
        // It has been deleted or has expired between the two.
      }
    }
    throw .unavailable("another writer changes '\(key)' all the time")
  }

  /// Changes an entity. `change` may run several times, each time with the newest value.
  /// - Parameter change: returns false if nothing is to be written.
  /// - Returns: the value afterwards; nil if there is no such entity.
  @discardableResult
  func update<Value: Codable, Failure: Error>(
    _ type: Value.Type, _ key: String, expiry: (Value) -> APITime? = { _ in nil },
    refusing: (RegistryError) -> Failure, _ change: (inout Value) throws(Failure) -> Bool
  ) async throws(Failure) -> Value? {
    for _ in 0..<Self.attempts {
      var current: Versioned<Value>
      do throws(RegistryError) {
        guard let read = try await read(type, key) else { return nil }
        current = read
      } catch { throw refusing(error) }
      guard try change(&current.value) else { return current.value }
      do throws(RegistryError) {
        try await store.put(
          key, Self.encode(current.value), ifVersion: current.version, expiry: expiry(current.value))
        return current.value
      } catch .conflict {
        continue
      } catch { throw refusing(error) }
    }
    throw refusing(.unavailable("another writer changes '\(key)' all the time"))
  }

  /// Deletes an entity, whatever its version.
  func delete(_ key: String) async throws(RegistryError) {
    for _ in 0..<Self.attempts {
      guard let entry = try await store.get(key) else { return }
      do throws(RegistryError) { return try await store.delete(key, ifVersion: entry.version) } catch .conflict {
        continue
      }
    }
    throw .unavailable("another writer changes '\(key)' all the time")
  }

  /// A page of entities, in the order of their keys.
  func list<Value: Decodable>(
    _ type: Value.Type, prefix: String, after key: String? = nil, limit: Int
  ) async throws(RegistryError) -> [(key: String, value: Value)] {
    var values: [(key: String, value: Value)] = []
    for entry in try await store.list(prefix: prefix, after: key, limit: limit) {
      values.append((entry.key, try Self.decode(type, entry)))
    }
    return values
  }

  /// How often a write is tried beside other writers.
  private static let attempts = 32

  private static func decode<Value: Decodable>(
    _ type: Value.Type, _ entry: RegistryEntry
  ) throws(RegistryError) -> Value {
    do { return try JSONCodec.decode(type, from: entry.value) } catch {
      throw .unavailable("the entry '\(entry.key)' cannot be read")
    }
  }

  private static func encode(_ value: some Encodable) throws(RegistryError) -> [UInt8] {
    do { return try JSONCodec.encode(value) } catch { throw .unavailable("an entry cannot be written: \(error)") }
  }
}

/// Reads an entity of the registry, whose size the operations that write it bound.
func decodeEntity<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
  try JSONCodec.decode(type, from: bytes)
}
