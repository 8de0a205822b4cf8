import CrossVendorConventions
import Foundation
import Koine
@testable import KoineComposition
import Testing

/// Which videos of a room are shown, and where.
@Suite struct ArrangementTests {
  private func video(_ name: String, _ kind: Track.Kind = .camera) -> Track {
    Track(id: Track.ID(participant: name, track: kind.rawValue), kind: kind)
  }

  private func tile(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> TileLayout.Tile {
    TileLayout.Tile(x: x, y: y, width: width, height: height)
  }

  private func arrangement(
    _ videos: [Track], _ layout: RecordingRequest.Layout, _ priority: RecordingRequest.Priority = .speaker,
    limit: Int? = nil, speaker: String? = nil, pinned: [String] = []
  ) -> RoomArrangement {
    RoomArrangement(
      of: videos, by: .init(layout: layout, priority: priority, limit: limit), speaker: speaker, pinned: pinned,
      width: 1_000, height: 500)
  }

  private func names(_ arrangement: RoomArrangement) -> [String] { arrangement.places.map(\.track.id.participant) }
  private var four: [Track] { ["a", "b", "c", "d"].map { video($0) } }

  @Test func gridFollowsTheShapeOfTheFrame() {
    #expect(TileLayout(.grid, width: 100, height: 50, count: 1).all == [tile(0, 0, 100, 50)])
    #expect(TileLayout(.grid, width: 100, height: 50, count: 2).all == [tile(0, 0, 50, 50), tile(50, 0, 50, 50)])
    #expect(TileLayout(.grid, width: 50, height: 100, count: 2).all == [tile(0, 0, 50, 50), tile(0, 50, 50, 50)])
    #expect(TileLayout(.grid, width: 100, height: 100, count: 4).all.last == tile(50, 50, 50, 50))
    #expect(TileLayout(.grid, width: 90, height: 60, count: 5).all.last == tile(30, 30, 30, 30))
    #expect(TileLayout(.grid, width: 60, height: 90, count: 5).all.last == tile(0, 60, 30, 30))
    #expect(TileLayout(.grid, width: 60, height: 90, count: 0).all.isEmpty)
  }

  @Test func columnIsBesideTheLargeTileUnlessTheFrameIsHigh() {
    #expect(
      TileLayout(.columnBeside, width: 100, height: 50, count: 3).all == [
        tile(0, 0, 80, 50), tile(80, 0, 20, 25), tile(80, 25, 20, 25),
      ])
    #expect(
      TileLayout(.columnBeside, width: 50, height: 100, count: 3).all == [
        tile(0, 0, 50, 80), tile(0, 80, 25, 20), tile(25, 80, 25, 20),
      ])
    #expect(
      TileLayout(width: 100, height: 50, count: 2, hasLarge: true).all == [tile(0, 0, 100, 40), tile(0, 40, 100, 10)])
  }

  @Test func gridKeepsTheOrderAndShowsTheSpeakerWithinItsLimit() {
    #expect(names(arrangement(four, .grid)) == ["a", "b", "c", "d"])
    #expect(names(arrangement(four, .grid, speaker: "c")) == ["a", "b", "c", "d"])
    #expect(names(arrangement(four, .grid, limit: 2)) == ["a", "b"])
    #expect(names(arrangement(four, .grid, limit: 2, speaker: "d")) == ["a", "d"])
    #expect(names(arrangement(four, .grid, .pinned, limit: 2, speaker: "d", pinned: ["b", "c"])) == ["b", "c"])
    #expect(names(arrangement(four, .grid, limit: 2, speaker: "d", pinned: ["b", "c"])) == ["a", "d"])
    #expect(names(arrangement([], .grid)) == [])
  }

  @Test func largeVideoIsThePinnedOneOrTheSpeakers() {
    #expect(names(arrangement(four, .sidebar)) == ["a", "b", "c", "d"])
    #expect(names(arrangement(four, .sidebar, speaker: "c")) == ["c", "a", "b", "d"])
    #expect(names(arrangement(four, .sidebar, .pinned, speaker: "c", pinned: ["b", "d"])) == ["d", "a", "b", "c"])
    #expect(names(arrangement(four, .sidebar, .pinned, speaker: "c", pinned: ["nobody"])) == ["c", "a", "b", "d"])
    #expect(names(arrangement(four, .speaker, limit: 3, speaker: "d")) == ["d", "a", "b"])
    #expect(names(arrangement(four, .spotlight, limit: 3, speaker: "d")) == ["d"])
    #expect(arrangement(four, .sidebar).places.first?.tile == tile(0, 0, 800, 500))
    #expect(arrangement(four, .speaker).places.first?.tile == tile(0, 0, 1_000, 400))
    #expect(arrangement(four, .spotlight).places.first?.tile == tile(0, 0, 1_000, 500))
    #expect(arrangement([video("a")], .sidebar).places.first?.tile == tile(0, 0, 1_000, 500))
  }

  @Test(arguments: RecordingRequest.Layout.allCases) func sharedScreenIsLargeInEveryLayout(
    _ layout: RecordingRequest.Layout
  ) {
    let shared = arrangement(four + [video("b", .screen)], layout, .pinned, speaker: "c", pinned: ["d"])
    #expect(shared.places.first?.track.kind == .screen)
    #expect(shared.places.first.map { $0.tile.width * $0.tile.height } == (layout == .spotlight ? 500_000 : 400_000))
    #expect(shared.places.count == (layout == .spotlight ? 1 : 5))
  }

  // MARK: Requests

  @Test func requestCarriesTheLook() throws {
    var request = OutputRequest(shownParticipants: 7, destinations: [URL(fileURLWithPath: "/x/y.webm")])
    #expect(request.payload.starts(with: Array("7\nfile".utf8)), "as before, without a look")
    (request.look.layout, request.look.priority, request.look.hasVideo) = (.sidebar, .pinned, false)
    (request.look.backgroundColor, request.look.size) = (0x00FF10, .init(width: 360, height: 640))
    #expect(OutputRequest(request.payload) == request)
    var recording = RecordingRequest(room: "tea")
    request.look.apply(to: &recording)
    #expect(recording.width == 360)
    #expect(recording.height == 640)
    #expect(recording.bitrate == 525_000)
    #expect(recording.backgroundColor == 0x00FF10)
    #expect(recording.layout == .sidebar)
    #expect(recording.priority == .pinned)
    #expect(!recording.recordsVideo)
  }

  @Test(arguments: [
    "4 layout=circle", "4 size=8x8", "4 size=99999x16", "4 size=16", "4 background=1000000", "4 background=x",
    "4 priority=me", "layout=grid", "", "0",
  ])
  func unusableRequestIsNone(_ text: String) { #expect(OutputRequest(Array(text.utf8)) == nil) }

  @Test func unknownWordsOfALookAreIgnored() {
    #expect(OutputRequest(Array("4 flavor=vanilla audio".utf8))?.look.hasVideo == false)
  }

  @Test func pinChangesGiveAListWithTheLastOneAtTheEnd() {
    var pinned: [String] = []
    for text in ["1 CAM a", "1 CAM b", "1 SHARE a", "0 CAM c", "nonsense", "1 CAM c d"] {
      PinChange(Array(text.utf8))?.apply(to: &pinned, limit: 3)
    }
    #expect(pinned == ["b", "a", "c d"])
    PinChange("e", isPinned: true, kind: "CAM").apply(to: &pinned, limit: 3)
    PinChange("a", isPinned: false, kind: "CAM").apply(to: &pinned, limit: 3)
    #expect(pinned == ["c d", "e"])
    #expect(PinChange(PinChange("c d", isPinned: true, kind: "CAM").payload)?.participant == "c d")
  }
}
