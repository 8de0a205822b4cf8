// swift-format-ignore-file

import AzureCommunicationCalling

// The vendor's quickstart as it reads, in the 1.x names. Left out is what only draws (SwiftUI); `@State` is a stand-in;
// `endCall` and `callRemoved`, which the page uses and never shows, are ours, as is `begin`, which does what the page puts
// into `onAppear`; a loop variable that the page names and never reads is `_`.

@propertyWrapper
struct State<Value> {
    final class Box { var value: Value; init(_ value: Value) { self.value = value } }
    private let box: Box
    init(wrappedValue: Value) { box = Box(wrappedValue) }
    var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
}

extension State where Value: ExpressibleByNilLiteral {
    init() { self.init(wrappedValue: nil) }
}

struct ContentView {
    @State var callee: String = ""
    @State var callClient: CallClient?
    @State var callAgent: CallAgent?
    @State var call: Call?
    @State var deviceManager: DeviceManager?
    @State var localVideoStream:[LocalVideoStream]?
    @State var incomingCall: IncomingCall?
    @State var sendingVideo:Bool = false
    @State var errorMessage:String = "Unknown"
    @State var remoteVideoStreamData:[Int32:RemoteVideoStreamData] = [:]
    @State var previewRenderer:VideoStreamRenderer? = nil
    @State var previewView:RendererView? = nil
    @State var remoteRenderer:VideoStreamRenderer? = nil
    @State var remoteViews:[RendererView] = []
    @State var remoteParticipant: RemoteParticipant?
    @State var remoteVideoSize:String = "Unknown"
    @State var isIncomingCall:Bool = false
    @State var callObserver:CallObserver?
    @State var remoteParticipantObserver:RemoteParticipantObserver?

    func begin(token: String) {
        let incomingCallHandler = IncomingCallHandler.getOrCreateInstance()
        incomingCallHandler.contentView = self
        var userCredential: CommunicationTokenCredential?
        do {
            userCredential = try CommunicationTokenCredential(token: token)
        } catch {
            print("ERROR: It was not possible to create user credential.")
            return
        }
        self.callClient = CallClient()
        self.callClient?.createCallAgent(userCredential: userCredential!) { (agent, error) in
            if error != nil {
                print("ERROR: It was not possible to create a call agent.")
                return
            }
        
            else {
                self.callAgent = agent
                print("Call agent successfully created.")
                self.callAgent!.delegate = incomingCallHandler
                self.callClient?.getDeviceManager { (deviceManager, error) in
                    if (error == nil) {
                        print("Got device manager instance")
                        self.deviceManager = deviceManager
                    } else {
                        print("Failed to get device manager instance")
                    }
                }
            }
        }
        AVAudioSession.sharedInstance().requestRecordPermission { (granted) in
            if granted {
                AVCaptureDevice.requestAccess(for: .video) { (videoGranted) in
                    /* NO OPERATION */
                }
            }
        }
    }

    func endCall() {
        call?.hangUp(options: HangUpOptions()) { (error) in
            if (error != nil) {
                print("ERROR: It was not possible to hangup the call.")
            }
        }
    }

    func callRemoved(_ removedCall: Call) {
        call = nil
        remoteViews.removeAll()
        sendingVideo = false
        previewRenderer?.dispose()
        previewRenderer = nil
        previewView = nil
    }

