/* What is typed: commands, statements, completions. SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/editor.h"
#include "api/text/magic.h"
#include "api/text/statement.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

TEST(commands_are_read)
{
	static const struct {
		const char *line;
		enum magic_kind kind;
		const char *arg;
		unsigned count;
		bool is_forced, is_kept;
	} rows[] = {
		{"%undo", MAGIC_UNDO, "", 1},
		{"%undo 3", MAGIC_UNDO, "3", 3},
		{"  %branch  my trial \t", MAGIC_BRANCH, "my trial", 1},
		{"%branch --force  my trial", MAGIC_BRANCH, "my trial", 1, true},
		{"%branch --forced", MAGIC_BRANCH, "--forced", 1},
		{"%branch --keep-processes x", MAGIC_BRANCH, "x", 1, false, true},
		{"%time x = 1\ny", MAGIC_TIME, "x = 1\ny", 1},
		{"%log all", MAGIC_LOG, "all", 1},
		{"%quit", MAGIC_QUIT, "", 1},
		{"%runtime", MAGIC_RUNTIME, "", 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct magic m;
		struct err err;
		CHECK(magic_is(rows[i].line, "python"));
		CHECK_INT(magic_parse(rows[i].line, &m, &err), 0);
		CHECK_INT(m.kind, rows[i].kind);
		CHECK_STR(m.arg, rows[i].arg);
		CHECK_INT(m.count, rows[i].count);
		CHECK_INT(m.is_forced, rows[i].is_forced);
		CHECK_INT(m.is_kept, rows[i].is_kept);
		free(m.text);
	}
	CHECK(!magic_is("x % 2", "python"));
	CHECK(!magic_is("", "python"));
}

TEST(magics_of_notebooks_are_the_drivers)
{
	static const char *const lines[] = {"%pwd", "%matplotlib inline", "%%bash", "%%time",
		"%timeit 1", "%run a.py", "%file x", "  %who"};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CHECK(!magic_is(lines[i], "python"));
		CHECK(magic_is(lines[i], "sql"));
	}
	CHECK(magic_is("%udno", "python"));
	CHECK(magic_is("%", "python"));
	CHECK(magic_is("%time x", "python"));
	CHECK_INT(statement_look("python", "!echo don't"), STATEMENT_COMPLETE);
	CHECK_INT(statement_look("python", "!echo (\\"), STATEMENT_MORE);
	CHECK_INT(statement_look("python", "%%bash"), STATEMENT_BLOCK);
	CHECK_INT(statement_look("python", "%%bash\necho 'a"), STATEMENT_BLOCK);
	CHECK(!statement_is_cell("shell", "%%x"));
}

TEST(wrong_commands_are_explained)
{
	static const struct {
		const char *line, *message, *hint;
	} rows[] = {
		{"%", "unknown command %", "%help"},
		{"%udno", "unknown command %udno", "did you mean %undo?"},
		{"%und", "unknown command %und", "did you mean %undo?"},
		{"%undo x", "%undo: \"x\"", "write %undo [N], e.g. %undo 3"},
		{"%undo 1 2", "%undo: \"1 2\"", "write %undo [N], e.g. %undo 3"},
		{"%undo 0", "%undo: \"0\" is too small", "write %undo [N]"},
		{"%undo -1", "%undo: \"-1\"", "write %undo [N]"},
		{"%branch", "%branch: nothing named",
			"write %branch [--force | --keep-processes] [--secrets] NAME"},
		{"%branch --force ", "%branch: nothing named",
			"write %branch [--force | --keep-processes] [--secrets] NAME"},
		{"%help x", "%help: unexpected \"x\"", "leave it out"},
		{"%log some", "%log: \"some\"", "%log all"},
		{"%\xff\xff", "unknown command %", ""},
		{"%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "unknown",
			""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct magic m = {.text = NULL};
		struct err err;
		CHECK(magic_parse(rows[i].line, &m, &err) < 0);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK_HAS(err.hint, rows[i].hint);
	}
}

static const struct {
	const char *runtime, *text;
	enum statement_state state;
} statements[] = {
	{"python", "x = 1", STATEMENT_COMPLETE},
	{"python", "", STATEMENT_COMPLETE},
	{"python", "f(1,", STATEMENT_MORE},
	{"python", "f(1,\n2)", STATEMENT_COMPLETE},
	{"python", "x = [\n1, # ]\n", STATEMENT_MORE},
	{"python", "s = '''a\nb", STATEMENT_MORE},
	{"python", "s = '''a\nb'''", STATEMENT_COMPLETE},
	{"python", "s = \"(\"", STATEMENT_COMPLETE},
	{"python", "s = 'it\\'s ('", STATEMENT_COMPLETE},
	{"python", "s = 'open", STATEMENT_COMPLETE},
	{"python", "x = 1 + \\", STATEMENT_MORE},
	{"python", "x = 1 + \\\n2", STATEMENT_COMPLETE},
	{"python", "s = 'a\\", STATEMENT_MORE},
	{"python", "if x:", STATEMENT_BLOCK},
	{"python", "if x:  # why", STATEMENT_BLOCK},
	{"python", "if x:\n    y", STATEMENT_BLOCK},
	{"python", "if x: y", STATEMENT_COMPLETE},
	{"python", "@d", STATEMENT_BLOCK},
	{"python", "@d\ndef f():\n  pass", STATEMENT_BLOCK},
	{"python", "d = {1:\n2}", STATEMENT_COMPLETE},
	{"python", "x = ')'", STATEMENT_COMPLETE},
	{"python", ")", STATEMENT_COMPLETE},
	{"python", "'''", STATEMENT_MORE},
	{"javascript", "let x = 1", STATEMENT_COMPLETE},
	{"javascript", "function f() {", STATEMENT_MORE},
	{"javascript", "function f() { // }\n}", STATEMENT_COMPLETE},
	{"javascript", "`a\n${b}", STATEMENT_MORE},
	{"javascript", "/* a", STATEMENT_MORE},
	{"javascript", "/* a */ 1", STATEMENT_COMPLETE},
	{"sql", "select 1", STATEMENT_MORE},
	{"sql", "select 1;", STATEMENT_COMPLETE},
	{"sql", "select ';'", STATEMENT_MORE},
	{"sql", "select 1; -- done", STATEMENT_COMPLETE},
	{"sql", "-- only", STATEMENT_COMPLETE},
	{"sql", ".tables", STATEMENT_COMPLETE},
	{"sql", "select '\\';", STATEMENT_COMPLETE},
	{"shell", "ls -l", STATEMENT_COMPLETE},
	{"shell", "if true; then", STATEMENT_MORE},
	{"shell", "if true; then\necho a\nfi", STATEMENT_COMPLETE},
	{"shell", "for i in 1 2; do echo $i; done", STATEMENT_COMPLETE},
	{"shell", "for i in 1 2; do", STATEMENT_MORE},
	{"shell", "echo if", STATEMENT_COMPLETE},
	{"shell", "echo \"a", STATEMENT_MORE},
	{"shell", "echo 'a\\'", STATEMENT_COMPLETE},
	{"shell", "echo a |", STATEMENT_MORE},
	{"shell", "echo a &&", STATEMENT_MORE},
	{"shell", "echo a#b 'x'", STATEMENT_COMPLETE},
	{"shell", "f() {", STATEMENT_MORE},
	{"shell", "f() {\necho\n}", STATEMENT_COMPLETE},
	{"shell", "echo \\", STATEMENT_MORE},
	{"shell", "for i in 1 2", STATEMENT_MORE},
	{"shell", "while read x\ndo echo $x", STATEMENT_MORE},
	{"shell", "while read x\ndo echo $x\ndone", STATEMENT_COMPLETE},
	{"shell", "cat <<E", STATEMENT_MORE},
	{"shell", "cat <<E\ndon't\n E", STATEMENT_MORE},
	{"shell", "cat <<E\ndon't if\nE", STATEMENT_COMPLETE},
	{"shell", "cat <<-'E F' | wc", STATEMENT_MORE},
	{"shell", "cat <<-\"E\" <<F\n1\n\tE\n2\nF\n", STATEMENT_COMPLETE},
	{"shell", "cat <<E && if true; then\nE\necho", STATEMENT_MORE},
	{"shell", "cat <<< E", STATEMENT_COMPLETE},
	{"shell", "echo '<<E' # <<E", STATEMENT_COMPLETE},
	{"shell", "echo $((1<<x))", STATEMENT_COMPLETE},
	{"shell", "cat <<", STATEMENT_COMPLETE},
};

