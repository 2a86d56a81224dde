// Every type against Cassandra 5.0.9: data/types.txt is what its own classes answered (see oracle/TypeOracle.java).
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/types.h"
#include "model/values.h"

namespace cassandra_like {
namespace {

using Fields = std::vector<std::string>;

std::string unescape(const std::string& s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      out.push_back(s[i]);
      continue;
    }
    char c = s[++i];
    out.push_back(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c);
  }
  return out;
}

std::vector<Fields> read_lines() {
  std::ifstream in(SOURCE_DIR "/tests/model/data/types.txt");
  std::vector<Fields> lines;
  for (std::string line; std::getline(in, line);) {
    Fields fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, '\t');) fields.push_back(unescape(field));
    if (line.ends_with('\t')) fields.emplace_back();
    lines.push_back(fields);
  }
  return lines;
}

Bytes unhex(const std::string& hex) {
  Bytes out;
  EXPECT_TRUE(from_hex(hex, &out)) << hex;
  return out;
}

// An empty value must not be null.
BytesView view(const Bytes& b) { return BytesView(b.data(), b.size()); }

TypePtr parse(const std::string& name) {
  auto type = types::parse_class(name);
  EXPECT_TRUE(type.ok()) << name << ": " << (type.ok() ? "" : type.error().message());
  return type.ok() ? *type : types::blob();
}

std::string answer(const Result<Bytes>& r) { return r.ok() ? to_hex(*r) : "!" + r.error().message(); }
std::string answer(const Status& s) { return s.ok() ? "valid" : "!" + s.error().message(); }

bool is_error(const std::string& field) { return field.starts_with('!'); }

// Lines of one letter, each with the type of the last T line before it.
struct Line {
  TypePtr type;
  Fields fields;
};
std::vector<Line> lines_of(const std::string& letter) {
  std::vector<Line> out;
  TypePtr type;
  for (Fields& f : read_lines()) {
    if (f[0] == "T") type = parse(f[1]);
    if (f[0] == letter) out.push_back({type, std::move(f)});
  }
  EXPECT_FALSE(out.empty());
  return out;
}

TEST(TypesOracleTest, NamesAndTraits) {
  for (auto& [type, f] : lines_of("T")) {
    Fields ours = {"T",
                   type->class_name(),
                   type->cql_name(),
                   std::to_string(type->fixed_length()),
                   type->is_empty_meaningless() ? "1" : "0",
                   type->allows_empty() ? "1" : "0"};
    // Cassandra's reversed types forget that their base allows empty values.
    if (type->is_reversed()) ours[5] = "0";
    EXPECT_EQ(ours, f);
  }
}

TEST(TypesOracleTest, TextLiteralAndJson) {
  for (auto& [type, f] : lines_of("V")) {
    SCOPED_TRACE(type->cql_name() + " " + f[1]);
    Bytes value = unhex(f[1]);
    {
      EXPECT_TRUE(is_error(f[4]) || type->to_text(view(value)) == f[4])
          << type->to_text(view(value)) << " not " << f[4];
    }
    EXPECT_TRUE(is_error(f[5]) || type->to_cql_literal(view(value)) == f[5])
        << type->to_cql_literal(view(value)) << " not " << f[5];
    EXPECT_TRUE(is_error(f[6]) || type->to_json(view(value)) == f[6]) << type->to_json(view(value)) << " not " << f[6];
    if (!is_error(f[4]) && !is_error(f[7])) {
      EXPECT_EQ(answer(type->from_text(f[4])), f[7] == "=" ? f[1] : f[7]);
    }
  }
}

// A NaN of other bits than Java's.
bool is_other_nan(const Type& type, const Bytes& value) {
  if (type.kind() == TypeKind::kFloat)
    return value.size() == 4 && std::isnan(decode_float(value)) && to_hex(value) != "7fc00000";
  if (type.kind() == TypeKind::kDouble)
    return value.size() == 8 && std::isnan(decode_double(value)) && to_hex(value) != "7ff8000000000000";
  return false;
}

