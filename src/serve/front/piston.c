/*
 * The front "piston": version 2 of the wire of Piston, with which chat bots and graders run code.
 * Source: github.com/engineer-man/piston, api/src/api/v2.js and api/src/job.js.
 *
 * The versions of the languages are those that the host's programs tell of themselves in a box. The
 * front asks for them once, at the first request that needs them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/front/piston.h"

#include "api/row/param.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "serve/front/version.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_MS = 3000, COMPILE_MS = 10000, FILE_BYTES = 64 << 20, NAME_BYTES = 255 };

void piston_refuse(struct front_call *c, unsigned status, const char *message)
{
	front_answer(
		c, status, json_pack("{s:o}", "message", json_new_text(message, strlen(message))));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	if (status == 404)
		piston_refuse(c, 404, "Not Found");
	else
		piston_refuse(c, err->code == ERR_QUOTA ? 429 : status, err->msg);
}

/* ---- runtimes ---- */

/* Languages that Piston calls by another name. */
static const struct {
	const char *ours, *theirs;
} names[] = {{"cpp", "c++"}, {"shell", "bash"}, {"sql", "sqlite3"}, {"r", "rscript"}};

static const char *name_of(const json_t *language)
{
	const char *ours = json_get_text(language, "name");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].ours, ours) == 0)
			return names[i].theirs;
	return ours;
}

static bool is_served(const json_t *language)
{
	return json_get_bool(language, "available") && json_get_text(language, "version")[0];
}

static json_t *runtime_row(const json_t *language)
{
	const char *program = strrchr(json_get_text(language, "program"), '/');
	json_t *aliases = json_need(json_copy(json_object_get(language, "aliases")));
	json_t *row = json_need(json_pack("{s:s, s:O, s:o}", "language", name_of(language),
		"version", json_object_get(language, "version"), "aliases", aliases));
	if (strcmp(name_of(language), json_get_text(language, "name")) != 0)
		json_add_shared(aliases, json_object_get(language, "name"));
	if (program)
		json_put_text(row, "runtime", program + 1);
	return row;
}

static const json_t *find_language(const struct front_call *c, const char *name);

static void give_runtimes(struct front_call *c)
{
	json_t *out = json_need(json_array());
	const json_t *language;
	size_t i;
	json_array_foreach(c->state->languages, i, language) if (is_served(language))
		json_add_new(out, runtime_row(language));
	if (find_language(c, "c++"))
		piston_add_graders(out, "version");
	front_answer(c, 200, out);
}

static void give_packages(struct front_call *c)
{
	json_t *out = json_need(json_array());
	const json_t *language;
	size_t i;
	json_array_foreach(c->state->languages, i, language) if (is_served(language)) json_add_new(
		out,
		json_pack("{s:s, s:O, s:b}", "language", name_of(language), "language_version",
			json_object_get(language, "version"), "installed", 1));
	if (find_language(c, "c++"))
		piston_add_graders(out, "language_version");
	front_answer(c, 200, out);
}

static void refuse_package(struct front_call *c);
static void execute(struct front_call *c);

/* What a request wants, once the languages are known. */
static const struct {
	const char *what;
	void (*go_on)(struct front_call *c);
} wishes[] = {{"runtimes", give_runtimes}, {"packages", give_packages}, {"package", refuse_package},
	{"execute", execute}};

static void go_on(struct front_call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		if (strcmp(wishes[i].what, json_string_value(c->kept)) == 0) {
			wishes[i].go_on(c);
			return;
		}
}

static void on_languages(struct front_call *c, const json_t *result, const struct err *err)
{
	if (!result) {
		front_fail(c, err);
		return;
	}
	json_decref(c->state->languages);
	c->state->languages = json_incref(json_object_get(result, "languages"));
	go_on(c);
}

/* Do what @what names, when the languages are known. */
static void with_languages(struct front_call *c, const char *what)
{
	c->kept = json_need(json_string(what));
	if (c->state->languages)
		go_on(c);
	else
		front_operate(
			c, "program.languages", json_pack("{s:b}", "versions", 1), on_languages);
}

static void start_runtimes(struct front_call *c)
{
	with_languages(c, "runtimes");
}

