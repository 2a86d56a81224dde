// The tokens of CQL and its keywords: which words are keywords, which of them may still name things.
//
// `table` and `columnfamily` are one keyword, so are `tables` and `columnfamilies`. `schema` is a keyword of its own and
// no other word for `keyspace`, although Cassandra's grammar means it to be: its lexer never gets there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace cassandra_like {

// clang-format off
// Never a name.
#define CQL_RESERVED_KEYWORDS(X) \
  X(Add, ADD) X(Allow, ALLOW) X(Alter, ALTER) X(And, AND) X(Apply, APPLY) X(Asc, ASC) \
  X(Authorize, AUTHORIZE) X(Batch, BATCH) X(Begin, BEGIN) X(By, BY) X(Columnfamily, COLUMNFAMILY) \
  X(Create, CREATE) X(Delete, DELETE) X(Desc, DESC) X(Describe, DESCRIBE) X(Drop, DROP) \
  X(Entries, ENTRIES) X(Execute, EXECUTE) X(From, FROM) X(Full, FULL) X(Grant, GRANT) X(If, IF) \
  X(In, IN) X(Index, INDEX) X(Insert, INSERT) X(Into, INTO) X(Is, IS) X(Keyspace, KEYSPACE) \
  X(Limit, LIMIT) X(Materialized, MATERIALIZED) X(Modify, MODIFY) X(Norecursive, NORECURSIVE) \
  X(Not, NOT) X(Null, NULL) X(Of, OF) X(On, ON) X(Or, OR) X(Order, ORDER) X(Primary, PRIMARY) \
  X(Rename, RENAME) X(Revoke, REVOKE) X(Schema, SCHEMA) X(Select, SELECT) X(Set, SET) X(To, TO) \
  X(Token, TOKEN) X(Truncate, TRUNCATE) X(Unlogged, UNLOGGED) X(Update, UPDATE) X(Use, USE) \
  X(Using, USING) X(View, VIEW) X(Where, WHERE) X(With, WITH)

// May name anything.
#define CQL_UNRESERVED_KEYWORDS(X) \
  X(Access, ACCESS) X(Aggregate, AGGREGATE) X(Aggregates, AGGREGATES) X(All, ALL) X(Ann, ANN) \
  X(As, AS) X(Called, CALLED) X(Cidrs, CIDRS) X(Cluster, CLUSTER) X(Clustering, CLUSTERING) \
  X(Compact, COMPACT) X(Contains, CONTAINS) X(Custom, CUSTOM) X(Datacenters, DATACENTERS) \
  X(Default, DEFAULT) X(Exists, EXISTS) X(Filtering, FILTERING) X(Finalfunc, FINALFUNC) \
  X(Frozen, FROZEN) X(Function, FUNCTION) X(Functions, FUNCTIONS) X(Group, GROUP) X(Hashed, HASHED) \
  X(Identity, IDENTITY) X(Initcond, INITCOND) X(Input, INPUT) X(Internals, INTERNALS) X(Keys, KEYS) \
  X(Keyspaces, KEYSPACES) X(Language, LANGUAGE) X(Like, LIKE) X(List, LIST) X(Login, LOGIN) \
  X(Map, MAP) X(Masked, MASKED) X(Mbean, MBEAN) X(Mbeans, MBEANS) X(Nologin, NOLOGIN) \
  X(Nosuperuser, NOSUPERUSER) X(Only, ONLY) X(Options, OPTIONS) X(Partition, PARTITION) \
  X(Password, PASSWORD) X(Per, PER) X(Permission, PERMISSION) X(Permissions, PERMISSIONS) \
  X(Replace, REPLACE) X(Returns, RETURNS) X(Role, ROLE) X(Roles, ROLES) X(SelectMasked, SELECT_MASKED) \
  X(Sfunc, SFUNC) X(Static, STATIC) X(Storage, STORAGE) X(Stype, STYPE) X(Superuser, SUPERUSER) \
  X(Tables, TABLES) X(Trigger, TRIGGER) X(Tuple, TUPLE) X(Type, TYPE) X(Types, TYPES) \
  X(Unmask, UNMASK) X(Unset, UNSET) X(User, USER) X(Users, USERS) X(Values, VALUES) X(Vector, VECTOR)

