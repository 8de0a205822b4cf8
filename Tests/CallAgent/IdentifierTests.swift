import AzureCommunicationCommon
import Testing

struct IdentifierTests {
  @Test func phoneNumberAssertedIDIsParsedFromRawID() {
    #expect(PhoneNumberIdentifier(phoneNumber: "anonymous").isAnonymous)
    #expect(!PhoneNumberIdentifier(phoneNumber: "+1").isAnonymous)
    for (raw, asserted) in [
      ("4:+1555_a1", "a1"), ("4:+1555", nil), ("4:_a", nil), ("4:+1555_", nil), ("4:+1_b_c", "c"), ("4:anonymous", nil),
    ] {
      let number = createCommunicationIdentifier(fromRawId: raw) as? PhoneNumberIdentifier
      #expect(number?.assertedId == asserted, "\(raw)")
    }
  }

  @Test func rawIDsMatchTheVendorsFormat() {
    let clouds: [(CommunicationCloudEnvironment, String, String)] = [
      (.Public, "orgid", "acs"), (.Dod, "dod", "dod-acs"), (.Gcch, "gcch", "gcch-acs"),
    ]
    for (cloud, scope, resource) in clouds {
      #expect(MicrosoftTeamsUserIdentifier(userId: "u", cloudEnvironment: cloud).rawId == "8:\(scope):u")
      #expect(MicrosoftTeamsAppIdentifier(appId: "a", cloudEnvironment: cloud).rawId == "28:\(scope):a")
      let settable = MicrosoftTeamsAppIdentifier(appId: "a", cloudEnvironment: cloud)
      settable.rawId = "28:other"
      #expect(settable.rawId == "28:other")
      let extended = TeamsExtensionUserIdentifier(
        userId: "u", tenantId: "t", resourceId: "r", cloudEnvironment: cloud)
      #expect(extended.rawId == "8:\(resource):r_t_u")
      let back = createCommunicationIdentifier(fromRawId: extended.rawId) as? TeamsExtensionUserIdentifier
      #expect(back == extended)
      #expect(back?.cloudEnvironment == cloud)
      #expect(back?.tenantId == "t")
      #expect(back?.userId == "u")
    }
    let visitor = MicrosoftTeamsUserIdentifier(userId: "v", isAnonymous: true)
    #expect(visitor.rawId == "8:teamsvisitor:v")
    #expect(visitor.cloudEnviroment == .Public)
    #expect(CommunicationCloudEnvironment(environmentValue: "dod") == .Dod)
    #expect(CommunicationCloudEnvironment.Gcch.getEnvironmentValue() == "gcch")
  }
}