static void start_packages(struct front_call *c)
{
	with_languages(c, "packages");
}

static void start_package(struct front_call *c)
{
	with_languages(c, "package");
}

/* ---- execute: the request ---- */

static bool has_name(const json_t *language, const char *name)
{
	size_t i;
	const json_t *alias;
	json_array_foreach(json_object_get(language, "aliases"), i,
		alias) if (strcmp(json_string_value(alias), name) == 0) return true;
	return strcmp(name_of(language), name) == 0 ||
		strcmp(json_get_text(language, "name"), name) == 0;
}

static const json_t *find_language(const struct front_call *c, const char *name)
{
	size_t i;
	const json_t *language;
	json_array_foreach(c->state->languages, i,
		language) if (is_served(language) && has_name(language, name)) return language;
	return NULL;
}

/* Languages are installed on the host, not by requests. */
static void refuse_package(struct front_call *c)
{
	char message[192];
	const char *name = json_get_text(c->body, "language");
	const char *version = json_get_text(c->body, "version");
	const json_t *language = find_language(c, name);
	bool is_here = language && version_is_in(json_get_text(language, "version"), version);
	snprintf(message, sizeof message, "Requested package %.64s-%.64s does not exist", name,
		version);
	if (is_here)
		piston_refuse(c, 500, "Already installed");
	else
		piston_refuse(c, 404, message);
}

/* Turn hexadecimal digits into base64. Returns: NULL if they are none. */
static json_t *base64_of_hex(const char *text, size_t bytes)
{
	cleanup_buf struct buf plain = BUF_INIT(FILE_BYTES);
	cleanup_buf struct buf out = BUF_INIT(2 * FILE_BYTES);
	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int high = ascii_hex_value(text[i]), low = ascii_hex_value(text[i + 1]);
		char byte = (char)(high * 16 + low);
		if (high < 0 || low < 0)
			return NULL;
		buf_append(&plain, &byte, 1);
	}
	if (bytes % 2 || base64_write(&out, buf_str(&plain), plain.bytes) < 0)
		return NULL;
	return json_stringn(buf_str(&out), out.bytes);
}

static bool is_text_file(const json_t *file)
{
	const char *encoding = json_get_text(file, "encoding");
	return !encoding[0] || strcmp(encoding, "utf8") == 0 || strcmp(encoding, "utf-8") == 0;
}

static void put_name(json_t *row, const json_t *file, size_t i)
{
	char name[32];
	snprintf(name, sizeof name, "file%zu.code", i);
	json_put_text(
		row, "path", json_get_text(file, "name")[0] ? json_get_text(file, "name") : name);
}

/* Make a row of program.run's `files`. Returns: NULL if the content is not in its encoding. */
static json_t *file_row(const json_t *file, size_t i)
{
	const char *encoding = json_get_text(file, "encoding");
	json_t *content = json_object_get(file, "content"), *row = json_need(json_object());
	put_name(row, file, i);
	if (strcmp(encoding, "hex") == 0) {
		json_put_new(row, "content",
			base64_of_hex(json_string_value(content), json_string_length(content)));
		json_put_text(row, "encoding", "base64");
	} else {
		json_put_shared(row, "content", content);
		json_put_text(row, "encoding", is_text_file(file) ? "utf-8" : encoding);
	}
	if (json_object_get(row, "content"))
		return row;
	json_decref(row);
	return NULL;
}

/* Set the program's own file, the first text of @files. Its name is kept if it has the ending of
 * the language, without which compilers would not take it. */
static size_t put_program(json_t *params, const json_t *files, const json_t *language)
{
	const char *ending = strrchr(json_get_text(language, "source"), '.');
	size_t at = 0;
	while (!is_text_file(json_array_get(files, at)))
		at++;
	const json_t *file = json_array_get(files, at);
	const char *name = json_get_text(file, "name"), *dot = strrchr(name, '.');
	json_put_shared(params, "code", json_object_get(file, "content"));
	if (dot && strcmp(dot, ending) == 0 && strlen(name) <= NAME_BYTES)
		json_put_text(params, "filename", name);
	return at;
}

