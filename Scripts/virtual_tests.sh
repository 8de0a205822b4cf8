# Sourced by Scripts/test and Scripts/check-sanitizers: `virtual` is the expression for `--filter` and `--skip` of the tests that take most
# CPU time and mind no wait. They run in a process of their own, beside tests that mostly wait and must not be kept waiting: a test that
# computes for seconds holds one of the few threads that all asynchronous tests of its process share.
virtual='^(AudioProcessingTests|ClusterTests|MediaEngineTests|PortingSuiteTests|RouterTests|SignalingHostTests)\.'
virtual+='|^KoineTests\.NetworkTests|^ServerTests\.ReaderGrowthTests|^CompositionTests\.(ArrangementTests|CompositionTests|RecordingOrderTests|RecordingTests)'
virtual+='|^ConformanceTests\.(ConformanceTests/(briefScenariosPassIn[AV]|s)|DefectTests|EightParticipantsTests|OrderTests)'
