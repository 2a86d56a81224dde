#include "tests/cql/function_fixture.h"

#include "cql/syntax/parser.h"
#include "model/values.h"

namespace cassandra_like {

FunctionFixture::FunctionFixture()
    : world_(SimWorld::create(1)),
      runtime_(world_->add_machine("10.0.0.1").boot(1).shard(0)),
      services_(runtime_),
      context_{services_, coordinator_, runtime_, config_, client_, options_, arena_, nullptr, {}, 0, 0} {
  auto k = std::make_shared<Column>();
  k->name = "k";
  k->type = types::int_();
  k->kind = ColumnKind::kPartitionKey;
  k->position = 0;
  table_ = std::make_shared<TableMetadata>("functions_oracle", "one", Uuid{}, std::vector<ColumnPtr>{k},
                                           std::vector<ColumnPtr>{}, std::vector<ColumnPtr>{});
  auto keyspace = std::make_shared<KeyspaceMetadata>();
  keyspace->name = "functions_oracle";
  keyspace->tables["one"] = table_;
  schema_ = Schema().with_keyspace(keyspace);
}

Result<Answer> FunctionFixture::select(const std::string& expression) {
  std::string text = "SELECT " + expression + " FROM functions_oracle.one";
  ASSIGN_OR_RETURN(ast::Statement statement, parse_statement(text));
  PrepareContext prepare(schema_, "", text, statement.bind_variables, config_);
  const auto& select = std::get<ast::Select>(statement.body);
  ASSIGN_OR_RETURN(Selection selection, Selection::prepare(table_, select.selectors, prepare));
  const SelectedColumn& column = selection.columns()[0];
  Answer answer{column.spec.name, column.spec.type, kNull};

  Bytes key = encode_int(0);
  BytesView components[] = {key};
  InputRow row{&context_, components, DecoratedKey::of(key), nullptr, nullptr};
  std::vector<BytesView> aggregates;
  for (const AggregateCall& call : selection.aggregates()) {
    auto state = call.function->start();
    std::vector<BytesView> arguments;
    for (const SelectorPtr& argument : call.arguments) {
      ASSIGN_OR_RETURN(BytesView value, argument->evaluate(row));
      arguments.push_back(value);
    }
    TRY(state->add(arguments));
    bool none = false;
    ASSIGN_OR_RETURN(Bytes value, state->result(&none));
    aggregates.push_back(none ? kNull : arena_.copy(value));
  }
  row.aggregates = aggregates;
  ASSIGN_OR_RETURN(answer.value, column.selector->evaluate(row));
  answer.value = arena_.copy(answer.value);
  return answer;
}

}  // namespace cassandra_like
