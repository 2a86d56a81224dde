// The part behind WITH in CREATE and ALTER: properties as they are written to the parameters that the schema keeps, in
// Cassandra's normal forms (full class names, all thresholds), checked as TableParams, CompactionParams,
// CompressionParams, CachingParams and SpeculativeRetryPolicy do.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "cql/context/statement.h"
#include "cql/syntax/ast.h"
#include "model/schema.h"

namespace cassandra_like {

inline Error config_error(std::string message) { return Error(ErrorCode::kConfigError, std::move(message)); }
inline Error syntax_error(std::string message) { return Error(ErrorCode::kSyntaxError, std::move(message)); }

// Properties by name; the readers are kSyntaxError for a value of the wrong kind, and may be called only for those
// that are there.
class PropertyReader {
 public:
  explicit PropertyReader(const ast::Properties& properties) : properties_(properties) {}

  // "Unknown property 'x'"
  Status check_names(std::span<const std::string_view> known) const;
  Status check_names(std::initializer_list<std::string_view> known) const {
    return check_names(std::span(known.begin(), known.size()));
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  Result<std::string> text(std::string_view name) const;
  Result<StringPairs> map(std::string_view name) const;
  Result<bool> boolean(std::string_view name) const;
  Result<int32_t> integer(std::string_view name) const;
  Result<double> real(std::string_view name) const;

 private:
  const ast::Property* find(std::string_view name) const;
  const ast::Properties& properties_;
};

// The names that may follow WITH, in order (TableAttributes.allKeywords).
std::span<const std::string_view> table_properties();
// Without those that a guardrail ignores.
ast::Properties without(const ast::Properties& properties, const std::set<std::string>& ignored);
// `base` with the properties' changes, of which each by itself is well-formed. A bloom_filter_fp_chance of -1 is replaced by
// the compaction strategy's own.
Result<TableParams> apply_table_options(const ast::Properties& properties, const TableParams& base,
                                        const CqlOptions& options);
// The same over the defaults of a new table.
Result<TableParams> new_table_params(const ast::Properties& properties, const CqlOptions& options);
// Unknown names, then values out of bounds when the properties are taken over the defaults.
Status check_table_options(const ast::Properties& properties, const CqlOptions& options);
Status validate_table_params(const TableParams& params);
// None when the statement gives none.
Result<std::optional<Uuid>> table_id_option(const ast::Properties& properties);

// Each from the property's map, or from what a policy is written as, to the normal form.
Result<StringPairs> parse_compression(const StringPairs& map);  // table_options_compression.cc
Status validate_compression(const StringPairs& compression);    // table_options_compression.cc
Result<StringPairs> parse_caching(const StringPairs& map);
Result<std::string> parse_speculative_retry(const std::string& text);

}  // namespace cassandra_like
