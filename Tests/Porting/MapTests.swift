import Foundation
import KoineBase
import KoinePorting
import Testing

@Suite struct MapTests {
  @Test func everyRowHasSymbolOrAlternativeForEachStyle() {
    let rows = PortingTable.current.rows
    #expect(rows.count > 60)
    #expect(Set(rows.map(\.id)).count == rows.count)
    for row in rows {
      for style in Style.allCases {
        #expect(row.symbols[style]?.isEmpty == false || row.instead[style] != nil, "\(row.id) in \(style)")
      }
    }
  }

  /// A row must not name a symbol without effect.
  @Test func everySymbolInTheTableWorks() {
    for row in PortingTable.current.rows {
      for (style, symbols) in row.symbols {
        for symbol in symbols {
          let status = VendorAPI.all[style]?.entries[symbol]?.status ?? .works
          #expect(status == .works, "\(row.id): \(symbol)")
        }
      }
    }
  }

  @Test(arguments: [
    ("Meeting.muteMic()", ["mute"]), ("Meeting.muteMic", ["mute"]), ("muteMic", ["mute"]),
    ("realtimeLocalMute", ["mute"]), ("IVSStageStrategy", ["join-media", "silence-others", "camera-on", "subscribe"]),
    ("participantDidJoin", ["came"]), ("participantDidJoin:", ["came"]), ("_", []), ("completionHandler", []),
    ("MeetingState.CLOSED", ["ended"]), ("VideoFeed", ["own-pictures"]), ("DtmfTone", ["dtmf"]), ("muteMi", []),
  ])
  func symbolIsFoundByUnambiguousPartOfItsName(symbol: String, rows: [String]) {
    #expect(PortingTable.current.rows(naming: symbol).map(\.id) == rows)
  }

  @Test func symbolReportShowsAllStyles() throws {
    let report = try MapReport(symbol: "Meeting.muteMic")
    #expect(report.styles == Style.allCases)
    #expect(
      report.text.hasPrefix(
        """
        mute the local microphone
          common layer     LocalStream.setMuted(_:)
                           Session.publish(microphone:as:options:)
          call agent       Call.mute(completionHandler:)
        """))
    #expect(report.text.contains("  stage strategy   IVSLocalStageStream.setMuted(_:)\n  differs: "))
    #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= 110 })
    let one = try MapReport(symbol: "muteMic", to: .stageStrategy)
    #expect(one.styles == [.eventListener, .stageStrategy])
  }

  @Test func errorIsFoundByItsCodeOrName() throws {
    let report = try MapReport(symbol: "1026")
    #expect(report.faults.map(\.what).contains("`remove`"))
    #expect(report.text.contains("told after refuse(…, .credential) of a test room"))
    #expect(report.text.contains("  meeting session  audioAuthenticationRejected"))
    #expect(try MapReport(symbol: "MAX_PARTCIPANT_REACHED").faults.count == 1)
    #expect(try report.json.contains(#""stage-strategy":"1026""#))
    for word in ["102", "the", "goes"] {
      #expect(throws: MapReport.Failure.self, "\(word)") { _ = try MapReport(symbol: word) }
    }
  }

  /// Docs/uikit.md lists all of them, for porting views.
  @Test func eachPlatformTypeIsListedOnTheUIKitPage() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    let page = try String(contentsOf: root.appendingPathComponent("Docs/uikit.md"), encoding: .utf8)
    for type in VendorAPI.platform.types.keys where !type.isEmpty {
      let name = type.split(separator: ".").last.map(String.init) ?? type
      #expect(page.contains("`\(type)`") || page.contains("`.\(name)`"), "\(type)")
    }
  }

  @Test func reportComparesTwoStyles() {
    let report = MapReport(from: .eventListener, to: .meetingSession)
    #expect(report.rows.count == PortingTable.current.rows.count)
    #expect(
      report.text.contains(
        "leave\n  event listener   Meeting.leave()\n  meeting session  AudioVideoControllerFacade.stop()"))
    #expect(!report.text.contains("IVSStage.leave()"))
  }

  @Test func symbolWithoutRowReportsItsStatus() throws {
    let recorded = try MapReport(symbol: "AddPhoneNumberOptions.alternateCallerId")
    #expect(recorded.rows.isEmpty)
    #expect(recorded.text.contains("(call agent): recorded: no telephone network"))
    let absent = try MapReport(symbol: "MediaStream.producer")
    #expect(absent.text.contains("(event listener): absent: there is no Mediasoup under it"))
  }

  @Test func unknownSymbolThrowsWithSuggestions() {
    let error = #expect(throws: MapReport.Failure.self) { _ = try MapReport(symbol: "Meeting.muteMick") }
    #expect(
      error?.description
        == "no style has 'Meeting.muteMick'; there is Meeting.muteMic(), Meeting.unmuteMic(), Meeting.unmuteMic(customAudioStream:)"
    )
    #expect(throws: MapReport.Failure.self) { _ = try MapReport(symbol: "") }
  }

  @Test func jsonReportHasOnlyTheRequestedStyles() throws {
    let json = try MapReport(symbol: "muteMic", to: .stageStrategy).json
    #expect(json.contains(#""stage-strategy":["IVSLocalStageStream.setMuted(_:)"]"#))
    #expect(!json.contains("call-agent"))
  }

  @Test func stylesAreFoundByTheirShortNames() {
    #expect(Style(named: "listener") == .eventListener)
    #expect(Style(named: "stage-strategy") == .stageStrategy)
    #expect(Style(named: "native") == .koine)
    #expect(Style(named: "zoom") == nil)
  }
}