/* Check what Piston checks of @files, in its words. Returns: NULL if they are well. */
static const char *check_files(const json_t *files, char message[64])
{
	size_t i;
	const json_t *file;
	bool has_text = false;
	if (!json_is_array(files))
		return "files is required as an array";
	json_array_foreach(files, i, file)
	{
		const json_t *name = json_object_get(file, "name");
		snprintf(message, 64, "files[%zu].name must be a string", i);
		if (name && !json_is_null(name) && !json_is_string(name))
			return message;
		snprintf(message, 64, "files[%zu].content is required as a string", i);
		if (!json_is_string(json_object_get(file, "content")))
			return message;
		has_text = has_text || is_text_file(file);
	}
	return has_text ? NULL : "files must include at least one utf8 encoded file";
}

/* Check the limits of the body. Returns: whether they are well; if not, the call is over. */
static bool check_limits(struct front_call *c)
{
	static const char *const limits[] = {"compile_memory_limit", "run_memory_limit",
		"compile_timeout", "run_timeout", "compile_cpu_time", "run_cpu_time"};
	char message[96];
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const json_t *value = json_object_get(c->body, limits[i]);
		if (!value || json_is_null(value) || json_is_number(value))
			continue;
		snprintf(message, sizeof message, "If specified, %s must be a number", limits[i]);
		piston_refuse(c, 400, message);
		return false;
	}
	return true;
}

static void put_limits(json_t *params, const json_t *body, bool is_compiled)
{
	double memory = json_number_value(json_object_get(body, "run_memory_limit"));
	double cpu_ms = json_number_value(json_object_get(body, "run_cpu_time"));
	json_put_int(params, "timeout_ms", front_time(body, "run_timeout", 1000, RUN_MS));
	json_put_int(params, "compile_timeout_ms",
		front_time(body, "compile_timeout", 1000, COMPILE_MS));
	if (memory > 0)
		front_limit(params, "memory_bytes", memory);
	if (cpu_ms > 0 && !is_compiled) /* the limit would be the compiler's, too */
		front_limit(params, "cpu_ms", cpu_ms);
}

/* ---- execute: the answer ---- */

static json_t *signal_name(int number)
{
	const char *name = number > 0 ? sigabbrev_np(number) : NULL;
	return name ? json_sprintf("SIG%s", name) : json_null();
}

/* Return the stream of which a part is left out, or NULL. */
static const char *cut_stream(const json_t *record)
{
	const json_t *cut = json_object_get(record, "truncated");
	return json_get_int(cut, "stdout_bytes") > 0	? "stdout"
		: json_get_int(cut, "stderr_bytes") > 0 ? "stderr"
							: NULL;
}

json_t *piston_phase(const json_t *record)
{
	const struct front_end end = front_read_end(record);
	static const struct {
		const char *status, *message;
	} ends[] = {[FRONT_LATE] = {"TO", "Time limit exceeded (wall clock)"},
		[FRONT_NO_MEMORY] = {"SG", "Memory limit exceeded"},
		[FRONT_SIGNALLED] = {"SG", "Caught fatal signal"},
		[FRONT_EXITED] = {"RE", "Exited with error status"}};
	bool is_well = end.how == FRONT_EXITED && end.code == 0;
	const char *cut = cut_stream(record), *status = is_well ? NULL : ends[end.how].status;
	json_t *out = printed_stdout(record), *message = json_null();
	if (cut)
		status = strcmp(cut, "stdout") == 0 ? "OL" : "EL";
	if (cut)
		message = json_sprintf("%s length exceeded", cut);
	else if (!is_well && (end.how == FRONT_EXITED || end.how == FRONT_SIGNALLED))
		message = json_sprintf("%s %d", ends[end.how].message,
			end.how == FRONT_EXITED ? end.code : end.signal);
	else if (!is_well)
		message = json_string(ends[end.how].message);
	return json_pack("{s:o, s:O, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "stdout", out,
		"stderr", json_object_get(record, "stderr"), "code",
		end.how == FRONT_EXITED ? json_integer(end.code) : json_null(), "signal",
		end.how == FRONT_EXITED ? json_null() : signal_name(end.signal), "output",
		front_joined("", out, json_object_get(record, "stderr")), "message", message,
		"status", status ? json_string(status) : json_null(), "memory", end.memory_bytes,
		"cpu_time", (json_int_t)end.cpu_ms, "wall_time", (json_int_t)end.wall_ms);
}

