public import Foundation
import Koine

// A survey of the call's quality, after the call or during it. A submitted survey is checked as the vendor's service checks it, and kept
// with the call. It is also logged, as in the vendor's table `ACSCallSurvey`, if the world has a log (`World.surveys`). A test room has one
// (`TestRoom.surveys`). A server does not collect surveys.

/// Problems with a call that a person can report.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public struct CallIssues: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  static let names = ["cannotJoin", "cannotInvite", "hadToRejoin", "endedUnexpectedly", "otherIssues"]
  public static let cannotJoin = Self(rawValue: 1)
  public static let cannotInvite = Self(rawValue: 2)
  public static let hadToRejoin = Self(rawValue: 4)
  public static let endedUnexpectedly = Self(rawValue: 8)
  public static let otherIssues = Self(rawValue: 16)
}

/// Problems with audio that a person can report.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public struct AudioIssues: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  static let names = [
    "noLocalAudio", "noRemoteAudio", "echo", "audioNoise", "lowVolume", "audioStoppedUnexpectedly", "distortedSpeech",
    "audioInterruption", "otherIssues",
  ]
  public static let noLocalAudio = Self(rawValue: 1)
  public static let noRemoteAudio = Self(rawValue: 2)
  public static let echo = Self(rawValue: 4)
  public static let audioNoise = Self(rawValue: 8)
  public static let lowVolume = Self(rawValue: 16)
  public static let audioStoppedUnexpectedly = Self(rawValue: 32)
  public static let distortedSpeech = Self(rawValue: 64)
  public static let audioInterruption = Self(rawValue: 128)
  public static let otherIssues = Self(rawValue: 256)
}

/// Problems with video that a person can report.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public struct VideoIssues: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  static let names = [
    "noVideoReceived", "noVideoSent", "lowQuality", "freezes", "stoppedUnexpectedly", "darkVideoReceived",
    "audioVideoOutOfSync", "otherIssues",
  ]
  public static let noVideoReceived = Self(rawValue: 1)
  public static let noVideoSent = Self(rawValue: 2)
  public static let lowQuality = Self(rawValue: 4)
  public static let freezes = Self(rawValue: 8)
  public static let stoppedUnexpectedly = Self(rawValue: 16)
  public static let darkVideoReceived = Self(rawValue: 32)
  public static let audioVideoOutOfSync = Self(rawValue: 64)
  public static let otherIssues = Self(rawValue: 128)
}

/// Problems with a screen share that a person can report.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public struct ScreenShareIssues: OptionSet, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  static let names = [
    "noContentLocal", "noContentRemote", "cannotPresent", "lowQuality", "freezes", "stoppedUnexpectedly", "largeDelay",
    "otherIssues",
  ]
  public static let noContentLocal = Self(rawValue: 1)
  public static let noContentRemote = Self(rawValue: 2)
  public static let cannotPresent = Self(rawValue: 4)
  public static let lowQuality = Self(rawValue: 8)
  public static let freezes = Self(rawValue: 16)
  public static let stoppedUnexpectedly = Self(rawValue: 32)
  public static let largeDelay = Self(rawValue: 64)
  public static let otherIssues = Self(rawValue: 128)
}

/// The scale of a score: whole numbers from `lowerBound` to `upperBound`, both 0...100.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallSurveyRatingScale: NSObject, @unchecked Sendable {  // as the vendor's: the app guards it
  public var lowerBound: Int32 = 1
  public var upperBound: Int32 = 5
  /// Scores up to this one are bad.
  public var lowScoreThreshold: Int32 = 3
}

/// A score and the scale that it is on.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallSurveyScore: NSObject, @unchecked Sendable {  // as above
  /// 0: not rated.
  public var score: Int32 = 0
  public var scale = CallSurveyRatingScale()

  /// Nil if not rated. The score is checked.
  fileprivate var rating: CallSurveyRecord.Rating? {
    score == 0
      ? nil
      : .init(
        score: Int(score), scale: Int(scale.lowerBound)...Int(scale.upperBound),
        lowScoreThreshold: Int(scale.lowScoreThreshold))
  }

  /// - Throws: the vendor's error for a scale or a score out of bounds.
  fileprivate func check() throws {
    let bounds: ClosedRange<Int32> = 0...100
    guard bounds.contains(scale.lowerBound), bounds.contains(scale.upperBound), scale.lowerBound < scale.upperBound
    else {
      throw CallingCommunicationErrors.surveyRatingScaleOutOfBounds.error(
        "a scale from \(scale.lowerBound) to \(scale.upperBound)")
    }
    let scores = scale.lowerBound...scale.upperBound
    guard scores.contains(scale.lowScoreThreshold) else {
      throw CallingCommunicationErrors.surveyRatingScaleInvalidThreshold.error(
        "\(scale.lowScoreThreshold) is not in \(scores)")
    }
    guard score == 0 || scores.contains(score) else {
      throw CallingCommunicationErrors.surveyScoreOutOfBounds.error("\(score) is not in \(scores)")
    }
  }
}

