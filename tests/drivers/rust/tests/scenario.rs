//! The items of SCENARIO.md, by their names. Items that control the node are ignored when the node is not ours.

mod node;
mod types;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use node::*;
use scylla::client::session::Session;
use scylla::cluster::metadata::{ColumnKind, Strategy};
use scylla::cluster::{ClusterState, NodeRef};
use scylla::errors::{DbError, NewSessionError};
use scylla::frame::types::Consistency;
use scylla::frame::Compression;
use scylla::observability::history::HistoryCollector;
use scylla::policies::load_balancing::{DefaultPolicy, FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::response::PagingState;
use scylla::routing::Shard;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::Statement;
use scylla::value::{Counter, CqlValue, MaybeUnset, Row};

#[tokio::test]
async fn connect_with_each_compression() {
    for compression in [None, Some(Compression::Lz4), Some(Compression::Snappy)] {
        let session = connect_with(builder().compression(compression)).await;
        let text = "compressible ".repeat(20000) + "\0\u{1f600}";
        execute(&session, "INSERT INTO pairs (k, b) VALUES (?, ?)", (1, &text)).await;
        let rows = session
            .query_unpaged("SELECT b FROM pairs WHERE k = 1", ())
            .await
            .unwrap()
            .into_rows_result()
            .unwrap();
        assert_eq!(rows.single_row::<(String,)>().unwrap().0, text);
    }
}

#[tokio::test]
async fn schema_metadata() {
    let session = connect().await;
    session.refresh_metadata().await.unwrap();
    let state = session.get_cluster_state();
    let keyspace = state.get_keyspace("scenario").unwrap();
    assert!(matches!(keyspace.strategy, Strategy::SimpleStrategy { replication_factor } if replication_factor == replicas()) && keyspace.durable_writes);
    let address = &keyspace.user_defined_types["address"];
    let fields: Vec<_> = address.field_types.iter().map(|(name, _)| name.as_ref()).collect();
    assert_eq!(fields, ["street", "tags", "place"]);
    let events = &keyspace.tables["events"];
    assert_eq!(
        (&events.partition_key[..], &events.clustering_key[..]),
        (&["a".to_string(), "b".to_string()][..], &["at".to_string(), "seq".to_string()][..])
    );
    assert!(matches!(events.columns["owner"].kind, ColumnKind::Static));
    assert_eq!(keyspace.tables["kinds"].columns.len(), 29);
    assert_eq!(
        format!("{:?}", keyspace.tables["kinds"].columns["vector_"].typ),
        "Vector { typ: Native(Float), dimensions: 3 }"
    );
    let rows = session
        .query_unpaged(
            "SELECT index_name, options FROM system_schema.indexes WHERE keyspace_name = 'scenario'",
            (),
        )
        .await
        .unwrap();
    let rows = rows.into_rows_result().unwrap();
    let mut targets: Vec<_> = rows
        .rows::<(String, HashMap<String, String>)>()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(name, options)| name + " " + &options["target"])
        .collect();
    targets.sort();
    assert_eq!(
        targets,
        [
            "events_label_names keys(labels)",
            "events_labels entries(labels)",
            "events_path full(path)",
            "events_seq seq",
            "events_tags values(tags)",
            "events_what what"
        ]
    );
}

async fn pair(session: &Session, k: i32) -> (Option<i32>, Option<String>) {
    let rows = session
        .query_unpaged("SELECT a, b FROM pairs WHERE k = ?", (k,))
        .await
        .unwrap()
        .into_rows_result()
        .unwrap();
    rows.single_row().unwrap()
}

