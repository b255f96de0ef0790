/*
 * program.run: a whole program, with its files and input, in a box of its own. program.build: the
 * same up to the compiler, for runs in branches of its session.
 *
 * The run is a sequence of other operations, each with an answer that starts the next one:
 *
 *   session.create   the box, with the limits that the caller asks for; or session.branch
 *   file.write       the source file, and each other file
 *   step.run         the compile line, if the language has one
 *   step.run         the program: as a step of its language's driver, or the run line; or each cell
 *   file.read        each file that the caller wants, then those that the program has changed
 *   session.close    also after an error
 *
 * An error of step.run is a failure of the engine; what a program does wrong is in its record. So a
 * caller can tell the two apart: program.run fails, or it gives a record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/call/program.h"

#include "api/call/inside.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/fair_line.h"
#include "base/json.h"
#include "runtime/toolchain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_BYTES = 4 << 20, IDLE_MS = 60000, BUILT_IDLE_MS = 600000 };

enum stage { CREATE, WRITE, COMPILE, RUN, READ, CLOSE, STAGE_END_ };

struct program {
	struct fair_turn turn; /* programs that would only take the CPUs from each other wait */
	struct operation_call *call;
	const struct toolchain *toolchain;
	bool is_native;	     /* the program is a step in the language's own driver */
	bool is_build;	     /* program.build: the program is not run, its session stays */
	const char *built;   /* the session of program.build of which this runs in a branch */
	char path[PATH_MAX]; /* of the toolchain's program */
	const char *source;
	enum stage stage;
	size_t next;	     /* number of the file that is written or read next */
	const char *reading; /* path of the file that is read, borrowed */
	size_t n_changed;    /* files read because the program has changed them */
	struct operation_call *under_way;
	char *session;
	json_t *result;
	struct err err; /* code 0: no failure */
	double used_ms; /* wall time of the cells so far */
	size_t room;	/* bytes that the files in the result may still have */
	bool is_cancelled;
};

static void go_on(struct program *p);

/* ---- the script of a toolchain's line ---- */

static void add_quoted(struct buf *out, const char *text)
{
	buf_add(out, "'");
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "'");
		buf_append(out, at, n);
		at += n;
		if (*at == '\'') {
			buf_add(out, "'\\''");
			at++;
		}
	}
	buf_add(out, "'");
}

/* Append an array of bash called @name with the texts in @list. */
static void add_quoted_all(struct buf *out, const char *name, const json_t *list)
{
	const json_t *text;
	size_t i;
	buf_addf(out, "; %s=(", name);
	json_array_foreach(list, i, text)
	{
		buf_add(out, " ");
		add_quoted(out, json_string_value(text));
	}
	buf_add(out, ")");
}

static bool has_same_ending(const char *a, const char *b)
{
	const char *x = strrchr(a, '.'), *y = strrchr(b, '.');
	return x && y && strcmp(x, y) == 0 && strcmp(a, b) != 0 && a[0] != '-';
}

/* Make the bash program of @line (toolchain.h). */
static json_t *make_script(const struct program *p, const char *line)
{
	cleanup_buf struct buf out = BUF_INIT(SCRIPT_BYTES);
	const json_t *files = param_get(p->call->params, "files"), *row;
	size_t i;
	buf_add(&out, "program=");
	add_quoted(&out, p->path);
	buf_add(&out, "; source=");
	add_quoted(&out, p->source);
	buf_add(&out, "; sources=(\"$source\"");
	json_array_foreach(files, i, row)
	{
		const char *path = param_text(row, "path", "");
		if (!has_same_ending(path, p->source))
			continue;
		buf_add(&out, " ");
		add_quoted(&out, path);
	}
	buf_add(&out, ")");
	add_quoted_all(&out, "flags", param_get(p->call->params, "compile_args"));
	if (p->stage == RUN && param_flag(p->call->params, "large_stack"))
		buf_add(&out, "\nulimit -S -s \"$(ulimit -H -s)\"");
	buf_addf(&out, "\n%s\n", line);
	return buf_error(&out) < 0 ? NULL : json_stringn(buf_str(&out), out.bytes);
}

