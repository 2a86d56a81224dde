#include "cql/syntax/lexer.h"

#include <gtest/gtest.h>

#include "cql/syntax/keywords.h"

namespace cassandra_like {
namespace {

// Tokens as `NAME<value>` with spaces between them; an error as `ERROR@offset message`.
std::string lex(std::string_view text) {
  Lexer lexer(text);
  std::string out;
  while (true) {
    SyntaxToken token = lexer.next();
    if (token.kind == Tok::kEnd) return out;
    if (!out.empty()) out += ' ';
    if (token.kind == Tok::kLexicalError) {
      return out + "ERROR@" + std::to_string(lexer.error_offset()) + " " + lexer.error();
    }
    out += std::string(token_name(token.kind)) + "<" + token_value(text, token) + ">";
  }
}

TEST(LexerTest, WordsAreKeywordsInAnyCase) {
  EXPECT_EQ(lex("select Select SELECT selects"), "K_SELECT<select> K_SELECT<Select> K_SELECT<SELECT> IDENT<selects>");
  EXPECT_EQ(lex("table columnfamily tables ColumnFamilies"),
            "K_COLUMNFAMILY<table> K_COLUMNFAMILY<columnfamily> K_TABLES<tables> K_TABLES<ColumnFamilies>");
  EXPECT_EQ(lex("keyspace schema"), "K_KEYSPACE<keyspace> K_SCHEMA<schema>");
  EXPECT_EQ(lex("select_masked a_1 T"), "K_SELECT_MASKED<select_masked> IDENT<a_1> IDENT<T>");
}

TEST(LexerTest, EveryKeywordIsFound) {
#define X(name, text)                                     \
  EXPECT_EQ(classify_word(#text), Tok::k##name) << #text; \
  EXPECT_EQ(token_name(Tok::k##name), "K_" #text);
  CQL_RESERVED_KEYWORDS(X)
  CQL_UNRESERVED_KEYWORDS(X)
  CQL_NATIVE_KEYWORDS(X)
  CQL_COLUMN_KEYWORDS(X)
#undef X
  EXPECT_EQ(classify_word("x"), Tok::kIdent);
  EXPECT_EQ(classify_word("materialized_views"), Tok::kIdent);
}

TEST(LexerTest, WordsThatAreLiterals) {
  EXPECT_EQ(lex("true False"), "BOOLEAN<true> BOOLEAN<False>");
  EXPECT_EQ(lex("NaN -nan infinity -Infinity"),
            "K_POSITIVE_NAN<NaN> K_NEGATIVE_NAN<-nan> K_POSITIVE_INFINITY<infinity> K_NEGATIVE_INFINITY<-Infinity>");
  EXPECT_EQ(lex("-nanx"), "K_NEGATIVE_NAN<-nan> IDENT<x>");
}

TEST(LexerTest, QuotesAreRemoved) {
  EXPECT_EQ(lex("'' 'a' 'it''s' ''''"), "STRING_LITERAL<> STRING_LITERAL<a> STRING_LITERAL<it's> STRING_LITERAL<'>");
  EXPECT_EQ(lex("$$it's$$ $$a$b$$ $$$$"), "STRING_LITERAL<it's> STRING_LITERAL<a$b> STRING_LITERAL<>");
  EXPECT_EQ(lex(R"("A" "a""b" "" """")"), R"(QUOTED_NAME<A> QUOTED_NAME<a"b> EMPTY_QUOTED_NAME<> QUOTED_NAME<">)");
}

TEST(LexerTest, AStringMayHoldAnything) {
  std::string with_nul("'a\0b'", 5);
  EXPECT_EQ(lex(with_nul), std::string("STRING_LITERAL<a\0b>", 19));
  EXPECT_EQ(lex("'two\nlines'"), "STRING_LITERAL<two\nlines>");
}

TEST(LexerTest, Numbers) {
  EXPECT_EQ(lex("0 -1 1.5 -1.5e-5 1. 1e10 1E+5"),
            "INTEGER<0> INTEGER<-1> FLOAT<1.5> FLOAT<-1.5e-5> FLOAT<1.> FLOAT<1e10> FLOAT<1E+5>");
  EXPECT_EQ(lex("1-2 - 1"), "INTEGER<1> INTEGER<-2> '-'<-> INTEGER<1>");
  EXPECT_EQ(lex("0x 0xCaFe 0xg 00x"), "HEXNUMBER<0x> HEXNUMBER<0xCaFe> HEXNUMBER<0x> IDENT<g> INTEGER<00> IDENT<x>");
}

TEST(LexerTest, Ranges) {
  EXPECT_EQ(lex("1..2 1...2 1.0..2 .."),
            "INTEGER<1> RANGE<..> INTEGER<2> FLOAT<1.> RANGE<..> INTEGER<2> FLOAT<1.0> RANGE<..> INTEGER<2> RANGE<..>");
}

TEST(LexerTest, Durations) {
  EXPECT_EQ(lex("1y2mo3w4d5h6m7s8ms9us10ns 1µs -1d2h 1mon"),
            "DURATION<1y2mo3w4d5h6m7s8ms9us10ns> DURATION<1µs> DURATION<-1d2h> DURATION<1mo> IDENT<n>");
  EXPECT_EQ(lex("P1Y2M3DT4H5M6S PT1S P1W -P1Y2D -PT1H P2020-01-02T03:04:05"),
            "DURATION<P1Y2M3DT4H5M6S> DURATION<PT1S> DURATION<P1W> DURATION<-P1Y2D> DURATION<-PT1H> "
            "DURATION<P2020-01-02T03:04:05>");
  EXPECT_EQ(lex("P P1 PT P1YX p1y P1Y2 P2020"),
            "IDENT<P> IDENT<P1> IDENT<PT> IDENT<P1YX> IDENT<p1y> IDENT<P1Y2> IDENT<P2020>");
}

// Until one of them is ruled out, a number may be a uuid as well as a float or a duration.
TEST(LexerTest, UuidsAndWhatLooksLikeThem) {
  EXPECT_EQ(lex("123e4567-e89b-12d3-a456-426614174000"), "UUID<123e4567-e89b-12d3-a456-426614174000>");
  EXPECT_EQ(lex("ABCDEF12-1234-1234-1234-123456789012"), "UUID<ABCDEF12-1234-1234-1234-123456789012>");
  EXPECT_EQ(lex("1234567e-1 1234567e-1234 1d2h abcdef1-2"),
            "FLOAT<1234567e-1> FLOAT<1234567e-1234> DURATION<1d2h> IDENT<abcdef1> INTEGER<-2>");
  EXPECT_EQ(lex("abcdef12-1"), "ERROR@10 mismatched character '<EOF>' expecting set null");
  EXPECT_EQ(lex("12345678-123x"), "ERROR@12 mismatched character 'x' expecting set null");
  EXPECT_EQ(lex("12345678-1234x"), "ERROR@13 mismatched character 'x' expecting '-'");
  EXPECT_EQ(lex("1a"), "ERROR@2 mismatched character '<EOF>' expecting set null");
  EXPECT_EQ(lex("1d2x"), "ERROR@3 no viable alternative at character 'x'");
}

TEST(LexerTest, CommentsAndSpace) {
  EXPECT_EQ(lex("a -- x\nb // y\r c /* * / \n */ d /**/\t"), "IDENT<a> IDENT<b> IDENT<c> IDENT<d>");
  EXPECT_EQ(lex("a -- x"), "IDENT<a> ERROR@6 mismatched character '<EOF>' expecting set null");
  EXPECT_EQ(lex("a /* x"), "IDENT<a> ERROR@6 mismatched character '<EOF>' expecting '*'");
  EXPECT_EQ(lex("a /* x *"), "IDENT<a> ERROR@8 mismatched character '<EOF>' expecting '/'");
}

TEST(LexerTest, Punctuation) {
  EXPECT_EQ(lex("= != < <= > >= + += - -= * / % . , ; : ? ( ) [ ] { }"),
            R"('='<=> '!='<!=> '<'<<> '<='<<=> '>'<>> '>='<>=> '+'<+> '+='<+=> '-'<-> '-='<-=> '\*'<*> '/'</> '%'<%> )"
            R"('.'<.> ','<,> ';'<;> ':'<:> QMARK<?> '('<(> ')'<)> '['<[> ']'<]> '{'<{> '}'<}>)");
  EXPECT_EQ(lex("expr( expr ( EXPR("), "'expr('<expr(> IDENT<expr> '('<(> IDENT<EXPR> '('<(>");
}

TEST(LexerTest, Errors) {
  EXPECT_EQ(lex("'a"), "ERROR@2 mismatched character '<EOF>' expecting '''");
  EXPECT_EQ(lex("\"a"), "ERROR@2 mismatched character '<EOF>' expecting '\"'");
  EXPECT_EQ(lex("\""), "ERROR@1 no viable alternative at character '<EOF>'");
  EXPECT_EQ(lex("$$ab"), "ERROR@3 mismatched character 'b' expecting '$'");
  EXPECT_EQ(lex("$\n"), "ERROR@1 mismatched character '\\n' expecting '$'");
  EXPECT_EQ(lex("a & b"), "IDENT<a> ERROR@2 no viable alternative at character '&'");
  EXPECT_EQ(lex("_a"), "ERROR@0 no viable alternative at character '_'");
  EXPECT_EQ(lex("é"), "ERROR@0 no viable alternative at character 'é'");
  EXPECT_EQ(lex("!a"), "ERROR@1 mismatched character 'a' expecting '='");
  EXPECT_EQ(lex("-name"), "ERROR@3 mismatched character 'm' expecting set null");
  EXPECT_EQ(lex("1e"), "ERROR@2 no viable alternative at character '<EOF>'");
  EXPECT_EQ(lex("1.5ex"), "ERROR@4 required (...)+ loop did not match anything at character 'x'");
  EXPECT_EQ(lex("-P1Y2M3"), "ERROR@7 mismatched character '<EOF>' expecting 'D'");
  EXPECT_EQ(lex(std::string_view("\0", 1)), std::string("ERROR@0 no viable alternative at character '\0'", 46));
}

TEST(LexerTest, StaysAtTheEndAndAtAnError) {
  Lexer end("a");
  EXPECT_EQ(end.next().kind, Tok::kIdent);
  EXPECT_EQ(end.next().kind, Tok::kEnd);
  EXPECT_EQ(end.next().kind, Tok::kEnd);
  Lexer error("&");
  EXPECT_EQ(error.next().kind, Tok::kLexicalError);
  EXPECT_EQ(error.next().kind, Tok::kLexicalError);
}

TEST(LexerTest, HiddenTokensHaveTheirPlace) {
  Lexer lexer("a /*c*/b");
  std::string kinds;
  for (SyntaxToken t = lexer.next_with_hidden(); t.kind != Tok::kEnd; t = lexer.next_with_hidden()) {
    kinds += std::to_string(t.offset) + "+" + std::to_string(t.length) + std::string(token_name(t.kind)) + " ";
  }
  EXPECT_EQ(kinds, "0+1IDENT 1+1WS 2+5WS 7+1IDENT ");
}

}  // namespace
}  // namespace cassandra_like
