/* What a notebook shows of a step: text in order, each traceback once, the question apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/output.h"

#include "base/json.h"
#include "t.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static json_t *parsed(const char *text)
{
	char json[4096];
	size_t n = strlen(text);
	CHECK(n < sizeof json);
	for (size_t i = 0; i <= n; i++)
		json[i] = text[i] == '\'' ? '"' : text[i];
	json_t *out = json_loads(json, 0, NULL);
	CHECK(out != NULL);
	return out;
}

/* Compare outputs, and release them. @want: JSON with ' instead of ". */
static void check(json_t *outputs, const char *want)
{
	json_t *expected = parsed(want);
	char *got = json_dumps(outputs, JSON_COMPACT);
	char *text = json_dumps(expected, JSON_COMPACT);
	CHECK_STR(got, text);
	free(got);
	free(text);
	json_decref(outputs);
	json_decref(expected);
}

static json_t *event(struct cell_output *o, const char *text)
{
	json_t *json = parsed(text);
	json_t *outputs = cell_output_event(o, json);
	json_decref(json);
	return outputs;
}

static json_t *end(struct cell_output *o, const char *text)
{
	json_t *record = parsed(text);
	json_t *outputs = cell_output_end(o, record);
	json_decref(record);
	return outputs;
}

#define OUT(text) "{'output_type':'stream','name':'stdout','text':'" text "'}"
#define ERR(text) "{'output_type':'stream','name':'stderr','text':'" text "'}"
#define TRACE	  "Traceback:\\n  File <cell 1>\\nE: no\\n"
#define FAILED                                                                                     \
	"{'status':'error','error':{'name':'E','message':'no','traceback':["                       \
	"'Traceback:','  File <cell 1>','E: no']}}"
#define ERROR                                                                                      \
	"{'output_type':'error','ename':'E','evalue':'no','traceback':["                           \
	"'Traceback:','  File <cell 1>','E: no']}"

TEST(text_is_held_until_it_is_released)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	check(event(&o, "{'event':'stdout','text':'a'}"), "[]");
	check(event(&o, "{'event':'stdout','text':'b\\n'}"), "[]");
	CHECK(cell_output_holds(&o));
	check(cell_output_release(&o, false), "[" OUT("ab\\n") "]");
	CHECK(!cell_output_holds(&o));
	check(cell_output_release(&o, false), "[]");
	cell_output_done(&o);
}

TEST(streams_and_displays_keep_their_order)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	check(event(&o, "{'event':'stdout','text':'a'}"), "[]");
	check(event(&o, "{'event':'stderr','text':'b'}"), "[" OUT("a") "]");
	check(event(&o, "{'event':'stdout','text':'c'}"), "[" ERR("b") "]");
	check(event(&o, "{'event':'display','data':{'text/html':'<p>'}}"),
		"[" OUT("c") ",{'output_type':'display_data','data':{'text/html':'<p>'},"
			     "'metadata':{}}]");
	cell_output_done(&o);
}

TEST(a_traceback_is_shown_once)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	o.name = "cell 1";
	check(event(&o, "{'event':'stderr','text':'warned\\n'}"), "[]");
	check(event(&o, "{'event':'stderr','text':'" TRACE "'}"), "[]");
	check(cell_output_release(&o, false), "[]");
	check(event(&o, "{'event':'stdout','text':'late'}"), "[]");
	check(end(&o, FAILED), "[" OUT("late") "," ERR("warned\\n") "," ERROR "]");
	cell_output_done(&o);
}

TEST(a_traceback_that_is_no_end_is_text)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	o.name = "cell 1";
	check(event(&o, "{'event':'stderr','text':'" TRACE "'}"), "[]");
	check(event(&o, "{'event':'stderr','text':'more\\n'}"), "[]");
	check(end(&o, FAILED), "[" ERR(TRACE "more\\n") "," ERROR "]");
	check(event(&o, "{'event':'stderr','text':'" TRACE "'}"), "[]");
	check(cell_output_release(&o, true), "[" ERR(TRACE) "]");
	cell_output_done(&o);
}

TEST(the_question_is_the_last_line)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	cleanup_buf struct buf prompt = BUF_INIT(CELL_PROMPT_BYTES);
	check(event(&o, "{'event':'stdout','text':'hello\\nName? '}"), "[]");
	check(cell_output_ask(&o, &prompt), "[" OUT("hello\\n") "]");
	CHECK_STR(buf_str(&prompt), "Name? ");
	check(cell_output_ask(&o, &prompt), "[]");
	cell_output_done(&o);
}

TEST(a_value_has_the_number_of_its_cell)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	o.count = 7;
	const char *record = "{'status':'ok','value':{'text/plain':'[1]','application/json':[1],"
			     "'application/vnd.retort.chart+json':{},'text/html':'<b>'}}";
	check(end(&o, record),
		"[{'output_type':'execute_result','execution_count':7,'data':{"
		"'text/plain':'[1]','text/html':'<b>'},'metadata':{}}]");
	o.has_no_value = true;
	check(end(&o, record), "[]");
	cell_output_done(&o);
}

