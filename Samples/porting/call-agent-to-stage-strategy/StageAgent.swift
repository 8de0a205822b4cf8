// What layers read from the call agent style need for users (`koine port --to stage-strategy`): the same for every app.
import AVFoundation
import AmazonIVSBroadcast
import Foundation

/// A user who signs in and makes calls. The SDK rings nobody: the app's own server does, through `ringer` and `receive`.
final class StageAgent: @unchecked Sendable {  // used on the main queue only, as are all of its types
  typealias Done = ((any Error)?) -> Void
  enum Failure: Error { case unauthorized, duplicate, ended, camera, microphoneDenied, cameraDenied, notRung, notSent }

  var handler: ((Ring, StageAgent) -> Void)?
  var callsHandler: (((added: [Call], removed: [Call]), StageAgent) -> Void)?
  /// Has the app's own server ring users, who join the call. If they do not, it calls `noAnswer` of the call.
  var ringer: (([String], Call) -> Void)?
  private var token = ""
  private weak var call: Call?

  func register(
    credential: Credential, setup: Setup?, completion: @escaping (StageAgent?, (any Error)?) -> Void
  ) {
    credential.read { [self] result in
      do { token = try result.get() } catch { return completion(nil, error) }
      completion(self, nil)
    }
  }
  func machine(completion: @escaping (Machine?, (any Error)?) -> Void) {
    let machine = Machine()
    Self.onMain { completion(machine, nil) }
  }
  /// Reports a call of which the app's own server has told.
  func receive(_ ring: Ring) {
    ring.agent = self
    handler?(ring, self)
  }

  /// Gives the app a call, and then begins it: the app's handler misses no event.
  /// - Parameter room: the call has to be in it; nil: in any.
  func start(
    room: String? = nil, callees: [String] = [], answering ring: Ring? = nil, setup: Setup?,
    completion: @escaping (Call?, (any Error)?) -> Void
  ) {
    let setup = setup ?? Setup(), session = StageCall(token: ring?.token ?? token, isMicrophoneOn: !setup.isMuted)
    let failure = refusal(session, callees, setup)
    Self.onMain { [self] in
      guard failure == nil, let session else { return completion(nil, failure) }
      let isOneToOne = ring.map { !$0.isGroup } ?? (callees.count == 1)
      let call = Call(session, room: room, callees, isOneToOne: isOneToOne, setup)
      self.call = call
      completion(call, nil)
      callsHandler?((added: [call], removed: []), self)
      call.didEnd = { [weak self] call in
        if let self { callsHandler?((added: [], removed: [call]), self) }
      }
      call.begin(ringer)
    }
  }
  private func refusal(_ session: StageCall?, _ callees: [String], _ setup: Setup) -> Failure? {
    let isDenied = { (kind: AVMediaType) in AVCaptureDevice.authorizationStatus(for: kind) == .denied }
    if isDenied(.audio) { return .microphoneDenied }
    if setup.videos.contains(where: \.isCamera), isDenied(.video) { return .cameraDenied }
    // A token is of one participant, who is in one call.
    if let call, call.state != .ended { return .duplicate }
    return session == nil ? .unauthorized : callees.isEmpty || ringer != nil ? nil : .notRung
  }

  static func onMain(_ work: @escaping () -> Void) {
    nonisolated(unsafe) let work = work
    DispatchQueue.main.async { work() }
  }
}

extension StageAgent {
  /// A call that rings here: the app's own server tells the app of it, and is told of the answer.
  final class Ring: @unchecked Sendable {
    enum State: Sendable { case ringing, accepted, declined, missed }
    let caller, callerName, token: String, isGroup: Bool
    private(set) var state = State.ringing
    var handler: ((State, Ring) -> Void)?, answered: ((State) -> Void)?
    fileprivate weak var agent: StageAgent?

    /// - Parameter token: of this user, for the call.
    init(caller: String, callerName: String, token: String, isGroup: Bool = false) {
      (self.caller, self.callerName, self.token, self.isGroup) = (caller, callerName, token, isGroup)
    }
    func accept(setup: Setup?, completion: @escaping (Call?, (any Error)?) -> Void) {
      guard state == .ringing, let agent else { return onMain { completion(nil, Failure.ended) } }
      agent.start(answering: self, setup: setup) { [self] call, error in
        if call != nil { end(.accepted) }
        completion(call, error)
      }
    }
    func decline(completion: @escaping Done) {
      let isRinging = state == .ringing
      end(.declined)
      onMain { completion(isRinging ? nil : Failure.ended) }
    }
    /// The app's own server says that the caller has hung up.
    func miss() {
      guard state == .ringing else { return }
      state = .missed
      handler?(.missed, self)
    }
    private func end(_ answer: State) {
      guard state == .ringing else { return }
      state = answer
      answered?(answer)
    }
  }
}