TEST(TypesOracleTest, ComparableFormAndBack) {
  for (auto& [type, f] : lines_of("V")) {
    SCOPED_TRACE(type->cql_name() + " " + f[1]);
    Bytes value = unhex(f[1]);
    if (is_error(f[2]) || is_other_nan(*type, value)) continue;
    if (f[2] == "-") {
      EXPECT_FALSE(type->encodes_empty());
      EXPECT_EQ(f[1], "");
      continue;
    }
    Bytes comparable;
    type->append_comparable(comparable, view(value));
    EXPECT_EQ(to_hex(comparable), f[2]);
    // The bytes that follow must be left alone; a separator does.
    Bytes followed = comparable + "\x40rest";
    Reader in(followed);
    Bytes decoded;
    type->read_comparable(in, decoded);
    EXPECT_FALSE(in.failed());
    EXPECT_EQ(in.rest(), "\x40rest");
    EXPECT_EQ(to_hex(decoded), f[3] == "=" ? f[1] : f[3]);
  }
}

// Values of the last T line, in order.
struct Ordering {
  TypePtr type;
  std::vector<Bytes> values;
  std::vector<std::string> rows;
};
std::vector<Ordering> orderings() {
  std::vector<Ordering> out;
  for (const Fields& f : read_lines()) {
    if (f[0] == "T") out.push_back({parse(f[1]), {}, {}});
    if (f[0] == "V") out.back().values.push_back(unhex(f[1]));
    if (f[0] == "O") out.back().rows.push_back(f[1]);
  }
  return out;
}

char sign(int c) { return c < 0 ? '<' : c > 0 ? '>' : '='; }

// Pairs of which Cassandra's own comparable forms have another order than compare().
bool contradicts_itself(char order) { return order == '(' || order == '#' || order == ')'; }
char without_contradiction(char order) { return order == '(' ? '<' : order == '#' ? '=' : order == ')' ? '>' : order; }

TEST(TypesOracleTest, Order) {
  for (const Ordering& o : orderings()) {
    SCOPED_TRACE(o.type->cql_name());
    ASSERT_EQ(o.rows.size(), o.values.size());
    for (size_t i = 0; i < o.rows.size(); ++i) {
      for (size_t j = 0; j < o.values.size(); ++j) {
        const char expected = o.rows[i][j];
        const Bytes &a = o.values[i], &b = o.values[j];
        if (expected == '?') continue;
        EXPECT_EQ(sign(o.type->compare(view(a), view(b))), without_contradiction(expected))
            << to_hex(a) << " " << to_hex(b);
        const bool has_nan = is_other_nan(*o.type, a) || is_other_nan(*o.type, b);
        if ((contradicts_itself(expected) && !has_nan) || ((a.empty() || b.empty()) && !o.type->encodes_empty()))
          continue;
        Bytes x, y;
        o.type->append_comparable(x, view(a));
        o.type->append_comparable(y, view(b));
        EXPECT_EQ(sign(x.compare(y)), without_contradiction(expected)) << to_hex(a) << " " << to_hex(b);
      }
    }
  }
}

TEST(TypesOracleTest, Validation) {
  for (auto& [type, f] : lines_of("X")) {
    std::string expected = f[2];
    // Java's readers of lengths speak of their buffers; ours name the type.
    if (expected.starts_with("!Attempted to read")) expected = "!Not enough bytes to read a " + type->cql_name();
    EXPECT_EQ(answer(type->validate(view(unhex(f[1])))), expected) << type->cql_name() << " " << f[1];
  }
  for (auto& [type, f] : lines_of("V")) {
    if (f[4] == "!String didn't validate.") continue;
    if (!is_error(f[4])) {
      EXPECT_EQ(answer(type->validate(view(unhex(f[1])))), "valid") << type->cql_name() << " " << f[1];
    }
  }
}

TEST(TypesOracleTest, FromText) {
  for (auto& [type, f] : lines_of("P")) {
    std::string ours = answer(type->from_text(f[1]));
    if (f[2].starts_with("!org.apache.cassandra.exceptions.ConfigurationException: "))
      f[2].replace(1, f[2].find(": ") + 1, "");
    EXPECT_EQ(ours, f[2]) << type->cql_name() << " " << f[1];
  }
}

