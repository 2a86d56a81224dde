// Whether this program runs under the address sanitizer, which makes it some twenty times slower: tests that search with many
// random seeds take fewer there. The release program searches with all of them.
#pragma once

namespace cassandra_like::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace cassandra_like::test
