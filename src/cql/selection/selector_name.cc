// The name of a result column without an alias (Selectable.toString, Function.columnName).
#include <algorithm>
#include <cctype>

#include "cql/expressions/functions_internal.h"
#include "cql/expressions/term_internal.h"
#include "cql/selection/selector.h"
#include "cql/syntax/type_name.h"

namespace cassandra_like {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct NameOf {
  SelectorBuilder& builder;
  const ast::Selectable& selectable;

  std::string operator()(const ast::ColumnSelectable& s) const { return s.name; }
  std::string operator()(const ast::TermSelectable& s) const { return source(s.term, builder.context()); }
  std::string operator()(const ast::CountAllSelectable&) const { return "count"; }
  std::string operator()(const ast::WritetimeOrTtlSelectable& s) const {
    using Kind = ast::WritetimeOrTtlSelectable::Kind;
    const char* name = s.kind == Kind::kTtl ? "ttl" : s.kind == Kind::kMaxWritetime ? "maxwritetime" : "writetime";
    return std::string(name) + "(" + builder.name(*s.selected) + ")";
  }
  std::string operator()(const ast::FunctionSelectable& s) const {
    const std::string& name = s.function.name;
    if (name == "count_rows" || name == "countRows" || is_count_of_literal(s)) return "count";
    for (std::string_view cast : {"cast_as_", "castAs"}) {
      if (name.rfind(cast, 0) == 0 && s.arguments.size() == 1)
        return cast_name(s.arguments[0], name.substr(cast.size()));
    }
    return (s.function.keyspace.empty() ? "system" : s.function.keyspace) + "." + name + "(" + joined(s.arguments) +
           ")";
  }
  std::string operator()(const ast::CastSelectable& s) const {
    // A value that has the type already stays. To Cassandra a descending column has another type.
    auto type = builder.type_of(*s.argument);
    const std::string& to = s.type.name == "varchar" ? "text" : s.type.name;
    if (type.ok() && *type != nullptr && !(*type)->is_reversed() && (*type)->cql_name() == to)
      return builder.name(*s.argument);
    return cast_name(*s.argument, s.type.name);
  }
  std::string operator()(const ast::FieldSelectable& s) const { return builder.name(*s.receiver) + "." + s.field; }
  std::string operator()(const ast::ElementSelectable& s) const {
    return builder.name(*s.receiver) + "[" + source(s.element, builder.context()) + "]";
  }
  std::string operator()(const ast::SliceSelectable& s) const {
    auto bound = [&](const std::optional<ast::Term>& term) { return term ? source(*term, builder.context()) : ""; };
    return builder.name(*s.receiver) + "[" + bound(s.from) + ".." + bound(s.to) + "]";
  }
  std::string operator()(const ast::TypeHintSelectable& s) const {
    auto type = builder.type_of(selectable);
    const auto* literal = std::get_if<ast::MapOrUdtSelectable>(&s.selectable->value);
    const bool of_user_type = literal != nullptr && type.ok() && *type != nullptr && (*type)->is_udt();
    return "(" + type_name_text(s.type, builder.table().keyspace) + ")" +
           (of_user_type ? user_type(*literal) : builder.name(*s.selectable));
  }
  std::string operator()(const ast::ParenthesesSelectable& s) const { return "(" + joined(s.elements) + ")"; }
  std::string operator()(const ast::ArraySelectable& s) const { return "[" + joined(s.elements) + "]"; }
  std::string operator()(const ast::SetSelectable& s) const { return "{" + joined(s.elements) + "}"; }
  std::string operator()(const ast::MapOrUdtSelectable& s) const {
    std::vector<std::string> entries;
    for (const auto& [key, value] : s.entries) entries.push_back(builder.name(key) + ": " + builder.name(value));
    return braced(entries);
  }
  std::string operator()(const ast::ArithmeticSelectable& s) const {
    char symbol = functions::operator_symbol(s.op);
    if (!s.right) return symbol + builder.name(*s.left);
    return builder.name(*s.left) + " " + symbol + " " + builder.name(**s.right);
  }

 private:
  static bool is_count_of_literal(const ast::FunctionSelectable& s) {
    if (s.function.name != "count" || s.arguments.size() != 1) return false;
    const auto* term = std::get_if<ast::TermSelectable>(&s.arguments[0].value);
    return term != nullptr && std::holds_alternative<ast::Literal>(term->term.value);
  }
  std::string cast_name(const ast::Selectable& argument, const std::string& type) const {
    return "cast(" + builder.name(argument) + " as " + lower_case(type) + ")";
  }
  // A field that is there twice has the place of the first and the value of the last.
  std::string user_type(const ast::MapOrUdtSelectable& s) const {
    std::vector<std::string> fields, entries;
    for (const auto& [key, value] : s.entries) {
      const std::string field = builder.name(key);
      const auto at = static_cast<size_t>(std::find(fields.begin(), fields.end(), field) - fields.begin());
      if (at == fields.size()) {
        fields.push_back(field);
        entries.emplace_back();
      }
      entries[at] = field + ": " + builder.name(value);
    }
    return braced(entries);
  }
  static std::string braced(const std::vector<std::string>& entries) {
    std::string text;
    for (const std::string& entry : entries) text += (text.empty() ? "" : ", ") + entry;
    return "{" + text + "}";
  }
  std::string joined(const std::vector<ast::Selectable>& selectables) const {
    std::string text;
    for (const auto& one : selectables) text += (text.empty() ? "" : ", ") + builder.name(one);
    return text;
  }
};

}  // namespace

std::string SelectorBuilder::name(const ast::Selectable& selectable) {
  return std::visit(NameOf{*this, selectable}, selectable.value);
}

}  // namespace cassandra_like
