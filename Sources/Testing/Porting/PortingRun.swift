import Koine
import KoineUIKit

/// Plays one scenario with one call layer, and records its story.
@MainActor
final class PortingRun<Layer> {
  private let suite: PortingSuite<Layer>
  private let scenario: PortingScenario
  private let room: TestRoom
  private let context: PortingContext
  /// Nil after the call, so that its objects can be freed.
  private var layer: Layer?
  private var people: [String: Person] = [:]
  private let recorder: FactRecorder
  private let watcher: OutsideWatcher
  private var story: PortingStory

  /// The only participant with an open microphone, and the time since which it has been the only one.
  private var onlySpeaker: (name: String, since: Tick)?

  /// For so long a person has to be the only one with an open microphone before the speaker is compared.
  private static var speech: Duration { .seconds(5) }
  private static var quiet: Duration { .seconds(2) }
  private static var limit: Duration { .seconds(40) }
  /// The interval at which facts outside of the app are read.
  private static var interval: Duration { .milliseconds(250) }

  /// The links of all participants: without any delay, states that last a round trip would begin and end in one instant.
  private static var network: String { "delay=20ms" }

  static func play(
    _ scenario: PortingScenario, seed: UInt64, in suite: PortingSuite<Layer>,
    make: @escaping PortingSuite<Layer>.MakeLayer
  ) async -> PortingStory {
    do {
      let room = try await TestRoom(
        clock: .virtual(seed: seed), network: network, media: .stamps, order: .shuffled(seed: seed))
      return try await PortingRun(scenario, seed: seed, in: suite, room: room, make: make).play()
    } catch {
      return PortingStory(scenario: scenario.id, seed: seed, problem: "the room or the layer was not made: \(error)")
    }
  }

  private init(
    _ scenario: PortingScenario, seed: UInt64, in suite: PortingSuite<Layer>, room: TestRoom,
    make: PortingSuite<Layer>.MakeLayer
  ) throws {
    self.suite = suite
    self.scenario = scenario
    self.room = room
    let context = PortingContext(room: room, name: suite.user)
    self.context = context
    story = PortingStory(scenario: scenario.id, seed: seed)
    let box = Box()
    let made = try room.enter(as: suite.user) { try make(context) }
    precondition(type(of: made as Any) is AnyClass, "a call layer is an object of a class")
    box.layer = made
    layer = made
    let (facts, view) = (suite.facts, suite.view)
    recorder = FactRecorder(room: room, user: room.world(of: suite.user)) { [weak box] in box?.layer.map(facts) }
    watcher = OutsideWatcher(room: room, user: suite.user, chat: context.chat, texts: suite.texts) { [weak box] in
      box?.layer.flatMap { layer in view?(layer) }
    }
    self.box = box
  }

  /// Holds the layer for the recorders, so that one assignment releases it.
  private final class Box { var layer: Layer? }
  private let box: Box

  private func play() async -> PortingStory {
    await settle()
    for step in scenario.steps {
      do { try await play(step) } catch {
        story.problem = "\(step.name): \(error)"
        break
      }
    }
    if story.problem == nil { await check() }
    recorder.close()
    return story
  }

  private func play(_ step: PortingStep) async throws {
    recorder.beginStep()
    watcher.beginStep()
    var before = recorder.values
    if suite.speaker == .whenOneSpeaks { before[CallFacts.speaker] = nil }
    var record = PortingStory.Step(name: step.name, before: before, outsideBefore: watcher.values)
    try await perform(step.action)
    record.hasSettled = await settle()
    record.settled = recorder.values
    record.texts = watcher.readTexts()
    record.changes = recorder.changes
    if suite.speaker == .whenOneSpeaks { leaveOutSpeaker(of: &record) }
    record.outside = watcher.values
    record.outsideChanges = watcher.changes
    story.steps.append(record)
  }

  /// Keeps the speaker after the step if a native person has been the only one to speak for long enough.
  private func leaveOutSpeaker(of step: inout PortingStory.Step) {
    let fact = CallFacts.speaker
    step.changes.removeAll { $0.fact == fact }
    if let speaker = onlySpeaker, people[speaker.name] != nil, room.now - speaker.since >= Self.speech,
      watcher.rosterNames.contains(suite.user)
    {
      return
    }
    step.settled[fact] = nil
  }

