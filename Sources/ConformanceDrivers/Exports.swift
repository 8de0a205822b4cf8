// The drivers are made from a style, and their rooms from a network to simulate.
@_exported public import enum KoineBase.Style
@_exported public import struct KoineSimulatedNetwork.NetworkSpec
