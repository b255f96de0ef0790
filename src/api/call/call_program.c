/* Operations on whole programs. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_order.h"
#include "api/call/inside.h"
#include "api/call/program.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "runtime/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLLECT_MAX = 256, CELLS_MAX = 1000, ASK_MS = 60000, ASK_MEMORY_BYTES = 512 << 20 };

static void add_language(json_t *languages, const struct toolchain *t)
{
	char path[PATH_MAX];
	bool has_program = toolchain_program(t, path);
	json_t *row = json_need(
		json_pack("{s:s, s:[], s:s, s:b, s:b}", "name", t->language, "aliases", "source",
			t->source, "compiled", t->compile != NULL, "available", has_program));
	for (const char *at = t->words; *at && at[1]; at += strcspn(at + 1, "|") + 1) {
		json_t *word = json_stringn(at + 1, strcspn(at + 1, "|"));
		json_add_new(json_object_get(row, "aliases"), json_need(word));
	}
	if (t->runtime)
		json_put_text(row, "runtime", t->runtime);
	if (path[0])
		json_put_text(row, "program", path);
	if (!has_program && t->package)
		json_put_text(row, "package", t->package);
	json_add_new(languages, row);
}

static json_t *list_languages(void)
{
	json_t *languages = json_need(json_array());
	const struct toolchain *t;
	for (size_t i = 0; (t = toolchain_at(i)); i++)
		if (toolchain_find(t->language) == t)
			add_language(languages, t);
	return languages;
}

#define END_MARK "\001end\t" /* behind the last version */

/* ---- versions: two programs in boxes tell them, one in bash and one in SQL ---- */

/* The list so far, and the run that is under way. */
struct asking {
	struct operation_call *call;
	json_t *languages;
	bool is_sql;
};

/* Return the first version in @text, such as "12.2.0"; if it has none, the first number. */
static json_t *first_version(const char *text)
{
	static const char digits[] = "0123456789";
	size_t bytes = 0;
	const char *found = NULL;
	for (const char *at = text; (at = strpbrk(at, digits)); at += strspn(at, "0123456789.")) {
		size_t n = strspn(at, digits);
		bool is_version = at[n] == '.' && at[n + 1] && strchr(digits, at[n + 1]);
		if (!found || is_version) {
			found = at;
			bytes = strspn(at, is_version ? "0123456789." : digits);
		}
		if (is_version)
			break;
	}
	while (bytes > 0 && found[bytes - 1] == '.')
		bytes--;
	return found ? json_stringn(found, bytes) : NULL;
}

/* Set the version of each language in @languages: that in @printed, behind "\001NAME\t". */
static void take_versions(json_t *languages, const char *printed)
{
	char mark[LANGUAGE_BYTES + 3];
	size_t i;
	json_t *row;
	json_array_foreach(languages, i, row)
	{
		snprintf(mark, sizeof mark, "\001%s\t", json_get_text(row, "name"));
		const char *at = strstr(printed, mark);
		char *part =
			at ? strndup(at + strlen(mark), strcspn(at + strlen(mark), "\001")) : NULL;
		if (part)
			json_put_new(row, "version", first_version(part));
		free(part);
	}
}

static void take_sql_version(json_t *languages, const json_t *record)
{
	const json_t *value = json_object_get(json_object_get(record, "value"), "application/json");
	const json_t *row = json_array_get(json_object_get(value, "rows"), 0);
	char text[LANGUAGE_BYTES];
	const char *version = json_string_value(json_array_get(row, 0));
	snprintf(text, sizeof text, "\001sql\t%s", version ? version : "");
	take_versions(languages, text);
}

static json_t *versions_program(void)
{
	cleanup_buf struct buf out = BUF_INIT(64 << 10);
	char path[PATH_MAX];
	const struct toolchain *t;
	for (size_t i = 0; (t = toolchain_at(i)); i++)
		if (t->version && toolchain_find(t->language) == t && toolchain_program(t, path))
			buf_addf(&out, "program=%s; printf '\\001%s\\t'; { %s; } 2>&1 </dev/null\n",
				path, t->language, t->version);
	buf_add(&out, "printf '\\001end\\t'\n");
	return json_stringn(buf_str(&out), out.bytes);
}

static void ask(struct asking *a);

/* Return whether all programs have been asked. The caller may have stopped the one that asks them.
 */
static bool is_whole(const struct asking *a, const json_t *record)
{
	return a->is_sql ? strcmp(json_get_text(record, "status"), "ok") == 0
			 : strstr(json_get_text(record, "stdout"), END_MARK) != NULL;
}