TEST(statements_end_where_they_do)
{
	for (size_t i = 0; i < ARRAY_LEN(statements); i++)
		if (!CHECK_INT(statement_look(statements[i].runtime, statements[i].text),
			    statements[i].state))
			t_check(0, __FILE__, __LINE__, statements[i].text);
	CHECK(statement_goes_on("else:"));
	CHECK(statement_goes_on("except ValueError:"));
	CHECK(!statement_goes_on("elsewhere = 1"));
	CHECK(!statement_goes_on("print(1)"));
}

TEST(leaving_is_a_whole_statement)
{
	CHECK(statement_leaves("python", " exit()\n"));
	CHECK(statement_leaves("python", "quit"));
	CHECK(statement_leaves("shell", "exit"));
	CHECK(statement_leaves("sql", ".quit"));
	CHECK(statement_leaves("javascript", ".exit"));
	CHECK(statement_leaves("python", "sys.exit(0) "));
	CHECK(statement_leaves("shell", "exit 0\n"));
	CHECK(!statement_leaves("shell", "exit 01"));
	CHECK(!statement_leaves("python", "exit(3)"));
	CHECK(!statement_leaves("python", "exit() or quit()"));
	CHECK(!statement_leaves("python", "exiting"));
	CHECK(!statement_leaves("shell", "exit()"));
	CHECK(!statement_leaves("python", ""));
}

