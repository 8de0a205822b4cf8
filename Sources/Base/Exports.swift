// Every module that imports `KoineBase` also uses the clock of `KoineMedia`.
@_exported public import KoineMedia
