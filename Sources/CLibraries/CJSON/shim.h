#pragma once
#include <json.h>

// The flags are macros over shifted casts in some releases; a function has one type everywhere.
static inline int koine_json_strict_flags(void) { return JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8; }
static inline int koine_json_plain_flags(void) { return JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE; }
