// Whether the value of a message's param is what its type says.
#pragma once

#include "messaging/wire/message.h"

namespace cassandra_like {

// True for every value of a type that is not known.
bool is_valid_param(uint64_t type, BytesView value);

}  // namespace cassandra_like
