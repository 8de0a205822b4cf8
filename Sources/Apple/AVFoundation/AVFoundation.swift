@_exported public import KoineAVFoundation
