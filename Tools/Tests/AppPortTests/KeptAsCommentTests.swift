import AppPort
import CompilerFacts
import KoinePorting
import TestSupport
import Testing

/// Code that `koine port` cannot write stays as a comment, with the code that needs it and nothing else.
@Suite struct KeptAsCommentTests {
  private let small: SmallListenerApp

  init() throws { small = try SmallListenerApp() }

  @Test func whatTheCommonLayerHasNoWordForStaysAsAComment() throws {
    let layer = try small.layer(
      """
      final class Model: MeetingEventListener {
        var meeting: Meeting?
        func ask(_ id: String) {
          let other = id
          meeting?.participants[other]?.enableMic()
        }
        func onMicRequested(participantId: String?, accept: @escaping () -> Void, reject: @escaping () -> Void) { accept() }
      }
      """)
    #expect(layer.source.contains("    // meeting?.participants[other]?.enableMic()\n"))
    #expect(layer.source.contains("send a message of the app's own"))
    #expect(layer.source.contains("  // func onMicRequested("))
    #expect(!layer.source.contains("#warning"))
    #expect(layer.count("dropped") == 2)
  }

  @Test func unknownSymbolsStayUnderAWarningWithAllThatNeedsThem() throws {
    let layer = try small.layer(
      """
      final class Model: MeetingEventListener {
        var meeting: Meeting?
        var started = 0
        func start() {
          started = 1
          if started > 0 { _ = meeting?.startHLS() }
          meeting?.leave()
        }
        var figure: Int { meeting?.startHLS() ?? 0 }
        var double: Int { figure * 2 }
        func show() { print("shown"); print(double) }
        func onHlsStarted() { started = 2 }
      }
      """)
    let source = layer.source
    #expect(source.contains("#warning(\"PORT 3: not known to the common layer: Meeting.startHLS()\")"))
    #expect(source.contains("    meeting?.session?.leave {}\n"))
    #expect(source.contains("  // var figure: Int { meeting?.startHLS() ?? 0 }"))
    #expect(source.contains("  // var double: Int { figure * 2 }"))
    #expect(source.contains("// print(double)"))
    #expect(source.contains("print(\"shown\");"))
    #expect(layer.count("warned") == 2)
  }

