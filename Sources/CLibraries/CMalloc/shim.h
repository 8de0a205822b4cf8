#pragma once
// Not in the module Glibc.
#include <malloc.h>