/* ---- the parameters of each stage ---- */

static const char *const of_box[] = {"preload", "python", "template", "rootfs", "image", "volumes",
	"env", "net", "secrets", "limits", "seed", "time"};

static json_t *create_params(struct program *p)
{
	json_t *out = json_need(json_object());
	if (p->built) {
		json_put_text(out, "session", p->built);
		return out;
	}
	for (size_t i = 0; i < ARRAY_LEN(of_box); i++)
		json_put_shared(out, of_box[i], param_get(p->call->params, of_box[i]));
	json_put_text(out, "runtime", p->is_native ? p->toolchain->runtime : "shell");
	/* Should the engine be killed, nobody would close the session. */
	json_put_int(out, "idle_ms",
		p->is_build ? (int64_t)param_count(p->call->params, "idle_ms", BUILT_IDLE_MS)
			    : IDLE_MS);
	return out;
}

/* Is the program a file? Drivers get it as code, but programs look for themselves: a process that
 * imports __main__ again, a worker, `cat $0`. */
static bool has_source(const struct program *p)
{
	return (!p->is_native || p->source[0] != '<') && !param_get(p->call->params, "cells") &&
		!p->built;
}

/* The file that is written next: the source, then the files of the caller. Returns: NULL behind the
 * last. */
static json_t *write_params(struct program *p)
{
	size_t n_own = has_source(p) ? 1 : 0, at = p->next++;
	const json_t *params = p->call->params;
	json_t *out;
	if (at < n_own) {
		out = json_need(json_object());
		json_put_text(out, "path", p->source);
		json_put_shared(out, "content", param_get(params, "code"));
		return out;
	}
	const json_t *row = json_array_get(param_get(params, "files"), at - n_own);
	return row ? json_need(json_copy(json_unconst(row))) : NULL;
}

static json_t *step_params(struct program *p, const char *line, const char *timeout)
{
	json_t *out = json_need(json_object());
	json_t *script = line ? make_script(p, line) : NULL;
	json_put_shared(out, "timeout_ms", param_get(p->call->params, timeout));
	json_put_text(out, "runtime", line ? "shell" : p->toolchain->runtime);
	json_put_text(out, "filename", line ? "main.sh" : p->source);
	if (!line) {
		json_put_shared(out, "code", param_get(p->call->params, "code"));
	} else if (script) {
		json_put_new(out, "code", script);
	} else {
		(void)err_set(&p->err, ERR_LIMIT, "the arguments and names of files are too long");
	}
	return out;
}

static json_t *compile_params(struct program *p)
{
	const struct toolchain *t = p->toolchain;
	if (p->next++ > 0 || p->is_native || !t->compile || p->built)
		return NULL;
	return step_params(p, t->compile, "compile_timeout_ms");
}

/* A program that was not compiled is not run. */
static bool is_compiled(const struct program *p)
{
	const json_t *record = json_object_get(p->result, "compile");
	return !record || strcmp(param_text(record, "status", ""), "ok") == 0;
}

static void stop_cell_at(json_t *step, uint64_t left_ms)
{
	json_t *given = json_object_get(step, "timeout_ms");
	if (!given || (uint64_t)json_integer_value(given) > left_ms)
		json_put_int(step, "timeout_ms", (int64_t)left_ms);
}

/* The next cell. A cell that fails does not end the run; the end of their time together does. */
static json_t *cell_params(struct program *p, const json_t *cells)
{
	json_t *code = json_array_get(cells, p->next++);
	uint64_t total_ms = param_count(p->call->params, "total_timeout_ms", 0);
	double left_ms = (double)total_ms - p->used_ms;
	if (!code || (total_ms > 0 && left_ms < 1))
		return NULL;
	json_t *out = json_need(json_object());
	json_put_shared(out, "code", code);
	json_put_shared(out, "timeout_ms", param_get(p->call->params, "timeout_ms"));
	if (total_ms > 0)
		stop_cell_at(out, (uint64_t)left_ms);
	return out;
}