    func toggleLocalVideo() {
        // toggling video before call starts
        if (call == nil)
        {
            if(!sendingVideo)
            {
                self.callClient = CallClient()
                self.callClient?.getDeviceManager { (deviceManager, error) in
                    if (error == nil) {
                        print("Got device manager instance")
                        self.deviceManager = deviceManager
                    } else {
                        print("Failed to get device manager instance")
                    }
                }
                guard let deviceManager = deviceManager else {
                    return
                }
                let camera = deviceManager.cameras.first
                let scalingMode = ScalingMode.fit
                if (self.localVideoStream == nil) {
                    self.localVideoStream = [LocalVideoStream]()
                }
                localVideoStream!.append(LocalVideoStream(camera: camera!))
                previewRenderer = try! VideoStreamRenderer(localVideoStream: localVideoStream!.first!)
                previewView = try! previewRenderer!.createView(withOptions: CreateViewOptions(scalingMode:scalingMode))
                self.sendingVideo = true
            }
            else{
                self.sendingVideo = false
                self.previewView = nil
                self.previewRenderer!.dispose()
                self.previewRenderer = nil
            }
        }
        // toggle local video during the call
        else{
            if (sendingVideo) {
                call!.stopVideo(stream: localVideoStream!.first!) { (error) in
                    if (error != nil) {
                        print("cannot stop video")
                    }
                    else {
                        self.sendingVideo = false
                        self.previewView = nil
                        self.previewRenderer!.dispose()
                        self.previewRenderer = nil
                    }
                }
            }
            else {
                guard let deviceManager = deviceManager else {
                    return
                }
                let camera = deviceManager.cameras.first
                let scalingMode = ScalingMode.fit
                if (self.localVideoStream == nil) {
                    self.localVideoStream = [LocalVideoStream]()
                }
                localVideoStream!.append(LocalVideoStream(camera: camera!))
                previewRenderer = try! VideoStreamRenderer(localVideoStream: localVideoStream!.first!)
                previewView = try! previewRenderer!.createView(withOptions: CreateViewOptions(scalingMode:scalingMode))
                call!.startVideo(stream:(localVideoStream?.first)!) { (error) in
                    if (error != nil) {
                        print("cannot start video")
                    }
                    else {
                        self.sendingVideo = true
                    }
                }
            }
        }
    }

    func startCall() {
            let startCallOptions = StartCallOptions()
            if(sendingVideo)
            {
                if (self.localVideoStream == nil) {
                    self.localVideoStream = [LocalVideoStream]()
                }
                let videoOptions = VideoOptions(localVideoStreams: localVideoStream!)
                startCallOptions.videoOptions = videoOptions
            }
            let callees:[CommunicationIdentifier] = [CommunicationUserIdentifier(self.callee)]
            self.callAgent?.startCall(participants: callees, options: startCallOptions) { (call, error) in
                setCallAndObersever(call: call, error: error)
            }
        }

    func setCallAndObersever(call:Call!, error:Error?) {
        if (error == nil) {
            self.call = call
            self.callObserver = CallObserver(self)
            self.call!.delegate = self.callObserver
            self.remoteParticipantObserver = RemoteParticipantObserver(self)
        } else {
            print("Failed to get call object")
        }
    }

    func showIncomingCallBanner(_ incomingCall: IncomingCall?) {
        isIncomingCall = true
        self.incomingCall = incomingCall
    }

    func answerIncomingCall() {
        isIncomingCall = false
        let options = AcceptCallOptions()
        if (self.incomingCall != nil) {
            guard let deviceManager = deviceManager else {
                return
            }        
            if (self.localVideoStream == nil) {
                self.localVideoStream = [LocalVideoStream]()
            }
            if(sendingVideo)
            {
                let camera = deviceManager.cameras.first
                localVideoStream!.append(LocalVideoStream(camera: camera!))
                let videoOptions = VideoOptions(localVideoStreams: localVideoStream!)
                options.videoOptions = videoOptions
            }
            self.incomingCall!.accept(options: options) { (call, error) in
                setCallAndObersever(call: call, error: error)
            }
        }
    }

    func declineIncomingCall(){
        self.incomingCall!.reject { (error) in }
        isIncomingCall = false
    }

}

final class IncomingCallHandler: NSObject, CallAgentDelegate, IncomingCallDelegate {
    public var contentView: ContentView?
    private var incomingCall: IncomingCall?

    private static var instance: IncomingCallHandler?
    static func getOrCreateInstance() -> IncomingCallHandler {
        if let c = instance {
            return c
        }
        instance = IncomingCallHandler()
        return instance!
    }

    private override init() {}
    
    public func callAgent(_ callAgent: CallAgent, didRecieveIncomingCall incomingCall: IncomingCall) {
        self.incomingCall = incomingCall
        self.incomingCall?.delegate = self
        contentView?.showIncomingCallBanner(self.incomingCall!)
    }
    
    public func callAgent(_ callAgent: CallAgent, didUpdateCalls args: CallsUpdatedEventArgs) {
        if let removedCall = args.removedCalls.first {
            contentView?.callRemoved(removedCall)
            self.incomingCall = nil
        }
    }
}

