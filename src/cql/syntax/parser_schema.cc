// Keyspaces, types, indexes, triggers, functions, aggregates; properties.
#include "cql/syntax/parser_impl.h"

namespace cassandra_like {

bool Parser::properties(ast::Properties& out) {
  do {
    if (!property(out)) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::property(ast::Properties& out) {
  constexpr TokenSet kValues = kFunctionKeywords | kUnreservedKeywords |
                               TokenSet{Tok::kBooleanLiteral, Tok::kDurationLiteral, Tok::kFloatLiteral,
                                        Tok::kHexLiteral,     Tok::kIntegerLiteral,  Tok::kNegativeInfinity,
                                        Tok::kNegativeNan,    Tok::kInfinity,        Tok::kNan,
                                        Tok::kStringLiteral,  Tok::kUuidLiteral};
  if (!kNames.contains(peek())) return fail_no_viable();
  if (peek(1) != Tok::kEqual) return fail_no_viable(1);
  if (peek(2) != Tok::kLeftBrace && !kValues.contains(peek(2))) return fail_no_viable(2);
  decided(3);
  ast::Property property;
  if (!ident(property.name) || !expect(Tok::kEqual)) return false;
  if (at(Tok::kLeftBrace)) {
    if (!property_map(property.value.emplace<ast::Property::Map>())) return false;
  } else if (kUnreservedKeywords.contains(peek())) {
    // A keyword is taken as it is written, but types have one spelling.
    std::string& text = property.value.emplace<std::string>(value());
    if (!kNativeTypes.contains(peek())) {
      advance();
    } else if (!name(kNativeTypes, text)) {
      return false;
    }
  } else {
    ast::Literal literal;
    if (!constant(literal)) return false;
    property.value = std::move(literal.text);
  }
  for (const ast::Property& other : out) {
    if (other.name == property.name) note("Multiple definitions for property '" + property.name + "'");
  }
  out.push_back(std::move(property));
  return true;
}

// A map whose keys and values are all literals.
bool Parser::property_map(ast::Property::Map& out) {
  ast::MapLiteral map;
  if (!full_map_literal(map)) return false;
  auto source = [this](const ast::Term& term) {
    if (std::holds_alternative<ast::BindMarker>(term.value)) return std::string("?");
    return std::string(text_.substr(term.offset, term.length));
  };
  auto complaint = [](const ast::Term& term) {
    return std::holds_alternative<ast::BindMarker>(term.value) ? " (bind variables are not supported in DDL queries)"
                                                               : "";
  };
  for (auto& [key_term, value_term] : map.entries) {
    auto* key = std::get_if<ast::Literal>(&key_term.value);
    auto* value = std::get_if<ast::Literal>(&value_term.value);
    if (!key) {
      note("Invalid property name: " + source(key_term) + complaint(key_term));
      return true;
    }
    if (!value) {
      note("Invalid property value: " + source(value_term) + " for property: " + source(key_term) +
           complaint(value_term));
      return true;
    }
    for (const auto& other : out) {
      if (other.first == key->text) note("Multiple definition for property " + key->text);
    }
    out.emplace_back(std::move(key->text), std::move(value->text));
  }
  return true;
}

bool Parser::create_keyspace(ast::CreateKeyspace& out) {
  return expect(Tok::kCreate, Tok::kKeyspace) && if_not_exists(out.if_not_exists) && keyspace_name(out.keyspace) &&
         expect(Tok::kWith) && properties(out.properties);
}

bool Parser::alter_keyspace(ast::AlterKeyspace& out) {
  return expect(Tok::kAlter, Tok::kKeyspace) && if_exists(out.if_exists) && keyspace_name(out.keyspace) &&
         expect(Tok::kWith) && properties(out.properties);
}

bool Parser::drop_keyspace(ast::DropKeyspace& out) {
  return expect(Tok::kDrop, Tok::kKeyspace) && if_exists(out.if_exists) && keyspace_name(out.keyspace);
}

bool Parser::create_type(ast::CreateType& out) {
  if (!expect(Tok::kCreate, Tok::kType) || !if_not_exists(out.if_not_exists)) return false;
  if (!user_type_name(out.type) || !expect(Tok::kLeftParen)) return false;
  auto field = [&] {
    auto& [name, type] = out.fields.emplace_back();
    return ident(name) && comparator_type(type);
  };
  if (!field()) return false;
  while (accept(Tok::kComma)) {
    if (kNames.contains(peek()) && !field()) return false;
  }
  return expect(Tok::kRightParen);
}

bool Parser::alter_type(ast::AlterType& out) {
  if (!expect(Tok::kAlter, Tok::kType) || !if_exists(out.if_exists) || !user_type_name(out.type)) return false;
  if (accept(Tok::kAlter)) {
    auto& change = out.change.emplace<ast::AlterColumnType>();
    return ident(change.column) && expect(Tok::kType) && comparator_type(change.type);
  }
  if (accept(Tok::kAdd)) {
    auto& change = out.change.emplace<ast::AddField>();
    return if_not_exists(change.if_not_exists) && ident(change.field) && comparator_type(change.type);
  }
  if (!accept(Tok::kRename)) return fail_no_viable();
  return rename_columns(out.change.emplace<ast::RenameColumns>());
}

bool Parser::drop_type(ast::DropType& out) {
  return expect(Tok::kDrop, Tok::kType) && if_exists(out.if_exists) && user_type_name(out.type);
}

bool Parser::create_index(ast::CreateIndex& out) {
  if (!expect(Tok::kCreate)) return false;
  out.custom = accept(Tok::kCustom);
  if (!expect(Tok::kIndex) || !if_not_exists(out.if_not_exists)) return false;
  bool named = kNames.contains(peek()) || at(Tok::kQuestionMark);
  if (named && !bindable_name("index", out.name)) return false;
  if (!expect(Tok::kOn) || !table_name(out.table) || !expect(Tok::kLeftParen)) return false;
  bool has_targets = kColumnNames.contains(peek()) || at(Tok::kEntries) || at(Tok::kFull);
  if (has_targets && !list([&] { return index_target(out.targets.emplace_back()); })) return false;
  if (!expect(Tok::kRightParen)) return false;
  if (accept(Tok::kUsing) && !expect_value(Tok::kStringLiteral, out.using_class.emplace())) return false;
  return !accept(Tok::kWith) || properties(out.properties);
}

// A column, or one of four functions of it, of which VALUES and KEYS may be columns themselves.
bool Parser::index_target(ast::IndexTarget& out) {
  using Kind = ast::IndexTarget::Kind;
  Tok first = peek();
  if (first == Tok::kEntries || first == Tok::kFull) {
    out.kind = first == Tok::kEntries ? Kind::kEntries : Kind::kFull;
  } else if (first == Tok::kValues || first == Tok::kKeys) {
    Tok second = peek(1);
    if (second == Tok::kLeftParen) {
      out.kind = first == Tok::kValues ? Kind::kValues : Kind::kKeys;
    } else if (second != Tok::kRightParen && second != Tok::kComma) {
      return fail_no_viable(1);
    }
  }
  if (out.kind == Kind::kSimple) return column_ident(out.column);
  advance();
  return expect(Tok::kLeftParen) && column_ident(out.column) && expect(Tok::kRightParen);
}

bool Parser::drop_index(ast::DropIndex& out) {
  return expect(Tok::kDrop, Tok::kIndex) && if_exists(out.if_exists) && index_name(out.index);
}

bool Parser::create_trigger(ast::CreateTrigger& out) {
  return expect(Tok::kCreate, Tok::kTrigger) && if_not_exists(out.if_not_exists) && ident(out.name) &&
         expect(Tok::kOn) && table_name(out.table) && expect(Tok::kUsing) &&
         expect_value(Tok::kStringLiteral, out.class_name);
}

bool Parser::drop_trigger(ast::DropTrigger& out) {
  return expect(Tok::kDrop, Tok::kTrigger) && if_exists(out.if_exists) && ident(out.name) && expect(Tok::kOn) &&
         table_name(out.table);
}

bool Parser::create_function(ast::CreateFunction& out) {
  if (!expect(Tok::kCreate)) return false;
  out.or_replace = accept(Tok::kOr);
  if (out.or_replace && !expect(Tok::kReplace)) return false;
  if (!expect(Tok::kFunction) || !if_not_exists(out.if_not_exists)) return false;
  if (!function_name(out.function) || !expect(Tok::kLeftParen)) return false;
  auto argument = [&] {
    auto& [name, type] = out.arguments.emplace_back();
    return ident(name) && comparator_type(type);
  };
  if (kNames.contains(peek()) && !list(argument)) return false;
  if (!expect(Tok::kRightParen)) return false;
  if (accept(Tok::kReturns)) {
    if (!expect(Tok::kNull)) return false;
  } else if (accept(Tok::kCalled)) {
    out.called_on_null_input = true;
  } else {
    return fail_no_viable();
  }
  if (!expect(Tok::kOn, Tok::kNull) || !expect(Tok::kInput, Tok::kReturns)) return false;
  if (!comparator_type(out.return_type) || !expect(Tok::kLanguage)) return false;
  if (!at(Tok::kIdent)) return fail_mismatched(Tok::kIdent);
  return ident(out.language) && expect(Tok::kAs) && expect_value(Tok::kStringLiteral, out.body);
}

bool Parser::create_aggregate(ast::CreateAggregate& out) {
  if (!expect(Tok::kCreate)) return false;
  out.or_replace = accept(Tok::kOr);
  if (out.or_replace && !expect(Tok::kReplace)) return false;
  if (!expect(Tok::kAggregate) || !if_not_exists(out.if_not_exists)) return false;
  if (!function_name(out.aggregate) || !expect(Tok::kLeftParen)) return false;
  if (starts_type() && !type_list(out.argument_types)) return false;
  if (!expect(Tok::kRightParen, Tok::kSfunc) || !local_function_name(out.state_function)) return false;
  if (!expect(Tok::kStype) || !comparator_type(out.state_type)) return false;
  if (accept(Tok::kFinalfunc) && !local_function_name(out.final_function.emplace())) return false;
  return !accept(Tok::kInitcond) || term(out.initial_condition.emplace());
}

bool Parser::drop_function(ast::DropFunction& out) {
  if (!expect(Tok::kDrop)) return false;
  out.aggregate = accept(Tok::kAggregate);
  if (!out.aggregate && !expect(Tok::kFunction)) return false;
  if (!if_exists(out.if_exists) || !function_name(out.function)) return false;
  if (!accept(Tok::kLeftParen)) return true;
  auto& types = out.argument_types.emplace();
  return (!starts_type() || type_list(types)) && expect(Tok::kRightParen);
}

}  // namespace cassandra_like