/// The answers of a person about the quality of a call.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallSurvey: NSObject, @unchecked Sendable {  // as above
  public var overallScore = CallSurveyScore()
  public var audioScore = CallSurveyScore()
  public var videoScore = CallSurveyScore()
  public var screenShareScore = CallSurveyScore()
  public var overallIssues: CallIssues = []
  public var audioIssues: AudioIssues = []
  public var videoIssues: VideoIssues = []
  public var screenShareIssues: ScreenShareIssues = []

  override init() {}

  fileprivate func check() throws {
    for score in [overallScore, audioScore, videoScore, screenShareScore] { try score.check() }
  }

  /// The checked survey in the log.
  fileprivate func record(as result: CallSurveyResult) -> CallSurveyRecord {
    let scores = [
      CallSurveyRecord.Subject.overall: overallScore, .audio: audioScore, .video: videoScore,
      .screenShare: screenShareScore,
    ]
    let issues = [
      CallSurveyRecord.Subject.overall: names(overallIssues.rawValue, CallIssues.names),
      .audio: names(audioIssues.rawValue, AudioIssues.names), .video: names(videoIssues.rawValue, VideoIssues.names),
      .screenShare: names(screenShareIssues.rawValue, ScreenShareIssues.names),
    ]
    return CallSurveyRecord(
      surveyID: result.surveyId, callID: result.callId, anonymizedParticipantID: result.anonymizedParticipantId,
      ratings: scores.compactMapValues(\.rating), issues: issues.filter { !$0.value.isEmpty })
  }

  /// The names of the set bits, the lowest first.
  private func names(_ bits: Int, _ names: [String]) -> [String] {
    names.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
  }
}

/// The outcome of a submitted survey.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class CallSurveyResult: NSObject, Sendable {
  public let surveyId = UUID().uuidString.lowercased()
  public let callId: String
  /// Another one for each survey.
  public let anonymizedParticipantId = UUID().uuidString.lowercased()
  init(_ callId: String) { self.callId = callId }
}

/// Surveys of the call's quality. Works during the call and after it, for as long as the app has the feature.
///
/// [Vendor reference](https://learn.microsoft.com/en-us/objectivec/communication-services/calling/)
public final class SurveyCallFeature: CallFeature, @unchecked Sendable {  // everything mutable is locked
  private struct State {
    var callId = ""
    /// Nil: no service logs surveys.
    var log: CallSurveyLog?
    var submitted: [CallSurvey] = []
  }
  private let state = Lock(State())

  override func callStarted() {
    let (id, log) = (call?.id ?? "", call?.session.world.surveys)
    state.withLock { ($0.callId, $0.log) = (id, log) }
  }

  /// Gives the app a survey to fill in.
  public func startSurvey(completionHandler: @escaping (CallSurvey?, (any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    delivery.deliver { handler(CallSurvey(), nil) }
  }

  /// Checks the survey, keeps it with the call, and logs it if the world has a log. A survey can be submitted once.
  public func submit(survey: CallSurvey, completionHandler: @escaping (CallSurveyResult?, (any Error)?) -> Void) {
    let handler = Handler(completionHandler)
    do {
      try survey.check()
      let (callId, log) = try state.withLock { state in
        guard !state.submitted.contains(where: { $0 === survey }) else {
          throw CallingCommunicationErrors.surveyDoubleSubmissionNotAllowed.error("the survey is submitted already")
        }
        state.submitted.append(survey)
        return (state.callId, state.log)
      }
      let result = CallSurveyResult(callId)
      if let log { log.add(survey.record(as: result)) } else { NoEffect.survey.log() }
      delivery.deliver { handler(result, nil) }
    } catch {
      let error = error as NSError
      delivery.deliver { handler(nil, error) }
    }
  }

  nonisolated(nonsending) public func startSurvey() async throws -> CallSurvey {
    try await result { startSurvey(completionHandler: $0) }
  }
  nonisolated(nonsending) public func submit(survey: CallSurvey) async throws -> CallSurveyResult {
    try await result { submit(survey: survey, completionHandler: $0) }
  }

  // MARK: Not the vendor's

  /// Submitted surveys, in the order of their submission: for an app's own back end, and for tests.
  public var submittedSurveys: [CallSurvey] { state.withLock { $0.submitted } }
}
