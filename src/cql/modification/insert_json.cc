#include "cql/modification/insert_json.h"

#include <map>

#include "cql/expressions/term_internal.h"
#include "cql/values/json.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

// By column; without a value: null. Columns that the document does not name are not there.
using JsonValues = std::map<const Column*, std::optional<Bytes>>;

Result<JsonValues> parse_document(const TableMetadata& table, std::string_view text, uint64_t max_values) {
  auto parsed = parse_json(text, max_values);
  if (parsed.ok() && parsed->is_null()) return invalid("Got null for INSERT JSON values");
  bool is_map = parsed.ok() && parsed->kind == JsonValue::Kind::kMap;
  if (!is_map) {
    std::string why = parsed.ok() ? "Cannot deserialize value of type `java.util.LinkedHashMap`"
                                  : "com.fasterxml.jackson.core.JsonParseException: " + parsed.error().message();
    return invalid("Could not decode JSON string as a map: " + why + ". (String was: " + std::string(text) + ")");
  }
  fold_keys(*parsed);
  JsonValues values;
  std::string unknown;
  for (const auto& [name, json] : parsed->entries) {
    const Column* column = table.column(name);
    if (column == nullptr) {
      if (unknown.empty()) unknown = "JSON values map contains unrecognized column: " + name;
      continue;
    }
    auto& value = values[column];
    if (json.is_null()) continue;
    auto serialized = value_from_json(*column->type, json, max_values);
    if (!serialized.ok()) {
      if (serialized.error().code() == kDurationError) return invalid(serialized.error().message());
      return invalid("Error decoding JSON value for " + name + ": " + serialized.error().message());
    }
    value = std::move(*serialized);
  }
  if (!unknown.empty()) return invalid(unknown);
  return values;
}

}  // namespace

// The document of one execution. All columns of a row ask for the same one, one after the other: it is kept until
// another comes.
class JsonColumns::Document {
 public:
  Document(TablePtr table, TermPtr term) : table_(std::move(table)), term_(std::move(term)) {}

  Result<const JsonValues*> values(ExecutionContext& context) const {
    const int marker = term_->marker_index();
    BytesView text;
    if (marker >= 0) {
      text = context.options.values[static_cast<size_t>(marker)];
    } else {
      ASSIGN_OR_RETURN(text, term_->bind(context));
    }
    if (is_null(text)) return invalid("Got null for INSERT JSON values");
    if (is_unset(text)) text = BytesView("", 0);  // and that is no document
    if (!is_valid_utf8(text)) return invalid("Invalid UTF-8 bytes " + to_hex(text));
    if (!known_ || text_ != text) {
      known_ = false;
      ASSIGN_OR_RETURN(values_, parse_document(*table_, text, context.config.max_values()));
      text_ = Bytes(text);
      known_ = true;
    }
    return &values_;
  }
  bool has_single_key() const { return table_->partition_key.size() == 1; }

 private:
  TablePtr table_;
  TermPtr term_;
  mutable bool known_ = false;
  mutable Bytes text_;
  mutable JsonValues values_;
};

class JsonColumns::ColumnTerm : public Term {
 public:
  ColumnTerm(std::shared_ptr<const Document> document, const Column* column, bool default_unset)
      : document_(std::move(document)), column_(column), default_unset_(default_unset) {}
  Result<BytesView> bind(ExecutionContext& context) const override {
    ASSIGN_OR_RETURN(const JsonValues* values, document_->values(context));
    auto found = values->find(column_);
    if (found == values->end()) return default_unset_ ? kUnset : kNull;
    if (!found->second) return kNull;
    if (column_->kind == ColumnKind::kPartitionKey) TRY(check_key(*found->second));
    return context.arena.copy(*found->second);
  }

 private:
  // Keys alone are validated (cql3.Validation.validateKey). The empty text is no bytes, also of types that have no such
  // value. A whole key of no bytes has an error of its own.
  Status check_key(BytesView value) const {
    return value.empty() && document_->has_single_key() ? Status() : column_->type->validate(value);
  }

  std::shared_ptr<const Document> document_;
  const Column* column_;
  bool default_unset_;
};

JsonColumns::JsonColumns(std::shared_ptr<const Document> document, bool default_unset)
    : document_(std::move(document)), default_unset_(default_unset) {}

TermPtr JsonColumns::term(const Column* column) const {
  return std::make_unique<ColumnTerm>(document_, column, default_unset_);
}

Result<JsonColumns> JsonColumns::prepare(const TablePtr& table, const ast::InsertJson& insert,
                                         PrepareContext& context) {
  ColumnSpec receiver{table->keyspace, table->name, "[json]", types::text()};
  ASSIGN_OR_RETURN(TermPtr term, prepare_term(insert.value, receiver, context));
  if (const BytesView* text = term->constant()) {
    ASSIGN_OR_RETURN(JsonValues values, parse_document(*table, *text, context.config().max_values()));
  }
  return JsonColumns(std::make_shared<const Document>(table, std::move(term)), insert.default_unset);
}

}  // namespace cassandra_like