// Native types; may name anything but a type.
#define CQL_NATIVE_KEYWORDS(X) \
  X(Ascii, ASCII) X(Bigint, BIGINT) X(Blob, BLOB) X(Boolean, BOOLEAN) X(Counter, COUNTER) \
  X(Date, DATE) X(Decimal, DECIMAL) X(Double, DOUBLE) X(Duration, DURATION) X(Float, FLOAT) \
  X(Inet, INET) X(Int, INT) X(Smallint, SMALLINT) X(Text, TEXT) X(Time, TIME) X(Timestamp, TIMESTAMP) \
  X(Timeuuid, TIMEUUID) X(Tinyint, TINYINT) X(Uuid, UUID) X(Varchar, VARCHAR) X(Varint, VARINT)

// May name anything but a function; of them, only KEY may name a type.
#define CQL_COLUMN_KEYWORDS(X) \
  X(Cast, CAST) X(Count, COUNT) X(Distinct, DISTINCT) X(Json, JSON) X(Key, KEY) \
  X(Maxwritetime, MAXWRITETIME) X(Ttl, TTL) X(Writetime, WRITETIME)
// clang-format on

enum class Tok : uint8_t {
  kEnd,
  kLexicalError,  // nothing can be read from here on
  kIdent,
  kQuotedName,
  kEmptyQuotedName,  // ""
  kStringLiteral,
  kIntegerLiteral,
  kFloatLiteral,
  kBooleanLiteral,
  kDurationLiteral,
  kUuidLiteral,
  kHexLiteral,
  kNan,
  kNegativeNan,
  kInfinity,
  kNegativeInfinity,
  kQuestionMark,
  kRange,  // ..
  kNotEqual,
  kPercent,
  kLeftParen,
  kRightParen,
  kPlus,
  kPlusEqual,
  kComma,
  kMinus,
  kMinusEqual,
  kDot,
  kSlash,
  kColon,
  kSemicolon,
  kLess,
  kLessEqual,
  kEqual,
  kGreater,
  kGreaterEqual,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kStar,
  kExpr,    // expr( in lower case and without a space, one token as in Cassandra
  kHidden,  // white space or a comment
#define X(name, text) k##name,
  CQL_RESERVED_KEYWORDS(X) CQL_UNRESERVED_KEYWORDS(X) CQL_NATIVE_KEYWORDS(X) CQL_COLUMN_KEYWORDS(X)
#undef X
      kTokCount,
};

// A set of tokens, for questions like "may this stand here?".
class TokenSet {
 public:
  constexpr TokenSet() = default;
  constexpr TokenSet(std::initializer_list<Tok> tokens) {
    for (Tok t : tokens) words_[size_t(t) / 64] |= uint64_t{1} << (size_t(t) % 64);
  }
  constexpr bool contains(Tok t) const { return (words_[size_t(t) / 64] >> (size_t(t) % 64)) & 1; }
  constexpr TokenSet operator|(const TokenSet& other) const {
    TokenSet result = *this;
    for (size_t i = 0; i < words_.size(); ++i) result.words_[i] |= other.words_[i];
    return result;
  }

 private:
  std::array<uint64_t, 4> words_{};
};
static_assert(size_t(Tok::kTokCount) <= 256);

#define X(name, text) Tok::k##name,
inline constexpr TokenSet kNativeTypes = {CQL_NATIVE_KEYWORDS(X)};
inline constexpr TokenSet kFunctionKeywords = TokenSet{CQL_UNRESERVED_KEYWORDS(X)} | kNativeTypes;
inline constexpr TokenSet kUnreservedKeywords = kFunctionKeywords | TokenSet{CQL_COLUMN_KEYWORDS(X)};
// Whether the token may name a user type.
inline constexpr TokenSet kTypeNames =
    TokenSet{CQL_UNRESERVED_KEYWORDS(X)} | TokenSet{Tok::kKey, Tok::kIdent, Tok::kQuotedName};
#undef X
// Whether the token may name a keyspace, a table, an alias; and a column, which may also be "".
inline constexpr TokenSet kNames = kUnreservedKeywords | TokenSet{Tok::kIdent, Tok::kQuotedName};
inline constexpr TokenSet kColumnNames = kNames | TokenSet{Tok::kEmptyQuotedName};
inline constexpr TokenSet kFunctionNames =
    kFunctionKeywords | TokenSet{Tok::kIdent, Tok::kQuotedName, Tok::kToken, Tok::kCount};

// The keyword which `word` is in any case, else kIdent. true, false, nan and infinity are literals, not keywords.
Tok classify_word(std::string_view word);

// The name of a token in error messages: `K_SELECT`, `IDENT`, `'('`, `EOF`.
std::string_view token_name(Tok token);

}  // namespace cassandra_like