TEST(TypesOracleTest, ClassNames) {
  for (const Line& line : lines_of("I")) {
    const Fields& f = line.fields;
    auto type = types::parse_class(f[1]);
    if (is_error(f[2])) {
      EXPECT_FALSE(type.ok()) << f[1];
      // Java hides the reason of most errors behind this one.
      if (!type.ok() && !f[2].starts_with("!Invalid definition")) {
        EXPECT_EQ("!" + type.error().message(), f[2]);
      }
      continue;
    }
    ASSERT_TRUE(type.ok()) << f[1] << ": " << type.error().message();
    EXPECT_EQ((*type)->class_name(), f[2]);
    EXPECT_EQ((*type)->cql_name(), f[3]);
  }
}

TEST(TypesOracleTest, CqlNames) {
  const std::string prefix = "org.apache.cassandra.db.marshal.UserType(ks,";
  auto udts = [&](std::string_view keyspace, std::string_view name) -> UserTypePtr {
    if (keyspace != "ks" || (name != "tip" && name != "My")) return nullptr;
    std::string fields = name == "tip" ? ",61:Int32Type,54776f:UTF8Type,6c:ListType(Int32Type))" : ",61:Int32Type)";
    return std::static_pointer_cast<const UserType>(parse(prefix + to_hex(name) + fields));
  };
  for (const Line& line : lines_of("L")) {
    const Fields& f = line.fields;
    auto type = types::parse_cql(f[1], "ks", udts);
    if (is_error(f[2])) {
      EXPECT_FALSE(type.ok()) << f[1];
      // Errors of the grammar are those of a generated parser.
      if (!type.ok() && type.error().code() == ErrorCode::kInvalid) {
        EXPECT_EQ("!" + type.error().message(), f[2]);
      }
      continue;
    }
    ASSERT_TRUE(type.ok()) << f[1] << ": " << type.error().message();
    EXPECT_EQ((*type)->class_name(), f[2]);
    EXPECT_EQ((*type)->cql_name(), f[3]);
  }
}

// Bytes of a corrupt file: no crash, no read past the end (the sanitizers watch), and no wrong success.
TEST(TypesOracleTest, TruncatedComparableFormsAreRefused) {
  for (auto& [type, f] : lines_of("V")) {
    if (is_error(f[2]) || f[2] == "-") continue;
    Bytes comparable = unhex(f[2]);
    for (size_t size = 0; size < comparable.size(); ++size) {
      Reader in(view(comparable).substr(0, size));
      Bytes decoded;
      type->read_comparable(in, decoded);
      EXPECT_TRUE(in.failed() || to_hex(decoded) != f[1]) << type->cql_name() << " " << f[2] << " " << size;
    }
  }
}

TEST(TypesOracleTest, InvalidValuesAreHarmless) {
  for (auto& [type, f] : lines_of("X")) {
    Bytes value = unhex(f[1]), comparable;
    EXPECT_EQ(type->compare(view(value), view(value)), 0) << type->cql_name() << " " << f[1];
    if (!value.empty()) type->append_comparable(comparable, view(value));
    type->to_text(view(value));
    type->to_json(view(value));
    type->to_cql_literal(view(value));
  }
}

TEST(TypesOracleTest, Compatibility) {
  std::vector<Fields> rows;
  for (Fields& f : read_lines()) {
    if (f[0] == "C") rows.push_back(f);
  }
  for (const Fields& row : rows) {
    std::string ours;
    for (const Fields& other : rows)
      ours.push_back(parse(row[1])->is_value_compatible_with(*parse(other[1])) ? '1' : '0');
    EXPECT_EQ(ours, row[2]) << row[1];
  }
}

TEST(TypesOracleTest, QuotedIdentifiers) {
  for (const Line& line : lines_of("Q")) EXPECT_EQ(quote_identifier(line.fields[1]), line.fields[2]);
}

}  // namespace
}  // namespace cassandra_like