TEST(displays_with_names_are_replaced)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	check(event(&o,
		      "{'event':'display','data':{'text/html':'1'},'display_id':'a',"
		      "'update':false}"),
		"[{'output_type':'display_data','data':{'text/html':'1'},'metadata':{},"
		"'transient':{'display_id':'a'}}]");
	check(event(&o,
		      "{'event':'display','data':{'text/html':'2'},'display_id':'a',"
		      "'update':true}"),
		"[{'output_type':'update_display_data','data':{'text/html':'2'},'metadata':{},"
		"'transient':{'display_id':'a'}}]");
	check(event(&o, "{'event':'stdout','text':'a'}"), "[]");
	check(event(&o, "{'event':'clear','wait':true}"),
		"[" OUT("a") ",{'output_type':'clear_output','wait':true}]");
	cell_output_done(&o);
}

/* Output that was in no event is in the record: fast output, and the tail of long output. */
TEST(the_rest_of_the_record_is_shown)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	check(event(&o, "{'event':'stdout','text':'ab'}"), "[]");
	check(event(&o, "{'event':'display','data':{'text/html':'1'}}"),
		"[" OUT("ab") ",{'output_type':'display_data','data':{'text/html':'1'},"
			      "'metadata':{}}]");
	check(end(&o,
		      "{'status':'ok','stdout':'abcd','stderr':'e','displays':["
		      "{'text/html':'1'},{'text/html':'2'}]}"),
		"[" OUT("cd") ",{'output_type':'display_data','data':{'text/html':'2'},"
			      "'metadata':{}}," ERR("e") "]");
	cell_output_begin(&o, "cell 2", 2);
	check(end(&o, "{'status':'ok','stdout':'x','stderr':''}"), "[" OUT("x") "]");
	cell_output_done(&o);
}

TEST(json_alone_stays)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	check(event(&o, "{'event':'display','data':{'application/json':[1]}}"),
		"[{'output_type':'display_data','data':{'application/json':[1]},'metadata':{}}]");
	cell_output_done(&o);
}

TEST(a_step_that_was_ended_says_what_became_of_the_state)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	json_t *outputs = end(&o,
		"{'status':'oom','error':{'name':'OutOfMemory','message':'m'},"
		"'state':{'outcome':'rolled_back'},"
		"'truncated':{'stdout_bytes':5,'stderr_bytes':0}}");
	CHECK_INT(json_array_size(outputs), 2);
	const char *note = json_get_text(json_array_get(outputs, 0), "text");
	CHECK_HAS(note, "5 bytes of stdout left out");
	CHECK_HAS(note, "rolled back: ");
	json_t *lines = json_object_get(json_array_get(outputs, 1), "traceback");
	CHECK_STR(json_string_value(json_array_get(lines, 0)), "OutOfMemory: m");
	json_decref(outputs);
	cell_output_done(&o);
}

TEST(more_than_can_be_held_is_passed_on)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	o.name = "x";
	size_t shown = 0;
	char *text = malloc(1 << 20);
	memset(text, 'x', 1 << 20);
	for (int i = 0; i < 8; i++) {
		json_t *e =
			json_pack("{s:s, s:s#}", "event", "stderr", "text", text, (int)(1 << 20));
		json_t *out;
		size_t k;
		json_t *outputs = cell_output_event(&o, e);
		json_array_foreach(outputs, k, out) shown +=
			json_string_length(json_object_get(out, "text"));
		CHECK(o.err.bytes <= CELL_HELD_BYTES);
		json_decref(outputs);
		json_decref(e);
	}
	CHECK_INT(shown + o.err.bytes, 8 << 20);
	free(text);
	cell_output_done(&o);
}

TEST(a_record_alone_gives_the_same)
{
	struct cell_output o = CELL_OUTPUT_INIT;
	json_t *record = parsed("{'status':'error','stdout':'a\\n','stderr':'w\\n" TRACE
				"','displays':[{'image/png':'aa'}],'error':{'name':'E',"
				"'message':'no','traceback':['Traceback:','  File <cell 1>',"
				"'E: no']}}");
	check(cell_output_end(&o, record),
		"[" OUT("a\\n") ",{'output_type':'display_data','data':{'image/png':'aa'},"
				"'metadata':{}}," ERR("w\\n") "," ERROR "]");
	json_decref(record);
	cell_output_done(&o);
}

TEST(a_failed_operation_is_an_error)
{
	struct err err;
	(void)err_fail(&err, ERR_GONE, "start again", "the box is gone");
	json_t *output = cell_output_failure(&err);
	check(output,
		"{'output_type':'error','ename':'gone','evalue':'the box is gone',"
		"'traceback':['gone: the box is gone','start again']}");
}
