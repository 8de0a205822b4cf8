import KoineBase
import KoineSignaling
import Testing

@testable import KoineRouter

/// Several names of one room.
@Suite struct LinkTests {
  private func table(_ links: [String]...) -> RoomTable {
    var table = RoomTable()
    for names in links { #expect(table.link(names) == nil) }
    return table
  }

  @Test func namesLeadToTheRoomOfTheFirst() {
    let table = table(["tea", "stage", "meeting"])
    #expect(["tea", "stage", "meeting", "other"].map(table.name(of:)) == ["tea", "tea", "tea", "other"])
  }

  @Test func linkOfLinkedNamesLeadsToOneRoom() {
    let table = table(["b", "c"], ["a", "b"], ["d", "c"])
    #expect(Set(["a", "b", "c", "d"].map(table.name(of:))).count == 1)
  }

  @Test func nameIsResolvedBeforeItIsLinked() {
    var table = table(["tea", "room-1"])
    table.resolve = { $0 == "standup" ? "room-1" : $0 }
    #expect(table.name(of: "standup") == "tea")
  }
}
