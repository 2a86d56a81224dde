#!/usr/bin/env python3
"""Shows for each rule of lint.py a sample that it catches, and one that it lets pass."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).with_name("lint.py")


def lint(**files):
    """Runs lint over a tree; __ in a name stands for a slash, _DOT_ for the dot. Returns its lines."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / ".clang-format").write_text("BasedOnStyle: Google\nColumnLimit: 110\n")
        for name, text in files.items():
            path = root / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, LINT, root], capture_output=True, text=True)
        return done.stdout.splitlines()[:-1]


def body(lines):
    return "int f(int x) {\n" + "  ++x;\n" * (lines - 2) + "}\n"


class LintTest(unittest.TestCase):
    def breaches(self, lines, *expected):
        self.assertEqual([line for line in lines if "skipped:" not in line], list(expected))

    def test_a_clean_tree_passes(self):
        self.breaches(lint(src__model__key_DOT_h='// Keys.\n#pragma once\n#include "base/bytes.h"\n',
                           src__base__bytes_DOT_h="// Bytes.\n#pragma once\n"))

    def test_awaited_calls_take_no_temporaries_that_gcc_12_destroys_twice(self):
        text = ("Task<void> f() {\n"
                "  co_await g([self](int x) { return x; });\n"
                "  CO_TRY(co_await g(1, {}));\n"
                "  int y = co_await g(Options{1, 2});\n"
                "  co_await g([](int x) { return x; });\n"
                "  co_await Yield{executor};\n"
                "  co_await g(list[0], name);\n"
                "  auto named = [self](int x) { return x; };\n"
                "  co_await g(std::move(named));\n"
                "  if (co_await ready()) h({});\n"
                "}\n")
        self.breaches(lint(src__base__a_DOT_cc=text),
                      "src/base/a.cc:2: a lambda with captures in an awaited call: name it before",
                      "src/base/a.cc:3: a braced argument in an awaited call: name it before",
                      "src/base/a.cc:4: a braced argument in an awaited call: name it before")

    def test_a_branch_of_a_choice_is_not_awaited(self):
        text = ("Task<int> f() {\n"
                "  int a = x ? co_await g() : 1;\n"
                "  int b = x ? 1\n"
                "            : co_await g();\n"
                "  int c = co_await g() ? 1 : 2;\n"
                "  bool d = x ? 1 : 2;\n"
                "  co_await g();\n"
                "}\n")
        lines = lint(src__base__a_DOT_cc=text)
        self.breaches([line for line in lines if "?:" in line],
                      "src/base/a.cc:2: a co_await inside ?: whose result GCC 12 destroys twice",
                      "src/base/a.cc:4: a co_await inside ?: whose result GCC 12 destroys twice")

    def test_a_loop_does_not_run_over_a_part_of_a_temporary(self):
        text = ("void f() {\n"
                "  for (int x : *list(disk)) use(x);\n"
                "  for (const auto& x : disk.list(a, b).value()) {\n"
                "  }\n"
                "  for (int x : list(disk)) use(x);\n"
                "  for (int x : *found) use(x);\n"
                "  for (int* p = begin(); p != end(); ++p) use(*f(p));\n"
                "}\n")
        self.breaches([line for line in lint(src__base__a_DOT_cc=text) if "loop" in line],
                      "src/base/a.cc:2: a loop over a part of a temporary: name the result before",
                      "src/base/a.cc:3: a loop over a part of a temporary: name the result before")

    def test_frames_of_coroutines_do_not_borrow(self):
        text = ("Task<void> f(const std::string& name, Map<int, Key&> map, Executor& executor, Key&& key) {\n"
                "  for (int i = 0; i < 3; ++i) {\n"
                "    co_await g();\n"
                "  }\n"
                "}\n"
                "Task<void> h(const std::string& name) { return f(name); }\n"
                "void i() {\n"
                "  auto captures = [this](int x) -> Task<void> { co_await g(x); };\n"
                "  auto plain = [](int x) -> Task<void> { co_await g(x); };\n"
                "  auto makes = [this, &plain](const Key& key) { return plain(key); };\n"
                "}\n"
                "Task<Status> C::j(std::function<void(const Key&)> each) const {\n"
                "  CO_TRY(co_await g());\n"
                "}\n")
        self.breaches([line for line in lint(src__base__a_DOT_cc=text) if "coroutine" in line],
                      "src/base/a.cc:3: a coroutine with the reference 'const std::string& name': take a value or a pointer",
                      "src/base/a.cc:3: a coroutine with the reference 'Key&& key': take a value or a pointer",
                      "src/base/a.cc:8: a coroutine that is a lambda with captures: make it a function with parameters")

    def test_nothing_is_awaited_where_an_exception_is_caught(self):
        text = ("Task<void> f() {\n"
                "  try {\n"
                "    co_await g();\n"
                "  } catch (const Error& e) {\n"
                "    if (x) {\n"
                "      co_await h();\n"
                "    }\n"
                "    co_return;\n"
                "  }\n"
                "}\n")
        self.breaches(lint(src__base__a_DOT_cc=text),
                      "src/base/a.cc:6: a co_await in a catch block: keep the error and await behind it")

    def test_includes_point_down(self):
        self.breaches(lint(src__base__a_DOT_cc='#include "model/b.h"\n', src__model__b_DOT_h="// B.\n#pragma once\n"),
                      "src/base/a.cc:1: base may not include model")

    def test_storage_folders_count_as_storage(self):
        self.breaches(lint(src__storage__sstable__a_DOT_cc='#include "ring/b.h"\n#include "runtime/disk.h"\n',
                           src__ring__b_DOT_h="// B.\n#pragma once\n", src__runtime__disk_DOT_h="// D.\n#pragma once\n"),
                      "src/storage/sstable/a.cc:1: storage/sstable may not include ring")

    def test_includes_start_at_the_root(self):
        self.breaches(lint(src__base__a_DOT_cc='#include "b.h"\n', src__base__b_DOT_h="// B.\n#pragma once\n"),
                      'src/base/a.cc:1: "b.h" is no header of src/ (the include root)')

    def test_node_may_not_know_asio(self):
        self.breaches(lint(src__node__a_DOT_cc='#include "runtime/linux/b.h"\n',
                           src__runtime__linux__b_DOT_h="// B.\n#pragma once\n"),
                      "src/node/a.cc:1: node may not include runtime/linux")

    def test_asio_has_one_home(self):
        self.breaches(lint(src__transport__a_DOT_cc="#include <boost/asio.hpp>\n",
                           src__runtime__linux__a_DOT_cc="#include <boost/asio.hpp>\n"),
                      "src/transport/a.cc:1: Asio outside src/runtime/linux")

    def test_the_world_comes_through_runtime(self):
        text = ("// std::thread in a comment\n"
                "auto a = std::chrono::steady_clock::now();\n"
                "std::thread t;\n"
                'const char* s = "std::thread";\n'
                "std::random_device r;\n"
                "int fd = ::open(path, 0);\n"
                "int64_t now = time(nullptr);\n"
                "int64_t time(int x) const;\n"
                "auto c = clock.time();\n"
                "void* file = ::mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0);\n"
                "void* memory = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
                "auto next = count.fetch_add(1) + 1;\n"
                "auto sum = count.fetch_add(n, relaxed) + n;\n")
        self.breaches(lint(src__model__a_DOT_cc=text, src__runtime__linux__a_DOT_cc=text),
                      "src/model/a.cc:2: 'steady_clock' is a clock: take runtime's Clock",
                      "src/model/a.cc:3: 'std::thread' is a thread: take runtime's Executor",
                      "src/model/a.cc:5: 'random_device' is randomness: take runtime's Random",
                      "src/model/a.cc:13: 'fetch_add(n, relaxed) + n' is sometimes twice the value before, with GCC 12: load the sum afterwards",
                      "src/model/a.cc:7: 'time(nullptr)' is the world: take it from runtime",
                      "src/model/a.cc:6: '::open(' is a system call: take it from runtime",
                      "src/model/a.cc:10: '::mmap(' is a system call: take it from runtime")

    def test_files_end_at_800_lines(self):
        self.breaches(lint(src__base__a_DOT_cc="int a();\n" * 800))
        self.breaches(lint(src__base__a_DOT_cc="int a();\n" * 801),
                      "src/base/a.cc:800: 801 lines, 800 at most: it has two jobs")

    def test_functions_end_at_70_lines(self):
        self.breaches(lint(src__base__a_DOT_cc=body(70)))
        self.breaches(lint(src__base__a_DOT_cc="int a;\n" + body(71)), "src/base/a.cc:2: a function of 71 lines, 70 at most")

    def test_members_and_constructors_are_functions(self):
        inside = "    ++a_;\n" * 70
        text = ("namespace n {\nclass C {\n public:\n  explicit C(int a) : a_(a), b_{a} {\n" + inside +
                "  }\n  void f() const {\n" + inside + "  }\n\n private:\n  int a_, b_;\n};\n}  // namespace n\n")
        self.breaches([line for line in lint(src__base__a_DOT_cc=text) if "function" in line],
                      "src/base/a.cc:4: a function of 72 lines, 70 at most",
                      "src/base/a.cc:76: a function of 72 lines, 70 at most")

    def test_tables_and_classes_may_be_long(self):
        table = "constexpr int kTable[] = {\n" + "    1,\n" * 100 + "};\n"
        table += "int f() {\n  static const int t[] = {\n" + "      1,\n" * 100 + "  };\n  return t[0];\n}\n"
        members = "struct S {\n" + "  int f(int x = g());\n" * 100 + "};\n"
        self.breaches([line for line in lint(src__base__a_DOT_cc=table + members) if "function" in line])

    def test_unfinished_work_is_not_left(self):
        word = "TO" + "DO"
        self.breaches(lint(src__base__a_DOT_cc=f"// {word}: later\n"),
                      f"src/base/a.cc:1: '{word}': finish it, or say what is not there in the answer to the user")

    def test_text_is_clean(self):
        self.breaches(lint(docs__a_DOT_md="one \ntwo", docs__b_DOT_md="one\r\n", docs__c_DOT_md="\tone\n\n"),
                      "docs/a.md:2: no newline at the end", "docs/a.md:1: space at the end of the line",
                      "docs/b.md:1: a carriage return",
                      "docs/c.md:2: an empty line at the end", "docs/c.md:1: a tab")

    def test_headers_say_what_they_are_for(self):
        self.breaches(lint(src__base__a_DOT_h="int a();\n"), "src/base/a.h:1: no #pragma once",
                      "src/base/a.h:1: does not open with what it is for")

    def test_names_in_unnamed_namespaces_differ_in_a_library(self):
        one = "namespace {\nint f(int x) { return x; }\nconstexpr int kA = 1;\nstruct S {};\n}  // namespace\n"
        other = "namespace {\nint f(int y) { return y; }\nint f(char c) { return c; }\nconstexpr int kA = 2;\nstruct S {};\n}  // namespace\n"
        self.breaches([line for line in lint(src__base__CMakeLists_DOT_txt="", src__base__a_DOT_cc=one, src__base__room__b_DOT_cc=other,
                                                       src__model__c_DOT_cc=other)
                       if "in one batch" in line],
                      "src/base/room/b.cc:2: 'f' is also in src/base/a.cc, and both are compiled in one batch",
                      "src/base/room/b.cc:4: 'kA' is also in src/base/a.cc, and both are compiled in one batch",
                      "src/base/room/b.cc:5: 'S' is also in src/base/a.cc, and both are compiled in one batch")

    def test_names_in_unnamed_namespaces_hide_none_of_a_header(self):
        header = "// A header.\n#pragma once\nnamespace x::y {\nint f(int x);\nstruct S {\n  int g(int x);\n};\n}  // namespace x::y\n"
        code = "#include \"base/a.h\"\n\nnamespace {\nint f(int z) { return z; }\nint f(char c) { return c; }\nint g(int z) { return z; }\n}  // namespace\n"
        self.breaches([line for line in lint(src__base__a_DOT_h=header, src__base__a_DOT_cc=code) if "hides" in line],
                      "src/base/a.cc:4: 'f' is also in src/base/a.h: one hides the other in a batch")

    def test_types_have_names_of_their_own(self):
        one = "// A header.\n#pragma once\nnamespace n {\nclass Forward;\nstruct S : Base {\n  struct Inner {};\n};\nenum class E { kA };\n}  // namespace n\n"
        other = "namespace n {\nnamespace {\nstruct S {\n  struct Inner {};\n};\n}  // namespace\nclass Forward {};\nclass S::Part {};\n}  // namespace n\n"
        tree = "// A header.\n#pragma once\nnamespace n::ast {\nenum class E { kA };\n}  // namespace n::ast\n"
        self.breaches([line for line in lint(src__base__a_DOT_h=one, src__model__b_DOT_cc=other, src__cql__c_DOT_h=tree) if "a type" in line],
                      "src/model/b.cc:3: a type 'S' is also in src/base/a.h")

    def test_comments_begin_with_their_subject(self):
        self.breaches(lint(src__base__a_DOT_cc=("// Of a table.\nint a;  // As it was.\nint b;  // Often\n"
                                                "// The name\n// of a table. Those of others.\n// of a third.\n// Such ones.\n"
                                                "const char* c = \"// Of\";\n")),
                      "src/base/a.cc:1: a sentence that begins with 'Of': begin with its subject",
                      "src/base/a.cc:2: a sentence that begins with 'As': begin with its subject",
                      "src/base/a.cc:5: a sentence that begins with 'Those': begin with its subject",
                      "src/base/a.cc:7: a sentence that begins with 'Such': begin with its subject")
        self.breaches(lint(tests__a_DOT_py="# What it is.\nx = '# What'\n", tests__b_DOT_java="// As it is.\n", tests__c_DOT_md="# What it is\n"),
                      "tests/a.py:1: a sentence that begins with 'What': begin with its subject",
                      "tests/b.java:1: a sentence that begins with 'As': begin with its subject")

    def test_docs_begin_with_their_subject(self):
        text = ("# What it is\n\nIt is. As it was.\nAs before.\nThe list\nOf all\n\n- Which one\n  Of many\n\n"
                "| What | is |\n```\nWhat is\n```\n")
        self.breaches(lint(docs__a_DOT_md=text, tests__a_DOT_md=text),
                      *[f"docs/a.md:{line}: a sentence that begins with '{word}': begin with its subject"
                        for line, word in ((3, "As"), (4, "As"), (8, "Which"))])

    def test_files_that_docs_name_are_there(self):
        self.breaches(lint(docs__a_DOT_md="`a.h` `base/a.h` `gone.h` `run` `base/gone.cc` `TOC.txt`\n",
                           src__base__a_DOT_h="// A header.\n#pragma once\n"),
                      "docs/a.md:1: gone.h is not there", "docs/a.md:1: base/gone.cc is not there")

    def test_docs_are_short_of_line_and_paragraph(self):
        long_line = "word " * 20 + "x"
        text = (f"{long_line}\n\n" + "one\n" * 5 + "\n" + "two\n" * 6 + f"\n- item\n  more\n- item\n\n```\n{long_line}\n```\n"
                f"| a | b |\n| --- | --- |\n| {'x' * 200} | {'y' * 201} |\n")
        self.breaches(lint(docs__a_DOT_md=text, tests__a_DOT_md=text),
                      "docs/a.md:1: 101 columns, 100 at most", "docs/a.md:9: a paragraph of 6 lines, 5 at most",
                      "docs/a.md:25: a table cell of 201 characters, 200 at most")

    def test_links_lead_somewhere(self):
        text = ("# One two\n[a](b.md) [b](b.md#three-four) [c](#one-two) [d](https://example.org/) `[e](f)`\n"
                "[g](gone.md)\n[h](b.md#gone)\n")
        self.breaches(lint(docs__a_DOT_md=text, docs__b_DOT_md="## Three, four\n"),
                      "docs/a.md:3: a link to gone.md, which is not there",
                      "docs/a.md:4: a link to #gone, a heading that b.md does not have")

    def test_commands_of_the_readme_are_there(self):
        text = ("```sh\ntools/run   # starts\ntools/gone\nA=1 build/release/nodetool -p 1 status\nnodetool gone\nwonder\n"
                "pip install cqlsh\npython3 -m venv ~/.v && ~/.v/bin/pip install cqlsh\n```\n"
                "```\ntools/gone\n```\n")
        self.breaches(lint(README_DOT_md=text, tools__run="", tools__nodetool_DOT_cc='Row a{"status", "Print", run_status};\nRow b{"gone", "x"};\n'),
                      "README.md:3: the command tools/gone is not there",
                      "README.md:5: nodetool has no such command, or cannot do it",
                      "README.md:6: the command wonder is neither here nor among the known ones",
                      "README.md:7: Debian's pip installs only into virtual environments: python3 -m venv")

    def test_code_is_formatted(self):
        lines = lint(src__base__a_DOT_cc="int  a( );\n")
        if not any("formatting skipped" in line for line in lines):
            self.breaches(lines, "src/base/a.cc:1: not as clang-format -i leaves it")


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)
