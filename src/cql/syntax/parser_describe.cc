// DESCRIBE, whose targets are keywords before they are names.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

constexpr TokenSet kDescribed = {Tok::kFull,         Tok::kSchema, Tok::kKeyspace,
                                 Tok::kColumnfamily, Tok::kIndex,  Tok::kMaterialized};
constexpr TokenSet kNameFollow = {Tok::kWith, Tok::kDot, Tok::kSemicolon, Tok::kEnd};

}  // namespace

bool Parser::describe_statement(ast::Describe& out) {
  if (!accept(Tok::kDesc) && !expect(Tok::kDescribe)) return false;
  if (!describe_target(out)) return false;
  out.with_internals = accept(Tok::kWith);
  return !out.with_internals || expect(Tok::kInternals);
}

bool Parser::describe_target(ast::Describe& out) {
  using Kind = ast::Describe::Kind;
  constexpr TokenSet kLists = {Tok::kCluster, Tok::kKeyspaces, Tok::kTables,
                               Tok::kTypes,   Tok::kFunctions, Tok::kAggregates};
  auto alone = [&](Kind kind) {
    out.kind = kind;
    advance();
    return true;
  };
  // TYPE, FUNCTION, AGGREGATE and ONLY name something themselves when nothing comes after them.
  auto is_name = [&] { return kNameFollow.contains(peek(1)); };
  if (kLists.contains(peek())) decided(2);
  if (kDescribed.contains(peek()) || kNames.contains(peek())) decided(1);
  switch (peek()) {
    case Tok::kCluster:
      return alone(Kind::kCluster);
    case Tok::kSchema:
      return alone(Kind::kSchema);
    case Tok::kKeyspaces:
      return alone(Kind::kKeyspaces);
    case Tok::kTables:
      return alone(Kind::kTables);
    case Tok::kTypes:
      return alone(Kind::kTypes);
    case Tok::kFunctions:
      return alone(Kind::kFunctions);
    case Tok::kAggregates:
      return alone(Kind::kAggregates);
    case Tok::kFull:
      return alone(Kind::kFullSchema) && expect(Tok::kSchema);
    case Tok::kColumnfamily:
      return alone(Kind::kTable) && table_name(out.name);
    case Tok::kIndex:
      return alone(Kind::kIndex) && table_name(out.name);
    case Tok::kMaterialized:
      return alone(Kind::kView) && expect(Tok::kView) && table_name(out.name);
    case Tok::kType:
      if (is_name()) return describe_generic(out);
      if (!kNames.contains(peek(1))) return fail_no_viable(1);
      decided(2);
      return alone(Kind::kType) && user_type_name(out.name);
    case Tok::kFunction:
    case Tok::kAggregate: {
      if (is_name()) return describe_generic(out);
      if (!(kNames | TokenSet{Tok::kToken, Tok::kQuestionMark}).contains(peek(1))) return fail_no_viable(1);
      decided(2);
      return alone(at(Tok::kFunction) ? Kind::kFunction : Kind::kAggregate) && function_name(out.name);
    }
    case Tok::kOnly:
      if (is_name()) return describe_generic(out);
      if (peek(1) != Tok::kKeyspace) return fail_no_viable(1);
      decided(2);
      advance();
      out.kind = Kind::kOnlyKeyspace;
      break;
    case Tok::kKeyspace:
      out.kind = Kind::kKeyspace;
      break;
    default:
      return describe_generic(out);
  }
  if (!expect(Tok::kKeyspace)) return false;
  bool named = kNames.contains(peek()) || at(Tok::kQuestionMark);
  return !named || keyspace_name(out.name.name);
}

bool Parser::describe_generic(ast::Describe& out) {
  out.kind = ast::Describe::Kind::kGeneric;
  if (!kNames.contains(peek())) return fail_no_viable();
  if (!kNameFollow.contains(peek(1))) return fail_no_viable(1);
  decided(2);
  if (peek(1) == Tok::kDot && !(ident(out.name.keyspace) && expect(Tok::kDot))) return false;
  return ident(out.name.name);
}

}  // namespace cassandra_like
