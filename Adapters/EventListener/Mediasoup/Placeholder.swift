// The room is being built.
