#include "cql/values/serialize_elements.h"

#include <algorithm>

#include "base/vint.h"

namespace cassandra_like {

Bytes serialize_list(const std::vector<BytesView>& values) {
  Bytes out;
  append_be<int32_t>(out, static_cast<int32_t>(values.size()));
  for (BytesView value : values) append_element(out, value);
  return out;
}

Bytes serialize_sorted(const Type& key, std::vector<BytesView> values, size_t stride) {
  std::vector<size_t> order;
  for (size_t i = 0; i < values.size(); i += stride) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return key.compare(values[a], values[b]) < 0; });
  std::vector<size_t> unique;
  for (size_t i : order) {
    if (!unique.empty() && key.compare(values[unique.back()], values[i]) == 0) {
      std::copy_n(values.begin() + static_cast<ptrdiff_t>(i) + 1, stride - 1,
                  values.begin() + static_cast<ptrdiff_t>(unique.back()) + 1);
    } else {
      unique.push_back(i);
    }
  }
  Bytes out;
  append_be<int32_t>(out, static_cast<int32_t>(unique.size()));
  for (size_t i : unique) {
    for (size_t k = 0; k < stride; ++k) append_element(out, values[i + k]);
  }
  return out;
}

Bytes serialize_tuple(const std::vector<BytesView>& values) {
  Bytes out;
  for (BytesView value : values) append_element(out, value);
  return out;
}

Bytes serialize_vector(const Type& element, const std::vector<BytesView>& values) {
  Bytes out;
  for (BytesView value : values) {
    if (element.fixed_length() < 0) append_unsigned_vint(out, value.size());
    out.append(value);
  }
  return out;
}

}  // namespace cassandra_like
