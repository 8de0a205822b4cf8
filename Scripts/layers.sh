# Sourced by Scripts/check-layers and Scripts/check-mutants: the call layers of Samples/porting.

# Target of the app, its folder in Samples/apps, its call class, the style of the layer, the prefix of the layer's names. With prefixes of
# their own, the layers are files of one module, Tests/PortingSuite.
ported_layers=(
  EventListenerApp:event-listener:CallModel:koine:Koine
  MeetingSessionApp:meeting-session:CallModel:koine:KoineMeeting
  CallAgentApp:call-agent:CallModel:koine:KoineAgent
  StageStrategyApp:stage-strategy:StageModel:koine:KoineStage
  EventListenerApp:event-listener:CallModel:meeting-session:Meeting
  StageStrategyApp:stage-strategy:StageModel:meeting-session:MeetingStage
  CallAgentApp:call-agent:CallModel:meeting-session:MeetingAgent
  EventListenerApp:event-listener:CallModel:stage-strategy:Stage
  EventListenerApp:event-listener:CallModel:call-agent:Azure
  StageStrategyApp:stage-strategy:StageModel:event-listener:ListenerStage
  StageStrategyApp:stage-strategy:StageModel:call-agent:AzureStage
  CallAgentApp:call-agent:CallModel:event-listener:ListenerAgent
  CallAgentApp:call-agent:CallModel:stage-strategy:StageAgent
  MeetingSessionApp:meeting-session:CallModel:event-listener:ListenerMeeting
  MeetingSessionApp:meeting-session:CallModel:stage-strategy:StageMeeting
  MeetingSessionApp:meeting-session:CallModel:call-agent:AzureMeeting
)

# layer_folder APP STYLE: the folder of the layer in Samples/porting.
layer_folder() { if [ "$2" = koine ]; then echo "$1"; else echo "$1-to-$2"; fi; }