static void on_told(void *arg, const json_t *result, const struct err *err)
{
	struct asking *a = arg;
	struct operation_call *call = a->call;
	const json_t *record = json_object_get(result, "run");
	struct err late;
	if (result && !is_whole(a, record)) {
		(void)err_set(&late, ERR_BUSY, "the languages did not tell their versions in time");
		(void)err_hint(&late, "try again when the host has less to do");
		result = NULL;
		err = &late;
	}
	if (!result) {
		json_decref(a->languages);
		free(a);
		call_fail(call, err);
		return;
	}
	if (!a->is_sql) {
		take_versions(a->languages, json_get_text(record, "stdout"));
		a->is_sql = true;
		ask(a);
		return;
	}
	take_sql_version(a->languages, record);
	json_t *languages = a->languages;
	free(a);
	call_give(call, json_need(json_pack("{s:o}", "languages", languages)), NULL);
}

static void ask(struct asking *a)
{
	const struct operation_listener listener = {.arg = a, .done = on_told};
	json_t *params = json_need(json_pack("{s:s, s:o, s:i, s:{s:i}}", "language",
		a->is_sql ? "sql" : "shell", "code",
		a->is_sql ? json_string("select sqlite_version()") : versions_program(),
		"timeout_ms", ASK_MS, "limits", "memory_bytes", ASK_MEMORY_BYTES));
	struct operation_call **slot = (struct operation_call **)&a->call->following;
	operation_start(a->call->context, operation_find("program.run"), params, &listener, slot);
	json_decref(params);
}

static void stop_asking(struct operation_call *call)
{
	if (call->following)
		operation_cancel(call->following);
}

static void start_languages(struct operation_call *call)
{
	json_t *languages = list_languages();
	if (!param_flag(call->params, "versions")) {
		call_give(call, json_need(json_pack("{s:o}", "languages", languages)), NULL);
		return;
	}
	struct asking *a = xnew(struct asking);
	*a = (struct asking){.call = call, .languages = languages};
	call->cancel = stop_asking;
	ask(a);
}

/* ---- rows of the table of operations ---- */

const struct param program_file_rows[PROGRAM_FILE_ROWS] = {
	{"path", PARAM_TEXT, NEEDED, 1, PATH_BYTES, .help = "path, relative to the workspace"},
	{"content", PARAM_DATA, NEEDED, .help = "content of the file"},
	{"encoding", PARAM_CHOICE, .choices = "utf-8|base64", .fallback = "utf-8",
		.help = "encoding of content"},
};
#define PROGRAM_LANGUAGE                                                                           \
	{                                                                                          \
		"language", PARAM_TEXT, NEEDED, 1, LANGUAGE_BYTES,                                 \
			.help = "language, as program.languages names it"                          \
	}