#[tokio::test]
async fn values() {
    let session = connect().await;
    let insert = session.prepare("INSERT INTO pairs (k, a, b) VALUES (:k, :a, :b)").await.unwrap();
    session.execute_unpaged(&insert, (1, 10, "by position")).await.unwrap();
    let named: HashMap<&str, CqlValue> = HashMap::from([
        ("k", CqlValue::Int(2)),
        ("a", CqlValue::Int(20)),
        ("b", CqlValue::Text("by name".into())),
    ]);
    session.execute_unpaged(&insert, named).await.unwrap();
    assert_eq!(pair(&session, 1).await, (Some(10), Some("by position".into())));
    assert_eq!(pair(&session, 2).await, (Some(20), Some("by name".into())));
    session
        .execute_unpaged(&insert, (1, MaybeUnset::<i32>::Unset, None::<&str>))
        .await
        .unwrap();
    session
        .execute_unpaged(&insert, (2, MaybeUnset::Set(21), MaybeUnset::<&str>::Unset))
        .await
        .unwrap();
    assert_eq!(pair(&session, 1).await, (Some(10), None));
    assert_eq!(pair(&session, 2).await, (Some(21), Some("by name".into())));
    let select = session.prepare("SELECT a, b FROM pairs WHERE k = ?").await.unwrap();
    assert_eq!(select.get_current_result_set_col_specs().get().as_slice().len(), 2);
    assert_eq!(select.get_variable_pk_indexes().len(), 1);
}

async fn fill(session: &Session, rows: i32, partitions: i32) {
    execute(session, "TRUNCATE rows", ()).await;
    let insert = session.prepare("INSERT INTO rows (k, c) VALUES (?, ?)").await.unwrap();
    let insert = &insert;
    futures::stream::iter(0..rows)
        .map(|i| async move { session.execute_unpaged(insert, (i % partitions, i)).await })
        .buffer_unordered(500)
        .try_for_each(|_| async { Ok(()) })
        .await
        .unwrap();
}

async fn paged(session: &Session, text: &str, page: i32) -> Vec<i32> {
    let rows = session.query_iter(Statement::new(text).with_page_size(page), ()).await.unwrap();
    rows.rows_stream::<(i32,)>().unwrap().map_ok(|(c,)| c).try_collect().await.unwrap()
}

#[tokio::test]
async fn paging() {
    let session = connect().await;
    fill(&session, 10000, 7).await;
    let mut all = paged(&session, "SELECT c FROM rows", 777).await;
    all.sort();
    assert_eq!(all, (0..10000).collect::<Vec<_>>());
    let downwards = paged(&session, "SELECT c FROM rows WHERE k = 3 ORDER BY c DESC", 100).await;
    assert_eq!(downwards, (0..10000).rev().filter(|i| i % 7 == 3).collect::<Vec<_>>());
    assert_eq!(paged(&session, "SELECT c FROM rows LIMIT 1500", 1000).await.len(), 1500);
    let (first, _) = session
        .query_single_page(Statement::new("SELECT c FROM rows").with_page_size(777), (), PagingState::start())
        .await
        .unwrap();
    assert_eq!(first.into_rows_result().unwrap().rows_num(), 777);
}

async fn once_again(session: &Session) {
    eventually(|| async { session.query_unpaged("SELECT key FROM system.local", ()).await.ok() }).await;
}

