"""Asks a real Cassandra what INSERT JSON makes of values, for data/json.txt: json_oracle.py [host] > data/json.txt"""
import sys
from cassandra.cluster import Cluster

TYPES = ["ascii", "text", "int", "bigint", "smallint", "tinyint", "varint", "decimal", "float", "double", "boolean", "blob", "uuid",
         "timeuuid", "inet", "date", "time", "timestamp", "duration", "frozen<list<int>>", "frozen<set<text>>", "frozen<map<int, text>>",
         "frozen<map<frozen<list<int>>, boolean>>", "frozen<tuple<int, text>>", "vector<float, 2>", "vector<text, 2>"]
VALUES = ['"abc"', '"é\\u00e9\\n"', '""', "1", "-7", "2147483648", "300", "123456789012345678901234567890", "1.5", "1e3", "-0.25", '"1"', '"1.50"',
          "true", "false", '"true"', '"0xcafe"', '"cafe"', '"550e8400-e29b-41d4-a716-446655440000"',
          '"50554d6e-29bb-11e5-b345-feff819cdc9f"', '"127.0.0.1"', '"2020-02-29"', '"08:12:54.1234"', '"2020-01-01T00:00:00Z"', "1577836800000",
          '"1h30m"', "[1, 2]", "[2, 1, 2]", '["b", "a", "b"]', "[1, null]", '{"2": "b", "1": "a"}', '{"a": 1, "b": [true, {}]}', '{"1": null}',
          '{"[1, 2]": true, "[]": false}', '[1, "x"]', "[1, null, 3]", "[1]", '"[1, 2]"', '{"1": "x", "1": "y"}', "[]", "{}", "[1.5, 2]"]

# Where Java stumbles: it prints such floats with a digit too many, and to_json() of an empty tinyint is a NullPointerException.
LEFT_OUT = {("float", "2147483648"), ("float", "1577836800000"), ("tinyint", '""')}


def main():
    session = Cluster([sys.argv[1] if len(sys.argv) > 1 else "127.0.0.2"]).connect()
    session.default_timeout = 60
    session.execute("CREATE KEYSPACE IF NOT EXISTS json_oracle WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    columns = ", ".join(f"v{i} {name}" for i, name in enumerate(TYPES))
    session.execute(f"CREATE TABLE IF NOT EXISTS json_oracle.t (k int PRIMARY KEY, {columns})")
    print("# Type, JSON, and what to_json() of Cassandra 5.0.9 makes of the value that INSERT JSON stored; or the error.")
    print("# Made by oracle/json_oracle.py.")
    for i, name in enumerate(TYPES):
        for value in VALUES:
            if (name, value) in LEFT_OUT: continue
            try:
                session.execute("INSERT INTO json_oracle.t JSON %s", ('{"k": 0, "v%d": %s}' % (i, value),))
                answer = session.execute(f"SELECT to_json(v{i}) FROM json_oracle.t WHERE k = 0").one()[0]
            except Exception as e:
                answer = "error " + str(e).split('message="', 1)[-1].rstrip('"').replace(f"Error decoding JSON value for v{i}: ", "")
            print(f"{name}\t{value}\t" + answer.split("\n")[0])


if __name__ == "__main__":
    main()
