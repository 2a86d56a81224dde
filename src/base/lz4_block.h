// Raw LZ4 blocks: the format of net.jpountz.lz4, without a frame or a length around it.
#pragma once

#include "base/bytes.h"

namespace cassandra_like {

// Appends the compressed block and returns its size, which may exceed the input's.
size_t append_lz4_block(BytesView data, Bytes& out);
// Appends `size` bytes; false, and nothing appended, unless the block holds exactly that many. A few bytes cannot make it
// allocate more than they could expand to.
bool decompress_lz4_block(BytesView block, size_t size, Bytes& out);

}  // namespace cassandra_like