static void on_ran(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *compile = json_object_get(result, "compile");
	const json_t *run = json_object_get(result, "run");
	if (!result) {
		front_fail(c, err);
		return;
	}
	/* A program that was not compiled has no run; old clients find the compiler's there. */
	json_t *body = json_pack("{s:O, s:O, s:o}", "language",
		json_object_get(c->kept, "language"), "version",
		json_object_get(c->kept, "version"), "run", piston_phase(run ? run : compile));
	if (body && compile)
		json_put_new(body, "compile", piston_phase(compile));
	front_answer(c, 200, body);
}

static void run(struct front_call *c, const json_t *language)
{
	const json_t *files = json_object_get(c->body, "files"), *file;
	json_t *params = json_need(json_object()), *others = json_need(json_array());
	size_t i, own = put_program(params, files, language);
	json_put_shared(params, "language", json_object_get(language, "name"));
	put_limits(params, c->body, json_get_bool(language, "compiled"));
	if (json_is_array(json_object_get(c->body, "args")))
		json_put_shared(params, "args", json_object_get(c->body, "args"));
	if (json_is_string(json_object_get(c->body, "stdin")))
		json_put_shared(params, "stdin", json_object_get(c->body, "stdin"));
	json_put_new(params, "files", others);
	json_array_foreach(files, i, file)
	{
		json_t *row = i == own ? NULL : file_row(file, i);
		if (i != own && !row) {
			json_decref(params);
			piston_refuse(c, 400, "a file is not in its encoding");
			return;
		}
		json_add_new(others, row);
	}
	json_decref(c->kept);
	c->kept = json_pack("{s:s, s:O}", "language", name_of(language), "version",
		json_object_get(language, "version"));
	front_run(c, params, true, on_ran);
}

/* Refuse the version @version of a language, and say which one there is. */
static void refuse_version(
	struct front_call *c, const char *name, const char *version, const json_t *language)
{
	char message[256];
	int n = snprintf(message, sizeof message, "%.64s-%.32s runtime is unknown", name, version);
	if (language && n > 0)
		snprintf(message + n, sizeof message - (size_t)n, ": there is %s-%s",
			name_of(language), json_get_text(language, "version"));
	piston_refuse(c, 400, message);
}

static void execute(struct front_call *c)
{
	const char *name = json_get_text(c->body, "language");
	const char *version = json_get_text(c->body, "version");
	const json_t *language = find_language(c, name);
	if (piston_is_grader(name, version))
		piston_grade(c, name);
	else if (!language || !version_is_in(json_get_text(language, "version"), version))
		refuse_version(c, name, version, language);
	else
		run(c, language);
}

static void start_execute(struct front_call *c)
{
	char message[64];
	bool is_wrong = false;
	const char *language = front_text(c, "language", "", &is_wrong);
	const char *version = front_text(c, "version", "", &is_wrong);
	const char *why = check_files(json_object_get(c->body, "files"), message);
	const json_t *args = json_object_get(c->body, "args");
	const json_t *input = json_object_get(c->body, "stdin");
	if (!language[0])
		piston_refuse(c, 400, "language is required as a string");
	else if (!version[0])
		piston_refuse(c, 400, "version is required as a string");
	else if (why)
		piston_refuse(c, 400, why);
	else if (is_wrong || (input && !json_is_null(input) && !json_is_string(input)))
		piston_refuse(c, 400, "stdin must be a string, language and version without NUL");
	else if (args && !json_is_null(args) && !json_is_array(args))
		piston_refuse(c, 400, "args must be an array");
	else if (check_limits(c))
		with_languages(c, "execute");
}

static const struct front_row rows[] = {
	{"GET", "/api/v2/runtimes", start_runtimes},
	{"POST", "/api/v2/execute", start_execute},
	{"GET", "/api/v2/packages", start_packages},
	{"POST", "/api/v2/packages", start_package},
	{NULL, "/api/v2/", front_nothing},
	{NULL, "/", front_nothing},
};

const struct front_wire front_piston = {.name = "piston",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.is_any_type = true,
	.fail = fail};
