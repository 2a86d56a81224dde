// CREATE, ALTER and DROP of tables, and the parts they share with materialized views.
#include <charconv>

#include "cql/syntax/parser_impl.h"

namespace cassandra_like {
namespace {

std::string display(const ast::QualifiedName& name) {
  return name.keyspace.empty() ? name.name : name.keyspace + "." + name.name;
}

}  // namespace

bool Parser::create_table(ast::CreateTable& out) {
  if (!expect(Tok::kCreate, Tok::kColumnfamily) || !if_not_exists(out.if_not_exists)) return false;
  if (!table_name(out.table) || !expect(Tok::kLeftParen) || !table_columns(out)) return false;
  while (accept(Tok::kComma)) {
    bool another = kNames.contains(peek()) || at(Tok::kPrimary);
    if (another && !table_columns(out)) return false;
  }
  if (!expect(Tok::kRightParen)) return false;
  if (!accept(Tok::kWith)) return true;
  do {
    if (!table_property(out)) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::table_columns(ast::CreateTable& out) {
  if (at(Tok::kPrimary)) return table_primary_key(out);
  if (!kNames.contains(peek())) return fail_no_viable();
  ast::ColumnDefinition column;
  if (!ident(column.name)) return false;
  // Cassandra goes on after a type that it cannot read, and rather complains of columns that are there twice.
  comparator_type(column.type);
  column.is_static = accept(Tok::kStatic);
  if (at(Tok::kMasked) && !column_mask(column.mask.emplace())) return false;
  for (const ast::ColumnDefinition& other : out.columns) {
    if (other.name != column.name) continue;
    return fail_with(
        invalid("Duplicate column '" + column.name + "' declaration for table '" + display(out.table) + "'"));
  }
  out.columns.push_back(std::move(column));
  if (!accept(Tok::kPrimary)) return true;
  return expect(Tok::kKey) && set_partition_key(out, {out.columns.back().name});
}

bool Parser::table_primary_key(ast::CreateTable& out) {
  std::vector<std::string> key;
  if (!expect(Tok::kPrimary, Tok::kKey) || !expect(Tok::kLeftParen) || !partition_key(key)) return false;
  if (!set_partition_key(out, std::move(key))) return false;
  while (accept(Tok::kComma)) {
    if (!ident(out.clustering.emplace_back())) return false;
  }
  return expect(Tok::kRightParen);
}

bool Parser::set_partition_key(ast::CreateTable& out, std::vector<std::string> key) {
  if (!out.partition_key.empty()) {
    return fail_with(
        invalid("Multiple PRIMARY KEY specified for table '" + display(out.table) + "' (exactly one required)"));
  }
  out.partition_key = std::move(key);
  return true;
}

bool Parser::partition_key(std::vector<std::string>& out) {
  if (!accept(Tok::kLeftParen)) return ident(out.emplace_back());
  return list([&] { return ident(out.emplace_back()); }) && expect(Tok::kRightParen);
}

bool Parser::column_mask(ast::ColumnMask& out) {
  bool is_default = false;
  if (!decide_column_mask(is_default) || !expect(Tok::kMasked, Tok::kWith)) return false;
  if (is_default) {
    out.function.name = "mask_default";
    return expect(Tok::kDefault);
  }
  if (!function_name(out.function)) return false;
  if (!at(Tok::kLeftParen)) return fail_no_viable();
  if (peek(1) != Tok::kRightParen && !starts_term(1)) return fail_no_viable(1);
  advance();
  if (accept(Tok::kRightParen)) return true;
  return term_list(out.arguments) && expect(Tok::kRightParen);
}

// DEFAULT is the name of a function too.
bool Parser::decide_column_mask(bool& is_default) {
  constexpr TokenSet kFollow = {Tok::kEnd, Tok::kPrimary, Tok::kRightParen, Tok::kComma, Tok::kSemicolon};
  if (!at(Tok::kMasked)) return fail_no_viable();
  if (peek(1) != Tok::kWith) return fail_no_viable(1);
  Tok third = peek(2);
  if (third != Tok::kDefault) {
    return (kNames | TokenSet{Tok::kToken, Tok::kQuestionMark}).contains(third) || fail_no_viable(2);
  }
  Tok fourth = peek(3);
  is_default = kFollow.contains(fourth);
  return is_default || fourth == Tok::kLeftParen || fourth == Tok::kDot || fail_no_viable(3);
}

// COMPACT and CLUSTERING may start a property of that name.
bool Parser::decide_table_property(TableProperty& out) {
  Tok first = peek();
  out = TableProperty::kProperty;
  if (!kNames.contains(first)) return fail_no_viable();
  if (first != Tok::kCompact && first != Tok::kClustering) return true;
  Tok second = peek(1);
  if (second == Tok::kEqual) return true;
  bool compact = first == Tok::kCompact;
  out = compact ? TableProperty::kCompactStorage : TableProperty::kClusteringOrder;
  return second == (compact ? Tok::kStorage : Tok::kOrder) || fail_no_viable(1);
}

bool Parser::table_property(ast::CreateTable& out) {
  TableProperty kind = TableProperty::kProperty;
  if (!decide_table_property(kind)) return false;
  if (kind == TableProperty::kProperty) return property(out.properties);
  if (kind == TableProperty::kClusteringOrder) return clustering_orders("table", out.table, out.clustering_order);
  out.compact_storage = true;
  return expect(Tok::kCompact, Tok::kStorage);
}

bool Parser::view_property(ast::CreateView& out) {
  TableProperty kind = TableProperty::kProperty;
  if (!decide_table_property(kind)) return false;
  if (kind == TableProperty::kProperty) return property(out.properties);
  if (kind == TableProperty::kClusteringOrder) return clustering_orders("view", out.view, out.clustering_order);
  if (!expect(Tok::kCompact, Tok::kStorage)) return false;
  return fail_with(Error(ErrorCode::kSyntaxError, "COMPACT STORAGE tables are not allowed starting with version 4.0"));
}

bool Parser::clustering_orders(const char* kind, const ast::QualifiedName& owner,
                               std::vector<ast::ClusteringOrder>& out) {
  if (!expect(Tok::kClustering, Tok::kOrder) || !expect(Tok::kBy, Tok::kLeftParen)) return false;
  bool ok = list([&] {
    ast::ClusteringOrder order;
    if (!ident(order.column)) return false;
    order.descending = accept(Tok::kDesc);
    if (!order.descending && !accept(Tok::kAsc)) return fail_no_viable();
    for (const ast::ClusteringOrder& other : out) {
      if (other.column != order.column) continue;
      return fail_with(invalid("Duplicate column '" + order.column + "' in CLUSTERING ORDER BY clause for " + kind +
                               " '" + display(owner) + "'"));
    }
    out.push_back(std::move(order));
    return true;
  });
  return ok && expect(Tok::kRightParen);
}

bool Parser::alter_table(ast::AlterTable& out) {
  if (!expect(Tok::kAlter, Tok::kColumnfamily) || !if_exists(out.if_exists)) return false;
  return table_name(out.table) && alter_table_change(out);
}

bool Parser::alter_table_change(ast::AlterTable& out) {
  if (at(Tok::kAdd) || at(Tok::kRename) || at(Tok::kWith)) decided(1);
  switch (peek()) {
    case Tok::kAlter:
      return alter_column(out);
    case Tok::kAdd:
      return add_columns(out.change.emplace<ast::AddColumns>());
    case Tok::kRename:
      advance();
      return rename_columns(out.change.emplace<ast::RenameColumns>());
    case Tok::kWith:
      advance();
      return properties(out.change.emplace<ast::Properties>());
    case Tok::kDrop:
      break;
    default:
      return fail_no_viable();
  }
  Tok second = peek(1);
  if (second != Tok::kIf && second != Tok::kLeftParen && !kNames.contains(second)) return fail_no_viable(1);
  decided(2);
  if (second == Tok::kCompact) {
    Tok third = peek(2);
    decided(third == Tok::kStorage || third == Tok::kUsing || third == Tok::kSemicolon ? 3 : 2);
    if (third == Tok::kStorage) {
      out.change = ast::DropCompactStorage{};
      return expect(Tok::kDrop) && expect(Tok::kCompact, Tok::kStorage);
    }
    if (third != Tok::kUsing && third != Tok::kSemicolon && third != Tok::kEnd) return fail_no_viable(2);
  }
  return drop_columns(out.change.emplace<ast::DropColumns>());
}

bool Parser::alter_column(ast::AlterTable& out) {
  Tok second = peek(1);
  if (second != Tok::kIf) {
    if (!kColumnNames.contains(second)) return fail_no_viable(1);
    Tok third = peek(2);
    decided(third == Tok::kType || third == Tok::kMasked || third == Tok::kDrop ? 3 : 2);
    if (third == Tok::kType) {
      auto& change = out.change.emplace<ast::AlterColumnType>();
      return expect(Tok::kAlter) && column_ident(change.column) && expect(Tok::kType) && comparator_type(change.type);
    }
    if (third != Tok::kMasked && third != Tok::kDrop) return fail_no_viable(2);
  }
  decided(2);
  return alter_column_mask(out.change.emplace<ast::AlterColumnMask>());
}

bool Parser::alter_column_mask(ast::AlterColumnMask& out) {
  if (!expect(Tok::kAlter) || !if_exists(out.if_exists) || !column_ident(out.column)) return false;
  if (at(Tok::kMasked)) return column_mask(out.mask.emplace());
  if (!accept(Tok::kDrop)) return fail_no_viable();
  return expect(Tok::kMasked);
}

bool Parser::add_columns(ast::AddColumns& out) {
  if (!expect(Tok::kAdd) || !if_not_exists(out.if_not_exists)) return false;
  if (kNames.contains(peek())) return added_column(out.columns.emplace_back());
  if (!accept(Tok::kLeftParen)) return fail_no_viable();
  return list([&] { return added_column(out.columns.emplace_back()); }) && expect(Tok::kRightParen);
}

bool Parser::added_column(ast::ColumnDefinition& out) {
  if (!ident(out.name) || !comparator_type(out.type)) return false;
  out.is_static = accept(Tok::kStatic);
  return !at(Tok::kMasked) || column_mask(out.mask.emplace());
}

bool Parser::drop_columns(ast::DropColumns& out) {
  if (!expect(Tok::kDrop) || !if_exists(out.if_exists)) return false;
  if (kNames.contains(peek())) {
    if (!ident(out.columns.emplace_back())) return false;
  } else {
    if (!accept(Tok::kLeftParen)) return fail_no_viable();
    if (!list([&] { return ident(out.columns.emplace_back()); }) || !expect(Tok::kRightParen)) return false;
  }
  return !accept(Tok::kUsing) || drop_timestamp(out);
}

bool Parser::drop_timestamp(ast::DropColumns& out) {
  std::string number;
  if (!expect(Tok::kTimestamp) || !expect_value(Tok::kIntegerLiteral, number)) return false;
  int64_t& timestamp = out.timestamp.emplace();
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), timestamp);
  if (error == std::errc()) return true;
  return fail_with(Error(ErrorCode::kSyntaxError, "Failed parsing statement: [" + std::string(text_) +
                                                      "] reason: NumberFormatException For input string: \"" + number +
                                                      "\""));
}

bool Parser::rename_columns(ast::RenameColumns& out) {
  if (!if_exists(out.if_exists)) return false;
  do {
    std::string from;
    std::string to;
    if (!ident(from) || !expect(Tok::kTo) || !ident(to)) return false;
    auto same = std::find_if(out.renames.begin(), out.renames.end(), [&](auto& r) { return r.first == from; });
    if (same == out.renames.end()) same = out.renames.emplace(same, std::move(from), std::string());
    same->second = std::move(to);
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::drop_table(ast::DropTable& out) {
  return expect(Tok::kDrop, Tok::kColumnfamily) && if_exists(out.if_exists) && table_name(out.table);
}

bool Parser::create_view(ast::CreateView& out) {
  if (!expect(Tok::kCreate, Tok::kMaterialized) || !expect(Tok::kView) || !if_not_exists(out.if_not_exists)) {
    return false;
  }
  if (!table_name(out.view) || !expect(Tok::kAs, Tok::kSelect) || !selectors(out.selectors)) return false;
  if (!expect(Tok::kFrom) || !table_name(out.base_table)) return false;
  if (accept(Tok::kWhere) && !where_clause(out.where)) return false;
  if (!expect(Tok::kPrimary, Tok::kKey) || !expect(Tok::kLeftParen) || !partition_key(out.partition_key)) {
    return false;
  }
  while (accept(Tok::kComma)) {
    if (!ident(out.clustering.emplace_back())) return false;
  }
  if (!expect(Tok::kRightParen)) return false;
  if (!accept(Tok::kWith)) return true;
  do {
    if (!view_property(out)) return false;
  } while (accept(Tok::kAnd));
  return true;
}

bool Parser::alter_view(ast::AlterView& out) {
  return expect(Tok::kAlter, Tok::kMaterialized) && expect(Tok::kView) && if_exists(out.if_exists) &&
         table_name(out.view) && expect(Tok::kWith) && properties(out.properties);
}

bool Parser::drop_view(ast::DropView& out) {
  return expect(Tok::kDrop, Tok::kMaterialized) && expect(Tok::kView) && if_exists(out.if_exists) &&
         table_name(out.view);
}

}  // namespace cassandra_like
