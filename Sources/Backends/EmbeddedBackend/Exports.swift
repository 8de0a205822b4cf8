// A backend is made with a network to simulate.
@_exported public import struct KoineSimulatedNetwork.NetworkSpec
