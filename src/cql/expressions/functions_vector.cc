// Similarity of float vectors, scaled to 0…1 as Lucene does (cql3.functions.VectorFcts).
#include <cmath>

#include "cql/expressions/functions_internal.h"
#include "model/values.h"

namespace cassandra_like::functions {
namespace {

struct Products {
  float dot = 0, left = 0, right = 0, distance = 0;
};

Products products(BytesView a, BytesView b) {
  Products p;
  for (size_t i = 0; i + 4 <= a.size() && i + 4 <= b.size(); i += 4) {
    float x = decode_float(a.substr(i, 4)), y = decode_float(b.substr(i, 4));
    p.dot += x * y;
    p.left += x * x;
    p.right += y * y;
    p.distance += (x - y) * (x - y);
  }
  return p;
}

float cosine(const Products& p) {
  float cosine = static_cast<float>(p.dot / std::sqrt(static_cast<double>(p.left) * static_cast<double>(p.right)));
  return (1 + cosine) / 2;
}
float euclidean(const Products& p) { return 1 / (1 + p.distance); }
float dot_product(const Products& p) { return (1 + p.dot) / 2; }

Factory::Make similarity(float (*measure)(const Products&), bool zero_allowed) {
  return [measure, zero_allowed](const std::string& name, const std::vector<TypePtr>& types,
                                 const TypePtr&) -> Result<FunctionPtr> {
    auto dimension = [](const TypePtr& type) { return static_cast<const VectorType&>(type->base()).dimension(); };
    if (dimension(types[0]) != dimension(types[1])) {
      return invalid("All arguments must have the same vector dimensions");
    }
    Body body = [measure, zero_allowed, name](ExecutionContext& context, Arguments arguments) -> Result<BytesView> {
      Products p = products(arguments[0], arguments[1]);
      if (!zero_allowed && (p.left == 0 || p.right == 0)) {
        return invalid("Function system." + name + " doesn't support all-zero vectors.");
      }
      return in_arena(context, encode_float(measure(p)));
    };
    return FunctionPtr(std::make_shared<ScalarFunction>(name, types, types::float_(), std::move(body)));
  };
}

}  // namespace

void add_vector_functions(Registry& registry) {
  Parameter first{Parameter::Kind::kFloatVector}, second{Parameter::Kind::kFloatVector};
  first.same_as = 1;
  second.same_as = 0;
  registry.add_factory("similarity_cosine", {first, second}, similarity(cosine, false));
  registry.add_factory("similarity_euclidean", {first, second}, similarity(euclidean, true));
  registry.add_factory("similarity_dot_product", {first, second}, similarity(dot_product, true));
}

}  // namespace cassandra_like::functions