TEST(in_a_string_no_names_stand)
{
	static const struct {
		const char *runtime, *text;
		bool is_in;
	} rows[] = {
		{"python", "print('pri", true},
		{"python", "print('pri' + pri", false},
		{"python", "x = \"it's ", true},
		{"python", "x = '''a", true},
		{"python", "f'{na", false},
		{"python", "x # don't", false},
		{"python", "'a'", false},
		{"javascript", "let a = `na", true},
		{"javascript", "let a = `${o.na", false},
		{"sql", "SELECT 'na", true},
		{"sql", "SELECT \"na", false},
		{"shell", "echo \"na", true},
		{"shell", "echo \"$HO", false},
		{"python", "", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_INT(
			    statement_is_in_string(rows[i].runtime, rows[i].text), rows[i].is_in))
			t_check(0, __FILE__, __LINE__, rows[i].text);
}

TEST(commands_know_what_is_typed_of_them)
{
	CHECK_INT(magic_at("%"), MAGIC_END_);
	CHECK_INT(magic_at(" %swi"), MAGIC_END_);
	CHECK_INT(magic_at("%switch"), MAGIC_END_);
	CHECK_INT(magic_at("%switch "), MAGIC_SWITCH);
	CHECK_INT(magic_at("%time x."), MAGIC_TIME);
	CHECK_INT(magic_at("%swi x"), MAGIC_END_);
}

TEST(completions_add_what_is_missing)
{
	static const struct {
		const char *text, *name, *more;
	} rows[] = {
		{"x = pri", "print", "nt"},
		{"os.pa", "os.path", "th"},
		{"os.pa", "path", "th"},
		{"print", "print", ""},
		{"os.", "path", "path"},
		{"spri", "print", NULL},
		{"abc", "xyz", NULL},
		{"f(", "x", "x"},
		{"echo $va", "var", "r"},
		{"$fo", "$foo", "o"},
		{"", "x", NULL},
		{"naïve = caf", "café", "é"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *more = editor_addition(rows[i].text, rows[i].name);
		CHECK((more == NULL) == (rows[i].more == NULL));
		if (more && rows[i].more)
			CHECK_STR(more, rows[i].more);
	}
}
