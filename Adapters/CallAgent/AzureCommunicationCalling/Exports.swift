// `import AzureCommunicationCalling` alone shows identifiers, credentials, views, devices and CallKit, as with the vendor's binaries.
@_exported public import AzureCommunicationCommon
@_exported public import Foundation
@_exported public import FoundationNetworking
@_exported public import KoineAVFoundation
@_exported public import KoineCallKit
@_exported public import KoineCoreVideo
@_exported public import KoineUIKit
