//! The node of the scenario, started and controlled by ../support/with_node.py.

use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileBuilder};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};
use scylla::frame::types::Consistency;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::serialize::row::SerializeRow;
use tokio::sync::OnceCell;

pub fn host() -> String {
    std::env::var("SCENARIO_HOST").unwrap()
}

pub fn replicas() -> usize {
    std::env::var("SCENARIO_REPLICAS").unwrap().parse().unwrap()
}

/// Has the node stopped, killed, started or restarted; "secured" and "sharded": the address of a node beside it.
pub fn control(command: &str) -> String {
    let mut connection = TcpStream::connect(std::env::var("SCENARIO_CONTROL").unwrap()).unwrap();
    writeln!(connection, "{command}").unwrap();
    let mut answer = String::new();
    BufReader::new(connection).read_line(&mut answer).unwrap();
    answer.strip_prefix("ok").unwrap_or_else(|| panic!("{answer}")).trim().to_string()
}

pub fn profile() -> ExecutionProfileBuilder {
    ExecutionProfile::builder()
        .consistency(if replicas() == 1 { Consistency::One } else { Consistency::Quorum })
        .request_timeout(Some(Duration::from_secs(30)))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
}

pub fn builder() -> SessionBuilder {
    SessionBuilder::new()
        .known_node(host())
        .default_execution_profile_handle(profile().build().into_handle())
        .keyspaces_to_fetch(["scenario", "scenario_events"])
        .connection_timeout(Duration::from_secs(20))
        .schema_agreement_timeout(Duration::from_secs(30))
        .tracing_info_fetch_attempts(100.try_into().unwrap())
        .tracing_info_fetch_interval(Duration::from_millis(50))
}

static SCHEMA: OnceCell<()> = OnceCell::const_new();

async fn create_schema() {
    let session = builder().build().await.unwrap();
    execute(&session, "DROP KEYSPACE IF EXISTS scenario", ()).await;
    let text = std::fs::read_to_string(std::env::var("SCENARIO_SCHEMA").unwrap()).unwrap();
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("--"))
        .map(|line| format!("{line}\n"))
        .collect();
    for statement in text.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        execute(&session, statement, ()).await;
    }
}

pub async fn connect_with(builder: SessionBuilder) -> Session {
    SCHEMA.get_or_init(create_schema).await;
    builder.use_keyspace("scenario", false).build().await.unwrap()
}

pub async fn connect() -> Session {
    connect_with(builder()).await
}

pub async fn execute(session: &Session, statement: &str, values: impl SerializeRow) {
    if let Err(error) = session.query_unpaged(statement, values).await {
        panic!("{statement}: {error}");
    }
}

/// The first column of all rows.
pub async fn ints(session: &Session, statement: &str) -> Vec<i32> {
    let rows = session.query_unpaged(statement, ()).await.unwrap().into_rows_result().unwrap();
    let out = rows.rows::<(i32,)>().unwrap().map(|row| row.unwrap().0).collect();
    out
}

/// The error with which the node answered.
pub async fn refusal(session: &Session, statement: impl Into<scylla::statement::Statement>) -> DbError {
    database_error(session.query_unpaged(statement, ()).await.unwrap_err())
}

pub fn database_error(error: ExecutionError) -> DbError {
    match error {
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => error,
        other => panic!("{other:?}"),
    }
}

/// The result of an attempt, once it succeeds.
pub async fn eventually<T, F: Future<Output = Option<T>>>(mut attempt: impl FnMut() -> F) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(result) = attempt().await {
            return result;
        }
        assert!(Instant::now() < deadline, "it did not come about");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