static json_t *run_params(struct program *p)
{
	const json_t *cells = param_get(p->call->params, "cells");
	if (cells)
		return cell_params(p, cells);
	if (p->next++ > 0 || p->is_build || !is_compiled(p))
		return NULL;
	json_t *out = step_params(p, p->is_native ? NULL : p->toolchain->run, "timeout_ms");
	json_put_bool(out, "script", true);
	json_put_shared(out, "args", param_get(p->call->params, "args"));
	json_put_shared(out, "stdin", param_get(p->call->params, "stdin"));
	return out;
}

/* Is the file in a directory that is hidden? Libraries keep their caches in such directories. */
static bool is_hidden(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = path;
	for (; slash && at < slash; at += strcspn(at, "/") + 1)
		if (at[0] == '.')
			return true;
	return false;
}

static bool is_collected(const json_t *collect, const char *path)
{
	size_t i;
	const json_t *wanted;
	json_array_foreach(
		collect, i, wanted) if (strcmp(json_string_value(wanted), path) == 0) return true;
	return false;
}

/* Return the path of the file that is read next: those of `collect`, then those that the program
 * has changed. Returns: NULL behind the last. */
static const char *next_path(struct program *p)
{
	const json_t *collect = param_get(p->call->params, "collect"), *row;
	const json_t *changed = json_object_get(json_object_get(p->result, "run"), "files");
	size_t n = json_array_size(collect);
	if (p->next < n)
		return json_string_value(json_array_get(collect, p->next++));
	while (p->n_changed < param_count(p->call->params, "changed", 0) &&
		(row = json_array_get(changed, p->next++ - n))) {
		const char *path = param_text(row, "path", "");
		if (strcmp(param_text(row, "change", ""), "deleted") == 0 || is_hidden(path) ||
			is_collected(collect, path))
			continue;
		p->n_changed++;
		return path;
	}
	return NULL;
}

static json_t *read_params(struct program *p)
{
	const char *path = p->reading = next_path(p);
	if (!path)
		return NULL;
	json_t *out = json_need(json_object());
	json_put_text(out, "path", path);
	json_put_int(out, "limit", (int64_t)MIN(p->room + 1, READ_BYTES));
	return out;
}

static json_t *close_params(struct program *p)
{
	bool stays = p->is_build && !p->err.code && is_compiled(p);
	return p->next++ == 0 && p->session && !stays ? json_need(json_object()) : NULL;
}

/* ---- the answers ---- */

static void on_created(struct program *p, const json_t *answer)
{
	p->session = strdup(param_text(answer, "session", ""));
	if (!p->session)
		(void)err_set(&p->err, ERR_NO_MEMORY, "no memory for a program");
	json_put_shared(p->result, "session", json_object_get(answer, "session"));
}

static void on_written(struct program *p, const json_t *answer)
{
	(void)p;
	(void)answer;
}

static void on_compiled(struct program *p, const json_t *answer)
{
	json_put_shared(p->result, "compile", answer);
}

static void on_ran(struct program *p, const json_t *answer)
{
	json_t *cells = json_object_get(p->result, "cells");
	const json_t *usage = json_object_get(answer, "usage");
	p->used_ms += json_number_value(json_object_get(usage, "wall_ms"));
	if (cells)
		json_add_shared(cells, answer);
	else
		json_put_shared(p->result, "run", answer);
}

static void add_unread(struct program *p, const struct err *err)
{
	json_t *row = json_need(json_object());
	json_put_text(row, "path", p->reading);
	json_put_text(row, "code", err_word(err->code));
	json_put_text(row, "message", err->msg); /* which may end within a character */
	json_add_new(json_object_get(p->result, "unread"), row);
}

static void on_read(struct program *p, const json_t *answer)
{
	uint64_t bytes = (uint64_t)json_get_int(answer, "size");
	struct err err;
	if (bytes <= MIN(p->room, READ_BYTES)) {
		p->room -= bytes;
		json_add_shared(json_object_get(p->result, "files"), answer);
		return;
	}
	(void)err_set(&err, ERR_LIMIT, "the file has %" PRIu64 " bytes; there is room for %zu",
		bytes, MIN(p->room, (size_t)READ_BYTES));
	add_unread(p, &err);
}