public class RemoteVideoStreamData : NSObject, RendererDelegate {
    public func videoStreamRenderer(didFailToStart renderer: VideoStreamRenderer) {
        owner.errorMessage = "Renderer failed to start"
    }
    
    private var owner:ContentView
    let stream:RemoteVideoStream
    var renderer:VideoStreamRenderer? {
        didSet {
            if renderer != nil {
                renderer!.delegate = self
            }
        }
    }
    
    var views:[RendererView] = []
    init(view:ContentView, stream:RemoteVideoStream) {
        owner = view
        self.stream = stream
    }
    
    public func videoStreamRenderer(didRenderFirstFrame renderer: VideoStreamRenderer) {
        let size:StreamSize = renderer.size
        owner.remoteVideoSize = String(size.width) + " X " + String(size.height)
    }
}

public class CallObserver: NSObject, CallDelegate, IncomingCallDelegate {
    private var owner: ContentView
    init(_ view:ContentView) {
            owner = view
    }
        
    public func call(_ call: Call, didChangeState args: PropertyChangedEventArgs) {
        if(call.state == CallState.connected) {
            initialCallParticipant()
        }
    }

    // render remote video streams when remote participant changes
    public func call(_ call: Call, didUpdateRemoteParticipant args: ParticipantsUpdatedEventArgs) {
        for participant in args.addedParticipants {
            participant.delegate = owner.remoteParticipantObserver
            for stream in participant.videoStreams {
                if !owner.remoteVideoStreamData.isEmpty {
                    return
                }
                let data:RemoteVideoStreamData = RemoteVideoStreamData(view: owner, stream: stream)
                let scalingMode = ScalingMode.fit
                data.renderer = try! VideoStreamRenderer(remoteVideoStream: stream)
                let view:RendererView = try! data.renderer!.createView(withOptions: CreateViewOptions(scalingMode:scalingMode))
                data.views.append(view)
                self.owner.remoteViews.append(view)
                owner.remoteVideoStreamData[stream.id] = data
            }
            owner.remoteParticipant = participant
        }
    }

    // Handle remote video streams when the call is connected
    public func initialCallParticipant() {
        for participant in owner.call!.remoteParticipants {
            participant.delegate = owner.remoteParticipantObserver
            for stream in participant.videoStreams {
                renderRemoteStream(stream)
            }
            owner.remoteParticipant = participant
        }
    }
    
    //create render for RemoteVideoStream and attach it to view
    public func renderRemoteStream(_ stream: RemoteVideoStream!) {
        if !owner.remoteVideoStreamData.isEmpty {
            return
        }
        let data:RemoteVideoStreamData = RemoteVideoStreamData(view: owner, stream: stream)
        let scalingMode = ScalingMode.fit
        data.renderer = try! VideoStreamRenderer(remoteVideoStream: stream)
        let view:RendererView = try! data.renderer!.createView(withOptions: CreateViewOptions(scalingMode:scalingMode))
        self.owner.remoteViews.append(view)
        owner.remoteVideoStreamData[stream.id] = data
    }
}

public class RemoteParticipantObserver : NSObject, RemoteParticipantDelegate {
    private var owner:ContentView
    init(_ view:ContentView) {
        owner = view
    }

    public func renderRemoteStream(_ stream: RemoteVideoStream!) {
        let data:RemoteVideoStreamData = RemoteVideoStreamData(view: owner, stream: stream)
        let scalingMode = ScalingMode.fit
        data.renderer = try! VideoStreamRenderer(remoteVideoStream: stream)
        let view:RendererView = try! data.renderer!.createView(withOptions: CreateViewOptions(scalingMode:scalingMode))
        self.owner.remoteViews.append(view)
        owner.remoteVideoStreamData[stream.id] = data
    }
    
    // render RemoteVideoStream when remote participant turns on the video, dispose the renderer when remote video is off
    public func remoteParticipant(_ remoteParticipant: RemoteParticipant, didUpdateVideoStreams args: RemoteVideoStreamsEventArgs) {
        for stream in args.addedRemoteVideoStreams {
            renderRemoteStream(stream)
        }
        for _ in args.removedRemoteVideoStreams {
            for data in owner.remoteVideoStreamData.values {
                data.renderer?.dispose()
            }
            owner.remoteViews.removeAll()
        }
    }
}

