// Every module that uses what is here uses the clock, too.
@_exported public import KoineMedia