  @Test func declarationThatTheCompilerRefusesStaysAsACommentWithItsUses() throws {
    // The module has no `Koine` to compile with: errors are made up in the compiler's form.
    let (model, folder) = (
      "final class Model {\n  var meeting: Meeting?\n  func f() { meeting?.leave() }\n  func g() { f() }\n}", "/tmp/x"
    )
    let (app, facts) = try small.compiled(model)
    let first = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    let line = try #require(
      first.source.split(separator: "\n", omittingEmptySubsequences: false).firstIndex { $0.contains("func f()") })
    let error = "\(folder)/KoineModel.swift:\(line + 1):3: error: no such thing"
    let refusals = first.refusals(of: CompileCommand.Outcome(succeeded: false, output: error))
    #expect(refusals.count == 1)
    let second = try CallLayer(of: "Model", in: app, to: .koine, without: refusals) { _ throws(FactsFailure) in facts }
    #expect(second.source.contains("#warning(\"PORT 3: not known to the common layer: no such thing\")"))
    // What calls it, stays.
    #expect(second.source.contains("  func f() {"))
    #expect(second.source.contains("    // meeting?.leave()\n  }\n"))
    #expect(second.source.contains("  func g() { f() }\n"))
    #expect(second.count("warned") == 1)
    #expect(second.count("in the helper") == 1)
  }

  @Test func memberThatAProtocolRequiresStaysWithoutItsStatements() throws {
    let (app, facts) = try small.compiled(
      """
      protocol Calls: AnyObject { var figure: Int { get }; var title: String? { get }; func start() -> Bool; func leave() }
      final class Model {
        private var meeting: Meeting?
        var figure: Int { meeting?.startHLS() ?? 0 }
        var title: String? {
          guard let count = meeting?.startHLS() else { return nil }
          return "\\(count)"
        }
        func start() -> Bool { (meeting?.startHLS() ?? 0) > 0 }
        func leave() { meeting?.leave() }
        var alone: Int { meeting?.startHLS() ?? 0 }
      }
      extension Model: Calls {}
      """)
    let first = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    let warning = "#warning(\"PORT 3: not known to the common layer: Meeting.startHLS()\")\n"
    #expect(first.source.contains("\n    \(warning)    // meeting?.startHLS() ?? 0\n    return 0\n  }\n"))
    #expect(first.source.contains("  var title: String? {\n    \(warning)    // guard let count"))
    #expect(first.source.contains("    // return \"\\(count)\"\n    return nil\n  }\n"))
    #expect(first.source.contains("  func start() -> Bool {"))
    #expect(first.source.contains("    // (meeting?.startHLS() ?? 0) > 0\n    return false\n  }\n"))
    #expect(first.source.contains("  // var alone: Int { meeting?.startHLS() ?? 0 }\n"))
    #expect(first.source.contains("extension KoineModel: Calls {}"))
    // So does one that the compiler refuses, until it refuses it without statements, too.
    let second = try first.refused("func leave()", "no such thing", app, facts)
    #expect(second.layer.source.contains("    // meeting?.leave()\n  }\n"))
    let third = try second.layer.refused("func leave()", "no such type", after: second.refusals, app, facts)
    #expect(third.layer.source.contains("  // func leave() { meeting?.leave() }\n"))
  }

  @Test func classKeepsItsOtherMembersIfAnInitializerCannotBePorted() throws {
    let layer = try small.layer(
      """
      final class Model {
        let count: Int
        var meeting: Meeting?
        init(_ other: Meeting) {
          count = other.startHLS()
          meeting = other
        }
        func leave() { meeting?.leave() }
      }
      func make(_ meeting: Meeting) -> Model { Model(meeting) }
      """)
    let source = layer.source
    // Without its value, the property would be unset: the compiler's check of types does not show it.
    #expect(source.contains("  init(_ other: "))
    #expect(source.contains("    // count = other.startHLS()\n    // meeting = other\n"))
    #expect(source.contains("    fatalError(\"PORT: init is not ported\")\n  }\n"))
    #expect(source.contains("  func leave() { meeting?.session?.leave {} }\n"))
    #expect(layer.warnings.count == 1)
  }

  @Test func classWhoseInitializersAreCommentsGetsOneThatNothingCalls() throws {
    let (app, facts) = try small.compiled(
      """
      final class Model {
        let count: Int
        var meeting: Meeting?
        init(_ count: Int, _ listener: Poll) { self.count = count }
        func leave() { meeting?.leave() }
      }
      """)
    let first = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    #expect(first.source.contains("  // init(_ count: Int, _ listener: Poll)"))
    #expect(!first.source.contains("notPorted"))
    let reason = "class 'KoineModel' has no initializers"
    let second = try first.refused("final class", reason, app, facts)
    #expect(
      second.layer.source.contains("\n  init(notPorted: Void) { fatalError(\"PORT: init is not ported\") }\n}\n"))
    #expect(second.layer.source.contains("  func leave() { meeting?.session?.leave {} }\n"))
    // Once: then the class is a comment, and nothing calls its functions.
    let third = try second.layer.refused("final class", reason, after: second.refusals, app, facts)
    #expect(third.layer.source.contains("// final class Model {"))
    #expect(!third.layer.source.contains("extension"))
  }

  @Test func ofSeveralPropertiesInOneDeclarationThoseThatCanBePortedStay() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?, poll: Poll?, count = 0
        func leave() { meeting?.leave(); count += 1 }
        func close() { poll = nil }
      }
      """)
    #expect(layer.source.contains("  var meeting: RoomCall?, count = 0\n"))
    #expect(layer.source.contains("// poll: Poll?"))
    #expect(layer.source.contains("func leave() { meeting?.session?.leave {}; count += 1 }"))
    #expect(layer.source.contains("// poll = nil"))
  }

  @Test func overrideThatCannotBePortedStillCallsWhatItOverrides() throws {
    let layer = try small.layer(
      """
      class Base { func show(_ animated: Bool) {}; func hide() {} }
      final class Model: Base {
        var meeting: Meeting?
        override func show(_ animated: Bool) {
          super.show(animated)
          guard let figure = meeting?.startHLS() else { return }
          print(figure)
        }
      }
      """)
    #expect(layer.source.contains("    // print(figure)\n    super.show(animated)\n  }\n"))
  }

  @Test func refusedDeclarationWithoutStatementsIsAComment() throws {
    let (app, facts) = try small.compiled(
      "final class Model {\n  var meeting: Meeting?\n  func f(_ meeting: Meeting) {}\n  init() {}\n}")
    let first = try CallLayer(of: "Model", in: app, to: .koine) { _ throws(FactsFailure) in facts }
    let second = try first.refused("func f(", "invalid redeclaration", app, facts)
    #expect(second.layer.source.contains("  // func f(_ meeting: Meeting) {}\n"))
    let third = try second.layer.refused("init() {}", "no such thing", after: second.refusals, app, facts)
    #expect(third.layer.source.contains("  // init() {}\n"))
  }

  @Test func closureWithAValueGoesWithItsStatement() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        func names(_ kinds: [Int]) -> [Int] {
          let names = kinds.map { kind in
            switch kind {
            case 1: self.meeting?.startHLS() ?? 0
            default: 0
            }
          }
          return names
        }
      }
      """)
    #expect(layer.source.contains("  // func names(_ kinds: [Int]) -> [Int] {\n"))
  }

  @Test func propertyThatAnInitializerSetsInsideOfABlockTakesTheInitializerAlong() throws {
    let source = try small.layer(
      """
      final class Model {
        let count: Int?, other: Int
        init(_ meeting: Meeting, _ isOn: Bool) {
          other = 1
          if isOn { count = meeting.startHLS() } else { count = nil }
        }
      }
      """
    ).source
    #expect(source.contains("    // other = 1\n"))
    #expect(source.contains("    fatalError(\"PORT: init is not ported\")\n"))
  }

  @Test func optionalVariableCanStayWithoutTheValueThatIsNotPorted() throws {
    let source = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        func figure(_ isOn: Bool) -> Int {
          var first: Int?
          if isOn { first = meeting?.startHLS() }
          let second: Int
          if isOn { second = 1 } else { second = meeting?.startHLS() ?? 0 }
          return (first ?? 0) + second
        }
      }
      """
    ).source
    #expect(!source.contains("the value of first"))
    #expect(source.contains("fatalError(\"PORT: the value of second is not ported\")"))
  }

  @Test func statementsInClosuresAndObserversStayOrGoAlone() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        var count = 0 { didSet { _ = meeting?.startHLS() } }
        func ask(_ done: @escaping (Int) -> Void) { done(1) }
        func go() {
          ask { option in
            switch option {
            case 1: _ = self.meeting?.startHLS()
            default: self.meeting?.leave()
            }
          }
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("    ask { option in\n"))
    #expect(source.contains("      default: self.meeting?.session?.leave {}\n"))
    #expect(source.contains("  var count = 0 { didSet {"))
    #expect(layer.warnings.count == 2)
  }

  @Test func unknownSymbolInACaseTakesNoOtherStatementAlong() throws {
    let layer = try small.layer(
      """
      final class Model: MeetingEventListener {
        var meeting: Meeting?
        var text = ""
        func show(_ state: MeetingState, _ error: VideoSDKError) {
          switch state {
          case .CONNECTED: _ = meeting?.startHLS()
          case .CLOSED:
            _ = meeting?.startHLS()
            text = error.message
          }
        }
        func count(_ isOn: Bool) -> Int {
          if isOn { _ = meeting?.startHLS() }
          return text.count
        }
        var title: String {
          switch text.count {
          case 0: "nothing"
          default: "\\(meeting?.startHLS() ?? 0)"
          }
        }
      }
      """)
    let source = layer.source
    #expect(source.contains("      // _ = meeting?.startHLS()\n      break\n"))
    #expect(source.contains("      // _ = meeting?.startHLS()\n      text = error.rawValue\n"))
    #expect(source.contains("    return text.count\n"))
    #expect(source.contains("  // var title: String {\n"))
    #expect(layer.warnings.count == 4)
  }

  @Test func callWithoutItsOwnStatementHasNoPlaceForItsValue() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        var isMuted = false
        func toggle() { isMuted ? meeting?.unmuteMic() : meeting?.muteMic() }
        func mute() { meeting?.muteMic() }
      }
      """, to: .meetingSession)
    let microphone = "meeting?.setStream(kind: .microphone, isOn: "
    #expect(layer.source.contains("func toggle() { isMuted ? \(microphone)true) : \(microphone)false) }\n"))
    #expect(layer.source.contains("func mute() { _ = meeting?.session.audioVideo.realtimeLocalMute() }\n"))
  }

  @Test func callbacksOfOtherClassesStayUnderAWarningAndAreNotCalled() throws {
    let layer = try small.layer(
      """
      final class Events: MeetingEventListener {
        var joined: () -> Void = {}
        func onMeetingJoined() { joined() }
        func onParticipantJoined(_ participant: Participant) { print(participant.displayName) }
        func onHlsStarted() {}
      }
      final class People: ParticipantEventListener {
        func follow(_ participant: Participant) { print("follows"); participant.addEventListener(self) }
      }
      final class Model {
        private var meeting: Meeting?
        private let events = Events()
        func start() { print("starts"); meeting?.addEventListener(events) }
        func listen(_ people: People) { print("listens"); people.follow(meeting!.localParticipant) }
        func leave() { meeting?.leave() }
      }
      """)
    let source = layer.source
    #expect(source.contains("MeetingEventListener.onMeetingJoined() in another class than Model"))
    #expect(source.contains("  // func onMeetingJoined() { joined() }\n"))
    #expect(
      source.contains("  // func onParticipantJoined(_ participant: Participant) { print(participant.displayName) }\n"))
    #expect(source.contains("addEventListener with another object than self"))
    #expect(source.contains("addEventListener in another class than Model"))
    #expect(source.contains("func leave() { meeting?.session?.leave {} }"))
    #expect(!source.contains("func handle("))
    #expect(!source.contains("participantJoined"))
    for text in [layer.report, layer.plan.text] {
      #expect(text.contains("What the call reports reaches Model only"))
      #expect(text.contains("Events.onMeetingJoined()"))
      #expect(text.contains("Events.onParticipantJoined(_:)"))
    }
    #expect(layer.plan.byHand.contains { $0.symbol.hasPrefix("MeetingEventListener.onMeetingJoined()") })
  }

  @Test func callIsNotLeftOutSilentlyWithWhatIsLeftOut() throws {
    let layer = try small.layer(
      """
      final class Model {
        var meeting: Meeting?
        func send() -> Bool { meeting?.pubsub.publish(topic: "chat", message: "hello") != nil }
        func say() { _ = send() }
        func end() { if send() { meeting?.leave() } }
      }
      """, to: .stageStrategy)
    #expect(layer.source.contains("// koine port: send() is left out"))
    #expect(layer.warnings.count == 1)
    #expect(layer.warnings.first?.contains("'send()', which is not ported") == true)
  }
}