  private func perform(_ action: PortingStep.Action) async throws {
    switch action {
    case .app(let action):
      guard let layer else { return }
      do { try room.enter(as: suite.user) { try suite.actions.perform(action, on: layer) } } catch {
        recorder.note("thrown", "\(error)")
      }
      recorder.sample()
    case .person(let name, let action): try await perform(action, of: name)
    case .fault(let fault): try fault.inject(in: room, user: suite.user)
    case .wait(let duration): await run(for: duration)
    }
  }

  private func perform(_ action: PersonAction, of name: String) async throws {
    if action == .join {
      let person = try await room.join(name)
      people[name] = person
      return watcher.watch(person)
    }
    guard let person = people[name] else { throw Failure(.wrongState, "\(name) has not joined") }
    switch action {
    case .join: break
    case .leave: person.leave()
    case .mute(let isMuted): isMuted ? person.mute() : person.unmute()
    case .camera(let isOn): isOn ? person.turnCameraOn() : person.turnCameraOff()
    case .share(true): try person.share()
    case .share(false): person.stopSharing()
    case .send(let texts):
      for text in texts {
        let payload = context.chat.encode(text)
        try person.session?.send(DataMessage(topic: context.chat.topic, payload: payload))
      }
    case .drop: person.drop()
    case .comeBack:
      try await person.comeBack()
      let limit = room.now + Self.limit
      while !person.isInRoom, room.now < limit { await run(for: Self.interval) }
      watcher.watch(person)
    }
  }

  // MARK: Time

  private func run(for duration: Duration) async {
    let end = room.now + duration
    while room.now < end {
      await room.run(for: min(Self.interval, end - room.now))
      recorder.sample()
      watcher.sample()
      let name = watcher.onlyOneWithMicrophone
      if name != onlySpeaker?.name { onlySpeaker = name.map { ($0, room.now) } }
    }
  }

  /// Runs until no fact has changed for 2 s.
  /// - Returns: whether that happened within 40 s.
  @discardableResult
  private func settle() async -> Bool {
    let begin = room.now
    while room.now - begin < Self.limit {
      await run(for: Self.interval)
      let last = max(recorder.lastChange, watcher.lastChange, begin)
      if room.now - last >= Self.quiet { return true }
    }
    return false
  }

  // MARK: After the call

  private func check() async {
    let (userID, user) = (room.participantID(of: suite.user), suite.user)
    func word(_ isFree: Bool) -> String { isFree ? "released" : "in use" }
    func isRunning(_ kind: Machine.Kind) -> Bool { TestDevices.isRunning(kind, room: room.id, person: userID) }
    story.afterCall["the server's roster"] = watcher.rosterNames.contains(user) ? "lists the app" : "without the app"
    story.afterCall["camera"] = word(!isRunning(.camera))
    story.afterCall["microphone"] = word(!isRunning(.microphone))

    recorder.beginStep()
    let callbacks = recorder.callbacks
    context.sleepers.beginCount()
    await stirRoom()
    story.afterCall["tasks that sleep"] = "\(context.sleepers.most)"
    story.afterCall["callbacks"] = "\(recorder.callbacks - callbacks)"
    story.afterCall["changes of facts"] = recorder.changes.map { "\($0.fact): \($0.value)" }.joined(separator: ", ")

    let remains = releaseLayer()
    await run(for: .seconds(1))
    for (name, object) in remains { story.afterCall[name] = object() == nil ? "freed" : "not freed" }
  }

  /// The people that are still in the room act, so that a layer that still listens would notice.
  private func stirRoom() async {
    for person in people.values.sorted(by: { $0.name < $1.name }) where person.isInRoom {
      person.isMuted ? person.unmute() : person.mute()
      let message = DataMessage(topic: context.chat.topic, payload: context.chat.encode("after the call"))
      try? person.session?.send(message)
    }
    await run(for: .seconds(3))
  }

  private func releaseLayer() -> [(name: String, object: () -> AnyObject?)] {
    var remains = context.watched.map { (name: "object \($0.name)", object: $0.object) }
    if let object = layer.map({ $0 as AnyObject }) {
      weak let layer = object
      remains.append(("layer", { layer }))
    }
    (layer, box.layer) = (nil, nil)
    return remains
  }
}
