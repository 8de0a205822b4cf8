import KoineTesting

/// The ported layers in which Scripts/check-mutants makes mistakes, by their folders in Samples/porting.
enum PortedLayer: String, CaseIterable, Sendable {
  case callAgent = "call-agent"
  case stageStrategy = "stage-strategy"
  case meetingSession = "meeting-session"
  case eventListener = "event-listener"
  case stageOfListener = "event-listener-to-stage-strategy"

  /// The suite that compares the app with the layer.
  @MainActor func suite(_ purpose: String) throws -> PortingSuite<any CallLayer> {
    if let app = ReferenceApp(rawValue: rawValue) { return app.portedSuite(purpose) }
    return try StageOfListenerTests.suite(expected())
  }

  /// The differences that are documented behaviour of the target.
  func expected() throws -> ExpectedDifferences {
    self == .stageOfListener ? try ExpectedDifferences(ExpectedRows.stageOfListener) : .none
  }

  /// The scenarios that both layers can play: a stage has no messages, and a shared screen has the camera's place.
  var scenarios: [PortingScenario] {
    PortingScenario.all.filter { self != .stageOfListener || $0.id != "messages" && $0.id != "share" }
  }
}
