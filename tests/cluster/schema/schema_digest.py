"""The version of a schema from the lines of record_schema.py: a second computation of SchemaKeyspace.calculateSchemaDigest."""
import hashlib
import struct
import uuid

from cassandra.metadata import Murmur3Token

ORDER = ("column_masks", "columns", "dropped_columns", "triggers", "types", "functions", "aggregates", "indexes",
         "tables", "views", "keyspaces")
PARAMS = ("additional_write_policy allow_auto_snapshot bloom_filter_fp_chance caching cdc comment compaction compression "
          "crc_check_chance dclocal_read_repair_chance default_time_to_live extensions gc_grace_seconds id "
          "incremental_backups max_index_interval memtable memtable_flush_period_in_ms min_index_interval read_repair "
          "read_repair_chance speculative_retry")
COLUMNS = {
    "column_masks": "function_argument_nulls function_argument_types function_argument_values function_keyspace "
                    "function_name",
    "columns": "clustering_order column_name_bytes kind position type",
    "dropped_columns": "dropped_time kind type",
    "triggers": "options",
    "types": "field_names field_types",
    "functions": "argument_names body called_on_null_input language return_type",
    "aggregates": "final_func initcond return_type state_func state_type",
    "indexes": "kind options",
    "tables": PARAMS + " flags",
    "views": PARAMS + " base_table_id base_table_name include_all_columns where_clause",
    "keyspaces": "durable_writes replication",
}
NONE = struct.pack(">q", -2 ** 63)
FALSE = b"\1"


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def version_of(lines):
    tables = {}
    for line in lines:
        words = line.split()
        if words[0] == "row":
            cells = []
            partition = tables.setdefault(words[1], {}).setdefault(unhex(words[2]), [])
            partition.append((b"".join(map(unhex, words[3:])), cells))
        elif words[0] == "cell":
            cells.append((words[1], int(words[2]), unhex(words[3])))
    digest = hashlib.md5()
    for table in ORDER:
        partitions = tables.get(table, {})
        for key in sorted(partitions, key=lambda k: (Murmur3Token.hash_fn(k), k)):
            names = "".join(sorted(COLUMNS[table].split())).encode()
            digest.update(key + names + FALSE + b"\0\3" + NONE + FALSE + NONE)
            for clustering, cells in partitions[key]:
                digest.update(b"\0" + clustering + b"\4" + NONE + FALSE + struct.pack(">q", cells[0][1]))
                for _, timestamp, value in sorted(cells):
                    digest.update(value + struct.pack(">qi", timestamp, 0) + FALSE)
    name = bytearray(hashlib.md5(digest.digest()).digest())
    name[6] = name[6] & 0x0F | 0x30
    name[8] = name[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(name)))
