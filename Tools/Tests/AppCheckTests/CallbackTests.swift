import AppCheck
import Testing

@Suite struct CallbackTests {
  private func problems(_ source: String) -> [String] {
    check(source).problems.map { "\($0.location.line) \($0.what)" }
  }

  @Test func delegateCallbacksAreReportedAsSymbols() {
    let check = check(
      """
      import VideoSDKRTC
      class Screen {}
      extension Screen: MeetingEventListener {
        func onMeetingJoined() {}
        func onSpeakerChanged(participantId: String?) {}
      }
      """)
    #expect(check.canWork)
    #expect(check.has("MeetingEventListener.onMeetingJoined()"))
    #expect(check.has("MeetingEventListener.onSpeakerChanged(participantId:)"))
  }

  /// Objective-C asks the object by name; Swift fills the requirement where the class conforms.
  @Test func callbackDeclaredOnlyInSubclassIsReportedAsNotCalled() {
    let check = check(
      """
      import AzureCommunicationCalling
      class Base: NSObject, CallDelegate {
        func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {}
      }
      class Screen: Base {
        override func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {}
        func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) {}
      }
      """)
    #expect(check.problems.map(\.location.line) == [7])
    #expect(check.problems.first?.kind == .callback)
    #expect(
      check.problems.first?.what
        == "Screen.call(_:didChangeMuteState:) is not called: Base conforms to CallDelegate without it")
    #expect(check.problems.first?.instead == "an empty one in Base, which Screen overrides")
  }

  @Test func callbackInSubclassThatConformsItselfIsAccepted() {
    #expect(
      problems(
        """
        import AzureCommunicationCalling
        class Base: NSObject {}
        class Screen: Base, CallDelegate {
          func call(_ call: Call, didChangeMuteState args: PropertyChangedEventArgs) {}
        }
        """
      ).isEmpty)
  }

  @Test func callbackWithWrongParameterTypesIsReportedAsNotCalled() {
    #expect(
      problems(
        """
        import VideoSDKRTC
        class Screen: MeetingEventListener {
          func onSpeakerChanged(participantId: String) {}
          func onError(error: VideoSDKRTC.VideoSDKError) {}
          func onMicRequested(participantId: String?, accept: @escaping (() -> Void), reject: @escaping () -> ()) {}
        }
        """)
        == ["3 Screen.onSpeakerChanged(participantId:) is not called: its types are not those of MeetingEventListener"])
  }

  @Test func callbackWithWrongLabelsOrMisspelledNameIsReportedAsNotCalled() {
    let check = check(
      """
      import AmazonIVSBroadcast
      class Screen: NSObject, IVSStageRenderer {
        func stage(_ stage: IVSStage, participantHasJoined participant: IVSParticipantInfo) {}
        func stage(_ stage: IVSStage, participantDidLeave participant: IVSParticipantInfo) {}
        func stageManager() {}
      }
      """)
    #expect(check.problems.map(\.location.line) == [3])
    #expect(check.problems.first?.instead == "there is stage(_:participantDidJoin:)")
    #expect(
      problems("import VideoSDKRTC\nclass S: MeetingEventListener { func onMeetingJoind() {} }")
        == ["2 S.onMeetingJoind() is not called: MeetingEventListener has none of that name"])
  }

  @Test func callbackInTheVendorsMisspellingIsAccepted() {
    #expect(
      problems(
        """
        import AzureCommunicationCalling
        class A: NSObject, CallAgentDelegate {
          func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingcall: IncomingCall) {}
        }
        """
      ).isEmpty)
  }
}
