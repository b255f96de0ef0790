/* Notebook files: what is read and kept, what outputs become, and parameters as code.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/notebook.h"

#include "base/json.h"
#include "serve/jupyter/cell_store.h"
#include "serve/jupyter/notebook_param.h"
#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return @text with " instead of '. Owns: the caller frees. */
static char *quoted(const char *text)
{
	char *out = strdup(text);
	for (char *at = out; *at; at++)
		*at = (char)(*at == '\'' ? '"' : *at);
	return out;
}

static json_t *parsed(const char *text)
{
	char *json = quoted(text);
	json_t *out = json_loads(json, JSON_DECODE_ANY, NULL);
	CHECK(out != NULL);
	free(json);
	return out;
}

static struct notebook read_good(const char *text)
{
	struct notebook nb = {0};
	struct err err = {0};
	char *json = quoted(text);
	CHECK_INT(notebook_read(&nb, json, strlen(json), &err), 0);
	free(json);
	return nb;
}

static void check_bad(const char *text, enum err_code code, const char *words)
{
	struct notebook nb = {0};
	struct err err = {0};
	char *json = quoted(text);
	CHECK(notebook_read(&nb, json, strlen(json), &err) < 0);
	CHECK_INT(err.code, code);
	CHECK(strstr(err.msg, words) != NULL);
	CHECK(nb.json == NULL);
	free(json);
}

static void check_json(json_t *got, const char *want)
{
	json_t *expected = parsed(want);
	char *a = json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY);
	char *b = json_dumps(expected, JSON_COMPACT | JSON_ENCODE_ANY);
	CHECK_STR(a, b);
	free(a);
	free(b);
	json_decref(got);
	json_decref(expected);
}

#define NB(cells) "{'nbformat':4,'nbformat_minor':5,'metadata':{},'cells':[" cells "]}"
#define CODE(source, tags)                                                                         \
	"{'cell_type':'code','metadata':{'tags':[" tags "]},'source':" source                      \
	",'outputs':[1],'execution_count':7}"

/* ---- reading ---- */

TEST(what_is_not_a_notebook)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"", "not a notebook: line 1"},
		{"[]", "not a notebook"},
		{"{}", "not a notebook"},
		{"{'nbformat':'4'}", "not a notebook"},
		{"{'nbformat':3,'worksheets':[]}", "the old format 3"},
		{"{'nbformat':5}", "of format 5"},
		{"{'nbformat':4}", "cells: missing"},
		{"{'nbformat':4,'cells':{}}", "cells: missing"},
		{"{'nbformat':4,'cells':[],'metadata':[]}", "metadata: not an object"},
		{NB("1"), "cell 1: not an object"},
		{NB("{}"), "cell 1: cell_type"},
		{NB("{'cell_type':'heading','source':''}"), "cell 1: cell_type"},
		{NB("{'cell_type':'raw'}"), "cell 1: source"},
		{NB("{'cell_type':'raw','source':''},{'cell_type':'raw','source':['',1]}"),
			"cell 2: source"},
		{NB("{'cell_type':'raw','source':'','metadata':[]}"), "cell 1: metadata"},
		{NB("{'cell_type':'raw','source':'\xff'}"), "not a notebook: line 1"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_bad(rows[i].text, ERR_USAGE, rows[i].words);
}

/* Nesting and numbers of values are bounded, whatever the size of the file. */
TEST(what_is_too_much)
{
	enum { DEEP = 100000 };
	char *deep = malloc(DEEP + 1), *many = malloc(2 * NOTEBOOK_PARTS + 3);
	memset(deep, '[', DEEP);
	deep[DEEP] = '\0';
	check_bad(deep, ERR_USAGE, "depth");
	for (size_t i = 0; i <= NOTEBOOK_PARTS; i++)
		memcpy(many + 2 * i, "1,", 2);
	many[2 * NOTEBOOK_PARTS + 2] = '\0';
	check_bad(many, ERR_LIMIT, "more than");
	free(deep);
	free(many);
}

