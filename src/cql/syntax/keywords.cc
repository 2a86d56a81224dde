#include "cql/syntax/keywords.h"

#include <cstring>
#include <iterator>

namespace cassandra_like {
namespace {

struct Keyword {
  std::string_view text;  // upper case
  Tok token = Tok::kIdent;
};

constexpr Keyword kKeywords[] = {
#define X(name, text) {#text, Tok::k##name},
    CQL_RESERVED_KEYWORDS(X) CQL_UNRESERVED_KEYWORDS(X) CQL_NATIVE_KEYWORDS(X) CQL_COLUMN_KEYWORDS(X)
#undef X
        {"TABLE", Tok::kColumnfamily},
    {"COLUMNFAMILIES", Tok::kTables},
    {"TRUE", Tok::kBooleanLiteral},
    {"FALSE", Tok::kBooleanLiteral},
    {"NAN", Tok::kNan},
    {"INFINITY", Tok::kInfinity},
};

constexpr size_t kLongestKeyword = 14;
constexpr size_t kTableSize = 1024;

// A hash of upper-case words of at least two characters.
constexpr size_t hash_of(const char* word, size_t size) {
  size_t h = size * 31 + uint8_t(word[0]) * 7 + uint8_t(word[size - 1]) * 131 + uint8_t(word[size / 2]) * 1021 +
             uint8_t(word[1]) * 257;
  return (h ^ (h >> 7)) % kTableSize;
}

// Open addressing; a free slot has an empty text.
constexpr std::array<Keyword, kTableSize> make_table() {
  std::array<Keyword, kTableSize> table{};
  for (const Keyword& keyword : kKeywords) {
    size_t slot = hash_of(keyword.text.data(), keyword.text.size());
    while (!table[slot].text.empty()) slot = (slot + 1) % kTableSize;
    table[slot] = keyword;
  }
  return table;
}

constexpr auto kTable = make_table();

// In the order of Tok.
constexpr std::string_view kTokenNames[] = {
    "EOF",
    "<invalid>",
    "IDENT",
    "QUOTED_NAME",
    "EMPTY_QUOTED_NAME",
    "STRING_LITERAL",
    "INTEGER",
    "FLOAT",
    "BOOLEAN",
    "DURATION",
    "UUID",
    "HEXNUMBER",
    "K_POSITIVE_NAN",
    "K_NEGATIVE_NAN",
    "K_POSITIVE_INFINITY",
    "K_NEGATIVE_INFINITY",
    "QMARK",
    "RANGE",
    "'!='",
    "'%'",
    "'('",
    "')'",
    "'+'",
    "'+='",
    "','",
    "'-'",
    "'-='",
    "'.'",
    "'/'",
    "':'",
    "';'",
    "'<'",
    "'<='",
    "'='",
    "'>'",
    "'>='",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'\\*'",
    "'expr('",
    "WS",
#define X(name, text) "K_" #text,
    CQL_RESERVED_KEYWORDS(X) CQL_UNRESERVED_KEYWORDS(X) CQL_NATIVE_KEYWORDS(X) CQL_COLUMN_KEYWORDS(X)
#undef X
};
static_assert(std::size(kTokenNames) == size_t(Tok::kTokCount));

}  // namespace

Tok classify_word(std::string_view word) {
  if (word.size() < 2 || word.size() > kLongestKeyword) return Tok::kIdent;
  char upper[kLongestKeyword];
  for (size_t i = 0; i < word.size(); ++i) {
    char c = word[i];
    upper[i] = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  }
  size_t slot = hash_of(upper, word.size());
  while (!kTable[slot].text.empty()) {
    const Keyword& keyword = kTable[slot];
    if (keyword.text.size() == word.size() && std::memcmp(keyword.text.data(), upper, word.size()) == 0) {
      return keyword.token;
    }
    slot = (slot + 1) % kTableSize;
  }
  return Tok::kIdent;
}

std::string_view token_name(Tok token) { return kTokenNames[size_t(token)]; }

}  // namespace cassandra_like
