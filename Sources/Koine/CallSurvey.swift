/// A survey of a call's quality that an app has submitted, as the vendor's service would log it: without the participant's name.
public struct CallSurveyRecord: Sendable, Hashable {
  /// The subject of a rating.
  public enum Subject: String, Sendable, Hashable, CaseIterable {
    /// The call as a whole.
    case overall
    /// The audio of the call.
    case audio
    /// The video of cameras.
    case video
    /// Shared screens.
    case screenShare
  }

  /// A score with its scale.
  public struct Rating: Sendable, Hashable {
    /// The score, in `scale`.
    public let score: Int
    /// The lowest and the highest score.
    public let scale: ClosedRange<Int>
    /// Scores up to this one are bad.
    public let lowScoreThreshold: Int

    /// Creates a rating.
    public init(score: Int, scale: ClosedRange<Int>, lowScoreThreshold: Int) {
      (self.score, self.scale, self.lowScoreThreshold) = (score, scale, lowScoreThreshold)
    }
  }

  /// The survey's id, which no other survey has.
  public let surveyID: String
  /// The id of the call in the vendor's API.
  public let callID: String
  /// An id in the participant's place, which another survey of the same participant does not have.
  public let anonymizedParticipantID: String
  /// The ratings, without the subjects that the participant has not rated.
  public let ratings: [Subject: Rating]
  /// The vendor's names of the reported problems, without the subjects that have none.
  public let issues: [Subject: [String]]

  /// Creates a record.
  public init(
    surveyID: String, callID: String, anonymizedParticipantID: String, ratings: [Subject: Rating],
    issues: [Subject: [String]]
  ) {
    (self.surveyID, self.callID, self.anonymizedParticipantID) = (surveyID, callID, anonymizedParticipantID)
    (self.ratings, self.issues) = (ratings, issues)
  }
}

/// The surveys that apps have submitted: the newest 1,000.
public final class CallSurveyLog: Sendable {
  private static let limit = 1_000
  private let kept = Lock<[CallSurveyRecord]>([])

  /// Creates an empty log, for `World.init`.
  public init() {}

  /// The surveys, in the order of their submission.
  public var records: [CallSurveyRecord] { kept.withLock { $0 } }

  /// Adds a survey. For authors of styles.
  public func add(_ record: CallSurveyRecord) {
    kept.withLock { kept in
      if kept.count == Self.limit { kept.removeFirst() }
      kept.append(record)
    }
  }
}