TEST(language)
{
	static const struct {
		const char *metadata, *runtime;
	} rows[] = {
		{"{}", "python"},
		{"{'kernelspec':{'name':'python3','language':'python'}}", "python"},
		{"{'kernelspec':{'name':'python3'}}", "python"},
		{"{'kernelspec':{'name':'x','language':'Bash'}}", "shell"},
		{"{'kernelspec':{'name':'x'},'language_info':{'name':'javascript'}}", "javascript"},
		{"{'language_info':{'name':'typescript'}}", "javascript"},
		{"{'kernelspec':{'language':'sqlite'}}", "sql"},
		{"{'kernelspec':{'language':'R'}}", NULL},
		{"{'kernelspec':{'name':'xpython'}}", NULL},
		{"{'kernelspec':{'language':'py'}}", NULL},
		{"{'kernelspec':[]}", "python"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[256];
		struct err err = {0};
		snprintf(text, sizeof text, "{'nbformat':4,'cells':[],'metadata':%s}",
			rows[i].metadata);
		struct notebook nb = read_good(text);
		const char *runtime = notebook_runtime(&nb, &err);
		CHECK_STR(runtime ? runtime : "", rows[i].runtime ? rows[i].runtime : "");
		CHECK_INT(err.code, rows[i].runtime ? ERR_NONE : ERR_RUNTIME);
		notebook_done(&nb);
	}
}

/* ---- cells ---- */

TEST(which_cells_run)
{
	struct notebook nb = read_good(NB(CODE("['a\\n','b']",
		"") ",{'cell_type':'markdown',"
		    "'source':'x'}," CODE("' \\n'", "") "," CODE("[' ','\\t']", "") "," CODE(
			    "'1'", "'skip-execution'") "," CODE("'\\u0000'", "3,'a'")));
	static const bool want[] = {true, false, false, false, false, true};
	struct err err;
	cleanup_buf struct buf code = BUF_INIT(3), two = BUF_INIT(2);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CHECK_INT(notebook_is_run(&nb, i), want[i]);
	CHECK_INT(notebook_count_run(&nb), 2);
	CHECK(notebook_has_tag(&nb, 5, "a"));
	CHECK(!notebook_has_tag(&nb, 5, "b"));
	CHECK_INT(notebook_code(&nb, 0, &code, &err), 0);
	CHECK_STR(buf_str(&code), "a\nb");
	CHECK(notebook_code(&nb, 0, &two, &err) < 0);
	CHECK_INT(err.code, ERR_LIMIT);
	notebook_done(&nb);
}

/* What is not touched stays: order, unknown members, numbers, characters; and the form of the file
 * is Jupyter's. */
TEST(the_file_is_kept)
{
	static const char text[] =
		"{\n 'zeta': 0.1,\n 'cells': [\n  {\n   'cell_type': 'markdown',\n   'source': [\n"
		"    '# \xc3\xa9 \xe2\x80\xa8\\n',\n    '\\u0000'\n   ],\n   'metadata': {},\n"
		"   'attachments': {\n    'b': [],\n    'a': {}\n   }\n  }\n ],\n 'nbformat': 4,\n"
		" 'alpha': null,\n 'nbformat_minor': 2\n}\n";
	struct notebook nb = read_good(text);
	char *want = quoted(text);
	notebook_clear(&nb);
	char *got = notebook_text(&nb);
	CHECK_STR(got, want);
	free(got);
	free(want);
	notebook_done(&nb);
}

TEST(outputs_are_replaced)
{
	struct notebook nb = read_good(NB(CODE("'a'", "") "," CODE(
		"'b'", "'skip-execution'") ","
					   "{'cell_type':'code','source':'c'}"));
	notebook_clear(&nb);
	notebook_set(&nb, 2, 1, parsed("[2]"));
	check_json(json_incref(nb.cells),
		"[{'cell_type':'code','metadata':{'tags':[]},'source':'a','outputs':[],"
		"'execution_count':null}," CODE("'b'",
			"'skip-execution'") ","
					    "{'cell_type':'code','source':'c','execution_count':1,'outputs':[2]}]");
	notebook_done(&nb);
}

/* ---- parameters ---- */

static const char *source_at(const struct notebook *nb, size_t i)
{
	return json_string_value(
		json_array_get(json_object_get(json_array_get(nb->cells, i), "source"), 0));
}

TEST(where_parameters_go)
{
	struct notebook first = read_good(NB(CODE("['a']", "")));
	struct notebook after = read_good(
		NB("{'cell_type':'raw','source':['r'],'metadata':{'tags':['parameters']}}," CODE(
			"['a']", "'parameters'") "," CODE("['b']", "'parameters'")));
	notebook_inject(&first, "x = 1\n");
	CHECK_STR(source_at(&first, 0), "x = 1\n");
	CHECK_STR(source_at(&first, 1), "a");
	notebook_inject(&after, "x = 1\n");
	CHECK_STR(source_at(&after, 1), "a");
	CHECK_STR(source_at(&after, 2), "x = 1\n");
	CHECK(notebook_has_tag(&after, 2, "injected-parameters"));
	/* Again: the cell is replaced, and keeps its id. */
	json_t *cell = json_array_get(after.cells, 2);
	char *id = strdup(json_get_text(cell, "id"));
	CHECK(strlen(id) >= 8);
	notebook_inject(&after, "x = 2\n");
	CHECK_INT(json_array_size(after.cells), 4);
	CHECK_STR(source_at(&after, 2), "x = 2\n");
	CHECK_STR(json_get_text(json_array_get(after.cells, 2), "id"), id);
	free(id);
	notebook_done(&first);
	notebook_done(&after);
}

/* Formats before 4.5 have no ids. */
TEST(ids)
{
	struct notebook nb = read_good("{'nbformat':4,'nbformat_minor':4,'cells':[]}");
	notebook_inject(&nb, "x");
	CHECK(json_object_get(json_array_get(nb.cells, 0), "id") == NULL);
	notebook_done(&nb);
}

static int set(json_t *params, const char *text)
{
	struct err err = {0};
	int r = notebook_param_set(params, text, &err);
	return r < 0 ? (int)err.code : 0;
}

TEST(parameters_become_code)
{
	json_t *params = json_object();
	cleanup_buf struct buf python = BUF_INIT(4096), script = BUF_INIT(4096), sql = BUF_INIT(9);
	struct err err = {0};
	CHECK_INT(set(params, "a=1"), 0);
	CHECK_INT(set(params, "b=hello world"), 0);
	CHECK_INT(set(params, "c=\"1\""), 0);
	CHECK_INT(set(params, "d=[true, null, {\"__proto__\": 0.1}]"), 0);
	CHECK_INT(set(params, "e="), 0);
	CHECK_INT(set(params, "f=a\"\n\\"), 0);
	CHECK_INT(set(params, "a=-2"), 0);
	CHECK_INT(notebook_param_code(params, "python", &python, &err), 0);
	CHECK_STR(buf_str(&python),
		"# Parameters\na = -2\nb = \"hello world\"\nc = \"1\"\n"
		"d = [True, None, {\"__proto__\": 0.1}]\ne = \"\"\n"
		"f = \"a\\\"\\n\\\\\"\n");
	CHECK_INT(notebook_param_code(params, "javascript", &script, &err), 0);
	CHECK(strstr(buf_str(&script), "d = [true, null, {[\"__proto__\"]: 0.1"));
	CHECK(notebook_param_code(params, "sql", &sql, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	json_decref(params);
}

TEST(parameters_that_are_refused)
{
	enum { DEEP = 2 * NOTEBOOK_PARAM_DEPTH };
	static const char *const names[] = {"", "a", "=1", "1a=1", "a b=1", "a.b=1", "\xc3\xa9=1",
		"a=\xff", "a=1e999", "a=123456789012345678901234567890"};
	json_t *params = json_object();
	char deep[2 * DEEP + 3] = "a=";
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK_INT(set(params, names[i]), ERR_USAGE);
	memset(deep + 2, '[', DEEP);
	memset(deep + 2 + DEEP, ']', DEEP);
	CHECK_INT(set(params, deep), ERR_LIMIT);
	CHECK_INT(notebook_param_read(params, "[1]", 3, &err), -err_errno(ERR_USAGE));
	CHECK_INT(notebook_param_read(params, "{\"a b\":1}", 9, &err), -err_errno(ERR_USAGE));
	CHECK_INT(json_object_size(params), 0);
	CHECK_INT(notebook_param_read(params, "{\"a\":1}", 7, &err), 0);
	check_json(params, "{'a':1}");
}

/* ---- outputs ---- */

#define OUT(text) "{'output_type':'stream','name':'stdout','text':" text "}"
#define ERR(text) "{'output_type':'stream','name':'stderr','text':" text "}"
#define SHOW(type, id, text)                                                                       \
	"{'output_type':'" type "','data':{'text/plain':" text "},'metadata':{}"                   \
	",'transient':{'display_id':'" id "'}}"
#define SHOWN(text) "{'output_type':'display_data','data':{'text/plain':" text "},'metadata':{}}"
#define CLEAR(wait) "{'output_type':'clear_output','wait':" wait "}"

static void check_store(const char *outputs, const char *want)
{
	struct cell_store s = CELL_STORE_INIT;
	cell_store_begin(&s);
	cell_store_add(&s, parsed(outputs));
	check_json(cell_store_end(&s), want);
	cell_store_done(&s);
}

TEST(text_of_a_stream_is_one_output)
{
	check_store("[" OUT("'a'") "," OUT("'b\\nc'") "," ERR("'e'") "," OUT("'d\\n'") "]",
		"[" OUT("['ab\\n','c']") "," ERR("['e']") "," OUT("['d\\n']") "]");
}

TEST(clearing)
{
	check_store("[" OUT("'a'") "," CLEAR("false") "," OUT("'b'") "]", "[" OUT("['b']") "]");
	check_store("[" OUT("'a'") "," CLEAR("true") "]", "[" OUT("['a']") "]");
	check_store("[" OUT("'a'") "," CLEAR("true") "," OUT("'b'") "," OUT("'c'") "]",
		"[" OUT("['bc']") "]");
}

/* An update changes all displays of its id, also in other cells; it is no output itself. */
TEST(updates_of_displays)
{
	struct cell_store s = CELL_STORE_INIT;
	cell_store_begin(&s);
	cell_store_add(&s,
		parsed("[" SHOW("display_data", "i", "'a'") "," SHOW(
			"display_data", "j", "'b'") "]"));
	json_t *first = cell_store_end(&s);
	cell_store_begin(&s);
	cell_store_add(&s,
		parsed("[" SHOW("update_display_data", "i", "'c'") "," SHOW(
			"update_display_data", "k", "'d'") "]"));
	check_json(cell_store_end(&s), "[]");
	check_json(first, "[" SHOWN("['c']") "," SHOWN("['b']") "]");
	cell_store_done(&s);
}

/* Files have texts as lines, pictures as one text, and nothing but texts except for JSON types. */
TEST(data_of_displays)
{
	check_store("[{'output_type':'display_data','metadata':{},'data':{'text/html':'a\\nb',"
		    "'image/png':'QQ==\\n','application/json':{'a':1},"
		    "'application/geo+json':[1],'application/x':{'b':0.1},'text/x':3,"
		    "'image/svg+xml':'<svg/>'}}]",
		"[{'output_type':'display_data','metadata':{},'data':{'text/html':['a\\n','b'],"
		"'image/png':'QQ==\\n','application/json':{'a':1},'application/geo+json':[1],"
		"'application/x':'{\\\"b\\\": 0.1}','text/x':['3'],"
		"'image/svg+xml':['<svg/>']}}]");
}

TEST(a_text_of_many_lines_stays_one)
{
	enum { MANY = 1 << 17 };
	char *text = malloc(MANY);
	memset(text, '\n', MANY);
	json_t *lines = notebook_lines(text, MANY);
	CHECK_INT(json_string_length(lines), MANY);
	json_decref(lines);
	lines = notebook_lines(text, 3);
	CHECK_INT(json_array_size(lines), 3);
	json_decref(lines);
	free(text);
}