#[tokio::test]
#[ignore = "restarts the node"]
async fn paging_across_a_restart() {
    let session = connect().await;
    fill(&session, 500, 5).await;
    let select = || Statement::new("SELECT c FROM rows").with_page_size(200);
    let mut seen = Vec::new();
    let mut state = PagingState::start();
    for page in 0.. {
        let (result, next) = session.query_single_page(select(), (), state).await.unwrap();
        seen.extend(
            result
                .into_rows_result()
                .unwrap()
                .rows::<(i32,)>()
                .unwrap()
                .map(|row| row.unwrap().0),
        );
        match next.into_paging_control_flow() {
            ControlFlow::Break(()) => break,
            ControlFlow::Continue(next) => state = next,
        }
        if page == 0 {
            control("restart");
            once_again(&session).await;
        }
    }
    seen.sort();
    assert_eq!(seen, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn batches() {
    let session = connect().await;
    let insert = session.prepare("INSERT INTO rows (k, c, v) VALUES (?, ?, ?)").await.unwrap();
    for kind in [BatchType::Logged, BatchType::Unlogged] {
        execute(&session, "TRUNCATE rows", ()).await;
        let mut batch = Batch::new(kind);
        let mut values = Vec::new();
        for i in 0..20 {
            batch.append_statement(insert.clone());
            values.push(vec![CqlValue::Int(i % 4), CqlValue::Int(i), CqlValue::Text("v".into())]);
        }
        batch.append_statement("DELETE FROM rows WHERE k = 0 AND c = 4");
        values.push(vec![]);
        session.batch(&batch, values).await.unwrap();
        let mut left = ints(&session, "SELECT c FROM rows").await;
        left.sort();
        assert_eq!(left, (0..20).filter(|i| *i != 4).collect::<Vec<_>>());
    }
    execute(&session, "TRUNCATE counts", ()).await;
    let add = session
        .prepare("UPDATE counts SET n = n + ?, total = total + 1 WHERE k = ? AND c = ?")
        .await
        .unwrap();
    let mut batch = Batch::new(BatchType::Counter);
    let mut values = Vec::new();
    for i in 0..6 {
        batch.append_statement(add.clone());
        values.push((Counter(i64::from(i)), 1, i % 2));
    }
    session.batch(&batch, values).await.unwrap();
    let rows = session
        .query_unpaged("SELECT n, total FROM counts", ())
        .await
        .unwrap()
        .into_rows_result()
        .unwrap();
    let sums: Vec<_> = rows
        .rows::<(Counter, Counter)>()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(n, total)| (n.0, total.0))
        .collect();
    assert_eq!(sums, [(6, 6), (9, 6)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrency() {
    let session = connect().await;
    let insert = session.prepare("INSERT INTO pairs (k, a) VALUES (?, ?)").await.unwrap();
    let select = session.prepare("SELECT a FROM pairs WHERE k = ?").await.unwrap();
    let (session, insert, select) = (&session, &insert, &select);
    let written = futures::stream::iter(0..5000)
        .map(|i| async move { session.execute_unpaged(insert, (i, i * i)).await })
        .buffer_unordered(500)
        .try_fold(0, |n, _| async move { Ok(n + 1) });
    assert_eq!(written.await.unwrap(), 5000);
    let read: Vec<_> = futures::stream::iter(0..5000)
        .map(|i| async move {
            session
                .execute_unpaged(select, (i,))
                .await
                .unwrap()
                .into_rows_result()
                .unwrap()
                .single_row::<(i32,)>()
                .unwrap()
                .0
        })
        .buffered(500)
        .collect()
        .await;
    assert_eq!(read, (0..5000).map(|i| i * i).collect::<Vec<_>>());
}

#[tokio::test]
async fn events() {
    // At each refresh, the driver reads the keyspaces that events have named since the last, and no others.
    let session = connect_with(builder().cluster_metadata_refresh_interval(Duration::from_millis(100))).await;
    let other = connect().await;
    execute(&other, "DROP KEYSPACE IF EXISTS scenario_events", ()).await;
    let replication = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    type Seen = fn(&ClusterState) -> bool;
    let changes: [(&str, Seen); 6] = [
        (&format!("CREATE KEYSPACE scenario_events {replication}"), |state| {
            state.get_keyspace("scenario_events").is_some()
        }),
        ("CREATE TYPE scenario_events.pair (a int, b int)", |state| {
            state
                .get_keyspace("scenario_events")
                .unwrap()
                .user_defined_types
                .contains_key("pair")
        }),
        ("CREATE TABLE scenario_events.t (k int PRIMARY KEY, v int)", |state| {
            state.get_keyspace("scenario_events").unwrap().tables.contains_key("t")
        }),
        ("ALTER TABLE scenario_events.t ADD w list<int>", |state| {
            state.get_keyspace("scenario_events").unwrap().tables["t"].columns.contains_key("w")
        }),
        ("DROP TABLE scenario_events.t", |state| {
            !state.get_keyspace("scenario_events").unwrap().tables.contains_key("t")
        }),
        ("DROP KEYSPACE scenario_events", |state| {
            state.get_keyspace("scenario_events").is_none()
        }),
    ];
    for (change, seen) in changes {
        println!("{change}");
        execute(&other, change, ()).await;
        eventually(|| async { seen(&session.get_cluster_state()).then_some(()) }).await;
    }
}

#[tokio::test]
#[ignore = "stops the node"]
async fn events_of_the_nodes_status() {
    let session = connect().await;
    let connected = || {
        let state = session.get_cluster_state();
        let mut nodes = state.get_nodes_info().iter();
        nodes.any(|node| node.address.ip().to_string() == host() && node.is_connected())
    };
    assert!(connected());
    control("stop");
    eventually(|| async { (!connected()).then_some(()) }).await;
    control("start");
    eventually(|| async { connected().then_some(()) }).await;
}

#[tokio::test]
async fn errors() {
    let session = connect().await;
    execute(&session, "INSERT INTO pairs (k) VALUES (1)", ()).await;
    assert!(matches!(refusal(&session, "SELEC 1").await, DbError::SyntaxError));
    assert!(matches!(refusal(&session, "SELECT nothing FROM pairs").await, DbError::Invalid));
    assert!(matches!(
        refusal(&session, "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}").await,
        DbError::ConfigError
    ));
    assert!(matches!(
        refusal(&session, "GRANT SELECT ON ALL KEYSPACES TO nobody").await,
        DbError::Unauthorized
    ));
    let DbError::AlreadyExists { keyspace, table } = refusal(&session, "CREATE TABLE pairs (k int PRIMARY KEY)").await else {
        panic!()
    };
    assert_eq!((&keyspace[..], &table[..]), ("scenario", "pairs"));
    let DbError::FunctionFailure { function, .. } = refusal(&session, "SELECT k / 0 FROM pairs WHERE k = 1").await else {
        panic!()
    };
    assert_eq!(function, "_divide");
    if replicas() > 1 {
        return; // all of them are there
    }
    for text in ["INSERT INTO pairs (k, a) VALUES (1, 1)", "SELECT * FROM pairs"] {
        let mut statement = Statement::new(text);
        statement.set_consistency(Consistency::Three);
        let error = refusal(&session, statement).await;
        let DbError::Unavailable {
            consistency,
            required,
            alive,
        } = error
        else {
            panic!("{error:?}")
        };
        assert_eq!((consistency, required, alive), (Consistency::Three, 3, 1));
    }
}

#[tokio::test]
async fn errors_of_reads() {
    if replicas() > 1 {
        return; // of a keyspace with one replica
    }
    let session = connect().await;
    for i in 0..2 {
        let keys: Vec<i32> = (i * 60000..(i + 1) * 60000).collect();
        execute(&session, "UPDATE sparse SET m = m - ? WHERE k = 1", (keys,)).await;
    }
    let mut statement = Statement::new("SELECT m FROM sparse WHERE k = 1");
    statement.set_consistency(Consistency::LocalQuorum);
    let error = refusal(&session, statement).await;
    execute(&session, "TRUNCATE sparse", ()).await;
    let DbError::ReadFailure {
        consistency,
        received,
        required,
        numfailures,
        data_present,
    } = error
    else {
        panic!("{error:?}")
    };
    assert_eq!(
        (consistency, received, required, numfailures, data_present),
        (Consistency::LocalQuorum, 0, 1, 1, false)
    );
}

#[tokio::test]
#[ignore = "needs a node of several shards"]
async fn shards() {
    let host = control("sharded");
    let builder = scylla::client::session_builder::SessionBuilder::new().known_node(&host);
    let session = builder.build().await.unwrap();
    let keyspace = "CREATE KEYSPACE IF NOT EXISTS sharded WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    execute(&session, keyspace, ()).await;
    let table = "CREATE TABLE IF NOT EXISTS sharded.t (a int, b text, v int, PRIMARY KEY ((a, b)))";
    execute(&session, table, ()).await;
    session.refresh_metadata().await.unwrap();
    let state = session.get_cluster_state();
    assert_eq!(state.get_keyspace("sharded").unwrap().tables["t"].partition_key, ["a", "b"]);
    assert_eq!(state.get_nodes_info()[0].sharder().unwrap().nr_shards.get(), 3);
    let insert = session
        .prepare("INSERT INTO sharded.t (a, b, v) VALUES (?, ?, ?)")
        .await
        .unwrap();
    // Its connections to the shards are not all there at first.
    eventually(|| async {
        let before = forwarded(&host);
        for i in 0..300 {
            session.execute_unpaged(&insert, (i, i.to_string(), i)).await.unwrap();
        }
        (forwarded(&host) - before < 10).then_some(())
    })
    .await;
}

/// How many requests the node had to send on to another of its shards.
fn forwarded(host: &str) -> i64 {
    let mut connection = TcpStream::connect((host, 7199)).unwrap();
    connection
        .write_all(format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    let name = "cassandra_shard_requests_forwarded_total ";
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
}

#[tokio::test]
#[ignore = "needs a node with passwords"]
async fn passwords() {
    let host = control("secured");
    let log_in = |name: &str, password: &str| {
        scylla::client::session_builder::SessionBuilder::new()
            .known_node(&host)
            .user(name, password)
    };
    let admin = log_in("cassandra", "cassandra").build().await.unwrap();
    execute(
        &admin,
        "CREATE ROLE IF NOT EXISTS reader WITH PASSWORD = 'secret' AND LOGIN = true",
        (),
    )
    .await;
    for (name, password) in [("cassandra", "wrong"), ("nobody", "cassandra")] {
        let error = log_in(name, password).build().await.unwrap_err();
        assert!(
            matches!(error, NewSessionError::MetadataError(_)) && format!("{error:?}").contains("AuthenticationError"),
            "{error:?}"
        );
    }
    assert!(scylla::client::session_builder::SessionBuilder::new()
        .known_node(&host)
        .build()
        .await
        .is_err());
    let reader = log_in("reader", "secret").build().await.unwrap();
    assert!(matches!(
        refusal(&reader, "CREATE ROLE another WITH SUPERUSER = true").await,
        DbError::Unauthorized
    ));
}

#[tokio::test]
async fn prepared_after_a_schema_change() {
    let session = connect().await;
    execute(&session, "INSERT INTO changing (k, v) VALUES (1, 2)", ()).await;
    let select = session.prepare("SELECT k, v FROM changing WHERE k = ?").await.unwrap();
    let everything = session.prepare("SELECT * FROM changing WHERE k = ?").await.unwrap();
    let read = || async {
        session
            .execute_unpaged(&select, (1,))
            .await
            .unwrap()
            .into_rows_result()
            .unwrap()
            .single_row::<(i32, i32)>()
            .unwrap()
    };
    assert_eq!(read().await, (1, 2));
    execute(&session, "ALTER TABLE changing ADD w text", ()).await;
    assert_eq!(read().await, (1, 2));
    let row = session
        .execute_unpaged(&everything, (1,))
        .await
        .unwrap()
        .into_rows_result()
        .unwrap()
        .single_row::<Row>()
        .unwrap();
    assert_eq!(row.columns[..2], [Some(CqlValue::Int(1)), Some(CqlValue::Int(2))]);
    execute(&session, "ALTER TABLE changing DROP w", ()).await;
    assert_eq!(read().await, (1, 2));
}

#[tokio::test]
#[ignore = "restarts the node"]
async fn prepared_after_a_restart() {
    let session = connect().await;
    let insert = session.prepare("INSERT INTO pairs (k, a) VALUES (?, ?)").await.unwrap();
    let select = session.prepare("SELECT a FROM pairs WHERE k = ?").await.unwrap();
    session.execute_unpaged(&insert, (77, 2)).await.unwrap();
    control("restart");
    let result = eventually(|| async { session.execute_unpaged(&select, (77,)).await.ok() }).await;
    assert_eq!(result.into_rows_result().unwrap().single_row::<(i32,)>().unwrap(), (2,));
    session.execute_unpaged(&insert, (77, 3)).await.unwrap();
}

#[tokio::test]
#[ignore = "kills the node"]
async fn reconnection() {
    let session = connect().await;
    execute(&session, "INSERT INTO pairs (k, a) VALUES (7, 8)", ()).await;
    control("kill");
    let failed = session.query_unpaged("SELECT a FROM pairs WHERE k = 7", ()).await.is_err();
    control("start");
    assert!(failed, "a dead node answered");
    once_again(&session).await;
    assert_eq!(ints(&session, "SELECT a FROM pairs WHERE k = 7").await, [8]);
}

/// Lists the only node three times, so that a speculative execution has somewhere to go.
#[derive(Debug, Default)]
struct TheNodeThreeTimes(DefaultPolicy);

impl LoadBalancingPolicy for TheNodeThreeTimes {
    fn pick<'a>(&'a self, request: &'a RoutingInfo, cluster: &'a ClusterState) -> Option<(NodeRef<'a>, Option<Shard>)> {
        self.0.pick(request, cluster)
    }

    fn fallback<'a>(&'a self, _: &'a RoutingInfo, cluster: &'a ClusterState) -> FallbackPlan<'a> {
        // One that was picked is left out of the plan unless it differs: by a shard.
        Box::new((0..3).flat_map(move |shard| cluster.get_nodes_info().iter().map(move |node| (node, Some(shard)))))
    }

    fn name(&self) -> String {
        "TheNodeThreeTimes".to_string()
    }
}

#[tokio::test]
async fn speculative_execution() {
    let writer = connect().await;
    execute(&writer, "TRUNCATE pairs", ()).await;
    for k in 0..100 {
        execute(&writer, "INSERT INTO pairs (k, b) VALUES (?, ?)", (k, "x".repeat(50000))).await;
    }
    let policy = SimpleSpeculativeExecutionPolicy {
        max_retry_count: 2,
        retry_interval: Duration::from_millis(1),
    };
    let profile = profile()
        .load_balancing_policy(Arc::new(TheNodeThreeTimes::default()))
        .speculative_execution_policy(Some(Arc::new(policy)));
    let session = connect_with(builder().default_execution_profile_handle(profile.build().into_handle())).await;
    let history = Arc::new(HistoryCollector::new());
    let mut select = Statement::new("SELECT k, b FROM pairs");
    select.set_is_idempotent(true);
    select.set_history_listener(history.clone());
    let rows = session.query_unpaged(select, ()).await.unwrap().into_rows_result().unwrap();
    let mut keys: Vec<_> = rows.rows::<(i32, String)>().unwrap().map(|row| row.unwrap().0).collect();
    keys.sort();
    assert_eq!(keys, (0..100).collect::<Vec<_>>());
    assert!(!history.clone_structured_history().requests[0].speculative_fibers.is_empty());
}

#[tokio::test]
async fn tracing() {
    let session = connect().await;
    let mut insert = Statement::new("INSERT INTO pairs (k, a) VALUES (1, 1)");
    insert.set_tracing(true);
    let id = session.query_unpaged(insert, ()).await.unwrap().tracing_id().unwrap();
    let trace = session.get_tracing_info(&id).await.unwrap();
    assert_eq!(trace.request.as_deref(), Some("Execute CQL3 query"));
    assert_eq!(trace.parameters.unwrap()["query"], "INSERT INTO pairs (k, a) VALUES (1, 1)");
    let nodes = std::env::var("SCENARIO_NODES").unwrap();
    assert!(nodes.split(',').any(|node| node == trace.coordinator.unwrap().to_string()));
    assert!(!trace.events.is_empty());
}

#[tokio::test]
async fn large_rows() {
    let session = connect().await;
    execute(&session, "TRUNCATE large", ()).await;
    let insert = session.prepare("INSERT INTO large (k, v) VALUES (?, ?)").await.unwrap();
    let value: Vec<u8> = (0..16 << 20).map(|i: u32| (i % 251) as u8).collect();
    session.execute_unpaged(&insert, (1, &value[1000..])).await.unwrap();
    let rows = session
        .query_unpaged("SELECT v FROM large WHERE k = 1", ())
        .await
        .unwrap()
        .into_rows_result()
        .unwrap();
    assert!(rows.single_row::<(Vec<u8>,)>().unwrap().0 == value[1000..]);
    for beyond in [value.clone(), value.repeat(2)] {
        let error = database_error(session.execute_unpaged(&insert, (2, &beyond)).await.unwrap_err());
        assert!(matches!(error, DbError::Invalid), "{error:?}");
        assert_eq!(ints(&session, "SELECT k FROM large").await, [1]);
    }
    execute(&session, "TRUNCATE large", ()).await;
}
