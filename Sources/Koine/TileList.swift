/// The tiles of a session. Each change returns the tile to be told of, if it is one.
struct TileList {
  private var tiles: [Track.ID: Tile] = [:]
  private var last = 0

  mutating func add(for stream: Track, isLocal: Bool, pause: Tile.Pause?) -> Tile? {
    guard tiles[stream.id] == nil else { return nil }
    last += 1
    let tile = Tile(id: last, stream: stream.id, kind: stream.kind, isLocal: isLocal, pause: pause)
    tiles[stream.id] = tile
    return tile
  }

  mutating func change(of id: Track.ID, _ change: (inout Tile) -> Void) -> Tile? {
    guard var tile = tiles[id] else { return nil }
    change(&tile)
    guard tile != tiles[id] else { return nil }
    tiles[id] = tile
    return tile
  }

  mutating func remove(of id: Track.ID) -> Tile? { tiles.removeValue(forKey: id) }
}
