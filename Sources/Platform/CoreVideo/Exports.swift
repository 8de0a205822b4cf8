@_exported public import KoineObjectiveC
