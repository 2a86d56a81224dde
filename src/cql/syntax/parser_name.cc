// Names and types.
#include <charconv>

#include "cql/syntax/parser_impl.h"
#include "model/types.h"

namespace cassandra_like {
namespace {

constexpr TokenSet kQuestionMark = {Tok::kQuestionMark};

// The tokens that can follow a table's name in some statement; after another token its parts are not read at all.
constexpr TokenSet kTableFollow = {
    Tok::kAdd,   Tok::kAllow, Tok::kAlter, Tok::kAs,   Tok::kDrop,      Tok::kFrom,        Tok::kGroup,  Tok::kJson,
    Tok::kLimit, Tok::kOf,    Tok::kOrder, Tok::kPer,  Tok::kPrimary,   Tok::kNorecursive, Tok::kRename, Tok::kSet,
    Tok::kTo,    Tok::kUsing, Tok::kWhere, Tok::kWith, Tok::kLeftParen, Tok::kSemicolon,   Tok::kEnd};
constexpr TokenSet kIndexFollow = {Tok::kSemicolon, Tok::kEnd};
constexpr TokenSet kFunctionFollow = {Tok::kWith, Tok::kLeftParen, Tok::kSemicolon, Tok::kEnd};
constexpr TokenSet kTypeFollow = {Tok::kFinalfunc, Tok::kInitcond, Tok::kLanguage,   Tok::kMasked,
                                  Tok::kPrimary,   Tok::kStatic,   Tok::kRightParen, Tok::kComma,
                                  Tok::kSemicolon, Tok::kGreater,  Tok::kEnd};

constexpr TokenSet kTypeStart = kNames | TokenSet{Tok::kSet, Tok::kStringLiteral};

void fold(std::string& s) {
  for (char& c : s) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
}

bool can_freeze(const ast::TypeName& type) {
  return type.kind != ast::TypeName::Kind::kNative && type.kind != ast::TypeName::Kind::kCustom;
}

void freeze(ast::TypeName& type) {
  type.frozen = true;
  bool is_collection = type.kind == ast::TypeName::Kind::kList || type.kind == ast::TypeName::Kind::kSet ||
                       type.kind == ast::TypeName::Kind::kMap;
  if (!is_collection) return;
  for (ast::TypeName& parameter : type.parameters) {
    if (can_freeze(parameter)) freeze(parameter);
  }
}

}  // namespace

bool Parser::name(const TokenSet& allowed, std::string& out) {
  Tok token = peek();
  if (!allowed.contains(token)) return fail_no_viable();
  out = value();
  if (token != Tok::kQuotedName && token != Tok::kEmptyQuotedName) fold(out);
  advance();
  return true;
}

// A name where the grammar takes a `?` only to refuse it.
bool Parser::bindable_name(const char* kind, std::string& out) {
  if (!accept(Tok::kQuestionMark)) return name(kNames, out);
  note(std::string("Bind variables cannot be used for ") + kind + " names");
  return true;
}

bool Parser::qualified_name(const TokenSet& follow, const char* kind, ast::QualifiedName& out) {
  if (!(kNames | kQuestionMark).contains(peek())) return fail_no_viable();
  Tok second = peek(1);
  if (second != Tok::kDot && !follow.contains(second)) return fail_no_viable(1);
  decided(2);
  if (second != Tok::kDot) return bindable_name(kind, out.name);
  return keyspace_name(out.keyspace) && expect(Tok::kDot) && bindable_name(kind, out.name);
}

bool Parser::table_name(ast::QualifiedName& out) { return qualified_name(kTableFollow, "table", out); }

bool Parser::index_name(ast::QualifiedName& out) { return qualified_name(kIndexFollow, "index", out); }

bool Parser::user_type_name(ast::QualifiedName& out) {
  bool qualified = kNames.contains(peek()) && (!kTypeNames.contains(peek()) || peek(1) == Tok::kDot);
  if (qualified && !(ident(out.keyspace) && expect(Tok::kDot))) return false;
  return type_ident(out.name);
}

bool Parser::type_ident(std::string& out) {
  bool unquoted = at(Tok::kIdent);
  std::string written = unquoted ? value() : "";
  if (!name(kTypeNames, out)) return false;
  if (unquoted && types::is_reserved_name(written)) note("Invalid (reserved) user type name " + written);
  return true;
}

bool Parser::function_name(ast::QualifiedName& out) {
  Tok first = peek();
  bool may_be_keyspace = (kNames | kQuestionMark).contains(first);
  if (!may_be_keyspace && first != Tok::kToken) return fail_no_viable();
  bool qualified = may_be_keyspace && !kFunctionNames.contains(first);
  if (may_be_keyspace && !qualified) {
    Tok second = peek(1);
    if (second != Tok::kDot && !kFunctionFollow.contains(second)) return fail_no_viable(1);
    qualified = second == Tok::kDot;
    decided(2);
  }
  decided(1);
  if (qualified && !(keyspace_name(out.keyspace) && expect(Tok::kDot))) return false;
  return local_function_name(out.name);
}

// A keyword that is no type stays in the case that it is written in.
bool Parser::local_function_name(std::string& out) {
  const Tok token = peek();
  const bool as_written = kFunctionKeywords.contains(token) && !kNativeTypes.contains(token);
  const std::string written = as_written ? value() : "";
  if (!name(kFunctionNames, out)) return false;
  if (as_written) out = written;
  return true;
}

bool Parser::role_name(std::string& out) {
  if (at(Tok::kStringLiteral)) return expect_value(Tok::kStringLiteral, out);
  return bindable_name("role", out);
}

// The name of a user or identity: in any case, but not as a quoted name.
bool Parser::deprecated_name(const char* complaint, std::string& out) {
  Tok token = peek();
  if (token != Tok::kIdent && token != Tok::kStringLiteral && token != Tok::kQuotedName) return fail_no_viable();
  out = value();
  advance();
  if (token == Tok::kQuotedName) note(complaint);
  return true;
}

// Cassandra's parser makes the type of a class as soon as it has read the name.
void Parser::check_custom_type(const std::string& class_name) {
  auto type = types::parse_class(class_name);
  if (type.ok()) return;
  const bool syntax = type.error().code() == ErrorCode::kSyntaxError;
  note((syntax ? "Cannot parse type " : "Error setting type ") + class_name + ": " + type.error().message());
}

bool Parser::comparator_type(ast::TypeName& out) {
  Nested nested(*this);
  if (!check_depth()) return false;
  using Kind = ast::TypeName::Kind;
  Tok first = peek();
  if (kTypeStart.contains(first)) decided(1);
  if (first == Tok::kStringLiteral) {
    out.kind = Kind::kCustom;
    if (!expect_value(Tok::kStringLiteral, out.name)) return false;
    check_custom_type(out.name);
    return true;
  }
  if (first == Tok::kSet) return parametrized_type(Kind::kSet, out);
  if (!kNames.contains(first)) return fail_no_viable();
  // Names of types are decided by the second token; other words name a user type, whatever follows.
  bool is_native = kNativeTypes.contains(first);
  bool is_template = first == Tok::kMap || first == Tok::kList || first == Tok::kTuple || first == Tok::kVector ||
                     first == Tok::kFrozen;
  if (is_native || is_template) {
    Tok second = peek(1);
    if (is_native && kTypeFollow.contains(second)) return decided(2) && native_type(out);
    if (is_template && second == Tok::kLess) {
      decided(2);
      if (first == Tok::kFrozen) return frozen_type(out);
      return parametrized_type(first == Tok::kMap     ? Kind::kMap
                               : first == Tok::kList  ? Kind::kList
                               : first == Tok::kTuple ? Kind::kTuple
                                                      : Kind::kVector,
                               out);
    }
    if (second != Tok::kDot && !(is_template && kTypeFollow.contains(second))) return fail_no_viable(1);
    decided(2);
  }
  ast::QualifiedName udt;
  if (!user_type_name(udt)) return false;
  out.kind = Kind::kUdt;
  out.keyspace = std::move(udt.keyspace);
  out.name = std::move(udt.name);
  return true;
}

bool Parser::native_type(ast::TypeName& out) {
  out.kind = ast::TypeName::Kind::kNative;
  return name(kNativeTypes, out.name);
}

bool Parser::parametrized_type(ast::TypeName::Kind kind, ast::TypeName& out) {
  using Kind = ast::TypeName::Kind;
  out.kind = kind;
  advance();
  if (!expect(Tok::kLess) || !comparator_type(out.parameters.emplace_back())) return false;
  if (kind == Kind::kMap) {
    if (!expect(Tok::kComma) || !comparator_type(out.parameters.emplace_back())) return false;
  }
  if (kind == Kind::kVector) {
    std::string dimension;
    if (!expect(Tok::kComma) || !expect_value(Tok::kIntegerLiteral, dimension)) return false;
    const char* end = dimension.data() + dimension.size();
    if (std::from_chars(dimension.data(), end, out.dimension).ec != std::errc())
      return fail_with(Error(ErrorCode::kSyntaxError, "Invalid vector dimension: " + dimension));
  }
  while (kind == Kind::kTuple && accept(Tok::kComma)) {
    if (!comparator_type(out.parameters.emplace_back())) return false;
  }
  if (kind == Kind::kTuple || kind == Kind::kVector) out.frozen = true;
  for (ast::TypeName& parameter : out.parameters) {
    if (kind == Kind::kTuple && can_freeze(parameter)) freeze(parameter);
  }
  return expect(Tok::kGreater);
}

bool Parser::frozen_type(ast::TypeName& out) {
  if (!expect(Tok::kFrozen, Tok::kLess) || !comparator_type(out) || !expect(Tok::kGreater)) return false;
  if (can_freeze(out)) {
    freeze(out);
  } else {
    std::string quote = out.kind == ast::TypeName::Kind::kCustom ? "'" : "";
    note("frozen<> is only allowed on collections, tuples, and user-defined types (got " + quote + out.name + quote +
         ")");
  }
  return true;
}

// Types with commas between them.
bool Parser::type_list(std::vector<ast::TypeName>& out) {
  return list([&] { return comparator_type(out.emplace_back()); });
}

bool Parser::starts_type() { return kTypeStart.contains(peek()); }

}  // namespace cassandra_like