static const struct param build_rows[] = {
	PROGRAM_LANGUAGE,
	{"code", PARAM_DATA, NEEDED, .max = CODE_BYTES, .help = "the program"},
	{"filename", PARAM_TEXT, .min = 1, .max = 255, .help = HELP_FILENAME},
	{"files", PARAM_OBJECTS, .max = FILES_MAX, FIELDS(program_file_rows), .help = HELP_FILES},
	{"compile_args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = HELP_COMPILE_ARGS},
	{"compile_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS, .help = HELP_COMPILE_TIMEOUT},
	{"idle_ms", PARAM_COUNT, .min = 1000, .max = TIME_MS, .fallback = "600000",
		.help = "time without use after which the session ends by itself"},
	ORDER_BOX_ROWS,
};
static const struct param built_rows[] = {
	GIVES("language", PARAM_TEXT, "language"),
	MAY_GIVE("session", PARAM_TEXT,
		"session for `built` of program.run, to be closed afterwards; absent if the compiler's status is not ok"),
	MAY_GIVE("compile", PARAM_OBJECT,
		"record of the compiler, as step.run gives it; absent if nothing was compiled"),
};
static const struct param run_rows[] = {
	PROGRAM_LANGUAGE,
	{"code", PARAM_DATA, .max = CODE_BYTES, .help = "the program"},
	{"cells", PARAM_TEXTS, .max = CELLS_MAX,
		.help = "instead of code: cells as of a notebook, which run one after the other; a "
			"cell that fails does not stop the others"},
	{"filename", PARAM_TEXT, .min = 1, .max = 255, .help = HELP_FILENAME},
	{"files", PARAM_OBJECTS, .max = FILES_MAX, FIELDS(program_file_rows), .help = HELP_FILES},
	{"built", PARAM_TEXT, .min = 1, .max = SESSION_BYTES,
		.help = "session of program.build, in a branch of which the program runs instead of "
			"in a new box; `files` are added"},
	{"compile_args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = HELP_COMPILE_ARGS},
	{"large_stack", PARAM_FLAG, .fallback = "false", .help = HELP_LARGE_STACK},
	{"args", PARAM_TEXTS, .max = SCRIPT_ARGS_MAX, .help = "arguments of the program"},
	{"stdin", PARAM_DATA, .max = CODE_BYTES, .help = "standard input (default: empty)"},
	{"collect", PARAM_TEXTS, .max = COLLECT_MAX,
		.help = "files of the workspace to give back, by path"},
	{"changed", PARAM_COUNT, .min = 1, .max = COLLECT_MAX,
		.help = "give back so many of the files that the program has created or modified, "
			"too, but for those in hidden directories"},
	{"compile_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS, .help = HELP_COMPILE_TIMEOUT},
	{"timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS,
		.help = "wall time of the program, or of each cell (default: limits.timeout_ms)"},
	{"total_timeout_ms", PARAM_COUNT, .min = 1, .max = TIME_MS,
		.help = "wall time of all cells together (default: no limit)"},
	ORDER_BOX_ROWS,
};
static const struct param unread_rows[] = {
	GIVES("path", PARAM_TEXT, "path, as it was asked for"),
	GIVES("code", PARAM_TEXT, "error code, such as not_found"),
	GIVES("message", PARAM_TEXT, "why it is not given back"),
};
static const struct param ran_rows[] = {
	GIVES("language", PARAM_TEXT, "language"),
	GIVES("session", PARAM_TEXT, "id of the session in which it ran, for session.log"),
	MAY_GIVE("compile", PARAM_OBJECT,
		"record of the compiler, as step.run gives it; absent if nothing was compiled"),
	MAY_GIVE("run", PARAM_OBJECT,
		"record of the program; absent if the compiler's status is not ok"),
	MAY_GIVE("cells", PARAM_OBJECTS,
		"records of the cells; fewer than were given if total_timeout_ms was reached"),
	{"files", PARAM_OBJECTS, NEEDED, FIELDS(file_content_rows),
		.help = "the files of collect, then those of changed"},
	{"unread", PARAM_OBJECTS, NEEDED, FIELDS(unread_rows),
		.help = "files that could not be given back"},
};
static const struct param language_rows[] = {
	GIVES("name", PARAM_TEXT, "name of the language"),
	GIVES("aliases", PARAM_TEXTS, "other names of it"),
	GIVES("source", PARAM_TEXT, "name of a program's file"),
	GIVES("compiled", PARAM_FLAG, "programs are compiled before they run"),
	GIVES("available", PARAM_FLAG, "this host has what the language needs"),
	MAY_GIVE("runtime", PARAM_TEXT,
		"the runtime that runs it; absent if programs are started by a command line"),
	MAY_GIVE("program", PARAM_TEXT, "compiler or interpreter on this host"),
	MAY_GIVE("version", PARAM_TEXT, "with versions: what its program tells of itself"),
	MAY_GIVE("package", PARAM_TEXT, "Debian package that has what is missing"),
};
static const struct param asked_rows[] = {
	{"versions", PARAM_FLAG, .fallback = "false",
		.help = "have the programs tell their versions, which takes seconds"},
};
static const struct param languages_rows[] = {
	{"languages", PARAM_OBJECTS, NEEDED, FIELDS(language_rows), .help = "the languages"},
};

static const struct operation rows[] = {
	{"program.run", "Run a whole program in a box of its own", ROWS(run_rows), RESULT(ran_rows),
		.label = OPERATION_PROGRAM,
		.limits =
			"Its session is closed afterwards. Files that are given back: 32 MiB "
			"together. Files of a program that was killed or stopped are rolled back.",
		.errors =
			"not_found|access|runtime|box|limit|quota|gone|no_space|interrupted|denied",
		.answer_bytes = 0, .example = "{'language': 'python', 'code': 'print(6 * 7)'}",
		.answer = "{'language': 'python', 'run': {'status': 'ok', 'stdout': '42\\n'}, "
			  "'files': []}",
		.start = program_start},
	{"program.build", "Write the files of a program into a new box and compile it",
		ROWS(build_rows), RESULT(built_rows), .label = OPERATION_PROGRAM,
		.errors =
			"not_found|access|runtime|box|limit|quota|gone|no_space|interrupted|denied",
		.answer_bytes = 0,
		.example = "{'language': 'c', 'code': 'int main(void) { return 0; }'}",
		.answer = "{'language': 'c', 'session': 's-7k2mq4x5ta', 'compile': {'status': "
			  "'ok'}}",
		.start = program_start_build},
	{"program.languages", "List the languages of program.run", ROWS(asked_rows),
		RESULT(languages_rows), .label = OPERATION_PROGRAM,
		.errors = "box|limit|quota|gone|no_space|interrupted|busy", .example = "{}",
		.answer = "{'languages': [{'name': 'python', 'available': true}]}",
		.start = start_languages},
};

const struct operation_family program_family = FAMILY(rows);
