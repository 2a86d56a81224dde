//! Item 3: every type there and back.

use std::net::IpAddr;

use scylla::value::{CqlDate, CqlDecimal, CqlDuration, CqlTime, CqlTimestamp, CqlValue, CqlVarint, Row};
use uuid::Uuid;
use CqlValue::*;

use crate::node::*;

fn text(value: &str) -> CqlValue {
    Text(value.to_string())
}

fn decimal(digits: &[u8], scale: i32) -> CqlValue {
    Decimal(CqlDecimal::from_signed_be_bytes_slice_and_exponent(digits, scale))
}

fn address(street: Option<(Option<&str>, Option<i32>)>, tags: Option<&[&str]>, place: Option<(f64, Option<f64>)>) -> CqlValue {
    let street = street.map(|(name, number)| UserDefinedType {
        keyspace: "scenario".to_string(),
        name: "street".to_string(),
        fields: vec![("name".to_string(), name.map(text)), ("number".to_string(), number.map(Int))],
    });
    let tags = tags.map(|tags| Set(tags.iter().map(|tag| text(tag)).collect()));
    let place = place.map(|(x, y)| Tuple(vec![Some(Double(x)), y.map(Double)]));
    UserDefinedType {
        keyspace: "scenario".to_string(),
        name: "address".to_string(),
        fields: vec![
            ("street".to_string(), street),
            ("tags".to_string(), tags),
            ("place".to_string(), place),
        ],
    }
}

fn addresses() -> Vec<CqlValue> {
    vec![
        address(Some((Some("Elm"), Some(5))), Some(&["", "a"]), Some((1.5, None))),
        address(Some((None, Some(5))), None, None),
        address(None, Some(&["only"]), None),
    ]
}

fn kinds() -> Vec<(&'static str, Vec<CqlValue>)> {
    let ip = |text: &str| Inet(text.parse::<IpAddr>().unwrap());
    let duration = |months, days, nanoseconds| Duration(CqlDuration { months, days, nanoseconds });
    let huge: Vec<u8> = (1..=100).collect();
    vec![
        ("ascii_", vec![Ascii("".into()), Ascii("plain".into())]),
        ("bigint_", vec![BigInt(0), BigInt(i64::MIN), BigInt(i64::MAX)]),
        ("blob_", vec![Blob(vec![]), Blob(vec![0, 255])]),
        ("boolean_", vec![Boolean(true), Boolean(false)]),
        ("date_", vec![Date(CqlDate(1 << 31)), Date(CqlDate(0)), Date(CqlDate(u32::MAX))]),
        ("decimal_", vec![decimal(&[0], 0), decimal(&[0xff, 0x6a], 2), decimal(&huge, 2000)]),
        (
            "double_",
            vec![
                Double(0.0),
                Double(-1.5e300),
                Double(f64::MIN_POSITIVE),
                Double(f64::MAX),
                Double(f64::NEG_INFINITY),
            ],
        ),
        (
            "duration_",
            vec![duration(0, 0, 0), duration(-1, -2, -3), duration(i32::MAX, i32::MAX, i64::MAX)],
        ),
        (
            "float_",
            vec![Float(0.5), Float(f32::MIN_POSITIVE), Float(f32::MAX), Float(f32::INFINITY)],
        ),
        ("inet_", vec![ip("0.0.0.0"), ip("255.255.255.255"), ip("::1")]),
        ("int_", vec![Int(0), Int(i32::MIN), Int(i32::MAX)]),
        ("smallint_", vec![SmallInt(i16::MIN), SmallInt(i16::MAX)]),
        (
            "text_",
            vec![text(""), text("grüße, 世界 \u{1f600}"), text("\0"), Text("x".repeat(100000))],
        ),
        ("time_", vec![Time(CqlTime(0)), Time(CqlTime(86_399_999_999_999))]),
        (
            "timestamp_",
            vec![
                Timestamp(CqlTimestamp(0)),
                Timestamp(CqlTimestamp(i64::MIN)),
                Timestamp(CqlTimestamp(i64::MAX)),
            ],
        ),
        ("timeuuid_", vec![Timeuuid("d2177dd0-eaa2-11de-a572-001b779c76e3".parse().unwrap())]),
        ("tinyint_", vec![TinyInt(i8::MIN), TinyInt(i8::MAX)]),
        ("uuid_", vec![CqlValue::Uuid(Uuid::nil()), CqlValue::Uuid(Uuid::max())]),
        ("varchar_", vec![text(""), text("another name of text")]),
        (
            "varint_",
            vec![
                Varint(CqlVarint::from_signed_bytes_be(vec![0])),
                Varint(CqlVarint::from_signed_bytes_be(vec![0xff, 0x7f])),
                Varint(CqlVarint::from_signed_bytes_be(huge.clone())),
            ],
        ),
        ("list_", vec![List(vec![Int(1), Int(2), Int(1)]), List(vec![Int(7); 10000])]),
        ("set_", vec![Set(vec![text(""), text("a"), text("b")])]),
        ("map_", vec![Map(vec![(text(""), BigInt(1)), (text("a"), BigInt(i64::MIN))])]),
        (
            "nested_",
            vec![Map(vec![
                (Int(1), List(vec![Set(vec![text("x"), text("y")]), Set(vec![])])),
                (Int(2), List(vec![])),
            ])],
        ),
        (
            "tuple_",
            vec![
                Tuple(vec![Some(Int(1)), Some(text("a")), Some(List(vec![Double(0.5)]))]),
                Tuple(vec![None, Some(text("b")), None]),
            ],
        ),
        ("udt_", addresses()),
        ("frozen_", addresses()),
        ("vector_", vec![Vector(vec![Float(1.5), Float(-2.0), Float(0.25)])]),
    ]
}

#[tokio::test]
async fn types() {
    let session = connect().await;
    execute(&session, "TRUNCATE kinds", ()).await;
    for (column, values) in kinds() {
        let insert = session
            .prepare(format!("INSERT INTO kinds (id, {column}) VALUES (1, ?)"))
            .await
            .unwrap();
        let select = session.prepare(format!("SELECT {column} FROM kinds WHERE id = 1")).await.unwrap();
        for value in values.into_iter().map(Some).chain([None]) {
            session
                .execute_unpaged(&insert, (&value,))
                .await
                .unwrap_or_else(|error| panic!("{column}: {error}"));
            let rows = session.execute_unpaged(&select, ()).await.unwrap().into_rows_result().unwrap();
            assert_eq!(rows.single_row::<Row>().unwrap().columns, [value], "{column}");
        }
    }
}

#[tokio::test]
async fn types_have_empty_values() {
    let session = connect().await;
    for kind in [
        "bigint",
        "boolean",
        "decimal",
        "double",
        "float",
        "inet",
        "int",
        "timestamp",
        "timeuuid",
        "uuid",
        "varint",
    ] {
        execute(
            &session,
            &format!("INSERT INTO kinds (id, {kind}_) VALUES (2, blob_as_{kind}(0x))"),
            (),
        )
        .await;
        let select = format!("SELECT {kind}_, {kind}_as_blob({kind}_) FROM kinds WHERE id = 2");
        let rows = session.query_unpaged(select, ()).await.unwrap().into_rows_result().unwrap();
        assert_eq!(
            rows.single_row::<Row>().unwrap().columns,
            [Some(Empty), Some(Blob(vec![]))],
            "{kind}"
        );
    }
}