/* A stage: its operation is called for as long as `params` gives parameters. */
static const struct {
	const char *operation;
	json_t *(*params)(struct program *p);
	void (*answered)(struct program *p, const json_t *answer);
} stages[STAGE_END_] = {
	[CREATE] = {"session.create", create_params, on_created},
	[WRITE] = {"file.write", write_params, on_written},
	[COMPILE] = {"step.run", compile_params, on_compiled},
	[RUN] = {"step.run", run_params, on_ran},
	[READ] = {"file.read", read_params, on_read},
	[CLOSE] = {"session.close", close_params, on_written},
};

/* Answer the call, and free the program. Owns: takes @result. */
static void answer(struct program *p, json_t *result, const struct err *err)
{
	struct operation_call *call = p->call;
	json_decref(p->result);
	free(p->session);
	free(p);
	call_give(call, result, err);
}

static void finish(struct program *p)
{
	struct err err = p->err;
	json_t *result = err.code ? NULL : json_incref(p->result);
	if (result && p->is_build) {
		(void)json_object_del(result, "files");
		(void)json_object_del(result, "unread");
		if (!is_compiled(p))
			(void)json_object_del(result, "session");
	}
	if (p->call->context->programs)
		fair_line_end(&p->turn);
	answer(p, result, &err);
}

static void begin(struct fair_turn *turn)
{
	go_on(container_of(turn, struct program, turn));
}

static void on_answer(void *arg, const json_t *answer, const struct err *err)
{
	struct program *p = arg;
	if (answer)
		stages[p->stage].answered(p, answer);
	else if (p->stage == READ)
		add_unread(p, err);
	else if (p->stage != CLOSE && !p->err.code)
		p->err = *err;
	if (p->stage == CREATE && p->session)
		p->stage = WRITE;
	if (p->err.code && p->stage != CLOSE) {
		p->stage = CLOSE;
		p->next = 0;
	}
	go_on(p);
}

/* Start the next operation. */
static void go_on(struct program *p)
{
	const struct operation_listener listener = {.arg = p, .done = on_answer};
	json_t *params = NULL;
	if (p->is_cancelled && p->stage != CLOSE) {
		if (!p->err.code)
			(void)err_set(&p->err, ERR_INTERRUPTED, "the program was stopped");
		p->stage = CLOSE;
		p->next = 0;
	}
	while (p->stage < STAGE_END_ && !(params = stages[p->stage].params(p))) {
		p->stage++;
		p->next = 0;
	}
	if (p->stage >= STAGE_END_) {
		finish(p);
		return;
	}
	if (p->session)
		json_put_text(params, "session", p->session);
	bool is_branch = p->stage == CREATE && p->built;
	operation_start(p->call->context,
		operation_find(is_branch ? "session.branch" : stages[p->stage].operation), params,
		&listener, &p->under_way);
	json_decref(params);
}

static void cancel(struct operation_call *call)
{
	struct program *p = call->following;
	struct err err;
	if (call->context->programs && fair_line_leave(&p->turn)) {
		(void)err_set(&err, ERR_INTERRUPTED, "the program was stopped before it began");
		answer(p, NULL, &err);
		return;
	}
	p->is_cancelled = true;
	if (p->under_way && p->stage != CLOSE)
		operation_cancel(p->under_way);
}

/* Check the parameters of a run in a branch of a session of program.build. */
static int check_built(const json_t *params, const struct toolchain *t, struct err *err)
{
	static const char *const of_build[] = {"cells", "compile_args", "compile_timeout_ms"};
	const char *given = NULL;
	for (size_t i = 0; i < ARRAY_LEN(of_box) + ARRAY_LEN(of_build); i++) {
		const char *name =
			i < ARRAY_LEN(of_box) ? of_box[i] : of_build[i - ARRAY_LEN(of_box)];
		given = given || !param_get(params, name) ? given : name;
	}
	if (given)
		return err_fail(err, ERR_USAGE, "give it to `program.build`",
			"%s: given together with built", given);
	if (t->runtime && !param_get(params, "code"))
		return err_fail(err, ERR_USAGE, "give the code again: its driver runs it",
			"code: missing, programs in %s are not compiled", t->language);
	if (!t->runtime && param_get(params, "code"))
		return err_fail(err, ERR_USAGE, "leave it out",
			"code: given together with built, in which it is compiled");
	return 0;
}

