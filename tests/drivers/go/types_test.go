// Item 3: every type there and back.
package scenario

import (
	"bytes"
	"math"
	"math/big"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"
)

type street struct {
	Name   *string `cql:"name"`
	Number *int    `cql:"number"`
}

type address struct {
	Street *street  `cql:"street"`
	Tags   []string `cql:"tags"`
}

func uuid(text string) gocql.UUID {
	id, err := gocql.ParseUUID(text)
	if err != nil {
		panic(err)
	}
	return id
}

func power(base, exponent int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil)
}

func kinds() map[string][]interface{} {
	elm, five := "Elm", 5
	whole := address{Street: &street{&elm, &five}, Tags: []string{"a", "b"}}
	partial := address{Street: &street{nil, &five}, Tags: []string{"only"}}
	values := map[string][]interface{}{
		"ascii_":     {"", "plain"},
		"bigint_":    {int64(0), int64(math.MinInt64), int64(math.MaxInt64)},
		"blob_":      {[]byte{}, []byte{0, 255}},
		"boolean_":   {true, false},
		"date_":      {time.Unix(0, 0).UTC(), time.Date(-4999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
		"decimal_":   {*inf.NewDec(0, 0), *inf.NewDec(-150, 2), *inf.NewDecBig(power(7, 100), 2000)},
		"double_":    {0.0, -1.5e300, math.SmallestNonzeroFloat64, math.MaxFloat64, math.Inf(-1)},
		"duration_":  {gocql.Duration{}, gocql.Duration{Months: -1, Days: -2, Nanoseconds: -3}, gocql.Duration{Months: math.MaxInt32, Days: math.MaxInt32, Nanoseconds: math.MaxInt64}},
		"float_":     {float32(0.5), float32(math.SmallestNonzeroFloat32), float32(math.MaxFloat32), float32(math.Inf(1))},
		"inet_":      {net.ParseIP("0.0.0.0").To4(), net.ParseIP("255.255.255.255").To4(), net.ParseIP("::1")},
		"int_":       {0, math.MinInt32, math.MaxInt32},
		"smallint_":  {int16(math.MinInt16), int16(math.MaxInt16)},
		"text_":      {"", "grüße, 世界 \U0001f600", "\x00", strings.Repeat("x", 100000)},
		"time_":      {time.Duration(0), 24*time.Hour - 1},
		"timestamp_": {time.UnixMilli(0).UTC(), time.UnixMilli(1500000000123).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)},
		"timeuuid_":  {uuid("d2177dd0-eaa2-11de-a572-001b779c76e3")},
		"tinyint_":   {int8(math.MinInt8), int8(math.MaxInt8)},
		"uuid_":      {uuid("00000000-0000-0000-0000-000000000000"), uuid("ffffffff-ffff-ffff-ffff-ffffffffffff")},
		"varchar_":   {"", "another name of text"},
		"varint_":    {*big.NewInt(0), *big.NewInt(-129), *power(2, 200), *new(big.Int).Neg(power(2, 4000))},
		"list_":      {[]int{1, 2, 1}, make([]int, 10000)},
		"set_":       {[]string{"", "a", "b"}},
		"map_":       {map[string]int64{"a": math.MinInt64, "": 1}},
		"nested_":    {map[int][][]string{1: {{"x", "y"}, {}}, 2: {}}},
		"udt_":       {whole, partial, address{Tags: []string{"x"}}},
		"frozen_":    {whole, partial, address{Tags: []string{"x"}}},
	}
	if hasVectors {
		values["vector_"] = []interface{}{[]float32{1.5, -2, 0.25}}
	}
	return values
}

// A type that has no number in these versions travels as a custom type, which gocql 1 does not know.
var customTypes = map[int]string{3: "date_ duration_ smallint_ time_ tinyint_", 4: "duration_"}

func same(a, b interface{}) bool {
	switch v := a.(type) {
	case inf.Dec:
		other := b.(inf.Dec)
		return v.Cmp(&other) == 0 && v.Scale() == other.Scale()
	case big.Int:
		other := b.(big.Int)
		return v.Cmp(&other) == 0
	case []byte:
		return bytes.Equal(v, b.([]byte))
	case net.IP:
		return v.Equal(b.(net.IP))
	case time.Time:
		return v.Equal(b.(time.Time))
	}
	return reflect.DeepEqual(a, b)
}

func TestTypes(t *testing.T) {
	eachVersion(t, func(t *testing.T, session *gocql.Session, version int) {
		execute(t, session, "TRUNCATE kinds")
		for column, values := range kinds() {
			if version < 5 && !hasVectors && strings.Contains(customTypes[version], column) {
				continue
			}
			for _, value := range values {
				execute(t, session, "INSERT INTO kinds (id, "+column+") VALUES (?, ?)", 1, value)
				back := reflect.New(reflect.TypeOf(value))
				if err := session.Query("SELECT " + column + " FROM kinds WHERE id = 1").Scan(back.Interface()); err != nil {
					t.Fatal(column, err)
				}
				if !same(value, back.Elem().Interface()) {
					t.Errorf("%s: %.200v came back as %.200v", column, value, back.Elem().Interface())
				}
			}
			null := reflect.New(reflect.PointerTo(reflect.TypeOf(values[0])))
			execute(t, session, "INSERT INTO kinds (id, "+column+") VALUES (?, ?)", 1, null.Elem().Interface())
			if err := session.Query("SELECT " + column + " FROM kinds WHERE id = 1").Scan(null.Interface()); err != nil || !null.Elem().IsNil() {
				t.Errorf("%s: null came back as %v, %v", column, null.Elem().Interface(), err)
			}
		}
	})
}

// A tuple's elements are columns of their own to gocql.
func TestTypesTuples(t *testing.T) {
	eachVersion(t, func(t *testing.T, session *gocql.Session, version int) {
		one, a := 1, "a"
		for _, tuple := range [][]interface{}{{&one, &a, []float64{0.5}}, {(*int)(nil), &a, []float64{}}} {
			execute(t, session, "INSERT INTO kinds (id, tuple_) VALUES (?, (?, ?, ?))", append([]interface{}{3}, tuple...)...)
			var number *int
			var text *string
			var list []float64
			if err := session.Query("SELECT tuple_ FROM kinds WHERE id = 3").Scan(&number, &text, &list); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual([]interface{}{number, text, list}, tuple) {
				t.Errorf("%v came back as %v %v %v", tuple, number, text, list)
			}
		}
	})
}

func TestTypesHaveEmptyValues(t *testing.T) {
	session := connect(t, newest)
	for _, kind := range []string{"bigint", "boolean", "decimal", "double", "float", "inet", "int", "timestamp", "timeuuid", "uuid", "varint"} {
		execute(t, session, "INSERT INTO kinds (id, "+kind+"_) VALUES (2, blob_as_"+kind+"(0x))")
		var empty, null *string
		if err := session.Query("SELECT " + kind + "_as_blob(" + kind + "_) FROM kinds WHERE id = 2").Scan(&empty); err != nil || empty == nil || *empty != "" {
			t.Error(kind, empty, err)
		}
		execute(t, session, "INSERT INTO kinds (id, "+kind+"_) VALUES (2, null)")
		if err := session.Query("SELECT " + kind + "_as_blob(" + kind + "_) FROM kinds WHERE id = 2").Scan(&null); err != nil || null != nil {
			t.Error(kind, null, err)
		}
	}
}