/* Check what the rows of the parameters cannot express. */
static int check_params(const json_t *params, const struct toolchain *t, struct err *err)
{
	static const char *const not_of_cells[] = {"args", "stdin", "filename"};
	const json_t *code = param_get(params, "code"), *cells = param_get(params, "cells");
	const char *filename = param_text(params, "filename", t->source);
	if (param_get(params, "built"))
		return check_built(params, t, err);
	if (param_get(params, "compile_args") && !t->compile)
		return err_fail(err, ERR_USAGE, "leave it out",
			"compile_args: programs in %s are not compiled", t->language);
	if (!code == !cells)
		return err_fail(err, ERR_USAGE, "give one of them",
			code ? "code: given together with cells" : "code: missing");
	if (cells && !t->runtime)
		return err_fail(err, ERR_USAGE, "python, javascript, shell and sql have cells",
			"cells: programs in %s have none", t->language);
	if (filename[0] == '-' || filename[0] == '/' || strstr(filename, "..") ||
		filename[strlen(filename) - 1] == '/')
		return err_fail(err, ERR_USAGE, "give a name such as main.cpp or src/main.cpp",
			"filename: \"%.60s\" is no name below the workspace", filename);
	for (size_t i = 0; cells && i < ARRAY_LEN(not_of_cells); i++)
		if (param_get(params, not_of_cells[i]))
			return err_fail(err, ERR_USAGE, "leave it out",
				"%s: given together with cells", not_of_cells[i]);
	return 0;
}

static void start(struct operation_call *call, bool is_build)
{
	const char *language = param_text(call->params, "language", "");
	const struct toolchain *t = toolchain_find(language);
	bool has_system = param_get(call->params, "rootfs") || param_get(call->params, "image");
	struct err err;
	char path[PATH_MAX] = "";
	if (!t || (!toolchain_program(t, path) && !t->runtime && !has_system)) {
		(void)toolchain_missing(t, language, &err);
		call_fail(call, &err);
		return;
	}
	if (check_params(call->params, t, &err) < 0) {
		call_fail(call, &err);
		return;
	}
	struct program *p = xnew(struct program);
	*p = (struct program){.call = call,
		.toolchain = t,
		.is_native = t->runtime != NULL,
		.is_build = is_build,
		.built = param_text(call->params, "built", NULL),
		.source = param_text(call->params, "filename", t->source),
		.result = json_need(
			json_pack("{s:s, s:[], s:[]}", "language", t->language, "files", "unread")),
		.room = PROGRAM_FILES_BYTES};
	if (param_get(call->params, "cells"))
		json_put_new(p->result, "cells", json_array());
	/* In another system the program may have another path, so its name is used. */
	const char *programs = t->programs ? t->programs : "";
	snprintf(p->path, sizeof p->path, "%.*s",
		(int)(has_system ? strcspn(programs, "|") : strlen(path)),
		has_system ? programs : path);
	call->following = p;
	call->cancel = cancel;
	p->turn.begin = begin;
	struct fair_line *line = call->context->programs;
	if (!line)
		go_on(p);
	else if (fair_line_take(line, &p->turn, call->context->principal, &err) < 0)
		answer(p, NULL, &err);
}

void program_start(struct operation_call *call)
{
	start(call, false);
}

void program_start_build(struct operation_call *call)
{
	start(call, true);
}

const char *program_language(const char *word, bool *is_compiled)
{
	const struct toolchain *t = toolchain_find(word);
	if (is_compiled)
		*is_compiled = t && t->compile;
	return t ? t->language : NULL;
}
